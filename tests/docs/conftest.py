"""The documentation is long as a whole, and not even imported without --all: Sphinx and JAX are installed for that."""

from __future__ import annotations


def pytest_ignore_collect(config):
    return None if config.getoption("all") else True

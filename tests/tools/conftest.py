"""Import the scripts of tools/ by their names alone, as they are run."""

from __future__ import annotations

import pytest

from tests.script_folders import import_scripts
from tests.tools.fresh_build import fresh_build  # noqa: F401  (a fixture)


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    """Import the scripts, and keep what they write out of the repository."""
    yield from import_scripts(monkeypatch, tmp_path)

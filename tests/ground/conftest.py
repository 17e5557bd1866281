"""Fixtures for the tests of ground/."""

from __future__ import annotations

import pytest

from poise.ground import stages


@pytest.fixture
def not_spread(monkeypatch):
    """What pops is not spread over the frames around it: else what follows has hardly anything to do."""
    monkeypatch.setattr(stages, "spread", lambda locked, *_: locked)

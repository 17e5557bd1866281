"""Shared fixtures: where the real data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real rigs and golden results; a test that needs it says so when it is not there."""
    folder = Path(os.environ.get("POISE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}: set POISE_DATA")
    return folder

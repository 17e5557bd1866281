"""The scripts of benchmarks/ are imported as they are run, by their names alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    """Import the scripts as they are run, and keep what they write out of the repository."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import harness

    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    yield
    for name in [name for name, module in sys.modules.items() if str(FOLDER) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]

"""Import scripts of benchmarks/ and tools/ as they are run: by their names alone."""

from __future__ import annotations

import sys

from tests.conftest import ROOT

FOLDERS = (ROOT / "benchmarks", ROOT / "tools")


def import_scripts(monkeypatch, tmp_path):
    """Put the folders of scripts on the path for one test, and their results out of the repository."""
    for folder in FOLDERS:
        monkeypatch.syspath_prepend(str(folder))
    import harness

    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    yield
    for name, module in list(sys.modules.items()):
        if any(str(folder) in str(getattr(module, "__file__", "")) for folder in FOLDERS):
            del sys.modules[name]

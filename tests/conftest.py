"""Shared fixtures: where the real data is."""

from __future__ import annotations

import os
import webbrowser
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# no example has a time limit: a kernel compiles at its first call, and machines are busy; CI must not fail by chance
settings.register_profile(
    "poise", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("poise")
ROOT = Path(__file__).parent.parent

if "PYTEST_XDIST_WORKER" in os.environ:
    from tests.compile_once import compile_once

    compile_once()


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real rigs and golden results; a test that needs it says so when it is not there."""
    folder = Path(os.environ.get("POISE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}: set POISE_DATA")
    return folder


@pytest.fixture
def nobody(monkeypatch):
    """Nobody looks at the viewer: no browser opens, loops and servers end soon."""
    import poise
    from poise.cli.told import serving

    frames = poise.View.frames
    monkeypatch.setattr(poise.View, "frames", lambda view, fps: islice(frames(view, fps), 3))
    monkeypatch.setattr(serving, "_wait", lambda: None)
    monkeypatch.setattr(webbrowser, "open", bool)


@pytest.fixture(scope="session")
def chromium():
    """The one browser of a process, which can have no more; tests that need one say so where there is none."""
    from tests.view.browser import ARGUMENTS, CHROMIUM, MISSING

    if CHROMIUM is None:
        pytest.skip(MISSING)
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()

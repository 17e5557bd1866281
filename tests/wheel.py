"""Poise's wheel, built once for all tests of a run that install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--retries=1")


def wheel(factory: pytest.TempPathFactory) -> Path:
    """The path of the wheel; the test is skipped where what builds it cannot be had."""
    folder = once(factory, "wheel", _build)
    found = list(folder.glob("poise-*.whl"))
    if not found:
        pytest.skip(f"no wheel can be built here: {(folder / 'why').read_text(encoding='utf-8')[-300:]}")
    return found[0]


def _build(folder: Path) -> None:
    folder.mkdir(exist_ok=True)  # it is there if a build failed before: what pip says is to be told again
    built = subprocess.run(
        [*PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], capture_output=True, text=True, check=False,
        timeout=PROCESS,
    )  # fmt: skip
    assert built.returncode == 0 or "hatchling" in built.stderr, built.stderr
    (folder / "why").write_text(built.stderr, encoding="utf-8")

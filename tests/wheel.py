"""Poise's wheel and source distribution, built once for all tests of a run, and environments for the wheel."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--retries=1")


def wheel(factory: pytest.TempPathFactory) -> Path:
    """The path of the wheel."""
    return _built(factory, "*.whl")


def source_distribution(factory: pytest.TempPathFactory) -> Path:
    """The path of the source distribution."""
    return _built(factory, "*.tar.gz")


def build(checkout: Path, folder: Path, *targets: str) -> None:
    """Build both, or the targets named, by the build system of pyproject.toml, which fetches nothing."""
    pytest.importorskip("hatchling", reason="scripts/test installs it")
    named = [word for target in targets for word in ("--target", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", folder, *named], check=True, cwd=checkout,
        timeout=PROCESS, capture_output=True,
    )  # fmt: skip


def install(wheel: Path, folder: Path) -> Path:
    """The folder of a new environment with Poise from a wheel, beside the dependencies of this environment."""
    venv.create(folder, with_pip=False, symlinks=True)
    options = ("--no-deps", "--no-index", "--no-compile")  # Python compiles what is used
    subprocess.run(
        [*PIP, "--python", folder / "bin" / "python", "install", *options, wheel], check=True, timeout=PROCESS
    )
    packages = next((folder / "lib").iterdir()) / "site-packages"
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])  # its own .pth files do not count
    return folder


def _built(factory: pytest.TempPathFactory, pattern: str) -> Path:
    (found,) = once(factory, "distributions", lambda folder: build(ROOT, folder)).glob(pattern)
    return found

"""Build all files of a release: a wheel for each platform, one for all others, and the source distribution.

    python tools/native/wheels.py FOLDER

Wheels of a platform contain its library of kernels only, and need no Numba. The wheel for all others contains none, and
needs Numba; pip takes it where no other fits: another processor, musl, free-threaded Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from native import build
from native.platforms import PLATFORMS

_ROOT = Path(__file__).parent.parent.parent
_TESTS = {"linux_x86_64": "run by tests", "linux_aarch64": "run by tests, in an emulator"}  # other platforms: none


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    with tempfile.TemporaryDirectory() as name:
        libraries = {platform: Path(name, build.get_file_name(platform)) for platform in PLATFORMS.values()}
        build.build(libraries)
        for platform, library in libraries.items():
            wheel = build_wheel(folder, make_wheel_platform(platform.zig_target), library)
            test = _TESTS.get(platform.name, "linked, not run")
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {test}")
    print(f"{build_wheel(folder, 'any').name}: for other platforms, with Numba")
    _run_hatchling("sdist", folder, {})
    return 0


def make_wheel_platform(zig_target: str) -> str:
    """Return the platform in a wheel's name for a target of zig: manylinux_2_17_x86_64 for x86_64-linux-gnu.2.17."""
    machine, _, system = zig_target.partition("-")
    version = system.partition(".")[2].replace(".", "_")
    if system.startswith("linux-gnu."):
        return f"manylinux_{version}_{machine}"
    if system.startswith("macos."):
        return f"macosx_{version}_{machine.replace('aarch64', 'arm64')}"
    return {"x86_64-windows-gnu": "win_amd64"}[zig_target]


def build_wheel(folder: Path, platform: str, library: Path | None = None) -> Path:
    """Build the wheel of a platform with a library of kernels, or `any` without one. Return its path."""
    variables = {"POISE_WHEEL": platform} | ({} if library is None else {"POISE_LIBRARY": str(library.absolute())})
    with tempfile.TemporaryDirectory() as name:
        _run_hatchling("wheel", Path(name), variables)
        (built,) = Path(name).iterdir()
        with zipfile.ZipFile(built) as file:
            found = [Path(each).name for each in file.namelist() if "/kernels/libraries/" in each]
        if found != ([] if library is None else [library.name]):
            message = f"{built.name} contains the libraries {found}"
            raise ValueError(message)
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(built, folder / built.name))


def _run_hatchling(target: str, folder: Path, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    inherited = {name: value for name, value in os.environ.items() if name not in ("POISE_WHEEL", "POISE_LIBRARY")}
    subprocess.run(command, check=True, cwd=_ROOT, env=inherited | variables, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())

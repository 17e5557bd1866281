"""Poise from a wheel on an emulated AArch64 processor.

    python tools/native/aarch64.py FOLDER WHEEL             write the command that starts Python there
    python tools/native/aarch64.py FOLDER WHEEL FILE...     run files of Python there, one after the other

The exit code is 3 where the emulator, or files for it, cannot be had.
Debian has the emulator (qemu-user) and Python for AArch64; PyPI has NumPy. All are unpacked in FOLDER, so the system
stays as it is, apart from the emulator itself.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

_EMULATOR = "qemu-aarch64"
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")  # of Debian 12, and earlier
_APT_CONFIGURATION = """
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "{user}";
Dir::State "{folder}";
Dir::State::status "{folder}/status";
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{folder}/sources";
"""


class MissingError(Exception):
    """The emulator, or files for it, cannot be had here."""


def make_interpreter(folder: Path, wheel: Path) -> list[str]:
    """Install Python for AArch64 with Poise from a wheel, and return the command that starts it.

    Raises
    ------
    MissingError
        This is no Debian, there is no network, or there is no emulator and only root may install it.
    """
    _require_emulator()
    root, packages = folder / "root", folder / "packages"
    if not root.exists():
        _unpack_python(folder / "apt", root)
    (python,) = (path for path in (root / "usr" / "bin").glob("python3.*") if path.suffix[1:].isdigit())
    shutil.rmtree(packages, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += [
        "--target",
        str(packages),
        "--only-binary=:all:",
        "--python-version",
        python.name.removeprefix("python"),
    ]
    for platform in (
        "manylinux2014_aarch64",
        "manylinux_2_17_aarch64",
        "manylinux_2_27_aarch64",
        "manylinux_2_28_aarch64",
    ):
        command += ["--platform", platform]
    _run([*command, str(wheel), f"numpy=={version('numpy')}"], "pip could not download NumPy for AArch64")
    return ["env", "-u", "PYTHONHOME", f"PYTHONPATH={packages}", _EMULATOR, "-L", str(root), str(python)]


def _require_emulator() -> None:
    """Install the emulator if it is missing."""
    if shutil.which(_EMULATOR):
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        message = f"there is no {_EMULATOR}, and only root of a Debian may install it (qemu-user)"
        raise MissingError(message)
    _run(["apt-get", "-qq", "update"], "apt-get could not fetch the lists of packages")
    _run(["apt-get", "-qq", "install", "--no-install-recommends", "qemu-user"], "qemu-user could not be installed")


def _unpack_python(apt_folder: Path, root: Path) -> None:
    """Unpack Debian's Python for AArch64, and the C++ library of NumPy, with all that they need."""
    sources = next((path for path in _SOURCES if path.exists()), None)
    if sources is None or shutil.which("dpkg-deb") is None:
        message = "Python for AArch64 comes from Debian's packages, and this is no Debian"
        raise MissingError(message)
    for name in ("lists/partial", "archives/partial", "sources"):
        (apt_folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(sources, apt_folder / "sources")
    (apt_folder / "status").touch()
    configuration = apt_folder / "apt.conf"
    user = "root" if os.geteuid() == 0 else "_apt"
    configuration.write_text(_APT_CONFIGURATION.format(folder=apt_folder, user=user), encoding="utf-8")
    for arguments in (("update",), ("install", "--download-only", "--yes", "python3", "libstdc++6")):
        _run(
            ["env", f"APT_CONFIG={configuration}", "apt-get", "-qq", *arguments],
            "apt-get could not fetch Python for AArch64",
        )
    partial = root.with_name("partial")
    for archive in sorted((apt_folder / "archives").glob("*.deb")):
        _run(["dpkg-deb", "--extract", str(archive), str(partial)], f"{archive.name} could not be unpacked")
    partial.rename(root)


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        message = f"{failure}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]}"
        raise MissingError(message)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    try:
        interpreter = make_interpreter(options.folder.absolute(), options.wheel)
    except MissingError as error:
        print(f"no Python for AArch64: {error}", file=sys.stderr)
        return 3
    if not options.files:
        print(shlex.join(interpreter))
    codes = [subprocess.run([*interpreter, str(file)], check=False).returncode for file in options.files]
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())

"""Library of kernels compiled ahead of time.

`scripts/kernels` builds it from the kernels' sources. The library is a Python module of the stable ABI; it holds the
kernels for each processor level, their signatures and the stamps of their sources.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import platform
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

LIBRARY_FOLDER = Path(__file__).parent / "libraries"
MODULE_NAME = "poise_kernels"  # of the C function that initialises the module

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # other names of the same machines


def get_library_path() -> Path:
    """Return the path of the library for this platform. It need not exist."""
    machine = platform.machine().lower()
    suffix = ".pyd" if sys.platform == "win32" else ".abi3.so"
    return LIBRARY_FOLDER / f"{sys.platform}_{_MACHINES.get(machine, machine)}{suffix}"


@cache
def load_library() -> Any | None:
    """Load the library of this platform.

    None: there is no library, or the system cannot load it, as with another C library than the one it was linked for.
    """
    path = get_library_path()
    if sysconfig.get_config_var("Py_GIL_DISABLED") or not path.exists():  # free-threaded Python has no stable ABI
        return None
    return load_library_file(path)


def load_library_file(path: Path) -> Any | None:
    """Load a library, or return None where the system cannot."""
    loader = importlib.machinery.ExtensionFileLoader(MODULE_NAME, str(path))
    specification = importlib.util.spec_from_file_location(MODULE_NAME, path, loader=loader)
    assert specification is not None
    try:
        library = importlib.util.module_from_spec(specification)
        loader.exec_module(library)
    except (ImportError, OSError):
        return None
    return library

"""A build of kernels from their sources alone, made once for all tests of a run.

Numba's front end takes most of the time, and one run of it serves every target. All kernels take many minutes: the
usual run builds some that each commit draws anew, and one of those that the latest libraries changed. Stamps of all are
compared by another test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from poise.kernels import native, stamps
from tests.conftest import ROOT
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS
from tests.workload import draw, find_touched_files, is_drawn, run_git

TOOLS = ROOT / "tools"
LIBRARY_NAME = "linux_x86_64.abi3.so"
LIBRARY = native.LIBRARY_FOLDER / LIBRARY_NAME
DRAWN_KERNELS = 3  # of all; one takes up to a minute of a processor
LATEST_LIBRARIES = 3  # commits of the library; one of the kernels that they changed is built, too

BUILD = """
import json, sys
from pathlib import Path
tools, folder, kernels, page_kernels = sys.argv[1], Path(sys.argv[2]), *map(json.loads, sys.argv[3:])
sys.path.insert(0, tools)
from native import build
from native.optimise import Target, is_built
from native.platforms import PLATFORMS, WEB_ASSEMBLY
home = PLATFORMS["linux_x86_64"]
portable_v3 = home._replace(targets=(Target("portable", "x86_64-unknown-linux-gnu", "x86-64-v3", 4),))
objects = folder / "objects"
build.compile_kernels(objects, kernels, (home, portable_v3, WEB_ASSEMBLY))
libraries = {home: folder / build.get_file_name(home), portable_v3: folder / "v3.abi3.so"}
build.build(libraries, objects, kernels)
web_kernels = [name for name in kernels if is_built(name, WEB_ASSEMBLY.targets[0])]
build.build_web_assembly(folder / "web.wasm", web_kernels, objects)
if page_kernels:
    build.build_web_assembly(folder / "page.wasm", page_kernels, objects)
"""


class FreshBuild(NamedTuple):
    """Paths of what was built, and the kernels' names.

    kernels       in both libraries
    library       for this platform
    portable_v3   the same platform, with the portable level alone, for processors of the level v3
    web_wasm      those of four lanes at most
    page_wasm     those of docs/try.html; absent where they are not drawn
    """

    kernels: list[str]
    library: Path
    portable_v3: Path
    web_wasm: Path
    page_wasm: Path


def read_page_script(name: str) -> str:
    """Read the content of a script element of docs/try.html."""
    page = (ROOT / "docs" / "try.html").read_text(encoding="utf-8")
    return page.partition(f'id="poise-{name}">')[2].partition("</script>")[0]


def choose_kernels(folder: Path) -> list[str]:
    """Choose the kernels that are built: some of all, and one of those that the latest libraries changed.

    folder  for an earlier library
    """
    kernels, changed = sorted(stamps.compute_kernel_stamps()), sorted(find_changed_kernels(folder))
    return sorted({*draw("kernels", kernels, DRAWN_KERNELS), *draw("changed kernels", changed, 1)})


def choose_page_kernels() -> list[str]:
    """Choose the kernels of the page: all where the commit draws or changes them, or none."""
    is_chosen = is_drawn("page", 6) or ROOT / "docs" / "try.html" in find_touched_files()
    return list(json.loads(read_page_script("scenes"))["stamps"]) if is_chosen else []


@cache
def find_changed_kernels(folder: Path) -> set[str]:
    """Find the kernels with other code than in an earlier library, written to a folder once: it stays loaded."""
    path = LIBRARY.relative_to(ROOT).as_posix()
    commits = run_git("log", f"-{LATEST_LIBRARIES + 1}", "--format=%H", "--", path).decode().split()
    if not commits:
        return set()
    earlier = folder / "earlier.abi3.so"
    earlier.write_bytes(run_git("show", f"{commits[-1]}:{path}"))
    return {stamp.partition("=")[0] for stamp in read_stamps(LIBRARY) - read_stamps(earlier)}


def read_stamps(library: Path, attribute: str = "object_stamps") -> set[str]:
    """Read the stamps of a library's object files: `limits.clamp_rotations=1f2e3d`. Empty where it cannot be loaded."""
    return set(getattr(native.load_library_file(library), attribute, "").split())


@pytest.fixture(scope="session")
def fresh_build(tmp_path_factory) -> FreshBuild:
    """Build all that the tests of the library compare."""
    pytest.importorskip("ziglang", reason="scripts/test installs it")
    folder = once(tmp_path_factory, "fresh-build", make_fresh_build)
    kernels = json.loads((folder / "kernels.json").read_text())
    return FreshBuild(kernels, folder / LIBRARY_NAME, folder / "v3.abi3.so", folder / "web.wasm", folder / "page.wasm")


def make_fresh_build(folder: Path) -> None:
    """Build the files of a FreshBuild in a folder. It has no objects of earlier builds."""
    folder.mkdir(exist_ok=True)
    kernels, page_kernels = json.dumps(choose_kernels(folder)), json.dumps(choose_page_kernels())
    (folder / "kernels.json").write_text(kernels)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, TOOLS, folder, kernels, page_kernels], capture_output=True, text=True,
        check=False, timeout=2 * PROCESS, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

"""A build of all kernels from their sources alone, made once for all tests of a run.

Numba's front end takes most of the time, and one run of it serves every target.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS

TOOLS = ROOT / "tools"
LIBRARY_NAME = "linux_x86_64.abi3.so"

BUILD = """
import json, sys
from pathlib import Path
tools, folder, page_kernels = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
sys.path.insert(0, tools)
from native import build
from native.kernel_modules import import_kernels
from native.optimise import Target
from native.platforms import PLATFORMS, WEB_ASSEMBLY
home = PLATFORMS["linux_x86_64"]
portable_v3 = home._replace(targets=(Target("portable", "x86_64-unknown-linux-gnu", "x86-64-v3", 4),))
objects = folder / "objects"
build.compile_kernels(objects, sorted(import_kernels()), (home, portable_v3, WEB_ASSEMBLY))
build.build({home: folder / build.get_file_name(home), portable_v3: folder / "v3.abi3.so"}, objects)
build.build_web_assembly(folder / "all.wasm", [], objects)
build.build_web_assembly(folder / "page.wasm", page_kernels, objects)
"""


class FreshBuild(NamedTuple):
    """Paths of what was built.

    library       for this platform
    portable_v3   the same platform, with the portable level alone, for processors of the level v3
    all_wasm      every kernel of four lanes at most
    page_wasm     those of docs/try.html
    """

    library: Path
    portable_v3: Path
    all_wasm: Path
    page_wasm: Path


def read_page_script(name: str) -> str:
    """Read the content of a script element of docs/try.html."""
    page = (ROOT / "docs" / "try.html").read_text(encoding="utf-8")
    return page.partition(f'id="poise-{name}">')[2].partition("</script>")[0]


@pytest.fixture(scope="session")
def fresh_build(tmp_path_factory) -> FreshBuild:
    """Build all that the tests of the library compare."""
    pytest.importorskip("ziglang", reason="scripts/test installs it")
    folder = once(tmp_path_factory, "fresh-build", make_fresh_build)
    return FreshBuild(folder / LIBRARY_NAME, folder / "v3.abi3.so", folder / "all.wasm", folder / "page.wasm")


def make_fresh_build(folder: Path) -> None:
    """Build the files of a FreshBuild in a folder. It has no objects of earlier builds."""
    folder.mkdir(exist_ok=True)
    page_kernels = json.dumps(list(json.loads(read_page_script("scenes"))["stamps"]))
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(TOOLS), str(folder), page_kernels], capture_output=True, text=True,
        check=False, timeout=2 * PROCESS, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

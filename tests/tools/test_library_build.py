"""The build of the library of kernels: the check of a library, and the same bytes from the same sources."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from poise.kernels import native
from tests.conftest import ROOT
from tests.timeouts import PROCESS
from tests.tools.fresh_build import LIBRARY, read_page_script, read_stamps
from tests.workload import LONG

pytestmark = pytest.mark.skipif(
    not native.get_library_path().exists(), reason="this platform has no library of kernels: they are compiled"
)
TOOLS = ROOT / "tools" / "native"


def run_build(tools: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run build.py of a folder of tools."""
    pytest.importorskip("ziglang", reason="scripts/test installs it")
    return subprocess.run(
        [sys.executable, tools / "build.py", *arguments], capture_output=True, text=True, check=False, timeout=PROCESS,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip


class TestCheck:
    @pytest.mark.long
    def test_the_library_belongs_to_sources_and_tools(self):
        """A kernel or a tool was edited and the library not built again: run scripts/kernels."""
        done = run_build(TOOLS, "--check")
        assert (done.returncode, done.stdout) == (
            0,
            "linux_x86_64.abi3.so belongs to these sources and tools\n",
        ), done.stdout + done.stderr

    @pytest.mark.long
    def test_a_changed_tool_is_named(self, tmp_path):
        tools = shutil.copytree(TOOLS, tmp_path / "native")
        for name in ("glue.c", "python_abi.h"):
            with (tools / name).open("a", encoding="utf-8") as file:
                file.write("/* changed */\n")
        done = run_build(tools, "--check")
        assert done.returncode == 1
        assert done.stdout == (
            "linux_x86_64.abi3.so was built with other versions of glue.c, python_abi.h\nrun: scripts/kernels\n"
        )


@pytest.mark.long
def test_a_fresh_build_has_the_code_of_the_library(fresh_build):
    """Tests of the tracked library are tests of a build from the sources."""
    difference = find_difference(fresh_build.library)
    if not difference and LONG and fresh_build.library.read_bytes() != LIBRARY.read_bytes():
        difference = "neither in kernels nor by tools: in the linked parts"
    if difference:
        pytest.fail(f"the library of kernels differs from a fresh build {difference}: run scripts/kernels")


@pytest.mark.long
def test_a_fresh_build_has_the_bytes_of_the_page(fresh_build):
    """Tests of the WebAssembly in docs/try.html are tests of a build from the sources, too."""
    if not fresh_build.page_wasm.exists():
        pytest.skip("this commit does not draw the kernels of pages")
    kernels = base64.b64decode(read_page_script("kernels"))
    assert fresh_build.page_wasm.read_bytes() == kernels, "run: python docs/try_page/_build.py --compile"


COMPILE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from native import build
from native.platforms import PLATFORMS
from poise.kernels import stamps
home = PLATFORMS["linux_x86_64"]
for name in sys.argv[3:]:
    platforms = (home._replace(targets=home.targets[:1]),)
    build._compile_alone(Path(sys.argv[2]), name, stamps.compute_kernel_stamps()[name], platforms)
"""


@pytest.mark.long
def test_what_is_built_before_a_kernel_does_not_change_it(tmp_path):
    """Both kernels call a function that Numba compiles once for a process."""
    pytest.importorskip("ziglang", reason="scripts/test installs it")
    found, names = [], ("kernel_coordinates.convert_targets", "kernel_coordinates.convert_u_to_q")
    for built in (names, names[1:]):
        folder = tmp_path / str(len(built))
        folder.mkdir()
        command = [sys.executable, "-c", COMPILE, str(TOOLS.parent), str(folder), *built]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROCESS)
        assert done.returncode == 0, done.stderr
        found.append({path.name: path.read_bytes() for path in folder.glob(f"{names[1]}-*")})
    assert found[0] == found[1] != {}


def find_difference(built: Path) -> str:
    """Find the kernels with other code in a fresh build of some, or else the changed tools. Empty: there are none."""
    for attribute, words in (("object_stamps", "in the kernels"), ("tool_stamps", "by the tools")):
        differing = read_stamps(built, attribute) - read_stamps(LIBRARY, attribute)
        if differing:
            return f"{words} {', '.join(sorted(each.partition('=')[0] for each in differing))}"
    return ""


def test_a_differing_kernel_is_found(monkeypatch):
    """The comparison itself: two libraries with another stamp of one kernel."""

    class Library:
        tool_stamps = "glue.c=1 numba=2"

        def __init__(self, path: Path) -> None:
            self.object_stamps = "fabrik.solve=1 limits.clamp=" + ("2" if path == LIBRARY else "3")

    monkeypatch.setattr(native, "load_library_file", Library)
    assert find_difference(Path("built")) == "in the kernels limits.clamp"
    assert find_difference(LIBRARY) == ""

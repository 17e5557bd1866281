"""The solver and the format that tutorials make work in the folders of the library, too."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import DOCS, blocks
from tests.docs.test_blocks import folder as folder

# --- 9 and 10: the files that they make are a solver and a format of the library in its folder ------------------------

_AS_IN_THE_FOLDER = """
import sys, poise, poise.io.formats, poise.solvers
poise.io.formats.__path__.append(sys.argv[1])
poise.solvers.__path__.append(sys.argv[1])
"""
_FORMAT = """
lamp = poise.load("lamp.stick")
poise.save(poise.solve(lamp.rest, poise.Position("bulb", [0.3, 0.25, 0.15])).require().pose, "posed.stick")
assert abs(poise.load("posed.stick").pose.world["bulb"].positions - [0.3, 0.25, 0.15]).max() < 1e-4
"""
_SOLVER = """
arm = poise.load("arm.urdf")
result = poise.solve(arm.rest, poise.Position("tool", [0.3, 0.2, 0.5]), solver="nudge", tolerance=1e-4).require()
assert result.solver == "nudge"
"""


def codes(page):
    page = (DOCS / "tutorials" / page).read_text(encoding="utf-8")
    return [block.code for block in blocks(page) if block.language == "python"]


def run_beside(folder, code):
    done = subprocess.run(
        [sys.executable, "-c", _AS_IN_THE_FOLDER + code, str(folder)], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_format_of_tutorial_10_is_one_of_the_library_in_its_folder(folder):
    lamp, read, _, write, *_ = codes("10-your-own-format.md")
    exec(lamp, {})  # noqa: S102
    module = "\n".join([read.split("lamp = read(")[0], "from pathlib import Path", write.split("write(result.pose")[0]])
    (folder / "stick.py").write_text(module, encoding="utf-8")
    run_beside(folder, _FORMAT)


def test_the_solver_of_tutorial_9_is_one_of_the_library_in_its_folder(folder):
    (folder / "nudge.py").write_text(codes("09-your-own-solver.md")[0] + "\nSolver = Nudge\n", encoding="utf-8")
    run_beside(folder, _SOLVER)

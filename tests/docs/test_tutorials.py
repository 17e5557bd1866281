"""What tutorials and concepts show is what their blocks print, and their own solver and format work where they say."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import types
from typing import NamedTuple

import pytest

from tests.docs.pages import DOCS, name
from tests.docs.test_blocks import folder as folder

PAGES = sorted([*(DOCS / "tutorials").glob("[0-9]*.md"), *(DOCS / "concepts").glob("*.md")])
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\s*^```text\n(?P<text>.*?)^```)?", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?|\b(nan|inf)\b")  # nan: a busy machine compares less


class Shown(NamedTuple):
    """A Python block, and the text below it that shows what it prints; None where there is none."""

    code: str
    text: str | None
    line: int


def shown(page):
    return [
        Shown(found["code"], found["text"], page.count("\n", 0, found.start("code")) + 1)
        for found in _BLOCK.finditer(page)
    ]


def words(text):
    """Lines without the values of their numbers, which may differ in their last digits from machine to machine."""
    lines = [" ".join(_NUMBER.sub("#", line).replace("[", "[ ").split()) for line in text.splitlines()]
    return [line.replace("[ ", "[") for line in lines if line]


def agree(printed, text):
    """Whether a text shows what was printed; a line of it may end with ... for what is left out."""
    lines, expected = words(printed), words(text)
    return len(lines) == len(expected) and all(
        line.startswith(wanted.removesuffix("...")) if wanted.endswith("...") else line == wanted
        for line, wanted in zip(lines, expected, strict=True)
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", PAGES, ids=name)
def test_what_a_page_shows_is_what_its_blocks_print(path):
    namespace = types.ModuleType("__main__").__dict__
    for block in shown(path.read_text(encoding="utf-8")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), namespace)  # noqa: S102
        if block.text is not None:
            assert agree(out.getvalue(), block.text), f"{path}:{block.line}: the block prints\n{out.getvalue()}"


def test_agreeing_looks_at_words_and_not_at_digits():
    assert agree("reached: 7.85e-14 mm left\n[ 0.4  1.2]\n", "reached: 1e-13 mm left\n[0.4 1.2]\n")
    assert agree("joints: Hips, Spine, Chest\n", "joints: Hips, ...\n")
    assert not agree("reached: 1 mm left\n", "stalled: 1 mm left\n")
    assert not agree("one\n", "one\ntwo\n")


# --- 9 and 10: the files that they make are a solver and a format of the library in its folder ------------------------

_AS_IN_THE_FOLDER = """
import sys, poise, poise.io, poise.solvers
poise.io.__path__.append(sys.argv[1])
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
    return [block.code for block in shown((DOCS / "tutorials" / page).read_text(encoding="utf-8"))]


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

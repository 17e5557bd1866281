"""The recipes of docs/contributing.md, followed word for word in a copy of the package.

A recipe is a section "Add a ..." with numbered steps. A step ends in a fenced block; its words say what to do with it:

    Create `FILE`:
    In `FILE`, after the line `LINE`, add:
    In `FILE`, replace the line `LINE` with:
    anything else, with a bash block: run its lines
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.timeouts import PROCESS

GUIDE = ROOT / "docs" / "contributing.md"
_STEP = re.compile(r"^(\d+)\. (.*?)\n\n   ```(\w+)\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)
_CREATE = re.compile(r"Create `([^`]+)`:$")
_AFTER = re.compile(r"In `([^`]+)`, after the line `([^`]+)`, add\b.*:$")
_REPLACE = re.compile(r"In `([^`]+)`, replace the line `([^`]+)` with:$")


class Step(NamedTuple):
    """What is said, the language of the block, and the block."""

    words: str
    language: str
    block: str


def recipe(title):
    """The steps of a section of the guide, in order."""
    sections = re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    section = next(text for text in sections if text.startswith(f"{title}\n"))
    found = [
        (int(number), Step(re.sub(r"\n   ", " ", words), language, re.sub(r"^   ", "", block, flags=re.MULTILINE)))
        for number, words, language, block in _STEP.findall(section)
    ]
    assert [number for number, _ in found] == list(range(1, section.count("\n   ```") // 2 + 1)), "a step is not read"
    return [step for _, step in found]


def copy_to(folder):
    """A copy of what the recipes need: the package, its tests, the project's settings.

    The kernels are the original's, with their machine code: no recipe changes one.
    """
    kernels = Path("src", "poise", "kernels")

    def left_out(at: str, _names: list[str]) -> list[str]:
        return [kernels.name] if Path(at) == (ROOT / kernels).parent else []

    shutil.copytree(ROOT / "src", folder / "src", ignore=left_out)
    shutil.copytree(ROOT / "tests", folder / "tests")
    shutil.copy2(ROOT / "pyproject.toml", folder)
    (folder / kernels).symlink_to(ROOT / kernels, target_is_directory=True)
    return folder


def follow(step, folder):
    """Do what a step says; the output of what it runs, which must end with exit code 0."""
    if step.language == "bash":
        return "".join(_run(line, folder) for line in step.block.splitlines())
    if created := _CREATE.match(step.words):
        path = folder / created[1]
        assert not path.exists(), f"{created[1]} exists already"
        path.write_text(step.block, encoding="utf-8")
        return ""
    name, line = (_AFTER.match(step.words) or _REPLACE.match(step.words)).groups()
    text = (folder / name).read_text(encoding="utf-8")
    assert text.splitlines().count(line) == 1, f"{name} has no single line {line!r}"
    kept = f"{line}\n" if _AFTER.match(step.words) else ""
    (folder / name).write_text(text.replace(f"{line}\n", f"{kept}{step.block}"), encoding="utf-8")
    return ""


def file_of(step):
    """The file that a step creates or changes; empty where it runs something."""
    done = _CREATE.match(step.words) or _AFTER.match(step.words) or _REPLACE.match(step.words)
    return done[1] if done else ""


def _run(line, folder):
    """What a command of the guide prints."""
    program, *arguments = shlex.split(line)
    beside = Path(sys.executable).with_name(program)  # as after `source .venv/bin/activate`
    more = ["-rA", "-x", "-p", "no:cacheprovider"] if program == "pytest" else []
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [beside, *arguments, *more], cwd=folder, env=environment, capture_output=True, text=True, timeout=PROCESS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout

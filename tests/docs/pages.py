"""The documentation's pages and the code in them."""

from __future__ import annotations

import re
import shlex
import types
from typing import NamedTuple

from tests.command_line import run
from tests.conftest import ROOT

DOCS = ROOT / "docs"
GENERATED = ("_build", "_figures", "api", "results")
_FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<language>python|bash)[ \t]*\n(?P<code>.*?)^(?P=ticks)[ \t]*$", re.MULTILINE | re.DOTALL
)
_EXPECTED = re.compile(r"#\s*exits (\d+)\s*$")


class Block(NamedTuple):
    """A fenced block of a page: its language, its code, and the line that its code begins at."""

    language: str
    code: str
    line: int


def pages():
    """Every page that a person wrote, in order."""
    found = (path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in GENERATED)
    return sorted(found)


def name(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


def blocks(text):
    """The Python and shell blocks of a page, in order."""
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1)
        for found in _FENCE.finditer(text)
    ]


def commands(block):
    """What is run of a shell block: (line, arguments, exit code) of each line that begins with `poise `."""
    found = []
    joined = re.sub(r"\\\n\s*", " ", block.code)
    for offset, line in enumerate(joined.splitlines()):
        if line.startswith("poise "):
            expected = _EXPECTED.search(line)
            arguments = shlex.split(line, comments=True)[1:]
            found.append((block.line + offset, arguments, int(expected[1]) if expected else 0))
    return found


def run_page(path):
    """Run a page's blocks in order in one namespace; what fails names the page and its line."""
    module = types.ModuleType("__main__", f"The blocks of {path}.")
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.code  # so that a traceback shows the page's own lines
            exec(compile(padded, str(path), "exec"), module.__dict__)  # noqa: S102
            continue
        for line, arguments, expected in commands(block):
            assert not {"|", ">", "<", "&&", ";"} & set(arguments), f"{path}:{line}: only plain commands are run"
            done = run(*arguments)
            assert done.returncode == expected, f"{path}:{line}: exit code {done.returncode}\n{done.stderr}"

"""The documentation's pages and the code in them."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import sys
import tokenize
import types
from typing import NamedTuple

from tests.command_line import run
from tests.conftest import ROOT

DOCS = ROOT / "docs"
GENERATED = ("_build", "_figures", "command-line", "results")
_FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<language>python|bash)[ \t]*\n(?P<code>.*?)^(?P=ticks)[ \t]*$", re.MULTILINE | re.DOTALL
)
_TEXT = re.compile(r"\s*^```text\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?|\b(nan|inf)\b")  # nan: a busy machine compares less
_SHOWING = ("tutorials", "concepts")  # folders whose pages show below a block what it prints
_EXPECTED = re.compile(r"#\s*exits (\d+)\s*$")


class Block(NamedTuple):
    """A fenced block of a page: its language, its code, the line that its code begins at, and the text right below."""

    language: str
    code: str
    line: int
    text: str | None = None


def pages():
    """Every page that a person wrote, in order."""
    found = (path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in GENERATED)
    return sorted(found)


def name(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


def blocks(text):
    """The Python and shell blocks of a page, in order."""
    return [
        Block(found["language"], found["code"], text.count("\n", 0, found.start("code")) + 1, _below(text, found.end()))
        for found in _FENCE.finditer(text)
    ]


def _below(text, end):
    found = _TEXT.match(text, end)
    return None if found is None else found["text"]


def words(text):
    """Lines without the values of their numbers, which may differ in their last digits from machine to machine."""
    spaced = _NUMBER.sub("#", text).replace("[", "[ ").replace("]", " ]")
    lines = [" ".join(line.split()) for line in spaced.splitlines()]
    return [line.replace("[ ", "[").replace(" ]", "]") for line in lines if line]


def agree(printed, text):
    """Whether a text shows what was printed; its lines may have ... for what is left out."""
    lines, expected = words(printed), words(text)
    return len(lines) == len(expected) and all(
        re.fullmatch(".*".join(map(re.escape, wanted.split("..."))), line)
        for line, wanted in zip(lines, expected, strict=True)
    )


class Printer:
    """A `print` that also remembers the first text of each line of a file that calls it."""

    def __init__(self, path):
        self.path, self.texts = str(path), {}

    def __call__(self, *values, **options):
        caller, out = sys._getframe(1), io.StringIO()
        print(*values, **{**options, "file": out})  # noqa: T201
        if caller.f_code.co_filename == self.path:
            self.texts.setdefault(caller.f_lineno, out.getvalue())
        print(*values, **options)  # noqa: T201


def comments(code):
    """Comments behind the prints of a module: line of the print -> comment without its mark."""
    ends = {
        node.end_lineno: node.lineno
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return {
        ends[token.start[0]]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT and token.start[0] in ends
    }


def check_comments(path, code, texts):
    """Check that each comment behind a print is what that prints the first time, numbers aside."""
    for line, comment in comments(code).items():
        assert line in texts, f"{path}:{line}: prints nothing"
        assert agree(texts[line], comment), f"{path}:{line}: prints\n{texts[line]}"


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
    """Run a page's blocks in order in one namespace; what fails names the page and its line.

    What a page of _SHOWING has as text below a block is compared with what that prints, numbers aside. So is each
    comment behind a print, on every page.
    """
    module, printer = types.ModuleType("__main__", f"The blocks of {path}."), Printer(path)
    module.print = printer
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.code  # so that a traceback shows the page's own lines
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(padded, str(path), "exec"), module.__dict__)  # noqa: S102
            check_comments(path, padded, printer.texts)
            if block.text is not None and path.parent.name in _SHOWING:
                assert agree(out.getvalue(), block.text), f"{path}:{block.line}: the block prints\n{out.getvalue()}"
            continue
        for line, arguments, expected in commands(block):
            assert not {"|", ">", "<", "&&", ";"} & set(arguments), f"{path}:{line}: only plain commands are run"
            done = run(*arguments)
            assert done.returncode == expected, f"{path}:{line}: exit code {done.returncode}\n{done.stderr}"

"""Every example runs, and so does every Python and shell line of the README."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from tests.conftest import ROOT
from tests.docs.pages import Printer, blocks, check_comments, run_page

pytestmark = pytest.mark.long

README = ROOT / "README.md"


def case(value, text, name):
    """A parameter; long where its code asks for JAX."""
    return pytest.param(value, marks=[pytest.mark.long] if "jax" in text else [], id=name)


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", [case(path, path.read_text(encoding="utf-8"), path.stem) for path in EXAMPLES])
def test_example(path, tmp_path, monkeypatch):
    """It runs, and comments behind its prints are what these print."""
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path)])
    printer = Printer(path)
    runpy.run_path(str(path), init_globals={"print": printer}, run_name="__main__")
    check_comments(path, path.read_text(encoding="utf-8"), printer.texts)


@pytest.mark.usefixtures("unattended")
def test_the_readme_runs_from_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = [block.language for block in blocks(README.read_text(encoding="utf-8"))]
    assert min(code.count("python"), code.count("bash")) >= 4
    run_page(README)


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 160


def test_readme_links_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target

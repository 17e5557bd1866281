"""The solver pages: one for every solver, with all sections, and with the options and figures that the code has."""

from __future__ import annotations

import importlib.util
import re

import pytest

from poise import solvers
from tests.docs.pages import DOCS, blocks

FOLDER, FIGURES = DOCS / "solvers", DOCS / "figures"
SECTIONS = (
    "The idea", "The formula", "The method in twenty lines", "A real solve", "When to use it", "When not",
    "Degenerate cases", "What Poise does differently", "Check it yourself", "Measured", "Options", "Sources",
)  # fmt: skip


def _loaded():
    spec = importlib.util.spec_from_file_location("solver_tables", FOLDER / "_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = _loaded()


def page(name):
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def test_every_solver_has_a_page_and_every_page_a_solver():
    assert sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index") == sorted(solvers.names())


@pytest.mark.parametrize("name", solvers.names())
def test_the_page_has_its_sections(name):
    text = page(name)
    assert re.match(r"# .+\n\nThis page explains ", text)
    assert tuple(re.findall(r"^## (.+)$", text, flags=re.MULTILINE)) == SECTIONS
    assert all(tables.section(text, title) for title in SECTIONS)
    assert "$$" in tables.section(text, "The formula")
    assert 2 <= len(re.findall(r"[.!?:](?:\s|$)", tables.section(text, "The idea").partition("\n\n")[0])) <= 4


@pytest.mark.parametrize("name", solvers.names())
def test_what_is_written_from_the_code_agrees_with_it(name):
    """To put it right: `python docs/solvers/_tables.py`."""
    for title, write in tables.WRITTEN.items():
        assert tables.section(page(name), title) == write(name).strip(), title
    assert tables.rewritten(name, page(name)) == page(name)


@pytest.mark.parametrize("name", solvers.names())
def test_the_page_proves_what_it_says(name):
    shown = [block.code for block in blocks(tables.section(page(name), "Check it yourself") + "\n")]
    assert any("assert " in code for code in shown)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n == "autodiff")) for n in solvers.names()]
)
def test_the_method_in_twenty_lines_is_the_classic_option(name):
    """The lines use NumPy only, and agree with Poise on 100 targets."""
    codes = [block.code for block in blocks(tables.section(page(name), "The method in twenty lines") + "\n")]
    methods = [code for code in codes if "poise" not in code]
    assert methods
    assert all(count_lines(code) <= 20 for code in methods)
    values = {}
    for code in codes:
        exec(code, values)  # noqa: S102
    assert values["result"].solver == name
    assert len(values["targets"]) == len(values["by_hand"]) == 100
    assert values["difference"] < 1e-12


def count_lines(code):
    """Count the lines of code, without blank lines, comments, imports and docstrings of one line."""
    lines = [line.strip() for line in code.splitlines()]
    return sum(bool(line) and not line.startswith(("#", "import ", '"""')) for line in lines)


def test_lines_of_code_are_counted():
    assert count_lines('import numpy as np\n\ndef f(x):\n    """Double."""\n    # twice\n    return 2 * x\n') == 2


@pytest.mark.parametrize("name", solvers.names())
def test_the_page_shows_its_figure(name):
    alt, figure = re.search(
        r"!\[(.+?)\]\(\.\./_figures/(\w+)\.svg\)", tables.section(page(name), "A real solve")
    ).groups()
    assert figure == f"solver_{name}"
    assert (FIGURES / f"{figure}.py").is_file()
    assert len(alt) > 80


def test_no_figure_of_a_solver_is_left_over():
    shown = {
        found for path in DOCS.glob("**/*.md") for found in re.findall(r"_figures/(solver_\w+)\.svg", path.read_text())
    }
    assert shown == {path.stem for path in FIGURES.glob("solver_*.py")}


def test_the_guide_answers_first():
    """Leg, spine and robot arm stand in a table at the top, and every solver is linked."""
    guide = (DOCS / "which-solver.md").read_text(encoding="utf-8")
    rows = [line for line in guide.splitlines()[:25] if line.startswith("| [")]
    for what in ("leg", "spine", "robot arm"):
        assert any(what in row for row in rows), what
    anchors = re.findall(r"\]\(#([\w-]+)\)", "\n".join(rows))
    headings = [
        re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-")
        for text in re.findall(r"^## (.+)$", guide, flags=re.MULTILINE)
    ]
    assert anchors == headings[: len(anchors)]
    assert len(anchors) == len(rows) >= 9
    assert set(re.findall(r"\(solvers/(\w+)\.md\)", guide)) == set(solvers.names())

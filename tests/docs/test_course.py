"""The course: its topics, exercises with answers, and a bibliography with the sources of code and pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.docs.pages import DOCS, blocks

COURSE = (DOCS / "course" / "index.md").read_text(encoding="utf-8")
ANSWERS = (DOCS / "course" / "answers.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (DOCS / "bibliography.md").read_text(encoding="utf-8")
TOPICS = (
    "Cyclic coordinate descent", "Hinges", "Ranges", "Jacobian transpose against CCD", "Damped least squares", "FABRIK",
    "Two bones", "Feet", "Annealing",
)  # fmt: skip
YEAR = re.compile(r"(?<![\w.*/=-])(?:19[4-9]\d|20[0-2]\d)(?![\w*/-]|\.\d)")
BEFORE = 200  # characters before a year that may name its authors


def split_sections(text):
    """Title -> text of the sections of a page."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def anchor(title):
    return re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")


@cache
def entries():
    """(surnames, years) of each entry of the bibliography."""
    found = re.findall(r"^- (.+?)(?=\n[-#]|\n\n|\Z)", BIBLIOGRAPHY, flags=re.MULTILINE | re.DOTALL)
    authors = [(entry.partition(":")[0], entry) for entry in found]
    return [(re.findall(r"[A-Z][a-z]{2,}", names), YEAR.findall(entry)) for names, entry in authors]


def is_listed(before, year):
    """Whether the bibliography has an entry of this year by a person who is named before it."""
    return any(year in years and any(name in before for name in names) for names, years in entries())


def find_missing(text):
    """Years with their text before them that no entry belongs to."""
    text = " ".join(text.split())
    found = [(text[max(0, year.start() - BEFORE) : year.start()], year[0]) for year in YEAR.finditer(text)]
    return [f"{before[-80:]}{year}" for before, year in found if not is_listed(before, year)]


def read_prose(path):
    """Runs of comments, and docstrings, of a module."""
    code = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    prose = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(code)) if isinstance(node, documented)]
    run = ""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            run += token.string.lstrip("#") + " "
        elif token.type != tokenize.NL and run:
            prose, run = [*prose, run], ""
    return prose


def test_the_topics_are_in_their_order():
    assert [title[3:] for title in split_sections(COURSE) if title[0].isdigit()] == list(TOPICS)


@pytest.mark.parametrize("number", range(1, len(TOPICS) + 1))
def test_a_topic_says_what_to_read_to_run_and_to_do(number):
    text = split_sections(COURSE)[f"{number}. {TOPICS[number - 1]}"]
    assert re.findall(r"^- (Read|Run|Sources)\b", text, flags=re.MULTILINE) == ["Read", "Run", "Sources"]
    exercises = re.split(r"^\d\. ", text.partition("Exercises:\n")[2], flags=re.MULTILINE)[1:]
    assert len(exercises) >= 2
    assert all(re.search(r"\[Answer\]\(.+\)\s*$", exercise) for exercise in exercises)
    assert all((ROOT / example).is_file() for example in re.findall(r"`(examples/\w+\.py)`", text))
    assert find_missing(re.search(r"^- Sources: (.+?)\n\n", text, flags=re.MULTILINE | re.DOTALL)[1]) == []


def test_every_answer_belongs_to_an_exercise():
    linked = re.findall(r"\[Answer\]\(answers\.md#([\w-]+)\)", COURSE)
    assert linked == [anchor(title) for title in split_sections(ANSWERS)]
    for path, place in re.findall(r"\[Answer\]\(\.\./([\w/-]+\.md)#([\w-]+)\)", COURSE):
        assert place in map(anchor, split_sections((DOCS / path).read_text(encoding="utf-8"))), (path, place)


@pytest.mark.parametrize("title", split_sections(ANSWERS))
def test_an_answer_is_code_that_checks_itself(title):
    """tests/docs/test_blocks.py runs it."""
    assert any("assert " in block.code for block in blocks(split_sections(ANSWERS)[title]))


def test_sources_of_the_code_are_in_the_bibliography():
    paths = sorted((ROOT / "src").rglob("*.py"))
    missing = {path.name: found for path in paths for prose in read_prose(path) if (found := find_missing(prose))}
    assert missing == {}


def test_sources_of_the_solver_pages_are_in_the_bibliography():
    pages = sorted((DOCS / "solvers").glob("*.md"))
    texts = {page.stem: split_sections(page.read_text(encoding="utf-8")).get("Sources", "") for page in pages}
    assert {name: find_missing(text) for name, text in texts.items() if find_missing(text)} == {}


def test_what_is_missing_is_found():
    assert find_missing("as in Wang and Chen, IEEE 7(4), 1991") == []
    assert find_missing("as in Nobody, SIGGRAPH 1991") == ["as in Nobody, SIGGRAPH 1991"]
    assert find_missing("Buss 2003; options=2000; 2017-05-01") == ["Buss 2003"]

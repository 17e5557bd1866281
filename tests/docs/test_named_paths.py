"""Files and folders that the pages about the code name: they exist."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import DOCS
from tests.docs.recipes import file_of, recipe
from tests.docs.test_recipes import PROOFS

PAGES = {
    page.name: page
    for page in (DOCS / "architecture.md", DOCS / "contributing.md", DOCS / "viewer-protocol.md", DOCS / "checks.md")
}
NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|md|toml)|(?:[\w-]+/)+)(?=[`:]|$)")
SEARCHED = ("src", "tests", "docs", "benchmarks", "tools", "scripts", "examples")
MADE = {file_of(step) for title in PROOFS for step in recipe(title)} | {"docs/figures/NAME.py"}


def exists(name):
    """Whether a file or folder is somewhere in the repository under this name or the end of its path."""
    name = name.rstrip("/")
    if (ROOT / name).exists() or (ROOT / "src" / "poise" / name).exists():
        return True
    return any(next((ROOT / folder).rglob(name), None) is not None for folder in SEARCHED)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    named = set(NAMED.findall(PAGES[page].read_text(encoding="utf-8"))) - MADE
    assert named
    assert [name for name in sorted(named) if not exists(name)] == []


def test_what_is_not_there_is_found():
    assert not exists("problem/no_such_file.py")
    assert exists("problem/goals/")
    assert exists("goals/pole.py")

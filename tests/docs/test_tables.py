"""Measured tables stand in the pages, to be read without building: what is there is what the script would write."""

from __future__ import annotations

import re
import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import make_tables
from figures import _peers_table, _summary

SOLVED = {"answers", "forms"}  # for these, poses are solved; the others are read from benchmarks/results
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.mark.parametrize(("page", "name"), make_tables.TABLES)
def test_a_table_is_up_to_date(page, name):
    """Words and counts are the same; what was solved for the table may differ in its last digit on another machine."""
    shown = make_tables.table_in((make_tables.DOCS / page).read_text(encoding="utf-8"), name)
    wanted = make_tables.TABLES[page, name]().strip()
    again = "run python scripts/make_tables.py"
    assert NUMBER.sub("0", shown.strip()) == NUMBER.sub("0", wanted), again
    measured = [[float(number) for number in NUMBER.findall(text)] for text in (shown, wanted)]
    assert measured[0] == pytest.approx(measured[1], rel=0.06 if name in SOLVED else 0), again


def test_a_table_is_written_between_its_lines():
    page = "a\n\n<!-- written by scripts/make_tables.py: x -->\n\nold\n\n<!-- end of x -->\nb\n"
    made = make_tables.with_table(page, "x", "new 1\\g<2>")
    assert made == page.replace("old", "new 1\\g<2>")
    with pytest.raises(ValueError, match="no lines for 'y'"):
        make_tables.with_table(page, "y", "")


def test_the_best_peer_solves_as_much_and_is_the_quickest():
    peers = [("quick", 90.0, 1.0), ("best", 99.5, 3.0), ("slow", 100.0, 9.0)]
    assert _peers_table._best(peers, 100.0) == ("best", 99.5, 3.0)
    lines = _peers_table.lines()
    assert len(lines) == 5
    assert all(line.poise > 0 and line.theirs > 0 for line in lines)
    times = {row["peer"]: row["cpu_mean"] for row in _summary.facts("robots")["rows"]
             if row["robot"] == "panda" and row["task"] == "track" and row.get("ok") == 100.0}  # fmt: skip
    along = lines[2]
    assert along.theirs < min(time for peer, time in times.items() if not peer.startswith(("poise", "frankik_given")))


@pytest.mark.parametrize("folder", make_tables.FOLDERS)
def test_written_pages_are_up_to_date(folder):
    wanted = make_tables.FOLDERS[folder]()
    shown = {path.name: path.read_text(encoding="utf-8") for path in (make_tables.DOCS / folder).glob("*.md")}
    assert shown.keys() == wanted.keys(), "run python scripts/make_tables.py"
    assert [name for name, text in wanted.items() if shown[name] != text] == [], "run python scripts/make_tables.py"


def test_written_pages_replace_those_of_other_names(tmp_path):
    (tmp_path / "old.md").write_text("old")
    make_tables.write_folder(tmp_path, {"new.md": "new"})
    assert [path.name for path in tmp_path.iterdir()] == ["new.md"]


def test_pages_of_the_repository_show_their_tables():
    """Read without building the site, a page has its text and tables itself."""
    made = re.compile(r"\{include\}")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert [page.name for page in pages if made.search(page.read_text(encoding="utf-8"))] == []
    assert (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").count("](results/") > 40


def test_every_measured_figure_says_who_can_repeat_it():
    for row in _summary.text().splitlines()[2:]:
        assert re.search(r"\| (anyone|in part: lacks)[^|]*\|$", row), row
    for name, page in make_tables.FOLDERS["results"]().items():
        assert re.search(r"^\*\*Repeatable (by anyone|in part)\.\*\*", page, re.MULTILINE), name

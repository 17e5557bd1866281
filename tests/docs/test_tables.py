"""Measured tables stand in the pages, to be read without building: what is there is what the script would write."""

from __future__ import annotations

import re
import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import make_tables

NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.mark.parametrize(("page", "name"), make_tables.TABLES)
def test_a_table_is_up_to_date(page, name):
    """Words and counts are the same; what was solved for the table may differ in its last digit on another machine."""
    shown = make_tables.table_in((make_tables.DOCS / page).read_text(encoding="utf-8"), name)
    wanted = make_tables.TABLES[page, name]().strip()
    again = "run python scripts/make_tables.py"
    assert NUMBER.sub("0", shown.strip()) == NUMBER.sub("0", wanted), again
    measured = [[float(number) for number in NUMBER.findall(text)] for text in (shown, wanted)]
    assert measured[0] == pytest.approx(measured[1], rel=0 if name == "properties" else 0.06), again


def test_a_table_is_written_between_its_lines():
    page = "a\n\n<!-- written by scripts/make_tables.py: x -->\n\nold\n\n<!-- end of x -->\nb\n"
    made = make_tables.with_table(page, "x", "new 1\\g<2>")
    assert made == page.replace("old", "new 1\\g<2>")
    with pytest.raises(ValueError, match="no lines for 'y'"):
        make_tables.with_table(page, "y", "")

"""Write measured tables into pages, and whole pages of results and commands: `python scripts/make_tables.py`.

They are in the repository, so that who reads docs/ without building it sees them, too. A page has each table between
two lines, <!-- written by scripts/make_tables.py: NAME --> and <!-- end of NAME -->. A test finds those that are out of
date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
from figures import _classic_numbers, _compare_columns, _methods_table, _pages, _peers_table, _summary

DOCS = Path(__file__).parent.parent / "docs"

# The page, below docs, and the name of each table, with the function that gives its text.
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("methods.md", "properties"): _methods_table.text,
    ("classic.md", "answers"): _classic_numbers.answers,
    ("classic.md", "forms"): _classic_numbers.table,
    ("compare.md", "columns"): _compare_columns.text,
    ("performance.md", "summary"): _summary.text,
    ("performance.md", "machine"): _summary.machine,
    ("performance.md", "peers"): _peers_table.text,
    ("api/index.md", "names"): _pages.write_names,
    ("performance.md", "measurements"): _pages.write_measurements,
    ("../README.md", "peers"): _peers_table.text,
    ("../benchmarks/README.md", "benchmarks"): _pages.write_benchmarks,
}

# Folders below docs with written pages only, with the function that gives file name -> text.
FOLDERS: dict[str, Callable[[], Mapping[str, str]]] = {
    "results": _pages.write_result_pages,
    "command-line": _pages.write_command_pages,
}


def main() -> None:
    """Write all of them."""
    for (page, name), text in TABLES.items():
        path = DOCS / page
        path.write_text(with_table(path.read_text(encoding="utf-8"), name, text()), encoding="utf-8")
        print(f"{path}: {name}")
    for folder, pages in FOLDERS.items():
        write_folder(DOCS / folder, pages())
        print(DOCS / folder)


def write_folder(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the pages of a folder, and remove those of other names."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def table_in(page: str, name: str) -> str:
    """What a page has between the two lines of a table."""
    found = _between(name).search(page)
    if found is None:
        raise ValueError(f"the page has no lines for {name!r}")
    return found[2]


def with_table(page: str, name: str, text: str) -> str:
    """The page with another text between them."""
    table_in(page, name)
    return _between(name).sub(lambda found: f"{found[1]}{text.strip()}\n{found[3]}", page)


def _between(name: str) -> re.Pattern[str]:
    first, last = f"<!-- written by scripts/make_tables.py: {name} -->\n\n", f"\n<!-- end of {name} -->"
    return re.compile(f"({re.escape(first)})(.*?)({re.escape(last)})", re.DOTALL)


if __name__ == "__main__":
    main()

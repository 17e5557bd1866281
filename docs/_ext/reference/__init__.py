"""The API reference, made from the package itself: its public names, their signatures and docstrings.

topics      which page a name is on: found from the module that it lives in
docstrings  what a docstring holds: paragraphs, tables of aligned columns, code
members     the attributes and methods of a class
entries     a name as Markdown
commands    the command line as Markdown
"""

from __future__ import annotations

from pathlib import Path

from generated import write_pages
from sphinx.application import Sphinx

from reference import commands, entries, topics

FOLDER = Path(__file__).parent.parent.parent / "api"


def pages() -> dict[str, str]:
    """Every page of the reference: file name -> Markdown."""
    made = {f"{topic.file}.md": entries.page(topic) for topic in topics.TOPICS}
    made["command-line.md"] = commands.page()
    made["index.md"] = entries.index()
    return made


def write(_app: Sphinx) -> None:
    """Write the pages."""
    write_pages(FOLDER, pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the reference at the start of every build."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

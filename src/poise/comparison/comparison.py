"""The Comparison returned by compare(). It prints as a table and saves reports."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from poise.comparison.data import ComparisonData, format_table, format_verdict
from poise.io.files import encode_text, write_atomically

SUFFIXES = (".html", ".json", ".png", ".svg", ".pdf")  # suffixes of reports


class Comparison(ComparisonData):
    """Comparison of methods on the same targets.

    Parameters
    ----------
    task
        The task of all methods.
    methods
        In order of rank, methods unable to do the task last.
    machine
        Processor and software versions.
    settings
        Effort and seed.
    seconds
        Duration of the comparison [s].
    """

    @property
    def verdict(self) -> str:
        """The main findings in a few sentences."""
        return format_verdict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a report, JSON or figures.

        The suffix decides: a report (.html), everything as JSON (.json), or pictures (.png, .svg, .pdf; extra `plot`).

        Parameters
        ----------
        path
            The file. The page is self-contained and printable; a picture shows the figures of the page side by side.

        Raises
        ------
        InputError
            For another suffix.
        FileError
            If the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            write_atomically(path, json.dumps(self.document(), indent=1, allow_nan=False).encode())
        elif suffix == ".html":
            from poise.comparison.report.page import format_page  # noqa: PLC0415

            write_atomically(path, encode_text(format_page(self)))
        else:
            from poise.comparison.report.matplotlib_figure import write_figure  # noqa: PLC0415

            write_figure(path, self)

    def __str__(self) -> str:
        return format_table(self)

    def __repr__(self) -> str:
        return f"Comparison({self.task.title}: {', '.join(method.name for method in self.methods)})"

"""Progress bar of long calls, for `progress=True`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Advances a progress bar by an amount. The stage is shown before the bar."""

    def __call__(self, amount: float, stage: str = "") -> None:
        """Advance the bar."""


@contextmanager
def show_progress_bar(label: str, total: float) -> Generator[Advance]:
    """Show a progress bar on a terminal's standard error.

    Call the yielded function with the amount done since the last call, and a name of the current stage or "". An
    integer total is shown as a count, another one as a share.
    """
    from rich.console import Console  # noqa: PLC0415  (needed for the bar only)
    from rich.markup import escape  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    amount_column = MofNCompleteColumn() if isinstance(total, int) else TaskProgressColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount_column, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress_bar:
        task = progress_bar.add_task(label, total=total)

        def advance(amount: float, stage: str = "") -> None:
            text = escape(stage or label)
            progress_bar.update(task, advance=amount, description=text, refresh=bool(stage))

        yield advance

"""Progress bar of long calls, on a terminal's standard error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from poise.errors import escape_controls


class Advance(Protocol):
    """Advances a progress bar by an amount. The stage is shown before the bar."""

    def __call__(self, amount: float, stage: str = "") -> None:
        """Advance the bar."""


def ignore_progress(amount: float, stage: str = "") -> None:
    """Ignore progress, for calls without a bar."""


@contextmanager
def show_progress_bar(label: str, total: float, *, shows_rate: bool = False) -> Generator[Advance]:
    """Show a progress bar while the block runs, on terminals only.

    Call the yielded function with the amount done since the last call, and a name of the current stage or "". An
    integer total is shown as a count, another one as a share.

    Parameters
    ----------
    label
        Text before the bar, until a stage is named.
    total
        Amount of the whole.
    shows_rate
        Whether to show the amount per second.
    """
    from rich.console import Console  # noqa: PLC0415  (needed for the bar only)
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text  # noqa: PLC0415

    class RateColumn(ProgressColumn):
        """Column with the rate per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s")

    console = Console(stderr=True)
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn() if isinstance(total, int) else TaskProgressColumn(),
        *([RateColumn()] if shows_rate else []),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress_bar:
        task = progress_bar.add_task(label, total=total)

        def advance(amount: float, stage: str = "") -> None:
            text = escape_controls(stage or label)
            progress_bar.update(task, advance=amount, description=text, refresh=bool(stage))

        yield advance

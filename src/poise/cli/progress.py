"""Progress bar on standard error, in a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from poise.errors import escape_controls


class _RateColumn(ProgressColumn):
    """Column with the rate per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


@contextmanager
def show_progress(label: str, total: int, *, shows_rate: bool = False) -> Generator[Callable[[int, str], None]]:
    """Show a progress bar while the block runs.

    The yielded function takes the number of newly finished items and the current stage.
    """
    console = Console(stderr=True)
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        *([_RateColumn()] * shows_rate),
    ]
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(label, total=total)

        def advance(finished_count: int, stage: str = "") -> None:
            progress.update(task, advance=finished_count, description=escape_controls(stage or label))

        yield advance

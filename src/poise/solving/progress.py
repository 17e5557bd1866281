"""A progress bar on the terminal, for who asks for one with progress=True."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def bar(total: int) -> Generator[Callable[[int], None]]:
    """Show a bar on standard error while inside, if that is a terminal; call what it gives with the number done."""
    from rich.console import Console  # noqa: PLC0415  (only who wants a bar pays for it)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (TextColumn("solving"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("solving", total=total)
        yield lambda done: shown.advance(task, done)

"""Progress of long calls: reports, and the bar on a terminal."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TypeAlias

from poise.calls.argument_checks import check_function, describe_value
from poise.errors import InputError, escape_controls

ProgressFunction: TypeAlias = Callable[[int, int, str], None]  # takes done, total and stage
# Functions of version 0.1: with the number done since the last call, with stage and finished share, with the stage.
OldForm: TypeAlias = Literal["increment", "share", "stage"]


class Advance(Protocol):
    """Advances the progress by an amount. The stage names the present work."""

    def __call__(self, amount: int, stage: str = "", /) -> None:
        """Advance the progress."""


def ignore_progress(_amount: int, _stage: str = "", /) -> None:
    """Ignore an advance, where nobody asks for the progress."""


@contextmanager
def report_progress(
    progress: bool | ProgressFunction | None,
    label: str,
    total: int | None,
    *,
    old_form: OldForm | None = None,
    shows_rate: bool = False,
) -> Generator[Advance]:
    """Report the progress of the block as the argument `progress` says.

    Call the yielded function with the amount done since the last call. The end of the block counts as all done.

    Parameters
    ----------
    progress
        True: a bar on a terminal. A function: called with done, total and stage. False or None: nothing.
    label
        Stage without a name of its own.
    total
        Amount of all work; None if unknown. A function then gets the amount done as total.
    old_form
        Form of functions in version 0.1, which is still accepted, with a warning.
    shows_rate
        Whether the bar shows the amount per second.
    """
    checked_progress = check_progress(progress, old_form)
    if checked_progress is True:
        with show_progress_bar(label, total, shows_rate=shows_rate) as advance:
            yield advance
    else:
        counter = _Counter(checked_progress, label, total)
        yield counter
        counter.finish()


class _Counter:
    """Counter of the amount done. It calls the user's function."""

    def __init__(self, function: ProgressFunction | None, label: str, total: int | None) -> None:
        self.function, self.label, self.total, self.done = function, label, total, 0

    def __call__(self, amount: int, stage: str = "") -> None:
        self.done = self.done + amount if self.total is None else min(self.done + amount, self.total)
        if self.function is not None:
            self.function(self.done, self.done if self.total is None else self.total, stage or self.label)

    def finish(self) -> None:
        """Count everything as done."""
        if self.total is not None and self.done < self.total:
            self(self.total - self.done)


def forward_progress(advance: Advance) -> ProgressFunction:
    """Make a progress function for an inner call. It advances the outer progress."""
    last_done = 0

    def forward(done: int, _: int, stage: str) -> None:
        nonlocal last_done
        amount, last_done = done - last_done, done
        advance(amount, stage)

    return forward


@contextmanager
def show_progress_bar(label: str, total: int | None, *, shows_rate: bool = False) -> Generator[Advance]:
    """Show a progress bar on a terminal's standard error.

    Call the yielded function with the amount done since the last call, and a name of the current stage or "". The end
    of the block counts as all done.
    """
    from rich.console import Console  # noqa: PLC0415  (needed for the bar only)
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
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
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *([RateColumn()] * shows_rate),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress_bar:
        task = progress_bar.add_task(label, total=total)

        def advance(amount: int, stage: str = "") -> None:
            text = escape_controls(stage or label)
            progress_bar.update(task, advance=amount, description=text, refresh=bool(stage))

        yield advance
        progress_bar.update(task, completed=total, refresh=True)


# --- Check of the argument, with the forms of version 0.1 ------------------------------------------------------------


def check_progress(
    progress: bool | Callable[..., Any] | None, old_form: OldForm | None = None
) -> Literal[True] | ProgressFunction | None:
    """Check the argument `progress`. False becomes None, a function of an old form one of the present form."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return True
    function = check_function(progress, "progress")
    if _takes(function, 3):
        return function
    if old_form is not None and _takes(function, 2 if old_form == "share" else 1):
        _warn_of_old_form(old_form)
        return _OLD_FORMS[old_form](function)
    raise InputError(f"progress must be a function of done, total and stage, not {describe_value(progress)}")


def _takes(function: Callable[..., Any], argument_count: int) -> bool:
    """Return whether a function takes a number of arguments. Functions without a signature do, classes do not."""
    if isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(*range(argument_count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _warn_of_old_form(old_form: OldForm) -> None:
    """Warn of a function of the old form, at the user's call."""
    old_arguments = {"increment": "the number newly done", "share": "stage and share", "stage": "the stage"}[old_form]
    message = f"progress takes a function of done, total and stage; that of {old_arguments} goes with the next version"
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in {"poise", "contextlib"}:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, DeprecationWarning, stacklevel=depth)


def _adapt_increment(function: Callable[[int], None]) -> ProgressFunction:
    last_done = 0

    def report(done: int, _total: int, _stage: str) -> None:
        nonlocal last_done
        amount, last_done = done - last_done, done
        function(amount)

    return report


def _adapt_share(function: Callable[[str, float], None]) -> ProgressFunction:
    return lambda done, total, stage: function(stage, done / total)


def _adapt_stage(function: Callable[[str], None]) -> ProgressFunction:
    last_stage = ""

    def report(_done: int, _total: int, stage: str) -> None:
        nonlocal last_stage
        if stage != last_stage:
            last_stage = stage
            function(stage)

    return report


_OLD_FORMS: dict[OldForm, Callable[[Any], ProgressFunction]] = {
    "increment": _adapt_increment,
    "share": _adapt_share,
    "stage": _adapt_stage,
}

"""Undo and redo of documents with their displayed poses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.viewer.document.document import Document
from poise.viewer.solving import Outcome

_MOST = 200  # undo steps; documents share unchanged values


class Moment(NamedTuple):
    """Snapshot of a document, displayed q per view, and solve results."""

    document: Document
    shown: tuple[Floats, ...]
    outcomes: tuple[Outcome, ...] = ()


class Step(NamedTuple):
    """Undoable step: label and snapshot before it."""

    label: str
    before: Moment


@dataclass
class History:
    """Undo and redo steps."""

    past: list[Step] = field(default_factory=list[Step])
    future: list[Step] = field(default_factory=list[Step])

    def add(self, label: str, before: Moment) -> None:
        """Add a step and forget all undone steps."""
        self.past = [*self.past[1 - _MOST :], Step(label, before)]
        self.future = []

    def undo(self, now: Moment) -> Moment:
        """Go one step back. Raise InputError if there is none."""
        if not self.past:
            raise InputError("there is nothing to undo")
        label, before = self.past.pop()
        self.future.append(Step(label, now))
        return before

    def redo(self, now: Moment) -> Moment:
        """Go one step forward. Raise InputError if there is none."""
        if not self.future:
            raise InputError("there is nothing to redo")
        label, after = self.future.pop()
        self.past.append(Step(label, now))
        return after

    def clear(self) -> None:
        """Remove all steps."""
        self.past, self.future = [], []

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Labels of the next undo and redo steps."""
        return (self.past[-1].label if self.past else None, self.future[-1].label if self.future else None)

"""Undo and redo of documents with their displayed poses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.viewer.document.document import Document
from poise.viewer.view_solver import ViewOutcome

_MAX_UNDO_STEPS = 200  # undo steps; documents share unchanged values


class Snapshot(NamedTuple):
    """Snapshot of a document, displayed q per view, and solve results."""

    document: Document
    displayed_q: tuple[Floats, ...]
    outcomes: tuple[ViewOutcome, ...] = ()


class UndoStep(NamedTuple):
    """Undoable step: label and snapshot before it."""

    label: str
    snapshot: Snapshot


@dataclass
class History:
    """Undo and redo steps."""

    past: list[UndoStep] = field(default_factory=list[UndoStep])
    future: list[UndoStep] = field(default_factory=list[UndoStep])

    def add(self, label: str, snapshot: Snapshot) -> None:
        """Add a step and forget all undone steps."""
        self.past = [*self.past[1 - _MAX_UNDO_STEPS :], UndoStep(label, snapshot)]
        self.future = []

    def undo(self, current: Snapshot) -> Snapshot:
        """Go one step back. Raise InputError if there is none."""
        if not self.past:
            raise InputError("there is nothing to undo")
        label, previous = self.past.pop()
        self.future.append(UndoStep(label, current))
        return previous

    def redo(self, current: Snapshot) -> Snapshot:
        """Go one step forward. Raise InputError if there is none."""
        if not self.future:
            raise InputError("there is nothing to redo")
        label, following = self.future.pop()
        self.past.append(UndoStep(label, current))
        return following

    def clear(self) -> None:
        """Remove all steps."""
        self.past, self.future = [], []

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Labels of the next undo and redo steps."""
        return (self.past[-1].label if self.past else None, self.future[-1].label if self.future else None)

"""Undo and redo: the documents before and after, each with the poses that were shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.viewer.document.document import Document
from poise.viewer.solving import Outcome

_MOST = 200  # steps that are kept; documents share all that did not change


class Moment(NamedTuple):
    """A document, q of each view as it was shown then, and how it was found if it was solved to its end."""

    document: Document
    shown: tuple[Floats, ...]
    outcomes: tuple[Outcome, ...] = ()


class Step(NamedTuple):
    """What can be undone: its name, and the moment before it."""

    label: str
    before: Moment


@dataclass
class History:
    """Steps back and steps forward."""

    past: list[Step] = field(default_factory=list[Step])
    future: list[Step] = field(default_factory=list[Step])

    def add(self, label: str, before: Moment) -> None:
        """Something was done; what was undone before is forgotten."""
        self.past = [*self.past[1 - _MOST :], Step(label, before)]
        self.future = []

    def undo(self, now: Moment) -> Moment:
        """Go one step back; InputError where there is none."""
        if not self.past:
            raise InputError("there is nothing to undo")
        label, before = self.past.pop()
        self.future.append(Step(label, now))
        return before

    def redo(self, now: Moment) -> Moment:
        """Go one step forward again; InputError where there is none."""
        if not self.future:
            raise InputError("there is nothing to redo")
        label, after = self.future.pop()
        self.past.append(Step(label, now))
        return after

    def clear(self) -> None:
        """Forget everything."""
        self.past, self.future = [], []

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """What would be undone and redone."""
        return (self.past[-1].label if self.past else None, self.future[-1].label if self.future else None)

"""How a solve ended."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class Status(IntEnum):
    """How a solve ended. The numbers are stable; `Result.message` tells the same with figures.

    Attributes
    ----------
    reached
        0: every goal is met within the tolerance.
    out_of_reach
        1: the target is farther away than the chain is long, or nearer than it can fold.
    limited
        2: joint limits keep the goal away; no joint can come nearer without leaving its range.
    stalled
        3: the iterations ran out, or stopped gaining, before the goal was met.
    nothing_to_move
        4: the goal is not met and no joint of the chain can move.
    over_constrained
        5: the goals ask for more degrees of freedom than the joints have, and no joint alone can come nearer to all of
        them together: perhaps no pose meets them.
    """

    reached = 0
    out_of_reach = 1
    limited = 2
    stalled = 3
    nothing_to_move = 4
    over_constrained = 5

    # The same in capitals, as constants are often written.
    REACHED = 0
    OUT_OF_REACH = 1
    LIMITED = 2
    STALLED = 3
    NOTHING_TO_MOVE = 4
    OVER_CONSTRAINED = 5

    @property
    def sentence(self) -> str:
        """What the status means, as a sentence."""
        return _SENTENCES[self]

    def __str__(self) -> str:
        return self.name


_SENTENCES = {
    Status.reached: "every goal is met within the tolerance",
    Status.out_of_reach: "the target is farther away than the chain is long, or nearer than it can fold",
    Status.limited: "joint limits keep the goal away: no joint can come nearer without leaving its range",
    Status.stalled: "the iterations ran out, or stopped gaining, before the goal was met",
    Status.nothing_to_move: "the goal is not met and no joint of the chain can move",
    Status.over_constrained: "the goals ask for more than the joints have: perhaps no pose meets all of them",
}


class Statuses(np.ndarray[Any, np.dtype[np.int64]]):
    """The status codes of a batch, an array of int64 that prints as words; one of them is a Status."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found if isinstance(found, np.ndarray) else Status(int(found))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What is computed from codes, such as `status == Status.reached`, is a plain array or number."""
        del context
        plain = np.asarray(array)
        return plain[()] if return_scalar or not plain.ndim else plain

    def __str__(self) -> str:
        words: Any = {"int": _word}
        return np.array2string(np.asarray(self), formatter=words, threshold=6, edgeitems=3, max_line_width=120)

    def __repr__(self) -> str:
        return f"Statuses({' '.join(str(self).split())})" if self.size else "Statuses([])"


def _word(code: int) -> str:
    return Status(int(code)).name


def statuses(codes: np.ndarray[Any, np.dtype[np.int64]]) -> Statuses:
    """Codes as statuses: the same memory, read-only if that is."""
    return codes.view(Statuses)

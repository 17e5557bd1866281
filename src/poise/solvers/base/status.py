"""Status codes of a solve."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class Status(IntEnum):
    """Outcome of a solve. The numbers are stable; `Result.message` explains the outcome with values.

    Attributes
    ----------
    reached
        0: every goal is met within the tolerance.
    out_of_reach
        1: the target is farther away than the chain is long, or nearer than it can fold.
    limited
        2: a pose without joint limits meets the goals, and no pose within them was found; no joint alone can come
        nearer without leaving its range.
    stalled
        3: the iterations ran out, or stopped improving, before the goal was met.
    nothing_to_move
        4: the goal is not met and no joint of the chain can move.
    over_constrained
        5: the goals constrain more degrees of freedom than the joints have, and no joint alone can come nearer to all
        of them together: perhaps no pose meets them.
    on_the_way
        6: the pose is still moving to the solution: a Tracker is limited by its speed, its damping or its budget; the
        viewer makes one iteration at a time.
    held_back
        7: an option of the solver prevents reaching a target; the same method reaches it without this option.
    contradictory
        8: the goals contradict each other: lengths and angles prove it, or each goal can be met alone but no pose was
        found for all of them, even without limits.
    open_loop
        9: the goals are met, but the pose opens a closed loop of the file.
    """

    reached = 0
    out_of_reach = 1
    limited = 2
    stalled = 3
    nothing_to_move = 4
    over_constrained = 5
    on_the_way = 6
    held_back = 7
    contradictory = 8
    open_loop = 9

    # Aliases in capitals, as usual for constants.
    REACHED = 0
    OUT_OF_REACH = 1
    LIMITED = 2
    STALLED = 3
    NOTHING_TO_MOVE = 4
    OVER_CONSTRAINED = 5
    ON_THE_WAY = 6
    HELD_BACK = 7
    CONTRADICTORY = 8
    OPEN_LOOP = 9

    @property
    def sentence(self) -> str:
        """Meaning of the status, as a sentence."""
        return _SENTENCES[self]

    def __str__(self) -> str:
        return self.name


_SENTENCES = {
    Status.reached: "every goal is met within the tolerance",
    Status.out_of_reach: "the target is farther away than the chain is long, or nearer than it can fold",
    Status.limited: "a pose without joint limits meets the goals, and none within them was found",
    Status.stalled: "the iterations ran out, or stopped improving, before the goal was met",
    Status.nothing_to_move: "the goal is not met and no joint of the chain can move",
    Status.over_constrained: "the goals ask for more than the joints have: perhaps no pose meets all of them",
    Status.on_the_way: "the pose is still moving to the solution, or needs more iterations",
    Status.held_back: "an option of the solver prevents reaching the target",
    Status.contradictory: "the goals contradict each other",
    Status.open_loop: "the goals are met, but a closed loop of the file is open",
}


class Statuses(np.ndarray[Any, np.dtype[np.int64]]):
    """Status codes (int64) of a batch, printed as names. A single item is a Status."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found if isinstance(found, np.ndarray) else Status(int(found))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return computed values as plain arrays or numbers. An example is `status == Status.reached`."""
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
    """View codes as statuses, without copying. The view is read-only if the codes are."""
    return codes.view(Statuses)

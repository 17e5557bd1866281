"""How a solve ended."""

from __future__ import annotations

from enum import IntEnum


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

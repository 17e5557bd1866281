"""Goal for the bend direction of a limb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from numpy.typing import ArrayLike

from poise.errors import InputError, quoted
from poise.maths.arguments import require, several
from poise.maths.arrays import Floats, short
from poise.maths.in_words import in_words
from poise.maths.options import whole_number
from poise.model.skeleton import Skeleton
from poise.problem.goals.base.goal import checked_weight, set_fields
from poise.problem.goals.base.point_target import PointTarget

_LIMBS = (("UpperArm", "LowerArm"), ("UpperLeg", "LowerLeg"))  # role names without their side


class LimbRows(NamedTuple):
    """Rows of a limb's first joint, middle joint and tip."""

    first: int
    middle: int
    tip: int


@dataclass(frozen=True, eq=False)
class Pole(PointTarget):
    """The middle joint of a limb (knee, elbow) points towards a target.

    The direction is measured about the line from the limb's first joint to its tip.

    Parameters
    ----------
    joint
        Name of the middle joint.
    target
        (..., 3) [file units, world]; leading axes are a batch.
    root
        The limb's first joint: the line to the tip begins there, and it may move for the pole as well. None: only the
        joints of the goal at the tip move; see the notes.
    tip
        The joint at the limb's end; by default the only child of `joint`.
    weight
        A factor > 0 of the residual, where several goals compete.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.

    Notes
    -----
    A pole does not place the tip: use it together with a Position, Place or Pin of the tip, and it shares that goal's
    chain. Without `root` the line begins at the upper arm or upper leg, if the role of `joint` is known, else at the
    first joint of the limb (see Skeleton.chain); but never above the first joint of the shared chain. Without a goal at
    the tip or a joint below it, the joints from there to the tip move.

    Error: the angle [rad], 0 to pi, about the line from the first joint to the tip, between the directions to `joint`
    and to `target`. It is 0 where one of these has no direction: for a straight limb, a tip at the first joint, or a
    target on the line, each to a millionth of the limb's length. The goal's weight fades where that distance is below a
    thousandth of the limb's length.
    """

    __repr__ = in_words

    measures = ("pole",)
    aimed = "pole"

    joint: str
    target: Floats
    root: str | None = None
    tip: str | None = None
    weight: float = 1.0
    optional: bool = False

    def __init__(
        self,
        joint: str,
        target: ArrayLike,
        *,
        root: str | None = None,
        tip: str | None = None,
        weight: float = 1.0,
        optional: bool = False,
    ) -> None:
        set_fields(self, joint=joint, root=root, tip=tip, weight=checked_weight(weight, joint=joint), optional=optional)
        self._keep_target(target)

    def limb(self, skeleton: Skeleton, chain: Sequence[int] = ()) -> LimbRows:
        """Find the limb on a skeleton.

        Parameters
        ----------
        skeleton
            Skeleton of the joints.
        chain
            Rows moved by goals at the tip, parents first; without `root` the limb does not begin above them.

        Raises
        ------
        InputError
            Where `joint` is not inside the limb, its tip has to be named, or a row of `chain` is not above the tip.
        """
        middle, tip = require(skeleton, Skeleton, "the skeleton").index(self.joint), self.tip_row(skeleton)
        chain = [
            whole_number(row, "each row of the chain") for row in several(chain, "the rows of the chain", "[2, 3]")
        ]
        way = skeleton.way(tip)
        elsewhere = [row for row in chain if row not in way]
        if elsewhere:
            tip_name = quoted(skeleton.names[tip])
            raise InputError(f"the rows of the chain lead to the tip {tip_name}; row {short(elsewhere[0])} does not")
        begins = self._begins(skeleton, middle, tip, chain)
        first = max(begins, key=way.index, default=-1)
        if middle not in way or first < 0 or way.index(middle) <= way.index(first):
            named = f"{skeleton.names[first]!r}" if first >= 0 else "no joint that may move"
            message = (
                f"a Pole is for a joint inside a limb; {self.joint!r} is not between the first joint, {named}, "
                f"and the tip, {skeleton.names[tip]!r}; name root= and tip="
            )
            raise InputError(message)
        return LimbRows(first, middle, tip)

    def tip_row(self, skeleton: Skeleton) -> int:
        """Find the row of the limb's tip. InputError where `joint` has no child or several, and `tip` is None."""
        row = require(skeleton, Skeleton, "the skeleton").index(self.tip if self.tip is not None else self.joint)
        return row if self.tip is not None else self._only_child(skeleton, row)

    def _begins(self, skeleton: Skeleton, middle: int, tip: int, chain: Sequence[int]) -> list[int]:
        """List possible first rows of the limb; the lowest counts."""
        usual = [skeleton.index(name) for name in skeleton.chain(self.root, skeleton.names[tip])]
        if self.root is not None:
            return usual[:1]
        first = _first_by_role(skeleton, middle, tip)
        begins = [*usual[:1], *chain[:1]] if middle in usual[1:] or not chain else [*chain[:1]]
        return begins if first is None else [*begins, first]

    def _only_child(self, skeleton: Skeleton, row: int) -> int:
        children = skeleton.children[row]
        return children[0] if len(children) == 1 else self._unclear(skeleton, children)

    def _unclear(self, skeleton: Skeleton, children: tuple[int, ...]) -> NoReturn:
        names = ", ".join(repr(skeleton.names[child]) for child in children) or "none"
        message = f"name the tip of the limb that {self.joint!r} bends, tip=; the joints below it are: {names}"
        raise InputError(message)


def _first_by_role(skeleton: Skeleton, middle: int, tip: int) -> int | None:
    """Find the upper arm or leg above an elbow or knee. None where the roles are not sure."""
    from poise.model.roles.lookup import row_of_role  # noqa: PLC0415  (slow to import, not needed by other goals)

    for side in ("left", "right"):
        for upper, lower in _LIMBS:
            if row_of_role(skeleton, side + lower) == middle:
                first = row_of_role(skeleton, side + upper)
                return first if first in skeleton.way(tip) else None
    return None

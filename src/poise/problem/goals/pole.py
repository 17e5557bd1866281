"""Goal for the bend direction of a limb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_entries, check_integer, check_type
from poise.errors import InputError, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import Floats, abbreviate
from poise.model.skeleton import Skeleton
from poise.problem.goal_interface import PointTarget, checked_weight, set_fields

_LIMB_ROLES = (("UpperArm", "LowerArm"), ("UpperLeg", "LowerLeg"))  # role names without their side


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

    __repr__ = format_fields

    measures = ("pole",)
    target_label = "pole"

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
        self._store_target(target)

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
        middle, tip = check_type(skeleton, Skeleton, "the skeleton").index(self.joint), self.tip_row(skeleton)
        chain = [
            check_integer(row, "each row of the chain")
            for row in check_entries(chain, "the rows of the chain", "[2, 3]")
        ]
        path = skeleton.list_path(tip)
        off_path = [row for row in chain if row not in path]
        if off_path:
            tip_name = quote_value(skeleton.names[tip])
            raise InputError(
                f"the rows of the chain lead to the tip {tip_name}; row {abbreviate(off_path[0])} does not"
            )
        first_rows = self._list_first_rows(skeleton, middle, tip, chain)
        first = max(first_rows, key=path.index, default=-1)
        if middle not in path or first < 0 or path.index(middle) <= path.index(first):
            first_name = f"{skeleton.names[first]!r}" if first >= 0 else "no joint that may move"
            message = (
                f"a Pole is for a joint inside a limb; {self.joint!r} is not between the first joint, {first_name}, "
                f"and the tip, {skeleton.names[tip]!r}; name root= and tip="
            )
            raise InputError(message)
        return LimbRows(first, middle, tip)

    def tip_row(self, skeleton: Skeleton) -> int:
        """Find the row of the limb's tip. InputError where `joint` has no child or several, and `tip` is None."""
        row = check_type(skeleton, Skeleton, "the skeleton").index(self.tip if self.tip is not None else self.joint)
        return row if self.tip is not None else self._find_only_child(skeleton, row)

    def _list_first_rows(self, skeleton: Skeleton, middle: int, tip: int, chain: Sequence[int]) -> list[int]:
        """List possible first rows of the limb; the lowest counts."""
        chain_rows = [skeleton.index(name) for name in skeleton.chain(self.root, skeleton.names[tip])]
        if self.root is not None:
            return chain_rows[:1]
        role_row = _find_first_by_role(skeleton, middle, tip)
        first_rows = [*chain_rows[:1], *chain[:1]] if middle in chain_rows[1:] or not chain else [*chain[:1]]
        return first_rows if role_row is None else [*first_rows, role_row]

    def _find_only_child(self, skeleton: Skeleton, row: int) -> int:
        children = skeleton.children[row]
        return children[0] if len(children) == 1 else self._refuse_unclear_tip(skeleton, children)

    def _refuse_unclear_tip(self, skeleton: Skeleton, children: tuple[int, ...]) -> NoReturn:
        names = ", ".join(repr(skeleton.names[child]) for child in children) or "none"
        message = f"name the tip of the limb that {self.joint!r} bends, tip=; the joints below it are: {names}"
        raise InputError(message)


def _find_first_by_role(skeleton: Skeleton, middle: int, tip: int) -> int | None:
    """Find the upper arm or leg above an elbow or knee. None where the roles are not sure."""
    from poise.model.roles.role_search import find_joint_by_role  # noqa: PLC0415  (slow to import, not needed by other goals)

    for side in ("left", "right"):
        for upper, lower in _LIMB_ROLES:
            if find_joint_by_role(skeleton, side + lower) == middle:
                first = find_joint_by_role(skeleton, side + upper)
                return first if first in skeleton.list_path(tip) else None
    return None

"""The goal that says to which side a limb bends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.maths.in_words import in_words
from poise.model.skeleton import Skeleton
from poise.problem.goals.base.goal import checked_weight, set_fields
from poise.problem.goals.base.point_target import PointTarget


class LimbRows(NamedTuple):
    """Rows of a limb's first joint, of the joint that bends, and of its tip."""

    first: int
    middle: int
    tip: int


@dataclass(frozen=True, eq=False)
class Pole(PointTarget):
    """The middle joint of a limb (knee, elbow) is on the side of a world point, as seen along the line to the tip.

    Parameters
    ----------
    joint
        Name of the middle joint.
    target
        (..., 3) [file units, world]; leading axes are a batch.
    root
        The limb's first joint, which is also the first that may move; by default the first of the limb (see
        Skeleton.chain).
    tip
        The joint at the limb's end; by default the only child of `joint`.
    weight
        A factor > 0 of the residual, where several goals compete.
    optional
        Whether it is met only as far as that costs the other goals nothing, and does not count for `reached`.

    Notes
    -----
    It says nothing about where the tip is: use it together with a Position or Place of the tip.

    Error: the angle [rad], 0 to pi, about the line from the first joint to the tip, between the way to `joint` and the
    way to `target`. Where one of these three has no direction there is no side, and the error is 0: the limb is
    straight, its tip stands on its first joint, or the target lies on the line, each to a millionth of the limb's
    length. The pull of the goal fades where that distance is below a thousandth of the limb's length.
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
        set_fields(self, joint=joint, root=root, tip=tip, weight=checked_weight(weight, repr(joint)), optional=optional)
        self._keep_target(target)

    def limb(self, skeleton: Skeleton) -> LimbRows:
        """The limb on a skeleton; InputError where `joint` does not stand inside it."""
        middle = skeleton.index(self.joint)
        tip = skeleton.index(self.tip) if self.tip is not None else self._only_child(skeleton, middle)
        chain = [skeleton.index(name) for name in skeleton.chain(self.root, skeleton.names[tip])]
        if middle not in chain[1:]:
            begins = f"{skeleton.names[chain[0]]!r}" if chain else "no joint that may move"
            message = (
                f"a Pole is for a joint inside a limb; {self.joint!r} is not between the first joint, {begins}, "
                f"and the tip, {skeleton.names[tip]!r}; name root= and tip="
            )
            raise InputError(message)
        return LimbRows(chain[0], middle, tip)

    def _only_child(self, skeleton: Skeleton, row: int) -> int:
        children = skeleton.children[row]
        return children[0] if len(children) == 1 else self._unclear(skeleton, children)

    def _unclear(self, skeleton: Skeleton, children: tuple[int, ...]) -> NoReturn:
        names = ", ".join(repr(skeleton.names[child]) for child in children) or "none"
        message = f"name the tip of the limb that {self.joint!r} bends, tip=; the joints below it are: {names}"
        raise InputError(message)

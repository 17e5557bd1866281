"""Kinematic loops: ties between bodies beyond the joint tree.

Loops are kept as data. Solvers do not close them; a result whose pose leaves one open does not count as reached.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arguments import check_entries, check_names, check_text
from poise.maths.arrays import Floats, abbreviate, finite, real

Hold: TypeAlias = Literal["point", "line", "turn", "axis"]
LoopFrame: TypeAlias = tuple[float, float, float, float, float, float, float]

HOLDS: tuple[Hold, ...] = ("point", "line", "turn", "axis")
# numbers of a frame: x y z, w x y z
_FRAME_SIZE = 7


@dataclass(frozen=True)
class Loop:
    """A tie between two joint frames, closing a loop of bodies.

    Parameters
    ----------
    name
        Name in the file, or a name made from its joints.
    joints
        The two joints of the frames, as names for `Skeleton.index`; None is the world.
    frames
        For each x y z [file units] and w x y z in the frame of its joint.
    holds
        Constraints of the tie. "point": the origins of the frames. "line": the second origin, on the z axis of the
        first frame. "turn": the rotations. "axis": the directions of the z axes.
    """

    name: str
    joints: tuple[str | None, str | None]
    frames: tuple[LoopFrame, LoopFrame]
    holds: tuple[Hold, ...] = ("point",)

    def __post_init__(self) -> None:
        check_text(self.name, "the name of a loop")
        object.__setattr__(self, "holds", check_names(self.holds, "what a loop holds", "['point']"))
        for field, label in (("joints", "the joints of a loop"), ("frames", "the frames of a loop")):
            object.__setattr__(self, field, tuple(check_entries(getattr(self, field), label, "those of another loop")))
        for joint in self.joints:
            if joint is not None:
                check_text(joint, "a joint of a loop")
        unknown = [hold for hold in self.holds if hold not in HOLDS]
        if unknown or not self.holds:
            raise InputError(f"a loop holds one or more of {', '.join(HOLDS)}, not {abbreviate(self.holds)}")
        if len(self.joints) != 2 or len(self.frames) != 2:  # noqa: PLR2004  (a tie has two ends)
            raise InputError(f"a loop ties two joints by two frames, not {len(self.joints)} by {len(self.frames)}")
        object.__setattr__(self, "frames", tuple(map(_check_frame, self.frames)))

    def scaled(self, factor: float) -> Loop:
        """Return the loop in other units, lengths times a factor."""
        factor = real(factor, "the factor of a loop's size")
        frames = [(x * factor, y * factor, z * factor, *turn) for x, y, z, *turn in self.frames]
        return replace(self, frames=tuple(frames))

    def turned(self, turn: Floats) -> Loop:
        """Return the loop in a world rotated about its origin.

        The rotation is a quaternion (4,).
        """
        turn = finite(turn, "the rotation of a loop", last=4)
        frames = [
            frame if joint is not None else _rotate_frame(frame, turn)
            for joint, frame in zip(self.joints, self.frames, strict=True)
        ]
        return replace(self, frames=tuple(frames))

    def is_within(self, joints: Container[str]) -> bool:
        """Return whether the loop ties only joints of a container. The world is allowed."""
        return all(joint is None or joint in joints for joint in self.joints)


class OpenLoop(NamedTuple):
    """An open loop of a pose, with its gap.

    Parameters
    ----------
    name
        Its name.
    joints
        The two tied joints; None is the world.
    distance
        Position gap [file units].
    angle
        Rotation gap [rad].
    """

    name: str
    joints: tuple[str | None, str | None]
    distance: float
    angle: float


def select_loops(loops: Sequence[Loop], joints: Collection[str]) -> tuple[Loop, ...]:
    """Select the loops between these joints or the world."""
    return tuple(loop for loop in loops if loop.is_within(joints))


def _check_frame(values: ArrayLike) -> LoopFrame:
    """Check seven numbers; scale the rotation to length one."""
    numbers = finite(values, "the frame of a loop")
    if numbers.shape != (_FRAME_SIZE,):
        raise InputError(f"the frame of a loop has 7 numbers (x y z, w x y z), not {abbreviate(values)}")
    x, y, z, *quaternion = [*numbers[:3].tolist(), *rotations.normalised(numbers[3:]).tolist()]
    return (x, y, z, quaternion[0], quaternion[1], quaternion[2], quaternion[3])


def _rotate_frame(frame: LoopFrame, rotation: Floats) -> LoopFrame:
    point = rotations.rotate(rotation, finite(frame[:3], "a point"))
    return _check_frame([*point.tolist(), *rotations.multiply(rotation, finite(frame[3:], "a rotation")).tolist()])

"""Goal to look at a point with head, neck and spine."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_type
from poise.errors import InputError, PoiseWarning, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.model.limits import unit_axis
from poise.model.skeleton import Kind, Skeleton
from poise.problem import goal_interface
from poise.runtime.result_cache import get_or_compute

if TYPE_CHECKING:
    from poise.model.roles.gaze_direction import GazeDirection

DEFAULT_AXIS = (0.0, 0.0, 1.0)  # default axis of joints without a face
_DEFAULT_JOINT_COUNT = 3  # number of default joints, such as spine, neck and head


@dataclass(frozen=True, eq=False)
class LookAt(goal_interface.PointTarget):
    """A ray of the joint passes through a target point.

    An example is a head's line of sight: neck and spine turn too.

    Parameters
    ----------
    joint
        Name of the joint.
    target
        (..., 3) [file units, world]; leading axes are a batch.
    axis
        (x, y, z) in the frame of `joint`, the direction of the ray, of any length but zero; stored with length one.
        None: the facing direction of the character, for its head and the joints above and below it; +z of the joint's
        frame for other joints and characters without a face, and so it is stored. See `sight`. The first solve of such
        a goal on a skeleton gives a PoiseWarning.
    over
        The joints that turn, each of them `joint` itself or above it; no others turn for this goal. Names: the first
        takes a share of 1, the second of 2 and so on, so ("spine", "neck", "head") turns the head most. A mapping
        (or pairs) of names and shares > 0: each joint turns by its share of the whole. Stored as pairs. None: for the
        head of a figure in natural poses neck and spine, and the pelvis above pinned feet, each as far as people turn
        it; else the joint and the two rotating joints above it.
    offset
        Where the ray begins, such as between the eyes: a point in the frame of `joint`.
    weight
        A factor > 0 of the residual, where several goals compete.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.

    Notes
    -----
    Shares that are given are exact unless a joint reaches its limit; the others then take over its remaining rotation.
    A joint moving for other goals as well is weighted by its share for them too.

    Error: as for Aim, the angle [rad], 0 to pi, between the axis in the world and the direction from the ray's origin
    to the target.
    """

    __repr__ = format_fields

    measures = ("aim",)
    root = None
    looks: ClassVar[tuple[Any, bool]]  # key of the plan: `over`, and whether the face gives the axis

    joint: str
    target: Floats
    axis: tuple[float, float, float] = DEFAULT_AXIS
    over: tuple[tuple[str, float], ...] | None = None
    offset: tuple[float, float, float] = goal_interface.ORIGIN
    weight: float = 1.0
    optional: bool = False

    def __init__(
        self,
        joint: str,
        target: ArrayLike,
        *,
        axis: ArrayLike | None = None,
        over: Iterable[str | tuple[str, float]] | Mapping[str, float] | None = None,
        offset: ArrayLike = goal_interface.ORIGIN,
        weight: float = 1.0,
        optional: bool = False,
    ) -> None:
        shares = None if over is None else _parse_shares(over, joint)
        uses_face = axis is None or axis is DEFAULT_AXIS  # dataclasses.replace() passes the stored default
        goal_interface.set_fields(
            self, joint=joint, axis=DEFAULT_AXIS if axis is None or uses_face else unit_axis(axis), over=shares
        )
        goal_interface.set_fields(self, looks=(shares, uses_face))
        goal_interface.set_fields(
            self,
            offset=goal_interface.checked_offset(offset, joint),
            weight=goal_interface.checked_weight(weight, joint=joint),
            optional=optional,
        )
        self._store_target(target)

    def sight(self, skeleton: Skeleton) -> GazeDirection:
        """Return the looking axis on a skeleton, and its source.

        The face is assumed to look horizontally forward in the rest pose. The forward direction comes from a VRM file;
        else from front and hind legs, feet, knees, eyes, and left and right of hips and shoulders. `is_known` is False
        where none of these is known.
        """
        from poise.model.roles.gaze_direction import GazeDirection, find_gaze  # noqa: PLC0415  (slow to import, not needed with an axis)

        check_type(skeleton, Skeleton, "the skeleton")
        if not self.looks[1]:
            return GazeDirection(self.axis, "given")
        return find_gaze(skeleton, skeleton.index(self.joint))

    def warn_unseen(self, skeleton: Skeleton) -> None:
        """Warn where neither an axis nor a role gives the face. Each joint of a skeleton warns once."""
        gaze = self.sight(skeleton)
        if not gaze.is_known:
            joint = skeleton.names[skeleton.index(self.joint)]
            get_or_compute(skeleton, "face warnings", joint, lambda: _warn_without_face(joint, gaze.reason))

    def shares(self, skeleton: Skeleton) -> dict[int, float]:
        """Return the rotation share of each row. Raises InputError for a joint not above the goal's."""
        path = check_type(skeleton, Skeleton, "the skeleton").list_path(skeleton.index(self.joint))
        if self.over is None:
            rotating_rows = [row for row in path if skeleton.kinds[row] not in (Kind.FIXED, Kind.SLIDE)]
            return {row: share for share, row in enumerate(rotating_rows[-_DEFAULT_JOINT_COUNT:], start=1)}
        shares: dict[int, float] = {}
        for name, share in self.over:
            row = skeleton.index(name)
            if row not in path:
                message = f"{name!r} is not above {self.joint!r}, so it cannot turn {self.joint!r} to look"
                raise InputError(message)
            shares[row] = share
        return shares


def _warn_without_face(joint: str, reason: str) -> bool:
    message = f"LookAt turns {reason.replace('the joint', repr(joint), 1)}; name the axis that looks, axis=(x, y, z)"
    warnings.warn(message, PoiseWarning, stacklevel=2)
    return True


def _parse_shares(over: Any, joint: str) -> tuple[tuple[str, float], ...]:
    """Parse names and shares > 0. Names alone get 1, 2, 3 and so on."""
    weights = goal_interface.parse_names_and_weights(over, f"the joints that look with {quote_value(joint)}")
    if not weights:
        message = (
            f"the joints that look with {quote_value(joint)} are none; name at least one, such as "
            f"{quote_value(joint)} itself"
        )
        raise InputError(message)
    return tuple((name, float(n) if share is None else share) for n, (name, share) in enumerate(weights.items(), 1))

"""Goal to bring a joint to a world position and rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import Floats, check_finite, freeze_array
from poise.maths.rotations import split_transforms
from poise.problem import goal_interface
from poise.problem.goal_ranges import Within, set_relation
from poise.problem.target_parsing import parse_transform_row, parse_transforms
from poise.runtime.immutable_values import FrozenValue
from poise.runtime.result_cache import copy_own_fields

_PAIR_SIZE = 2
_set_attribute = object.__setattr__  # goals are frozen and written through it


@dataclass(frozen=True, eq=False)
class Place(goal_interface.GoalValue, FrozenValue):
    """The joint has a target position and rotation in the world.

    Parameters
    ----------
    joint
        Name of the joint.
    position
        (..., 3) [file units, world], or (..., 2) for planar chains (z is then 0).
    rotation
        (..., 4) quaternions w x y z or (..., 3, 3) rotation matrices, as for Orientation. The leading axes of position
        and rotation are broadcast to one batch.
    root
        The first joint that may move; by default the first of the limb (see Skeleton.chain).
    weight
        A factor > 0 of both residuals, where several goals compete.
    offset
        The point, in the frame of `joint`; its origin by default.
    rotation_weight
        A further factor > 0 of the rotation's residual. For chains unable to meet both (an arm of five axes) it
        balances the errors of position (in units of the rig's size) and rotation [rad]; with 0.01 the position comes
        first.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.
    relative_to
        A joint in whose moving frame the target is, in place of the world. The joints between the two move, up to their
        common ancestor; `root` limits those on the side of `joint`.
    follow
        Whether the joints on the side of `relative_to` keep still.
    within
        A set about the target, in place of the target alone; see Within.
    pull
        How far the goal may take the hips and other limbs along: 0 moves its own limb alone (see Skeleton.chain), 1 all
        joints of its chain. In between, joints go that share of the way, and the target may be missed.

    Notes
    -----
    Errors: the distance [file units] from the point to `position`, and the angle [rad], 0 to pi, of the remaining
    rotation.
    """

    __repr__ = format_fields

    measures = ("position", "rotation")
    width = 7

    joint: str
    position: Floats
    rotation: Floats
    root: str | None = None
    weight: float = 1.0
    offset: tuple[float, float, float] = goal_interface.ORIGIN
    rotation_weight: float = 1.0
    optional: bool = False
    relative_to: str | None = None
    follow: bool = False
    within: Within | None = None
    pull: float = 1.0

    def __init__(
        self,
        joint: str,
        position: ArrayLike,
        rotation: ArrayLike,
        *,
        root: str | None = None,
        weight: float = 1.0,
        offset: ArrayLike = goal_interface.ORIGIN,
        rotation_weight: float = 1.0,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
        within: Within | None = None,
        pull: float = 1.0,
    ) -> None:
        if type(rotation_weight) is not float or not 0.0 < rotation_weight < math.inf:
            rotation_weight = goal_interface.checked_weight(rotation_weight, f"the rotation of {quote_value(joint)}")
        goal_interface.set_fields(
            self,
            joint=joint,
            root=root,
            weight=goal_interface.checked_weight(weight, joint=joint),
            offset=goal_interface.checked_offset(offset, joint),
            rotation_weight=rotation_weight,
            optional=optional,
        )
        if relative_to is not None or follow is not False or within is not None:
            set_relation(self, relative_to, follow=follow, within=within)
        if type(pull) is not float or pull != 1.0:
            goal_interface.set_fields(self, pull=goal_interface.checked_pull(pull, joint))
        self._store_rows(parse_transforms(position, rotation, joint))

    def _store_rows(self, rows: Floats) -> None:
        """Store checked rows (..., 7), read-only."""
        rows.setflags(write=False)
        position, rotation = (rows[:3], rows[3:]) if rows.ndim == 1 else (rows[..., :3], rows[..., 3:])
        _set_attribute(self, "position", position)
        _set_attribute(self, "rotation", rotation)
        _set_attribute(self, "_rows", rows)  # the cached property

    @classmethod
    def from_matrix(
        cls,
        joint: str,
        matrices: ArrayLike,
        *,
        root: str | None = None,
        weight: float = 1.0,
        offset: ArrayLike = goal_interface.ORIGIN,
        rotation_weight: float = 1.0,
        optional: bool = False,
        relative_to: str | None = None,
        follow: bool = False,
        within: Within | None = None,
        pull: float = 1.0,
    ) -> Self:
        """Make the goal from rigid transforms.

        Parameters
        ----------
        joint
            Name of the joint.
        matrices
            (..., 4, 4) or (..., 3, 4) without scale, acting on column vectors.
        root, weight, offset, rotation_weight, optional, relative_to, follow, within, pull
            As in the constructor.

        Raises
        ------
        InputError
            The last row of a 4 x 4 matrix is not 0 0 0 1 within 1e-9, or its 3 x 3 part is no rotation.
        """
        row = parse_transform_row(matrices)
        parts = (row[:3], row[3:]) if row is not None else None
        return cls(
            joint,
            *(parts or split_transforms(matrices, f"the target of {quote_value(joint)}")),
            root=root,
            weight=weight,
            offset=offset,
            rotation_weight=rotation_weight,
            optional=optional,
            relative_to=relative_to,
            follow=follow,
            within=within,
            pull=pull,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch axes of position and rotation; () for a single target."""
        return self.position.shape[:-1]

    def rows(self) -> Floats:
        """Return the targets as rows (..., 7), position and quaternion, read-only."""
        return self._rows

    @cached_property
    def _rows(self) -> Floats:
        """Rows of a copy or of a loaded goal."""
        rows = np.concatenate([self.position, self.rotation], axis=-1)
        freeze_array(rows)
        return rows

    def parse(self, value: ArrayLike | tuple[ArrayLike, ArrayLike]) -> Floats:
        """Parse other transforms into rows (..., 7). Raises InputError as the constructor does.

        Parameters
        ----------
        value
            Matrices (..., 4, 4) or (..., 3, 4), numbers (..., 7), or a tuple of position and rotation as in the
            constructor.
        """
        row = parse_transform_row(value)
        return parse_transforms(*self._split_target(value), self.joint) if row is None else row

    def with_target(self, value: ArrayLike | tuple[ArrayLike, ArrayLike]) -> Self:
        """Return this goal with other transforms, see `parse`."""
        new_goal = copy_own_fields(self)
        new_goal._store_rows(self.parse(value))  # noqa: SLF001  (of the same class)
        return new_goal

    def _split_target(self, value: ArrayLike | tuple[ArrayLike, ArrayLike]) -> tuple[ArrayLike, ArrayLike]:
        if isinstance(value, tuple) and len(value) == _PAIR_SIZE:
            return value
        label = f"the target of {self.joint!r}"
        array = check_finite(value, label)
        if array.shape[-1:] == (self.width,):
            return array[..., :3], array[..., 3:]
        if array.shape[-2:] in {(3, 4), (4, 4)}:
            return split_transforms(array, label)
        message = (
            f"{label} needs a 4 x 4 or 3 x 4 matrix, 7 numbers x y z w x y z, or a tuple (position, rotation); "
            f"its shape is {array.shape}"
        )
        raise InputError(message)

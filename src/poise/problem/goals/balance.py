"""Goal to keep the centre of mass above the feet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_entries, check_names, check_type
from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths.arrays import Floats, abbreviate, check_real
from poise.model.anatomy.rest_geometry import find_trunk_rows
from poise.model.joint_tree import is_robot
from poise.model.limits import unit_axis
from poise.model.mass import BodyMass, MassShares, check_masses, compute_mass_shares
from poise.model.roles.role_search import find_confident_roles, find_joint_by_role, find_joint_roles
from poise.model.skeleton import Skeleton
from poise.problem.goal_interface import ORIGIN, GoalValue, checked_offset, checked_weight, refuse_target, set_fields

_FOOT_ROLES = ("leftFoot", "leftToes", "rightFoot", "rightToes")
_PAIR_SIZE = 2

Support = tuple[tuple[str, tuple[float, float, float]], ...]


@dataclass(frozen=True, eq=False)
class Balance(GoalValue):
    """The centre of mass is above the feet or other supports.

    Parameters
    ----------
    over
        The supporting joints: names, or pairs of a name and a point in that joint's frame [file units], such as the
        corners of a sole. None: the feet and toes of a character, by role.
    joints
        Names of joints that may move for this goal, besides those of other goals. None: the trunk of a character.
    masses
        Masses of the joints, as for `poise.centre_of_mass`; None: the result of `poise.masses`.
    margin
        0 to 1: safety margin. The support area is the hull of the support points, shrunk towards their mean by this
        share: 0 allows its edge, 1 only the middle.
    up
        (x, y, z) the up direction in the world. None: the skeleton's up axis, or y if it has none.
    weight
        A factor > 0 of the residual, where several goals compete.
    optional
        Whether the goal comes after the others, without any cost to them, and does not count for `reached`.

    Notes
    -----
    The goal has no target. Error: the horizontal distance [file units] from the centre of mass, projected along `up`,
    to the nearest point of the support area; 0 above it. Collinear points, or a single one, give an area without width.

    Levenberg-Marquardt and "auto" solve it; other methods refuse it. The support points move with the pose: to hold the
    feet, `Pin` them, and let the root move (`free_root=True`). A solve takes about 10 ms a pose; goals without a
    Balance are not slower.

    References
    ----------
    The Jacobian of the centre of mass: Sugihara, Nakamura and Inoue, "Real-time humanoid motion generation through ZMP
    manipulation based on inverted pendulum control", ICRA 2002, eq. 16: each joint moves all the mass below it.
    """

    __repr__ = format_fields

    measures = ("balance",)
    width = 0
    shape = ()
    root = None
    stands: ClassVar[tuple[Any, ...]]  # key of the plan, besides weight and `optional`

    over: Support | None = None
    joints: tuple[str, ...] | None = None
    masses: tuple[tuple[str, BodyMass], ...] | None = None
    margin: float = 0.5
    up: tuple[float, float, float] | None = None
    weight: float = 1.0
    optional: bool = False

    def __init__(
        self,
        over: Iterable[str | tuple[str, ArrayLike]] | None = None,
        *,
        joints: Iterable[str] | None = None,
        masses: Mapping[str, Any] | None = None,
        margin: float = 0.5,
        up: ArrayLike | None = None,
        weight: float = 1.0,
        optional: bool = False,
    ) -> None:
        margin_share = check_real(margin, "the margin of Balance")
        if not 0.0 <= margin_share <= 1.0:
            raise InputError(f"the margin of Balance is a share from 0 to 1, not {abbreviate(margin)}")
        # dataclasses.replace() passes the stored pairs.
        mass_pairs = (
            None
            if masses is None
            else check_masses(dict(_check_mass_pairs(masses)) if isinstance(masses, tuple) else masses)
        )
        set_fields(
            self, over=None if over is None else _parse_support(over), joints=_parse_joints(joints), masses=mass_pairs
        )
        set_fields(self, margin=margin_share, up=None if up is None else unit_axis(up))
        set_fields(self, stands=(self.over, self.joints, mass_pairs, margin_share, self.up))
        set_fields(self, weight=checked_weight(weight, "Balance"), optional=optional)

    def support(self, skeleton: Skeleton) -> list[tuple[int, tuple[float, float, float]]]:
        """List the support rows with a point in each frame. Raises InputError where no feet are known."""
        check_type(skeleton, Skeleton, "the skeleton")
        if self.over is not None:
            return [(skeleton.index(name), point) for name, point in self.over]
        feet = [
            (row, ORIGIN) for row in (find_joint_by_role(skeleton, role) for role in _FOOT_ROLES) if row is not None
        ]
        if not feet:
            raise InputError("no joint is known to be a foot: name the supports, such as Balance(over=['foot_l'])")
        return feet

    def moving(self, skeleton: Skeleton) -> set[int]:
        """Return the rows moved by this goal alone."""
        check_type(skeleton, Skeleton, "the skeleton")
        if self.joints is not None:
            return {skeleton.index(name) for name in self.joints}
        confident_roles = find_confident_roles(skeleton) if not is_robot(skeleton.kinds, skeleton.parents) else ()
        try:
            return set(
                find_trunk_rows(skeleton, {role: find_joint_roles(skeleton).joints[role] for role in confident_roles})[
                    0
                ]
            )
        except KeyError:  # no limbs to find the trunk between
            return set()

    def compute_mass_shares(self, skeleton: Skeleton) -> MassShares:
        """Return the masses of the skeleton's rows. Raises InputError where they are unknown."""
        return compute_mass_shares(check_type(skeleton, Skeleton, "the skeleton"), self.masses)

    carried: ClassVar[Any] = make_alias("Balance.carried", compute_mass_shares)

    def upward(self, skeleton: Skeleton) -> Floats:
        """Return the unit vector (3,) up."""
        check_type(skeleton, Skeleton, "the skeleton")
        if self.up is not None:
            return np.array(self.up)
        return np.eye(3)["xyz".index(skeleton.up or "y")]

    def rows(self) -> Floats:
        """Return no numbers (0,)."""
        return np.zeros(0)

    def parse(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Balance")

    def with_target(self, value: ArrayLike) -> NoReturn:
        """Raise InputError: there is no target."""
        refuse_target("Balance")


def _check_mass_pairs(masses: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Check masses as pairs of a name and a BodyMass."""
    for entry in masses:
        pair: Any = entry
        if not isinstance(pair, tuple) or len(pair) != _PAIR_SIZE or not isinstance(pair[0], str):  # pyright: ignore[reportUnknownArgumentType]
            raise InputError(
                f"masses are a mapping from joints to masses, as poise.masses(rig) gives, not {abbreviate(masses)}"
            )
    return list(masses)


def _parse_support(over: Any) -> Support:
    """Parse names and points of the supports."""
    entries = check_entries(over, "the supports of Balance", "['leftFoot', 'rightFoot']", "joints")
    support: list[tuple[str, tuple[float, float, float]]] = []
    for entry in entries:
        pair: tuple[Any, Any] = entry if isinstance(entry, tuple) and len(entry) == _PAIR_SIZE else (entry, ORIGIN)
        name, point = pair
        if not isinstance(name, str):
            raise InputError(
                f"the supports of Balance are names, or pairs of a name and a point, not {abbreviate(entry)}"
            )
        support.append((name, checked_offset(point, name)))
    if not support:
        raise InputError("Balance has no supports; name at least one joint, or none for the feet of a character")
    return tuple(support)


def _parse_joints(joints: Any) -> tuple[str, ...] | None:
    return None if joints is None else check_names(joints, "the joints of Balance", "['spine', 'chest']")

"""Chains with targets, and the solver goals of each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.rig_roles import find_default_limbs
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Direction, Goal, LookAt, Place, Pole, Position
from poise.problem.goals.look_at import DEFAULT_AXIS

ChainKind: TypeAlias = Literal["position", "place", "direction", "look", "pin"]


CHAIN_KINDS: tuple[str, ...] = get_args(ChainKind)


Vector: TypeAlias = tuple[float, float, float]


Quaternion: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class TargetedChain:
    """A chain of joints with a target for its tip.

    name             unique name
    root, tip        first moving joint (None: that of the tip's limb) and the joint for the target
    kind             "position", "place" (and rotation), "direction" (position, and `axis` along a direction), "look"
                     (`axis` through the target, rotating spine and neck as well), "pin" (keeps its position of the
                     start pose)
    weight           weight among competing chains
    stays_on_ground  the target stays on the terrain
    position         [file units, world] the target; rotation w x y z; direction of any length
    axis             of the tip, in its own frame: its direction axis or gaze axis; by default the face's own
    pole             [file units, world] point towards which the chain bends, or None
    """

    name: str
    root: str | None
    tip: str
    kind: ChainKind = "position"
    enabled: bool = True
    weight: float = 1.0
    stays_on_ground: bool = False
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    direction: Vector = (0.0, 0.0, 1.0)
    axis: Vector = DEFAULT_AXIS
    pole: Vector | None = None

    def replace(self, **changes: Any) -> TargetedChain:
        """Return the chain with some fields changed."""
        return dataclasses.replace(self, **changes)

    def with_target_at(self, pose: Pose) -> TargetedChain:
        """Return the chain with its target at the tip of a pose. A look keeps its point."""
        if self.kind == "look":
            return self
        chain_at_tip = build_chain(pose, self.name, self.root, self.tip, self.kind, axis=self.axis)
        return self.replace(
            position=chain_at_tip.position, rotation=chain_at_tip.rotation, direction=chain_at_tip.direction
        )

    @property
    def without_target(self) -> TargetedChain:
        """The chain without target values, as a key for packed solvers."""
        zero_vector = (0.0, 0.0, 0.0)
        pole = None if self.pole is None else zero_vector
        return self.replace(position=zero_vector, rotation=(1.0, 0.0, 0.0, 0.0), direction=zero_vector, pole=pole)

    def list_joints(self, skeleton: Skeleton) -> tuple[str, ...]:
        """List the joints from the root to the tip, both included."""
        return (*skeleton.chain(self.root, self.tip), self.tip)

    def build_goals(self, skeleton: Skeleton) -> list[Goal]:
        """Build the solver goals of the chain. The goal of the tip comes first."""
        shared_options: dict[str, Any] = {"root": self.root, "weight": self.weight}
        if self.kind == "look":
            goal = LookAt(self.tip, self.position, axis=self.axis, weight=self.weight)
            if goal.sight(skeleton).is_known:
                return [goal]
            axis = [*self.axis]  # no face: use the axis shown on the page, without a warning
            return [LookAt(self.tip, self.position, axis=axis, weight=self.weight)]
        if self.kind in ("place", "pin"):  # a Pin goal would hold the last displayed pose, and errors would add up
            goals: list[Goal] = [Place(self.tip, self.position, self.rotation, **shared_options)]
        else:
            goals = [Position(self.tip, self.position, **shared_options)]
        if self.kind == "direction":
            goals.append(Direction(self.tip, self.direction, axis=self.axis, **shared_options))
        if self.pole is not None:
            goals.append(Pole(self.find_bending_joint(skeleton), self.pole, tip=self.tip, **shared_options))
        return goals

    def find_bending_joint(self, skeleton: Skeleton) -> str:
        """Find the middle moving joint, for a pole. Raise InputError below two moving joints."""
        moving_joints = [name for name in skeleton.chain(self.root, self.tip) if skeleton[name].kind != Kind.FIXED]
        if len(moving_joints) < 2:  # noqa: PLR2004
            raise InputError(
                f"a pole needs a limb of two joints or more; above {self.tip!r} there are {len(moving_joints)}"
            )
        return moving_joints[len(moving_joints) // 2]


def build_chain(
    pose: Pose, name: str, root: str | None, tip: str, kind: ChainKind = "position", **options: Any
) -> TargetedChain:
    """Build a chain with its target at the tip of a pose. Raise UnknownNameError or InputError for unknown joints."""
    tip = pose.skeleton.names[pose.skeleton.index(tip)]
    if kind not in CHAIN_KINDS:
        raise InputError(f"a chain's kind is one of {', '.join(CHAIN_KINDS)}, not {kind!r}")
    pose.skeleton.chain(root, tip)
    tip_transform = pose.world[tip]
    axis = options.pop("axis", DEFAULT_AXIS)
    direction = rotations.rotate(tip_transform.rotations, np.asarray(axis, dtype=np.float64))
    return TargetedChain(
        name=name, root=root, tip=tip, kind=kind, axis=axis, position=to_vector(tip_transform.positions),
        rotation=to_quaternion(tip_transform.rotations), direction=to_vector(direction), **options,
    )  # fmt: skip


def to_vector(numbers: Any) -> Vector:
    """Convert to three floats."""
    x, y, z = (float(number) for number in numbers)
    return (x, y, z)


def to_quaternion(numbers: Any) -> Quaternion:
    """Convert to four floats w x y z."""
    w, x, y, z = (float(number) for number in numbers)
    return (w, x, y, z)


def build_default_chains(rig: Rig, pose: Pose) -> tuple[TargetedChain, ...]:
    """Build chains for the usual limbs, with targets at their tips."""
    return tuple(build_chain(pose, limb.name, limb.root, limb.tip, limb.goal_kind) for limb in find_default_limbs(rig))

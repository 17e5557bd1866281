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
from poise.problem.goal_interface import ORIGIN
from poise.problem.goal_ranges import Within
from poise.problem.goals import Direction, Goal, LookAt, Place, Pole, Position
from poise.problem.goals.look_at import DEFAULT_AXIS
from poise.problem.loop_ties import find_ties
from poise.problem.set_targets import ReferenceFrame

ChainKind: TypeAlias = Literal["position", "place", "direction", "look", "pin"]


CHAIN_KINDS: tuple[str, ...] = get_args(ChainKind)


# Kinds with targets that may be relative to another joint, or have a range.
RELATIVE_KINDS: tuple[str, ...] = ("position", "place", "direction")


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
    position         [file units] the target; rotation w x y z; direction of any length. All are in the world, or in
                     the frame of `relative_to`
    axis             of the tip, in its own frame: its direction axis or gaze axis; by default the face's own
    pole             [file units, world] point towards which the chain bends, or None
    offset           the point at the target, in the frame of the tip [file units]
    relative_to      joint whose moving frame has the target, or None for the world
    follow           whether the joints on the other side of `relative_to` stay still
    within           range about the target, or None
    pull             how far the target takes hips and other limbs along: 0 its own limb alone, 1 everything
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
    offset: Vector = ORIGIN
    relative_to: str | None = None
    follow: bool = False
    within: Within | None = None
    pull: float = 1.0

    def replace(self, **changes: Any) -> TargetedChain:
        """Return the chain with some fields changed."""
        return dataclasses.replace(self, **changes)

    def with_target_at(self, pose: Pose) -> TargetedChain:
        """Return the chain with its target at the tip of a pose. A look keeps its point."""
        if self.kind == "look":
            return self
        position, rotation, direction = measure_tip(pose, self)
        return self.replace(position=position, rotation=rotation, direction=direction)

    def with_reference(self, pose: Pose, relative_to: str | None) -> TargetedChain:
        """Return the chain with its target in another frame. In the world the target stays where a pose has it."""
        position, rotation, direction = (
            np.array(value)[None] for value in (self.position, self.rotation, self.direction)
        )
        old_frame, new_frame = find_reference_frame(pose, self.relative_to), find_reference_frame(pose, relative_to)
        if old_frame is not None:
            position, rotation = old_frame.move_points(position), rotations.multiply(old_frame.rotations, rotation)
            direction = rotations.rotate(old_frame.rotations, direction)
        if new_frame is not None:
            back = rotations.inverse(new_frame.rotations)
            position, rotation = new_frame.find_points(position), rotations.multiply(back, rotation)
            direction = rotations.rotate(back, direction)
        return self.replace(
            relative_to=relative_to, follow=self.follow and relative_to is not None, position=to_vector(position[0]),
            rotation=to_quaternion(rotation[0]), direction=to_vector(direction[0]),
        )  # fmt: skip

    @property
    def without_target(self) -> TargetedChain:
        """The chain without target values, as a key for packed solvers."""
        zero_vector = (0.0, 0.0, 0.0)
        pole = None if self.pole is None else zero_vector
        return self.replace(position=zero_vector, rotation=(1.0, 0.0, 0.0, 0.0), direction=zero_vector, pole=pole)

    def list_joints(self, skeleton: Skeleton) -> tuple[str, ...]:
        """List the joints from the root to the tip, both included."""
        return (*skeleton.chain(self.root, self.tip), self.tip)

    def list_other_joints(self, skeleton: Skeleton) -> tuple[str, ...]:
        """List the moving joints beside the chain.

        They are on the side of `relative_to`, from the common ancestor on, and in closed loops.
        """
        names, joints = skeleton.names, self.list_joints(skeleton)
        others: tuple[str, ...] = ()
        if self.relative_to is not None and not self.follow:
            own_joints = {*skeleton.ancestors(self.tip), self.tip}
            path = (*skeleton.ancestors(self.relative_to), self.relative_to)
            others = tuple(joint for joint in path if joint not in own_joints)
        if not skeleton.loops:
            return others
        _, moving_rows = find_ties(skeleton, [skeleton.index(joint) for joint in (*joints[:-1], *others)])
        return tuple(names[row] for row in sorted(moving_rows) if names[row] not in joints)

    def build_goals(self, skeleton: Skeleton) -> list[Goal]:
        """Build the solver goals of the chain. The goal of the tip comes first."""
        shared_options: dict[str, Any] = {"root": self.root, "weight": self.weight}
        relation: dict[str, Any] = {"relative_to": self.relative_to, "follow": self.follow}
        tip_options: dict[str, Any] = {
            **shared_options, **relation, "offset": self.offset, "within": self.within, "pull": self.pull,
        }  # fmt: skip
        if self.kind == "look":
            goal = LookAt(self.tip, self.position, axis=self.axis, weight=self.weight)
            if goal.sight(skeleton).is_known:
                return [goal]
            axis = [*self.axis]  # no face: use the axis shown on the page, without a warning
            return [LookAt(self.tip, self.position, axis=axis, weight=self.weight)]
        if self.kind in ("place", "pin"):  # a Pin goal would hold the last displayed pose, and errors would add up
            goals: list[Goal] = [Place(self.tip, self.position, self.rotation, **tip_options)]
        else:
            goals = [Position(self.tip, self.position, **tip_options)]
        if self.kind == "direction":
            goals.append(Direction(self.tip, self.direction, axis=self.axis, **shared_options, **relation))
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
    chain = TargetedChain(name=name, root=root, tip=tip, kind=kind, **options)
    position, rotation, direction = measure_tip(pose, chain)
    return chain.replace(position=position, rotation=rotation, direction=direction)


def measure_tip(pose: Pose, chain: TargetedChain) -> tuple[Vector, Quaternion, Vector]:
    """Measure the tip of a chain in the frame of its target.

    Return its position, rotation and direction.
    """
    tip_transform = pose.world[chain.tip]
    point = tip_transform.affine[:, :3] @ np.array(chain.offset) + tip_transform.affine[:, 3]
    rotation, frame = tip_transform.rotations, find_reference_frame(pose, chain.relative_to)
    if frame is not None:
        point = frame.find_points(point[None])[0]
        rotation = rotations.multiply(rotations.inverse(frame.rotations[0]), rotation)
    direction = rotations.rotate(rotation, np.asarray(chain.axis, dtype=np.float64))
    return to_vector(point), to_quaternion(rotation), to_vector(direction)


def find_reference_frame(pose: Pose, relative_to: str | None) -> ReferenceFrame | None:
    """Find the frame of a reference joint, or None for the world."""
    if relative_to is None:
        return None
    transform = pose.world[relative_to]
    return ReferenceFrame(transform.affine[None], transform.rotations[None])


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

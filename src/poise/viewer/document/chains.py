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
from poise.model.roles.usual_limbs import usual_limbs
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Direction, Goal, LookAt, Place, Pole, Position
from poise.problem.goals.look_at import AHEAD

ChainKind: TypeAlias = Literal["position", "place", "direction", "look", "pin"]
KINDS: tuple[str, ...] = get_args(ChainKind)
Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class ChainTarget:
    """A limb with its target.

    id         unique name
    root, tip  first moving joint (None: the limb's own) and the joint for the target
    kind       "position", "place" (and rotation), "direction" (position, and `axis` along a direction), "look" (`axis`
               through the target, rotating spine and neck as well), "pin" (keeps its position of the start pose)
    weight     weight among competing chains
    ground     the target stays on the terrain
    position   [file units, world] the target; rotation w x y z; direction of any length
    axis       of the tip, in its own frame: its direction axis or gaze axis; by default the face's own
    pole       [file units, world] point towards which the limb bends, or None
    """

    id: str
    root: str | None
    tip: str
    kind: ChainKind = "position"
    enabled: bool = True
    weight: float = 1.0
    ground: bool = False
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)
    direction: Vector = (0.0, 0.0, 1.0)
    axis: Vector = AHEAD
    pole: Vector | None = None

    def but(self, **changes: Any) -> ChainTarget:
        """Return the chain with some fields changed."""
        return dataclasses.replace(self, **changes)

    def placed(self, pose: Pose) -> ChainTarget:
        """Return the chain with its target at the tip of a pose. A look keeps its point."""
        if self.kind == "look":
            return self
        there = chain_of(pose, self.id, self.root, self.tip, self.kind, axis=self.axis)
        return self.but(position=there.position, rotation=there.rotation, direction=there.direction)

    @property
    def shape(self) -> ChainTarget:
        """The chain without target values, as a key for packed solvers."""
        nowhere = (0.0, 0.0, 0.0)
        pole = None if self.pole is None else nowhere
        return self.but(position=nowhere, rotation=(1.0, 0.0, 0.0, 0.0), direction=nowhere, pole=pole)

    def joints(self, skeleton: Skeleton) -> tuple[str, ...]:
        """List the joints from the root to the tip, both included."""
        return (*skeleton.chain(self.root, self.tip), self.tip)

    def goals(self, skeleton: Skeleton) -> list[Goal]:
        """Build the solver goals of the chain, in the order of `targets`."""
        at: dict[str, Any] = {"root": self.root, "weight": self.weight}
        if self.kind == "look":
            goal = LookAt(self.tip, self.position, axis=self.axis, weight=self.weight)
            if goal.sight(skeleton).seen:
                return [goal]
            shown = [*self.axis]  # no face: use the axis shown on the page, without a warning
            return [LookAt(self.tip, self.position, axis=shown, weight=self.weight)]
        if self.kind in ("place", "pin"):  # a Pin goal would hold the last displayed pose, and errors would add up
            wanted: list[Goal] = [Place(self.tip, self.position, self.rotation, **at)]
        else:
            wanted = [Position(self.tip, self.position, **at)]
        if self.kind == "direction":
            wanted.append(Direction(self.tip, self.direction, axis=self.axis, **at))
        if self.pole is not None:
            wanted.append(Pole(self.bends(skeleton), self.pole, tip=self.tip, **at))
        return wanted

    def bends(self, skeleton: Skeleton) -> str:
        """Find the middle moving joint, for a pole. Raise InputError below two moving joints."""
        moving = [name for name in skeleton.chain(self.root, self.tip) if skeleton[name].kind != Kind.FIXED]
        if len(moving) < 2:  # noqa: PLR2004
            raise InputError(f"a pole needs a limb of two joints or more; above {self.tip!r} there are {len(moving)}")
        return moving[len(moving) // 2]


def chain_of(
    pose: Pose, name: str, root: str | None, tip: str, kind: ChainKind = "position", **more: Any
) -> ChainTarget:
    """Build a chain with its target at the tip of a pose. Raise UnknownNameError or InputError for unknown joints."""
    tip = pose.skeleton.names[pose.skeleton.index(tip)]
    if kind not in KINDS:
        raise InputError(f"a chain's kind is one of {', '.join(KINDS)}, not {kind!r}")
    pose.skeleton.chain(root, tip)
    at = pose.world[tip]
    axis = more.pop("axis", AHEAD)
    along = rotations.rotate(at.rotations, np.asarray(axis, dtype=np.float64))
    return ChainTarget(
        id=name, root=root, tip=tip, kind=kind, axis=axis, position=vector(at.positions),
        rotation=quaternion(at.rotations), direction=vector(along), **more,
    )  # fmt: skip


def vector(numbers: Any) -> Vector:
    """Convert to three floats."""
    x, y, z = (float(number) for number in numbers)
    return (x, y, z)


def quaternion(numbers: Any) -> Quaternion:
    """Convert to four floats w x y z."""
    w, x, y, z = (float(number) for number in numbers)
    return (w, x, y, z)


def default_chains(rig: Rig, pose: Pose) -> tuple[ChainTarget, ...]:
    """Build chains for the usual limbs, with targets at their tips."""
    return tuple(chain_of(pose, limb.name, limb.root, limb.tip, limb.kind) for limb in usual_limbs(rig))

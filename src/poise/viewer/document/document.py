"""State of the viewer as a frozen value: chains, settings, keys.

    Document -> goals (ChainTarget) -> poses (view_solver.py) -> frames (protocol.py)

Actions turn one Document into the next (`actions.py`); nothing else changes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from poise import solvers
from poise.errors import InputError, UnknownNameError
from poise.ground.plant import Planted
from poise.io.bvh_reader import BvhDocument
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.smoothing import smoothstep
from poise.model.clip import Clip, KeyedClip, bracket_times
from poise.model.limits import Limit, Range, find_hinge_axis
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.rig_roles import find_default_limbs
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Direction, Goal, LookAt, Place, Pole, Position
from poise.problem.goals.look_at import DEFAULT_AXIS
from poise.runtime.result_cache import get_or_compute

# --- Timeline of a clip: keys with joint offsets, and the playhead ---------------------------------------------------
#
# Offsets are interpolated between keys. Without another key within two fades they fade smoothly to zero, so a sampled
# clip continues unchanged a little before and after, without a jump.


FADE_S = 0.25  # [s] fade of an offset to zero beyond a key without a neighbour
_SAMPLE_RATE_HZ = 60.0  # [1/s] sample rate of keyed file clips; higher gives smoother offsets between the file's keys


class Key(NamedTuple):
    """Offset of a joint at a time [s] of a clip. It is in numbers of q; rotations are applied behind the clip's own."""

    clip_name: str
    joint_name: str
    time: float
    offset: tuple[float, ...]


def list_frame_times(clip: Clip) -> Floats:
    """List the frame times [s] of an edited clip. Key times of a file get frames between them."""
    if not isinstance(clip, KeyedClip):
        return clip.times
    between_times = np.arange(round(clip.duration * _SAMPLE_RATE_HZ)) / _SAMPLE_RATE_HZ
    return np.unique(np.concatenate([clip.times, between_times]))


def build_key(clip: Clip, joint: str, requested_time: float, pose: Pose) -> Key:
    """Build the key between a clip and a joint of a pose. It stands at the frame nearest to a time."""
    times = list_frame_times(clip)
    frame_time = float(times[np.abs(times - requested_time).argmin()])
    skeleton = clip.skeleton
    clip_values = clip.at(frame_time).q[skeleton.q_slice(joint)]
    pose_values = pose.q[pose.skeleton.q_slice(joint)][-len(clip_values) :]  # a freed root has its position first
    return Key(clip.name, joint, frame_time, tuple(_compute_offset(skeleton, joint, clip_values, pose_values).tolist()))


def apply_keys(clip: Clip, keys: Sequence[Key]) -> Clip:
    """Apply the keys of a clip."""
    keys = [key for key in keys if key.clip_name == clip.name]
    if not keys:
        return clip
    times = list_frame_times(clip)
    poses = clip.poses if times is clip.times else clip.at(times)
    q = np.array(poses.q)
    for joint in dict.fromkeys(key.joint_name for key in keys):
        columns = clip.skeleton.q_slice(joint)
        offsets = _interpolate_keys(clip.skeleton, joint, [key for key in keys if key.joint_name == joint], times)
        q[:, columns] = _apply_offset(clip.skeleton, joint, q[:, columns], offsets)
    return Clip(times, poses.with_q(q), clip.name)


def _interpolate_keys(skeleton: Skeleton, joint: str, keys: Sequence[Key], times: Floats) -> Floats:
    """Interpolate the offsets of a joint's keys as (frames, numbers)."""
    zero_offset = np.zeros(len(keys[0].offset))
    if _is_rotational(skeleton, joint):
        zero_offset[-4] = 1.0
    offsets = {key.time: np.array(key.offset) for key in keys}
    fade_offsets = {time + sign * FADE_S: zero_offset for time in offsets for sign in (-1, 1)}
    timed_offsets = sorted({**fade_offsets, **offsets}.items(), key=lambda timed: timed[0])
    key_times = [time for time, _ in timed_offsets if time in offsets]
    # Between two close keys there is no fade: the offset is interpolated.
    knot_offsets = [
        (knot_time, offset)
        for knot_time, offset in timed_offsets
        if knot_time in offsets or not _is_between_close_keys(knot_time, key_times)
    ]
    knot_times, knot_values = (
        np.array([knot_time for knot_time, _ in knot_offsets]),
        np.array([offset for _, offset in knot_offsets]),
    )
    lower, weight = bracket_times(knot_times, times)
    smooth_weight = smoothstep(weight)
    lower_values, upper_values = knot_values[lower], knot_values[np.minimum(lower + 1, len(knot_times) - 1)]
    interpolated = lower_values + smooth_weight[:, None] * (upper_values - lower_values)
    if _is_rotational(skeleton, joint):
        interpolated[:, -4:] = rotations.slerp(lower_values[:, -4:], upper_values[:, -4:], smooth_weight)
    return interpolated


def _is_between_close_keys(time: float, key_times: Sequence[float]) -> bool:
    """Return whether a time lies between two neighbouring keys. These are at most two fades apart."""
    return any(a < time < b and b - a <= 2 * FADE_S for a, b in pairwise(key_times))


def _is_rotational(skeleton: Skeleton, joint: str) -> bool:
    return skeleton[joint].kind in (Kind.BALL, Kind.FREE)


def _compute_offset(skeleton: Skeleton, joint: str, clip_values: Floats, target_values: Floats) -> Floats:
    """Compute the offset from a joint's own values to a target. It is the inverse of `_apply_offset`."""
    offset = target_values - clip_values
    if _is_rotational(skeleton, joint):
        offset[-4:] = rotations.multiply(rotations.inverse(clip_values[-4:]), target_values[-4:])
    return offset


def _apply_offset(skeleton: Skeleton, joint: str, clip_values: Floats, offsets: Floats) -> Floats:
    result = clip_values + offsets
    if _is_rotational(skeleton, joint):
        result[:, -4:] = rotations.normalise(rotations.multiply(clip_values[:, -4:], offsets[:, -4:]))
    return result


# --- Playhead of a clip, and contact intervals for the timeline ------------------------------------------------------


MIN_SPEED, MAX_SPEED = 0.01, 10.0


@dataclass
class Playhead:
    """A looping clip at a time [s]."""

    clip: Clip | None = None
    time: float = 0.0
    is_playing: bool = False
    speed: float = 1.0

    def advance(self, time_step: float) -> None:
        """Advance the clip by a time step."""
        if not self.is_playing or self.clip is None:
            return
        duration = self.clip.duration
        self.time = (self.time + time_step * self.speed) % duration if duration > 0.0 else 0.0

    def set_clip(self, clip: Clip | None) -> None:
        """Set the clip. It starts at zero, except for the same clip on other terrain."""
        is_same_clip = clip is not None and self.clip is not None and clip.name == self.clip.name
        self.clip = clip
        self.is_playing = self.is_playing and clip is not None
        self.time = min(self.time, clip.duration) if is_same_clip and clip is not None else 0.0

    def seek(self, time: float) -> None:
        """Go to a time inside the clip. Raise InputError without a clip."""
        if self.clip is None:
            raise InputError("there is no clip to play: choose one first")
        self.time = min(max(time, 0.0), self.clip.duration)

    def compute_pose(self, skeleton: Skeleton) -> Pose | None:
        """Compute the clip's pose on a related skeleton.

        The skeleton may have other limits or a free root. None without a clip.
        """
        if self.clip is None or not len(self.clip):
            return None
        return self.clip.at(self.time).on(skeleton)


def list_contacts(clip: Clip | None) -> list[dict[str, Any]]:
    """List the stance intervals of each planted foot.

    The form is [{"foot": "left", "intervals": [[0.1, 0.7], ...]}, ...].
    """
    if not isinstance(clip, Planted):
        return []
    return [
        {
            "foot": foot,
            "intervals": _merge_intervals(
                [interval for intervals in part_intervals.values() for interval in intervals]
            ),
        }
        for foot, part_intervals in clip.contacts.intervals().items()
    ]


def _merge_intervals(intervals: list[Any]) -> list[list[float]]:
    """Merge overlapping intervals."""
    merged: list[list[float]] = []
    for start, end in sorted(map(tuple, intervals)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], float(end))
        else:
            merged.append([float(start), float(end)])
    return merged


# --- Chains with targets, and the solver goals of each ---------------------------------------------------------------


ChainKind: TypeAlias = Literal["position", "place", "direction", "look", "pin"]
CHAIN_KINDS: tuple[str, ...] = get_args(ChainKind)
Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class ChainTarget:
    """A limb with its target.

    id               unique name
    root, tip        first moving joint (None: the limb's own) and the joint for the target
    kind             "position", "place" (and rotation), "direction" (position, and `axis` along a direction), "look"
                     (`axis` through the target, rotating spine and neck as well), "pin" (keeps its position of the
                     start pose)
    weight           weight among competing chains
    stays_on_ground  the target stays on the terrain
    position         [file units, world] the target; rotation w x y z; direction of any length
    axis             of the tip, in its own frame: its direction axis or gaze axis; by default the face's own
    pole             [file units, world] point towards which the limb bends, or None
    """

    id: str
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

    def replace(self, **changes: Any) -> ChainTarget:
        """Return the chain with some fields changed."""
        return dataclasses.replace(self, **changes)

    def with_target_at(self, pose: Pose) -> ChainTarget:
        """Return the chain with its target at the tip of a pose. A look keeps its point."""
        if self.kind == "look":
            return self
        tip_chain = build_chain(pose, self.id, self.root, self.tip, self.kind, axis=self.axis)
        return self.replace(position=tip_chain.position, rotation=tip_chain.rotation, direction=tip_chain.direction)

    @property
    def without_target(self) -> ChainTarget:
        """The chain without target values, as a key for packed solvers."""
        zero_vector = (0.0, 0.0, 0.0)
        pole = None if self.pole is None else zero_vector
        return self.replace(position=zero_vector, rotation=(1.0, 0.0, 0.0, 0.0), direction=zero_vector, pole=pole)

    def list_joints(self, skeleton: Skeleton) -> tuple[str, ...]:
        """List the joints from the root to the tip, both included."""
        return (*skeleton.chain(self.root, self.tip), self.tip)

    def build_goals(self, skeleton: Skeleton) -> list[Goal]:
        """Build the solver goals of the chain, in the order of `targets`."""
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
) -> ChainTarget:
    """Build a chain with its target at the tip of a pose. Raise UnknownNameError or InputError for unknown joints."""
    tip = pose.skeleton.names[pose.skeleton.index(tip)]
    if kind not in CHAIN_KINDS:
        raise InputError(f"a chain's kind is one of {', '.join(CHAIN_KINDS)}, not {kind!r}")
    pose.skeleton.chain(root, tip)
    tip_transform = pose.world[tip]
    axis = options.pop("axis", DEFAULT_AXIS)
    direction = rotations.rotate(tip_transform.rotations, np.asarray(axis, dtype=np.float64))
    return ChainTarget(
        id=name, root=root, tip=tip, kind=kind, axis=axis, position=to_vector(tip_transform.positions),
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


def build_default_chains(rig: Rig, pose: Pose) -> tuple[ChainTarget, ...]:
    """Build chains for the usual limbs, with targets at their tips."""
    return tuple(build_chain(pose, limb.name, limb.root, limb.tip, limb.goal_kind) for limb in find_default_limbs(rig))


# --- Controls and point marks of a program as document values --------------------------------------------------------


ControlValue: TypeAlias = float | int | str


@dataclass(frozen=True)
class Control:
    """A slider, a button or a text.

    A slider goes from `low` to `high`; the value of a button is its number of presses.
    """

    kind: Literal["slider", "button", "text"]
    name: str
    value: ControlValue
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points (n, 3) [file units, world] in one colour; `size_px` in pixels."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    colour: str
    size_px: float


# --- Document --------------------------------------------------------------------------------------------------------


LimitMode: TypeAlias = Literal["limits", "hinge", "plain"]
SolvePace: TypeAlias = Literal["live", "iterate", "step"]
SolveStart: TypeAlias = Literal["last", "start"]

AUTO_SOLVER = "auto"
_UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class SolverChoice:
    """A solver by name with its options, for one view."""

    name: str = AUTO_SOLVER
    options: tuple[tuple[str, Any], ...] = ()

    def build_solver(self) -> solvers.Solver | str:
        """Build the solver, or return "auto". Raise InputError for invalid options."""
        return self.name if self.name == AUTO_SOLVER else solvers.make_solver(self.name, **dict(self.options))

    def with_option(self, name: str, value: Any) -> SolverChoice:
        """Return the choice with one option set. The solver checks it."""
        options = tuple(pair for pair in self.options if pair[0] != name)
        choice = SolverChoice(self.name, (*options, (name, value)))
        choice.build_solver()
        return choice


@dataclass(frozen=True)
class HandleState:
    """Position and rotation of a handle of a program (`poise.view`)."""

    name: str
    position: Vector
    rotation: Quaternion = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Complete state of the viewer's work.

    rig                  the rig with the displayed and saved file
    name                 title on the page
    skeleton             the rig's, with the limits as edited
    start                initial pose of solves and of Reset; on the rig's skeleton
    chains               limbs with their targets
    solvers              of view A and view B
    view_count           1 or 2
    mode                 "limits": joints keep them; "hinge": hinges keep their axes without range; "plain": no limits
    pace                 "live": solve to the end for each target; "iterate": one iteration a frame; "step": one per
                         Step command
    solve_start          "last": solve from the displayed pose; "start": from the start pose each time
    tolerance            [file units] None: the library's own
    free_root            whether the root rotates and translates
    character_positions  position of each character of a crowd [file units]; targets are relative to the first
    clip_name            name of the clip that gives the base pose, or None
    keys                 keyed bone rotations in clips of the rig
    plants_feet          whether the clip's feet are planted on the terrain
    terrain_spec         specification such as "stairs:0.15,0.30", or None
    handles              handles of a program
    controls             sliders, buttons and texts of a program
    marks                point marks of a program
    is_driven            whether a program sets the poses: then nothing is solved
    scene_name           name of the demo scene, or None
    package_folders      folders for meshes of package://, besides the file's own
    """

    rig: Rig
    name: str
    skeleton: Skeleton
    start: Pose
    chains: tuple[ChainTarget, ...] = ()
    solvers: tuple[SolverChoice, SolverChoice] = (SolverChoice(), SolverChoice("ccd"))
    view_count: int = 1
    mode: LimitMode = "limits"
    pace: SolvePace = "live"
    solve_start: SolveStart = "last"
    tolerance: float | None = None
    free_root: bool = False
    character_positions: tuple[Vector, ...] = ((0.0, 0.0, 0.0),)
    clip_name: str | None = None
    keys: tuple[Key, ...] = ()
    plants_feet: bool = False
    terrain_spec: str | None = None
    handles: tuple[HandleState, ...] = ()
    controls: tuple[Control, ...] = ()
    marks: tuple[PointCloud, ...] = ()
    is_driven: bool = False
    scene_name: str | None = None
    package_folders: tuple[Path, ...] = ()

    def replace(self, **changes: Any) -> Document:
        """Return the document with some fields changed."""
        return dataclasses.replace(self, **changes)

    def is_same(self, other: Document) -> bool:
        """Return whether all fields are equal."""
        fields = (field.name for field in dataclasses.fields(self))
        pairs = ((getattr(self, name), getattr(other, name)) for name in fields)
        return all(a is b or a == b for a, b in pairs)

    def with_program_controls(self, current: Document) -> Document:
        """Return the document with the current controls and marks of a program."""
        return self.replace(controls=current.controls, marks=current.marks)

    def has_same_work(self, other: Document) -> bool:
        """Return whether the savable content is the same.

        It is start pose, limits, chains and keys, but no view settings.
        """
        own_chains, other_chains = (
            tuple(chain.replace(enabled=True) for chain in document.chains) for document in (self, other)
        )
        has_same_start = self.rig is other.rig and self.start is other.start and own_chains == other_chains
        return has_same_start and self.keys == other.keys and self.skeleton.limits == other.skeleton.limits

    def find_chain(self, name: str) -> ChainTarget:
        """Find a chain by name. UnknownNameError lists all names."""
        for chain in self.chains:
            if chain.id == name:
                return chain
        raise UnknownNameError("chain", name, [chain.id for chain in self.chains])

    def with_chain(self, new_chain: ChainTarget) -> Document:
        """Return the document with the chain of this name replaced."""
        return self.replace(chains=tuple(new_chain if chain.id == new_chain.id else chain for chain in self.chains))

    @property
    def solver_skeleton(self) -> Skeleton:
        """The skeleton for solving, with free root and limits as set.

        It is cached per skeleton and mode.
        """
        skeleton = self.skeleton.with_free_root() if self.free_root else self.skeleton
        if self.mode == "limits":
            return skeleton
        filter_limit = _keep_hinge_axis if self.mode == "hinge" else _keep_slide_limit
        return get_or_compute(skeleton, "viewed in a mode", self.mode, lambda: _filter_limits(skeleton, filter_limit))

    @property
    def solver_start(self) -> Pose:
        """The start pose on the solver skeleton, inside its limits. It is the same value while neither changes."""
        skeleton = self.solver_skeleton

        def compute_start() -> Pose:
            start = self.start.on(skeleton)
            return start.with_q(skeleton.legal(start.q)[0])

        # Changes are detected by identity of poses, and of skeletons here: the pose keeps its own skeleton alive.
        return get_or_compute(self.start, "started", id(skeleton), compute_start, max_keys=1)

    @property
    def active_chains(self) -> tuple[ChainTarget, ...]:
        """The enabled chains."""
        return tuple(chain for chain in self.chains if chain.enabled)

    def list_modes(self) -> dict[str, str | None]:
        """List the limit modes, each with None or its reason against it."""
        limits = [limit for limit in self.skeleton.limits if limit is not None]
        has_axes = any(find_hinge_axis(limit) for limit in limits) or bool((self.skeleton.kinds == Kind.HINGE).any())
        return {
            "plain": None,
            "hinge": None if has_axes else "no joint has a hinge axis; give one a range with an axis under Limits",
            "limits": None if limits else "no joint has limits; give one under Limits",
        }


def build_document(rig: Rig, *, pose: Pose | None = None, name: str = "", **options: Any) -> Document:
    """Build the initial document of a rig. It has the pose of the file and the chains of its sidecar or its limbs.

    The clip of a motion file (BVH) is played, with the chains switched off.
    """
    start = rig.pose if pose is None else pose
    if start.shape:
        raise InputError(f"the viewer starts from a single pose, not a batch of shape {start.shape}")
    title = name or (rig.path.name if rig.path is not None else "rig")
    chains = options.pop("chains", None)
    initial_chains = build_default_chains(rig, start) if chains is None else chains
    if chains is None and pose is None and "clip_name" not in options and _is_motion_file(rig):
        options["clip_name"], initial_chains = (
            rig.clips[0].name,
            tuple(chain.replace(enabled=False) for chain in initial_chains),
        )
    return Document(rig=rig, name=title, skeleton=rig.skeleton, start=start, chains=initial_chains, **options)


def _is_motion_file(rig: Rig) -> bool:
    """Return whether a rig comes from a BVH of several frames."""
    return isinstance(rig.skeleton.source, BvhDocument) and bool(rig.clips) and len(rig.clips[0]) > 1


def _filter_limits(skeleton: Skeleton, filter_limit: Callable[[Kind, Limit], Limit | None]) -> Skeleton:
    """Return the skeleton with each limit filtered by `filter_limit`."""
    kinds_and_limits = zip(skeleton.kinds.tolist(), skeleton.limits, strict=True)
    limits = tuple(None if limit is None else filter_limit(Kind(kind), limit) for kind, limit in kinds_and_limits)
    return dataclasses.replace(skeleton, limits=limits)


def _keep_slide_limit(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the limit of a slide, drop any other. A slide without a range would have no end."""
    return limit if kind == Kind.SLIDE else None


def _keep_hinge_axis(kind: Kind, limit: Limit) -> Limit | None:
    """Keep the hinge axis of a ball, drop any other limit."""
    axis = find_hinge_axis(limit)
    return Range(*_UNBOUNDED, axis=axis) if axis is not None else _keep_slide_limit(kind, limit)

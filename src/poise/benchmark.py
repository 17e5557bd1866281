"""Benchmarks of the library with the bundled rigs: `poise bench`.

Targets are computed by forward kinematics of random poses, so each is reachable. Success is evaluated independently of
the solver. Times are medians over repeats, with compiled kernels.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.io import samples
from poise.io.registry import load
from poise.kernels.levels import find_level
from poise.maths import rotations
from poise.maths.arrays import Floats, find_simd_width
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Place, Position
from poise.runtime.version import __version__
from poise.solving.solve import prepare, solve

_REPEAT_COUNT = 5
_HUMANOID_TIPS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
_PERTURBATION_RAD = 0.25  # [rad] standard deviation of the random rotations along each axis
_CHARACTER_TOLERANCE = 1e-6  # [m, rad]; the bundled character is in metres
_CHAIN_BONES = 10
_CHAIN_TOLERANCE = 1e-3  # tolerance for a chain of length 10, as in the CCD comparisons of the README


class BenchSize(NamedTuple):
    """Problem sizes of a benchmark run."""

    arm_targets: int
    arm_calls: int
    character_frames: int
    chain_targets: int
    kinematics_poses: int


FULL_SIZE = BenchSize(
    arm_targets=100_000, arm_calls=2000, character_frames=2000, chain_targets=1000, kinematics_poses=100_000
)
QUICK_SIZE = BenchSize(arm_targets=200, arm_calls=20, character_frames=8, chain_targets=20, kinematics_poses=100)


class Measurement(NamedTuple):
    """One measurement.

    It has the label, the solved share [%] or None, the median, the 99th percentile or None, and their unit.
    """

    what: str
    solved: float | None
    median: float
    p99: float | None
    unit: str


def read_machine_info() -> dict[str, str | int]:
    """Read processor, core count and versions."""
    return {
        "cpu": _read_processor_name(),
        "cores": os.cpu_count() or 1,
        "lanes": find_simd_width(),
        "python": platform.python_version(),
        "level": find_level(),
        "numba": _read_version("numba"),  # it compiles kernels only where the library has none
        "numpy": version("numpy"),
        "poise": __version__,
    }


def _read_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _read_processor_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def list_benchmarks() -> list[tuple[str, Callable[[BenchSize], list[Measurement]]]]:
    """List the benchmarks as (name, function) pairs."""
    return [
        ("arm", measure_arm),
        ("figure", measure_character),
        ("bones", measure_chain),
        ("forward kinematics", measure_kinematics),
    ]


def measure_arm(size: BenchSize) -> list[Measurement]:
    """Measure Place goals of the bundled six-hinge arm. There is a batch, single calls from its rest, and a path."""
    start = load(samples.path("arm.urdf")).rest
    low, high = start.skeleton.value_ranges.T
    q = np.random.default_rng(1).uniform(low, high, (size.arm_targets, len(low)))
    tool_transforms = Pose(start.skeleton, q).world_of("tool")
    targets = np.concatenate([tool_transforms.positions, tool_transforms.rotations], axis=-1)
    goal = Place("tool", targets[:, :3], targets[:, 3:])
    core_count = os.cpu_count() or 1
    measurements = [
        _measure_batch(
            f"arm, {size.arm_targets:,} targets, {format_count(thread_count, 'thread')}",
            start,
            goal,
            threads=thread_count,
        )
        for thread_count in sorted({1, core_count})
    ]
    example = goal.with_target(targets[0])
    call_targets = list(targets[: size.arm_calls])
    measurements.append(_measure_calls("arm, prepared call", prepare(start, example), call_targets))
    measurements.append(
        _measure_calls("arm, plain solve", lambda target: solve(start, goal.with_target(target)), call_targets)
    )
    measurements.append(
        _measure_calls(
            "arm, tracking a circle, waypoint", _PathFollower(start), list(_build_circle(start, size.arm_calls))
        )
    )
    return measurements


class _PathFollower:
    """Solver of a path, each waypoint from the previous result."""

    def __init__(self, start: Pose) -> None:
        self.prepared = prepare(start, Place("tool", (0, 0, 0), (1, 0, 0, 0)))
        self.q = start.q

    def __call__(self, waypoint: Floats) -> Any:
        result = self.prepared(waypoint, self.q)
        self.q = result.q
        return result


def _build_circle(start: Pose, waypoint_count: int) -> Iterator[Floats]:
    """Build placements (7,) on a level circle of 10 cm radius.

    The tool keeps its rotation in a pose with bent joints.
    """
    bent_pose = start.replace({"shoulder": 0.4, "elbow": 0.9, "wrist_bend": -0.8})
    tool_transform = bent_pose.world["tool"]
    for angle in np.linspace(0.0, 2 * np.pi, waypoint_count):
        yield np.concatenate(
            [
                tool_transform.positions + 0.1 * np.array([np.cos(angle) - 1, np.sin(angle), 0.0]),
                tool_transform.rotations,
            ]
        )


def measure_character(size: BenchSize) -> list[Measurement]:
    """Measure five Place goals of a whole character.

    It is without limits, root included: hands, feet and head, from rest.
    """
    rig = load(samples.path("humanoid.bvh"))
    skeleton = rig.skeleton.with_limits(dict.fromkeys(_list_limited_joints(rig.skeleton)))
    start = Pose(skeleton, skeleton.rest_q)
    poses = Pose(skeleton, _perturb_poses(start, size.character_frames))
    goals = [_build_place_goal(poses, joint) for joint in _HUMANOID_TIPS]
    label = f"figure, {len(goals)} places, {size.character_frames:,} frames"
    options: dict[str, Any] = {
        "free_root": True,
        "tolerance": _CHARACTER_TOLERANCE,
        "angle_tolerance": _CHARACTER_TOLERANCE,
    }
    core_count = os.cpu_count() or 1
    return [
        _measure_batch(
            f"{label}, {format_count(thread_count, 'thread')}", start, goals, threads=thread_count, **options
        )
        for thread_count in sorted({1, core_count})
    ]


def _list_limited_joints(skeleton: Skeleton) -> list[str]:
    return [name for name, limit in zip(skeleton.names, skeleton.limits, strict=True) if limit]


def _build_place_goal(poses: Pose, joint: str) -> Place:
    """Build a Place goal at a joint's pose. Its root is the first joint: the spine moves too."""
    transforms = poses.world[joint]
    return Place(joint, transforms.positions, transforms.rotations, root=poses.skeleton.names[0])


def _perturb_poses(start: Pose, pose_count: int) -> Floats:
    """Perturb the ball and free joints: q (pose_count, nq).

    Rotation vectors are normal with 0.25 rad along each axis.
    """
    skeleton, rng = start.skeleton, np.random.default_rng(2)
    q = np.repeat(start.q[None], pose_count, axis=0)
    for row in np.flatnonzero(skeleton.kinds >= Kind.BALL):
        rotation_vectors = rng.normal(scale=_PERTURBATION_RAD, size=(pose_count, 3))
        half_angles = np.linalg.norm(rotation_vectors, axis=1, keepdims=True) / 2
        perturbations = np.concatenate(
            [np.cos(half_angles), rotation_vectors * np.sinc(half_angles / np.pi) / 2], axis=1
        )
        columns = skeleton.q_slice(skeleton.names[row])
        quaternion_columns = slice(columns.stop - 4, columns.stop)
        q[:, quaternion_columns] = rotations.multiply(perturbations, q[:, quaternion_columns])
    return q


def measure_chain(size: BenchSize) -> list[Measurement]:
    """Measure Position goals of ten ball joints with ccd.

    The chain is straight at the start, targets are within reach.
    """
    names = [*(f"bone_{i}" for i in range(_CHAIN_BONES)), "tip"]
    kinds = [Kind.BALL] * _CHAIN_BONES + [Kind.FIXED]
    offsets = [[0.0, float(i > 0), 0.0] for i in range(_CHAIN_BONES + 1)]
    skeleton = Skeleton.build(names, range(-1, _CHAIN_BONES), kinds, offsets=offsets)
    start, rng = Pose(skeleton, skeleton.rest_q), np.random.default_rng(3)
    direction = rng.normal(size=(size.chain_targets, 3))
    distance = 0.95 * _CHAIN_BONES * rng.random((size.chain_targets, 1)) ** (1 / 3)
    goal = Position("tip", distance * direction / np.linalg.norm(direction, axis=1, keepdims=True), root="bone_0")
    return [
        _measure_batch(
            f"ten bones, ccd, {size.chain_targets:,} targets", start, goal, solver="ccd", tolerance=_CHAIN_TOLERANCE
        )
    ]


def measure_kinematics(size: BenchSize) -> list[Measurement]:
    """Measure world transforms of all joints of many poses."""
    measurements: list[Measurement] = []
    for name in ("arm.urdf", "humanoid.bvh"):
        start = load(samples.path(name)).rest
        q = np.repeat(start.q[None], size.kinematics_poses, axis=0)
        times = [
            _measure_seconds(lambda q=q, s=start.skeleton: Pose(s, q).world) / size.kinematics_poses
            for _ in range(_REPEAT_COUNT)
        ]
        label = f"{name}, {len(start.skeleton)} joints, all world transforms, pose"
        measurements.append(Measurement(label, None, float(np.median(times)) * 1e9, None, "ns"))
    return measurements


def _measure_batch(label: str, start: Pose, goals: Any, **options: Any) -> Measurement:
    """Measure a batch solve: microseconds per target."""
    result = solve(start, goals, **options)
    times = [_measure_seconds(lambda: solve(start, goals, **options)) / len(result) for _ in range(_REPEAT_COUNT)]
    return Measurement(label, 100.0 * float(np.mean(result.reached)), float(np.median(times)) * 1e6, None, "us")


def _measure_calls(label: str, solve_target: Callable[[Floats], Any], targets: list[Floats]) -> Measurement:
    """Measure single solves: microseconds per call."""
    times, reached_count = np.zeros(len(targets)), 0
    solve_target(targets[0])
    for i, target in enumerate(targets):
        began = time.perf_counter()
        result = solve_target(target)
        times[i] = time.perf_counter() - began
        reached_count += bool(result.reached)
    solved_percent = 100.0 * reached_count / len(targets)
    return Measurement(
        label, solved_percent, float(np.median(times)) * 1e6, float(np.percentile(times, 99)) * 1e6, "us"
    )


def _measure_seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began

"""Kernel compilation ahead of time, by solving tiny problems. Later runs load the kernels from the cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from poise.calls.progress import report_progress
from poise.errors import UnknownNameError
from poise.ground.grounder import Grounder
from poise.ground.plant import plant_feet
from poise.ground.robot.clip_descent import NO_PAIRS, JointMotion
from poise.ground.robot.clip_solve import solve_motion
from poise.ground.robot.tree import build_tree
from poise.ground.terrain.terrain import Terrain
from poise.io.registry import load
from poise.kernels.clip_least_squares import DIRECTION, Tasks
from poise.kernels.entries import ENTRIES, Backend, can_compile, has_code_of_all, suppress_progress
from poise.model.limits import Range, SwingTwist
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Orientation, Pin, Place, Position
from poise.retargeting.retargeter import Retargeter
from poise.solving.solve import prepare, solve

WarmupStep: TypeAlias = tuple[str, Callable[[], Any]]

_REACHABLE_TARGET, _UNREACHABLE_TARGET = (0.3, 0.2, 0.4), (9.0, 9.0, 9.0)
_IDENTITY_ROTATION = (1.0, 0.0, 0.0, 0.0)


def list_steps(group_name: str = "all") -> list[WarmupStep]:
    """List the warm-up steps as (name, function) pairs. Each takes seconds once and milliseconds afterwards."""
    if group_name not in GROUP_NAMES:
        raise UnknownNameError("group of kernels", group_name, GROUP_NAMES, plural="groups of kernels")
    return [
        (name, step)
        for name, group, step in _WARMUP_STEPS
        if group_name == "all" or group in {group_name, "everything"}
    ]


def warmup(what: str = "all", *, progress: bool | Callable[[int, int, str], None] | None = None) -> Path | None:
    """Compile kernels before the first solve, where the library lacks their code.

    Where a library of kernels is installed and no kernel is edited, there is nothing to do.

    Parameters
    ----------
    what
        `"arms"`: robot arms, default solver. `"figures"`: limbs and whole characters, default solver.
        `"methods"`: solvers selected by name, such as `ccd` and `fabrik`. `"feet"`: planting, locking, the Grounder.
        `"all"`: all of these.
    progress
        As for `solve`. A function is called before and after each step with the number of steps done, the number of
        all steps and the name of the step. Without a bar or a function, a line on standard error announces the
        compilation.

    Returns
    -------
    Path or None
        The cache folder of the compiled kernels. None: there is nothing to compile, because the library has the code of
        all kernels; or no folder is writable, and only this process has them.

    Raises
    ------
    UnknownNameError
        For an unknown group.

    Notes
    -----
    Numba caches the kernels beside the package, in a user folder if that is not writable, or in NUMBA_CACHE_DIR if that
    environment variable is set. They are compiled for this processor and this version of Poise.
    """
    steps = list_steps(what)
    if has_code_of_all() or not can_compile():
        with report_progress(progress, "compiling", 0, old_form="stage"):  # checks the argument
            return None
    has_progress = progress is not None and progress is not False
    with (
        report_progress(progress, "compiling", len(steps), old_form="stage") as advance,
        suppress_progress() if has_progress else nullcontext(),
    ):
        for name, compile_kernels in steps:
            advance(0, name)
            compile_kernels()
            advance(1, name)
    folders = (entry.call.stats.cache_path for entry in ENTRIES.values() if entry.backend == Backend.JIT)
    cache_folder = next(folders, None)
    return None if cache_folder is None else Path(cache_folder)


def count_compiled() -> dict[str, int]:
    """Count the signatures of each kernel compiled by Numba."""
    return {name: len(entry.call.signatures) for name, entry in sorted(ENTRIES.items()) if entry.backend == Backend.JIT}


def _load_arm() -> Pose:
    return _load_rest("arm.urdf")


def _load_humanoid() -> Pose:
    return _load_rest("humanoid.bvh")


def _load_rest(name: str) -> Pose:
    return _load_sample(name).rest


def _load_sample(name: str) -> Rig:
    from poise.io import samples  # noqa: PLC0415  (`import poise` need not wait for it)

    return load(samples.path(name))


def _compile_poses() -> None:
    for pose in (_load_arm(), _load_humanoid()):
        assert pose.world.rotations.size
        assert pose.world_of(pose.skeleton.names[-1]).rotations.size
        assert pose.local_positions.size
        Pose(pose.skeleton, np.repeat(pose.q[None], 2, axis=0)).world.matrices  # noqa: B018  (computed when read)


def _compile_jacobians() -> None:
    pose = _load_arm()
    pose.jacobian("tool")
    pose.jacobian("tool", np.zeros(3))


def _compile_limit_message() -> None:
    """Solve an arm at its limits and format the message."""
    arm = _load_arm()
    hinge_names = [name for name in arm.skeleton.names if arm.skeleton[name].kind == Kind.HINGE]
    limited_skeleton = arm.skeleton.with_limits({name: Range(-0.05, 0.05) for name in hinge_names})
    solve(Pose(limited_skeleton, limited_skeleton.legal(arm.q)[0]), Position("tool", _REACHABLE_TARGET)).message()


def _compile_ccd() -> None:
    for pose, joint, reachable_target in (
        (_load_arm(), "tool", _REACHABLE_TARGET),
        (_load_humanoid(), "LeftHand", (0.4, 1.2, 0.35)),
    ):
        for target in (reachable_target, _UNREACHABLE_TARGET):  # an unreachable target takes other code paths
            solve(pose, Position(joint, target), solver="ccd").message()
            solve(pose, Position(joint, [target, target]), solver="ccd")
    solve(_load_humanoid(), Position("LeftHand", (0.4, 1.2, 0.35)), solver="ccd", trace=True)
    solve(_load_humanoid(), Place("LeftHand", (0.4, 1.2, 0.35), _IDENTITY_ROTATION), solver="ccd")


def _compile_fabrik() -> None:
    limited_pose, goal = _load_humanoid(), Position("LeftHand", (0.4, 1.2, 0.35))
    unlimited_pose = Pose(limited_pose.skeleton.with_limits({"*": None}), limited_pose.q)
    for pose in (unlimited_pose, limited_pose):
        solve(pose, goal, solver="fabrik")
        solve(pose, goal.with_target(np.array([goal.target, _UNREACHABLE_TARGET])), solver="fabrik")
    solve(limited_pose, [goal, Position("Head", (0.0, 1.6, 0.1))], solver="fabrik")


def _compile_two_bone() -> None:
    leg = Position("LeftFoot", (0.1, 0.3, 0.2), root="LeftUpLeg")
    solve(_load_humanoid(), leg, solver="two_bone").message()
    solve(_load_humanoid(), Place("LeftFoot", (0.1, 0.3, 0.2), _IDENTITY_ROTATION, root="LeftUpLeg"), solver="two_bone")
    planar_skeleton = Skeleton.build("abc", range(-1, 2), [1, 1, 0], offsets=[(1, 0, 0)] * 3, axes=[(0, 0, 1)] * 3)
    solve(Pose(planar_skeleton, planar_skeleton.rest_q), Position("c", (1.5, 0.5, 0.0)), solver="two_bone")


def _compile_arm_single() -> None:
    for goal in (
        Position("tool", _REACHABLE_TARGET),
        Orientation("tool", _IDENTITY_ROTATION),
        Place("tool", _REACHABLE_TARGET, _IDENTITY_ROTATION),
    ):
        for target in (goal.rows(), _move_out_of_reach(goal)):
            target_goal = goal.with_target(target)
            solve(_load_arm(), target_goal).message()
            prepare(_load_arm(), goal)(target)


def _compile_arm_batch() -> None:
    for goal in (
        Position("tool", _REACHABLE_TARGET),
        Orientation("tool", _IDENTITY_ROTATION),
        Place("tool", _REACHABLE_TARGET, _IDENTITY_ROTATION),
    ):
        solve(_load_arm(), goal.with_target(np.repeat(goal.rows()[None], 2, axis=0))).message()
        solve(_load_arm(), goal, prefer="closest", seeds=2)
    solve(_load_arm(), Place("tool", _UNREACHABLE_TARGET, _IDENTITY_ROTATION), trace=True)
    pose = _load_arm()
    solve(pose.with_q(np.repeat(pose.q[None], 2, axis=0)), Position("tool", _REACHABLE_TARGET))


def _move_out_of_reach(goal: Position | Orientation | Place) -> Any:
    target = goal.rows().copy()
    target[..., :3] += _UNREACHABLE_TARGET if "position" in goal.measures else 0.0
    return target


def _compile_character() -> None:
    pose = _load_humanoid()
    joints = [pose.skeleton.names[-1], "LeftHand"]
    goals = [Place(joint, pose.world[joint].positions + 0.01, pose.world[joint].rotations) for joint in joints]
    solve(pose, goals, free_root=True).message()
    solve(pose, goals[:1], floor=0.0)
    solve(pose, [Place(goal.joint, _UNREACHABLE_TARGET, _IDENTITY_ROTATION) for goal in goals]).message()
    solve(_build_hinged_pose(pose.skeleton), goals, free_root=True)
    solve(_build_limited_pose(pose.skeleton), goals, free_root=True)
    feet = [Pin("LeftFoot"), Pin("RightFoot")]
    solve(pose, [*feet, Position("LeftHand", (0.1, 0.1, 0.5))], free_root=True)  # crouches and stands on its feet
    solve(pose, goals[:1], prefer="closest", seeds=2)
    walk = _load_sample("humanoid.glb").clips[0].poses[:2]  # with translations of its own
    solve(walk, Position("LeftHand", (0.4, 1.2, 0.3)))


def _compile_jacobian_methods() -> None:
    for pose in (_load_humanoid(), _build_limited_pose(_load_humanoid().skeleton)):
        solve(pose, Position("LeftHand", (0.4, 1.2, 0.35)), solver="damped_least_squares").message()


def _compile_feet() -> None:
    walk = _load_sample("humanoid.glb").clips[0]
    plant_feet(walk, Terrain.stairs(0.15, 0.3))  # this clip has acceleration spikes: their smoothing is compiled too


def _compile_live_feet() -> None:
    Grounder(_load_humanoid(), Terrain.flat())(_load_humanoid(), 0.0)


def _compile_robot_clip() -> None:
    """Solve a clip of two frames for a robot of one hinge."""
    skeleton = Skeleton.build(["base", "arm"], [-1, 0], [Kind.FREE, Kind.HINGE], axes=[(0, 0, 0), (0, 0, 1)])
    tree, frames = build_tree(skeleton), 2
    tasks = Tasks(
        np.array([DIRECTION]), np.array([1]), np.array([[1.0, 0.0, 0.0]]), np.full((frames, 1, 9), 0.5),
        np.ones((frames, 1)),
    )  # fmt: skip
    start = JointMotion(np.zeros((frames, 3)), np.tile(np.eye(3), (frames, 1, 1)), np.zeros((frames, 1)))
    solve_motion(tree, tasks, NO_PAIRS, start, np.arange(2.0), np.array([np.inf]), 1.0)


def _compile_live_robot() -> None:
    """Move a robot of one hinge as the sample walks."""
    walk = _load_sample("humanoid.glb")
    skeleton = walk.skeleton
    kinds = [Kind.HINGE if name == "LeftLeg" else Kind.BALL for name in skeleton.names]
    axes = np.tile([1.0, 0.0, 0.0], (len(kinds), 1))
    hinged = Skeleton.build(skeleton.names, skeleton.parents, kinds, offsets=skeleton.A[:, :3], axes=axes, up="y")
    live = Retargeter(walk, Rig(hinged, Pose(hinged, hinged.rest_q)), ground=True)
    for frame in range(4):
        live(walk.clips[0].poses[frame])


def _build_hinged_pose(skeleton: Skeleton) -> Pose:
    """Build a character pose with a hinge knee."""
    hinged_skeleton = skeleton.with_limits({"LeftLeg": Range.degrees(0, 150, axis=(1, 0, 0))})
    return Pose(hinged_skeleton, hinged_skeleton.rest_q)


def _build_limited_pose(skeleton: Skeleton) -> Pose:
    """Build a character pose with bounded twist of a ball joint. Kernels have a separate branch for it."""
    limited_skeleton = skeleton.with_limits({"LeftArm": SwingTwist((1, 0, 0), 1.5, (-1.5, 1.5))})
    return Pose(limited_skeleton, limited_skeleton.rest_q)


GROUP_NAMES = ("arms", "figures", "methods", "feet", "all")

# Name of a step, its group, and its function.
_WARMUP_STEPS: tuple[tuple[str, str, Callable[[], Any]], ...] = (
    ("poses", "everything", _compile_poses),
    ("Jacobians", "arms", _compile_jacobians),
    ("arms: one target", "arms", _compile_arm_single),
    ("arms: many targets", "arms", _compile_arm_batch),
    ("arms: limits", "arms", _compile_limit_message),
    ("limbs of two bones", "figures", _compile_two_bone),
    ("figures: any goals", "figures", _compile_character),
    ("joint by joint: ccd", "methods", _compile_ccd),
    ("joint by joint: fabrik", "methods", _compile_fabrik),
    ("Jacobian methods", "methods", _compile_jacobian_methods),
    ("feet of clips", "feet", _compile_feet),
    ("feet, live", "feet", _compile_live_feet),
    ("clips of robots", "feet", _compile_robot_clip),
    ("robots, live", "feet", _compile_live_robot),
)

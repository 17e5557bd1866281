"""Kernel compilation ahead of time, by solving tiny problems. Later runs load the kernels from the cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from poise import kernels
from poise.errors import UnknownNameError
from poise.ground.grounder import Grounder
from poise.ground.plant import plant_feet
from poise.ground.terrain.terrain import Terrain
from poise.io.registry import load
from poise.kernels.announced import quiet
from poise.maths.lanes import lane_width
from poise.model.limits import Range, SwingTwist
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Orientation, Place, Position
from poise.solving.solve import prepare, solve

Step: TypeAlias = tuple[str, Callable[[], Any]]

_WIDE = 8  # lanes of a wide machine
_NEAR, _FAR = (0.3, 0.2, 0.4), (9.0, 9.0, 9.0)
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def steps(what: str = "all") -> list[Step]:
    """List the warm-up steps as (name, function) pairs. Each takes seconds once and milliseconds afterwards."""
    if what not in GROUPS:
        raise UnknownNameError("group of kernels", what, GROUPS, plural="groups of kernels")
    return [(name, step) for name, group, step in _STEPS if what == "all" or group in {what, "everything"}]


def warmup(what: str = "all", *, progress: Callable[[str], None] | None = None) -> Path | None:
    """Compile the kernels for this machine before the first solve.

    Parameters
    ----------
    what
        `"arms"`: robot arms, default solver. `"figures"`: limbs and whole characters, default solver.
        `"methods"`: solvers selected by name, such as `ccd` and `fabrik`. `"feet"`: planting, locking, the Grounder.
        `"all"`: all of these.
    progress
        A function called with the name of each step before it begins. Without one, a line on standard error announces
        the compilation.

    Returns
    -------
    Path or None
        The cache folder of the compiled kernels. None: no folder is writable, and only this process has them.

    Raises
    ------
    UnknownNameError
        For an unknown group.

    Notes
    -----
    Numba caches the kernels beside the package, in a user folder if that is not writable, or in NUMBA_CACHE_DIR if that
    environment variable is set. They are compiled for this processor and this version of Poise.
    """
    with nullcontext() if progress is None else quiet():
        for name, compile_kernels in steps(what):
            if progress is not None:
                progress(name)
            compile_kernels()
    folder = kernels.forward.local_transforms.stats.cache_path
    return None if folder is None else Path(folder)


def compiled() -> dict[str, int]:
    """Count the compiled signatures of each kernel. Kernels are those of this machine's lane width."""
    width = "8" if lane_width() == _WIDE else "4"
    found = {
        "forward.local_transforms": kernels.forward.local_transforms,
        "forward.turns_of_similar": kernels.forward.turns_of_similar,
        "forward.world_maps": getattr(kernels.forward, f"world_maps{width}"),
        "jacobian.jacobians": getattr(kernels.jacobian, f"jacobians{width}"),
        "chain.tips": kernels.chain.links.tips,
        "ccd.solve": kernels.chain.ccd.solve,
        "ccd_goals.solve": kernels.chain.ccd_goals.solve,
        "ccd.probe": kernels.chain.ccd.probe,
        "fabrik.solve": kernels.chain.fabrik.solve,
        "fabrik_limited.solve": kernels.chain.fabrik_limited.solve,
        "fabrik_tree.solve": kernels.tree.fabrik_tree.solve,
        "legs.bend_all": kernels.ground.legs.bend_all,
        "legs.passed_down": kernels.ground.legs.passed_down,
        "spread.least": kernels.ground.spread.least,
        "spread.swung": kernels.ground.spread.swung,
        "grounder.step": kernels.ground.grounder.step,
        "two_bone.solve": getattr(kernels.limb.two_bone, f"solve{width}"),
        "two_bone_planar.solve": kernels.limb.planar.solve,
        "posed.limbs": kernels.limb.posed.limbs,
        "posed_plane.planes": kernels.limb.posed_plane.planes,
        "serial.tips": kernels.arm.serial.tips,
        "reach.reach": getattr(kernels.arm.reach, f"reach{width}"),
        "tree_many.free": getattr(kernels.tree.many, f"free{width}"),
        "tree_many.solve": getattr(kernels.tree.many, f"solve{width}"),
        "tree_steps.free": getattr(kernels.tree.steps, f"free{width}"),
        "tree_steps.solve": getattr(kernels.tree.steps, f"solve{width}"),
        "violation.largest": kernels.limits.violation.largest,
        "violation.stands": kernels.limits.violation.stands,
        "paths.measure": getattr(kernels.paths, f"measure{width}"),
    }
    return {name: len(getattr(kernel, "signatures", ())) for name, kernel in found.items()}


def _arm() -> Pose:
    return _rest("arm.urdf")


def _humanoid() -> Pose:
    return _rest("humanoid.bvh")


def _rest(name: str) -> Pose:
    return _sample(name).rest


def _sample(name: str) -> Rig:
    from poise.io import samples  # noqa: PLC0415  (`import poise` need not wait for it)

    return load(samples.path(name))


def _poses() -> None:
    for pose in (_arm(), _humanoid()):
        assert pose.world.rotations.size
        assert pose.world_of(pose.skeleton.names[-1]).rotations.size
        assert pose.local_positions.size
        Pose(pose.skeleton, np.repeat(pose.q[None], 2, axis=0)).world.matrices  # noqa: B018  (computed when read)


def _jacobians() -> None:
    pose = _arm()
    pose.jacobian("tool")
    pose.jacobian("tool", np.zeros(3))


def _name_limits() -> None:
    """Solve an arm at its limits and format the message."""
    arm = _arm()
    moving = [name for name in arm.skeleton.names if arm.skeleton[name].kind == Kind.HINGE]
    tight = arm.skeleton.limited({name: Range(-0.05, 0.05) for name in moving})
    solve(Pose(tight, tight.legal(arm.q)[0]), Position("tool", _NEAR)).message()


def _ccd() -> None:
    for pose, joint, goal in ((_arm(), "tool", _NEAR), (_humanoid(), "LeftHand", (0.4, 1.2, 0.35))):
        for target in (goal, _FAR):  # an unreachable target takes other code paths
            solve(pose, Position(joint, target), solver="ccd").message()
            solve(pose, Position(joint, [target, target]), solver="ccd")
    solve(_humanoid(), Position("LeftHand", (0.4, 1.2, 0.35)), solver="ccd", trace=True)
    solve(_humanoid(), Place("LeftHand", (0.4, 1.2, 0.35), _UPRIGHT), solver="ccd")


def _fabrik() -> None:
    limited, goal = _humanoid(), Position("LeftHand", (0.4, 1.2, 0.35))
    free = Pose(limited.skeleton.limited({"*": None}), limited.q)
    for pose in (free, limited):
        solve(pose, goal, solver="fabrik")
        solve(pose, goal.with_target(np.array([goal.target, _FAR])), solver="fabrik")
    solve(limited, [goal, Position("Head", (0.0, 1.6, 0.1))], solver="fabrik")


def _two_bone() -> None:
    leg = Position("LeftFoot", (0.1, 0.3, 0.2), root="LeftUpLeg")
    solve(_humanoid(), leg, solver="two_bone").message()
    solve(_humanoid(), Place("LeftFoot", (0.1, 0.3, 0.2), _UPRIGHT, root="LeftUpLeg"), solver="two_bone")
    arm = Skeleton.build("abc", range(-1, 2), [1, 1, 0], offsets=[(1, 0, 0)] * 3, axes=[(0, 0, 1)] * 3)
    solve(Pose(arm, arm.rest_q), Position("c", (1.5, 0.5, 0.0)), solver="two_bone")


def _arm_one() -> None:
    for goal in (Position("tool", _NEAR), Orientation("tool", _UPRIGHT), Place("tool", _NEAR, _UPRIGHT)):
        for target in (goal.rows(), _far(goal)):
            aimed = goal.with_target(target)
            solve(_arm(), aimed).message()
            prepare(_arm(), goal)(target)


def _arm_many() -> None:
    for goal in (Position("tool", _NEAR), Orientation("tool", _UPRIGHT), Place("tool", _NEAR, _UPRIGHT)):
        solve(_arm(), goal.with_target(np.repeat(goal.rows()[None], 2, axis=0))).message()
        solve(_arm(), goal, prefer="closest", seeds=2)
    solve(_arm(), Place("tool", _FAR, _UPRIGHT), trace=True)
    pose = _arm()
    solve(pose.with_q(np.repeat(pose.q[None], 2, axis=0)), Position("tool", _NEAR))


def _far(goal: Position | Orientation | Place) -> Any:
    target = goal.rows().copy()
    target[..., :3] += _FAR if "position" in goal.measures else 0.0
    return target


def _figure() -> None:
    pose = _humanoid()
    joints = [pose.skeleton.names[-1], "LeftHand"]
    goals = [Place(joint, pose.world[joint].positions + 0.01, pose.world[joint].rotations) for joint in joints]
    solve(pose, goals, free_root=True).message()
    solve(pose, [Place(goal.joint, _FAR, _UPRIGHT) for goal in goals]).message()
    solve(_bent(pose.skeleton), goals, free_root=True)
    solve(_bound(pose.skeleton), goals, free_root=True)
    solve(pose, goals[:1], prefer="closest", seeds=2)


def _jacobian_methods() -> None:
    for pose in (_humanoid(), _bound(_humanoid().skeleton)):
        solve(pose, Position("LeftHand", (0.4, 1.2, 0.35)), solver="damped_least_squares").message()


def _feet() -> None:
    walk = _sample("humanoid.glb").clips[0]
    plant_feet(walk, Terrain.stairs(0.15, 0.3))  # this clip has acceleration spikes: their smoothing is compiled too


def _live_feet() -> None:
    Grounder(_humanoid(), Terrain.flat()).step(_humanoid(), 0.0)


def _bent(skeleton: Skeleton) -> Pose:
    """Build a character pose with a hinge knee."""
    hinged = skeleton.limited({"LeftLeg": Range.degrees(0, 150, axis=(1, 0, 0))})
    return Pose(hinged, hinged.rest_q)


def _bound(skeleton: Skeleton) -> Pose:
    """Build a character pose with bounded twist of a ball joint. Kernels have a separate branch for it."""
    cramped = skeleton.limited({"LeftArm": SwingTwist((1, 0, 0), 1.5, (-1.5, 1.5))})
    return Pose(cramped, cramped.rest_q)


GROUPS = ("arms", "figures", "methods", "feet", "all")

# Name of a step, its group, and its function.
_STEPS: tuple[tuple[str, str, Callable[[], Any]], ...] = (
    ("poses", "everything", _poses),
    ("Jacobians", "arms", _jacobians),
    ("arms: one target", "arms", _arm_one),
    ("arms: many targets", "arms", _arm_many),
    ("arms: limits", "arms", _name_limits),
    ("limbs of two bones", "figures", _two_bone),
    ("figures: any goals", "figures", _figure),
    ("joint by joint: ccd", "methods", _ccd),
    ("joint by joint: fabrik", "methods", _fabrik),
    ("Jacobian methods", "methods", _jacobian_methods),
    ("feet of clips", "feet", _feet),
    ("feet, live", "feet", _live_feet),
)

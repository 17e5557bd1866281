"""One of every public value, by its class, and what to ask it so that two of them can be compared bit for bit."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import cache, singledispatch

import numpy as np

import poise
from poise import Grounder, Position, Terrain, extend, solvers
from poise.comparison.runs import QUICK
from poise.io import samples
from poise.model.limits import LIMIT_NAMES as LIMITS
from poise.problem.goals import GOAL_CLASSES
from poise.solvers.base.interface import Request
from tests.contracts.cases import LIMITS as LIMITED
from tests.contracts.clips import reached_for, walk
from tests.contracts.problems import FEW, PROBLEMS
from tests.strategies import generic_arm
from tests.terrain.terrains import KINDS, ground, points_over, rays_over, wavy

THERE = (0.3, 0.2, 0.4)
_QUICKEST = dataclasses.replace(QUICK, joints=(2,), rounds=3, timed=3, traced=3, seconds=0.05)
_SKIPPED = ("seconds", "source")  # no two calls take as long; the document of a file is not pickled


def public_classes():
    """Every class that `poise` and `poise.extend` hand out, by name."""
    names = [(module, name) for module in (poise, extend) for name in module.__all__]
    found = {name: getattr(module, name) for module, name in names}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) and not getattr(thing, "_is_protocol", False) and thing.__module__ != "numpy"
    }


@cache
def arm():
    """The rest pose of a serial arm."""
    skeleton = generic_arm()
    return poise.Pose(skeleton, skeleton.rest_q)


@cache
def rig(suffix):
    return poise.load(samples.path(f"humanoid.{suffix}"))


@cache
def retargeted():
    return poise.retarget(walk(), rig("glb"))


@cache
def planted():
    return poise.plant_feet(walk(".glb"), Terrain.slope(8))


def solved(**how):
    return poise.solve(arm(), Position("tool", THERE), **how)


def _solver(name):
    return solvers.make_solver(name)


def _goal(kind):
    return PROBLEMS[kind].goals[-1]


VALUES = {
    "Answer": lambda: _solver("ccd").run(solved().problem, np.array([THERE]), solved().tolerances, Request()),
    "BodyMass": lambda: poise.BodyMass(2.0, (0.0, 0.1, 0.0)),
    "Baked": lambda: poise.bake(walk(".glb"), reached_for(walk(".glb"))),
    "Capabilities": lambda: _solver("ccd").handles,
    "Clip": walk,
    "Comparison": lambda: poise.compare(
        arm(), Position("tool", THERE), solvers=["ccd", "levenberg_marquardt"], effort=_QUICKEST
    ),
    "Contacts": lambda: planted().contacts,
    "Coupling": lambda: poise.Coupling(1, 0.7, 0.1),
    "Loop": lambda: poise.Loop("a", "b", (0.1, 0.0, 0.0), rotation=(0.5,) * 4, holds=("axis",), name="bar"),
    "Motor": lambda: poise.Motor(2.0, 30.0, poise.SafetyController(-1.0, 1.0, 20.0, 4.0)),
    "SafetyController": lambda: poise.SafetyController(-1.0, 1.0, 20.0, 4.0),
    "Effort": lambda: poise.Effort(joints=(2, 5), seconds=0.5),
    "FileError": lambda: poise.FileError("a.bvh", "it ends", place="line 3"),
    "Fitted": lambda: poise.fit(walk().poses[0], walk().poses.world.positions),
    "Grounder": lambda: Grounder(walk(".glb"), Terrain.noise(0.1)),
    "InputError": lambda: poise.InputError("a sentence"),
    "Joint": lambda: rig("bvh").skeleton["LeftLeg"],
    "KeyedClip": lambda: rig("glb").clips[0],
    "Kind": lambda: poise.Kind.BALL,
    "Leg": lambda: poise.find_roles(rig("bvh")).legs[0],
    "Markers": lambda: poise.Markers(walk().poses.world.positions, walk().skeleton.names, 30, metres_per_unit=0.01),
    "Finished": lambda: poise.Finished("a.bvh", 3, None),
    "Converted": lambda: poise.Converted(("a.bvh",), ("walk",), 76, 30.0, 0.1, 0.2, ("a line",), ()),
    "NotReachedError": lambda: poise.NotReachedError("a sentence"),
    "Planted": planted,
    "PoiseError": lambda: poise.PoiseError("a sentence"),
    "PoiseWarning": lambda: poise.PoiseWarning("a sentence"),
    "Pose": lambda: rig("glb").clips[0].poses[3],
    "Prepared": lambda: poise.prepare(arm(), Position("tool", THERE)),
    "Problem": lambda: solved().problem,
    "Request": Request,
    "Result": solved,
    "Rig": lambda: rig("glb"),
    "Roles": lambda: poise.find_roles(rig("bvh")),
    "Skeleton": lambda: rig("glb").skeleton,
    "Skin": lambda: poise.Skin("skin", ("a",), np.eye(4)[None]),
    "Soles": lambda: planted().soles,
    "Match": lambda: retargeted().match,
    "MatchedJoint": lambda: poise.MatchedJoint("leftHand", "LeftHand", "J_L_Hand", turn=20.0),
    "RetargetReport": lambda: retargeted().report,
    "Retargeted": retargeted,
    "Retargeter": lambda: poise.Retargeter(rig("bvh"), rig("glb"), ground=True),
    "Status": lambda: poise.Status.limited,
    "Terrain": lambda: Terrain.noise(0.1),
    "Tolerance": lambda: solved().tolerances,
    "Thresholds": lambda: poise.Thresholds(on_speed=0.3),
    "Trace": lambda: solved(trace=True).trace,
    "Channel": lambda: rig("glb").clips[0].tracks[0],
    "Tracker": lambda: poise.Tracker(arm(), Position("tool", THERE), speed=1.0),
    "Transforms": lambda: rig("bvh").clips[0].poses.world,
    "UnknownNameError": lambda: poise.UnknownNameError("joint", "a", ["b"]),
    "UnsupportedError": lambda: poise.UnsupportedError("a sentence"),
    "View": lambda: poise.view(rig("glb"), open_browser=False),
    **{type(_solver(name)).__name__: lambda name=name: _solver(name) for name in solvers.names()},
    **{kind.__name__: lambda name=kind.__name__: _goal(name) for kind in GOAL_CLASSES},
    **{
        name: lambda name=name: next(each for each in LIMITED.values() if type(each).__name__ == name)
        for name in LIMITS
    },
    "Within": lambda: poise.Within(z=(-0.1, 0.1)),
}
"""How one of each class is made, by the name of the class."""

FURTHER = {
    **{f"terrain: {kind}": lambda kind=kind: ground(kind) for kind in KINDS},
    "terrain: a function with a name": lambda: Terrain.function(wavy, up="z"),
    "ground": lambda: ground("map").sample(points_over(1)),
    "hits": lambda: ground("map").hit(*rays_over(1)),
    "report": lambda: planted().report,
    "batch": lambda: PROBLEMS["arm to points"].solved("auto", slice(None)),
    "every solution": lambda: solved(prefer="all"),
    "trace": lambda: solved(trace=True),
    "batch of a clip": lambda: PROBLEMS["a leg"].solved("auto", slice(None)),
    **{f"prepared: {problem}": lambda problem=problem: PROBLEMS[problem].prepared("auto") for problem in FEW},
    **{f"prepared: {name}": lambda name=name: PROBLEMS["two balls"].prepared(name) for name in ("ccd", "fabrik")},
}
"""Values of a kind of their own that are not a class's only one."""

EVERY = {**VALUES, **FURTHER}
NEVER = {"View": "cannot be copied or pickled"}
"""What cannot travel, and a part of what is said."""


def reported(value):
    """What a value answers, as nested tuples of bytes, numbers and texts."""
    return _observed(_requested(value), ())


@singledispatch
def _requested(value):
    """What is asked of a value: what it does, or else its fields."""
    if hasattr(value, "run") and value.name not in {"autodiff", "two_bone", "fabrik"}:
        return repr(value), solved(solver=value).q
    return value


@_requested.register
def _(value: poise.Prepared):
    targets = [np.array(goal.rows()).reshape(-1, goal.width)[0] + 0.003 for goal in value.problem.goals if goal.width]
    found = value(targets if len(targets) > 1 else targets[0])
    return found.q, found.errors, found.iterations, found.message()


@_requested.register
def _(value: poise.Tracker):
    return [value(np.array(THERE) + 0.01 * i).q for i in range(3)], value.pose.q


@_requested.register
def _(value: Grounder):
    shown = [value(pose, 1 / 30) for pose in (walk(".glb").poses[3], walk(".glb").poses[4])]
    return [(pose.q, pose.translations) for pose in shown], value.contacts, value.locked


@_requested.register
def _(value: poise.Retargeter):
    shown = [value(pose, 1 / 30) for pose in (walk().poses[3], walk().poses[4])]
    return [(pose.q, pose.translations) for pose in shown], value.match, value.notes


@_requested.register
def _(value: Terrain):
    return *value.sample(points_over(3)), *value.hit(*rays_over(3)), value.heights(points_over(4))


@_requested.register
def _(value: poise.Result):
    found = value.q, value.errors, value.codes, value.trace, value.solutions_q
    return *found, value.pose, value.goals, value.message()


@_requested.register
def _(value: BaseException):
    return type(value).__name__, str(value), value.args, vars(value)


@_requested.register
def _(value: poise.KeyedClip):
    return value.name, value.skeleton, value.tracks, value.times, value.poses.q


def _observed(thing, above):
    """A value by what its fields hold."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.dtype.str, thing.tobytes()
    if any(thing is other for other in above):
        return "above"
    above = (*above, thing)
    if isinstance(thing, Mapping):
        return tuple((str(key), _observed(value, above)) for key, value in thing.items() if key not in _SKIPPED)
    if isinstance(thing, tuple | list):
        return tuple(_observed(each, above) for each in thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, poise.KeyedClip | type):
        names = [field.name for field in dataclasses.fields(thing) if field.name not in _SKIPPED]
        return type(thing).__name__, *(_observed(getattr(thing, name), above) for name in names)
    observed = _requested(thing)
    return repr(thing) if observed is thing else _observed(observed, above)

"""Every public call with values that are right, and values that are odd for any argument."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import poise

FIGURE = poise.load(poise.samples.path("humanoid.bvh"))
ARM = poise.load(poise.samples.path("arm.urdf"))
BODY, REST = FIGURE.skeleton, FIGURE.rest
CLIP = poise.Clip(FIGURE.clips[0].times[:4], FIGURE.clips[0].poses[:4], "walk")
POINT, TURN = [0.3, 0.2, 0.4], [1.0, 0.0, 0.0, 0.0]
GOAL = poise.Position("tool", POINT)
LONG = "x" * 5000
_LEAST = poise.Effort(
    reachable=1, path=4, extreme=1, joints=(), batches=(1,), rounds=1, timed=1, traced=0, seconds=1e-6
)
LONGEST_QUOTE = 200  # characters of what was given that a message may quote


class Call(NamedTuple):
    """A public callable, the values that its required arguments have where they are right, and who makes its owner."""

    name: str
    function: Callable[..., Any]
    right: dict[str, Any]
    parameters: tuple[str, ...]

    def __call__(self, **odd: Any) -> Any:
        """Call it with the right values but for the odd ones; what is lazy is asked for its first entries."""
        found = self.function(**self.right | odd)
        if isinstance(found, Iterator):
            for _, _one in zip(range(2), found, strict=False):
                pass
        return found


class _NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError


class _Word(enum.Enum):
    A = "x"


def odd(name: str) -> Any:
    """An odd value by its name; an iterator is made anew, because it is used up."""
    return iter([1, 2]) if name == "iterator" else odd_values()[name]


@functools.cache
def odd_values() -> dict[str, Any]:
    """Values that are odd for most arguments, by what they are."""
    return {
        "None": None,
        "True": True,
        "False": False,
        "0": 0,
        "1": 1,
        "-1": -1,
        "3": 3,
        "1e30": 10**30,
        "1.5": 1.5,
        "-0.5": -0.5,
        "nan": float("nan"),
        "inf": float("inf"),
        "-inf": float("-inf"),
        "1e300": 1e300,
        "1e-300": 1e-300,
        "complex": 1j,
        "decimal": decimal.Decimal("0.5"),
        "fraction": Fraction(1, 3),
        "date": dt.date(2020, 1, 1),
        "numpy int": np.int64(2),
        "numpy float": np.float32(0.5),
        "numpy truth": np.True_,
        "empty text": "",
        "text": "x",
        "joint": "LeftHand",
        "role": "leftHand",
        "star": "*",
        "all": "all",
        "first": "first",
        "long text": LONG,
        "NUL": "a\0b",
        "half a character": "\ud800",
        "line break": "a\nb",
        "bytes": b"x",
        "path": Path("odd"),
        "path of a file": Path("odd.bvh"),
        "text of a path": "odd.glb",
        "long path": Path(LONG + ".glb"),
        "list": [],
        "[1]": [1],
        "[None]": [None],
        "ragged": [[1, 2], [3]],
        "texts": ["x"],
        "joints": ["LeftHand", "Head"],
        "nested joints": [["LeftHand"]],
        "pairs": [("LeftHand", 1.0)],
        "odd pairs": [("LeftHand", "x")],
        "long list": [LONG],
        "numbers": [0.1, 0.2, 0.3],
        "many": list(range(1000)),
        "mapping": {},
        "mapping of x": {"x": 1},
        "mapping of a joint": {"LeftHand": 1},
        "mapping to None": {"LeftHand": None},
        "mapping of 1": {1: 2},
        "tuple": (),
        "pair": (0.1, 0.2),
        "pair of texts": ("a", "b"),
        "set": set(),
        "set of numbers": {1, 2},
        "frozenset": frozenset(("Head",)),
        "no numbers": np.zeros(0),
        "three": np.zeros(3),
        "four": np.eye(4)[0],
        "seven": np.eye(7)[3],
        "3 x 3": np.eye(3),
        "4 x 4": np.eye(4),
        "mirrored": np.diag([1.0, 1.0, -1.0]),
        "0-d": np.array(0.5),
        "0-d text": np.array("x"),
        "0-d object": np.array(None),
        "batch": np.zeros((2, 3)),
        "cube": np.zeros((2, 2, 2)),
        "no rows": np.zeros((0, 3)),
        "NaNs": np.full(3, np.nan),
        "huge": np.full(3, 1e300),
        "ints": np.arange(3),
        "truths": np.array([True, False]),
        "axes": np.array(["X", "Y", "Z"]),
        "objects": np.array([None, "x"], dtype=object),
        "masked": np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        "structured": np.zeros(3, dtype=[("a", float)]),
        "q": np.array(REST.q),
        "qs": np.array(CLIP.poses.q),
        "object": object(),
        "no repr": _NoRepr(),
        "function": lambda *_: None,
        "class": int,
        "module": np,
        "word": _Word.A,
        "slice": slice(None),
        "range": range(3),
        "iterator": iter([1, 2]),
        "ellipsis": ...,
        "rig": FIGURE,
        "arm": ARM,
        "skeleton": BODY,
        "other skeleton": ARM.skeleton,
        "pose": REST,
        "pose of another": ARM.rest,
        "poses": CLIP.poses,
        "clip": CLIP,
        "goal": GOAL,
        "goals": [GOAL],
        "solver": poise.CCD(),
        "terrain": poise.Terrain.flat(),
        "limit": poise.Range(-1.0, 1.0),
        "status": poise.Status.reached,
        "kind": poise.Kind.BALL,
        "result": solved(),
        "world": REST.world,
        "track": _track(),
        "roles": roles(),
        "planted": planted(),
        "markers": _markers(),
    }


# --- what is right ---------------------------------------------------------------------------------------------------


@functools.cache
def solved() -> poise.Result:
    """A result of the arm."""
    return poise.solve(ARM.rest, GOAL, trace=True)


@functools.cache
def planted() -> poise.Planted:
    """A planted clip of four frames."""
    return poise.lock_feet(CLIP)


@functools.cache
def roles() -> poise.Roles:
    """The roles of the figure."""
    return poise.find_roles(FIGURE)


@functools.cache
def _fitted() -> poise.Fitted:
    return poise.fit(REST, CLIP.poses.world.positions)


@functools.cache
def _baked() -> poise.Baked:
    return poise.bake(CLIP, poise.Position("LeftHand", POINT))


def _track() -> poise.Channel:
    return poise.Channel(3, "rotation", "LINEAR", [0.0, 1.0], [TURN, TURN])


def _markers() -> poise.Markers:
    return poise.Markers(np.zeros((3, 2, 3)), ("a", "b"), 30.0)


@functools.cache
def _prepared() -> poise.Prepared:
    return poise.prepare(ARM.rest, GOAL)


# Values of required arguments, by their name; a callable that means something else by it says so in RIGHT.
USUAL: dict[str, Any] = {
    "a": TURN,
    "axis": (0.0, 0.0, 1.0),
    "angle": 0.5,
    "amplitude": 0.1,
    "affine": REST.world.affine,
    "b": TURN,
    "clip": CLIP,
    "clips": ("walk",),
    "colour": "#ffffff",
    "contacts": None,
    "degrees": 10.0,
    "direction": (0.0, 0.0, 1.0),
    "directions": (0.0, -1.0, 0.0),
    "factor": 2.0,
    "folder": Path("samples"),
    "fps": 30.0,
    "frames": 4,
    "f": lambda *level: 0.0 * level[0],
    "going": 0.3,
    "height": 1.7,
    "high": 1.0,
    "interpolation": "LINEAR",
    "joint": "LeftHand",
    "kind": "joint",
    "known": ("a",),
    "legs": ("left", "right"),
    "limits": {},
    "linear": np.eye(3),
    "low": -1.0,
    "m": np.eye(3),
    "matrices": np.eye(4),
    "mass": 1.0,
    "message": "x",
    "metre": 100.0,
    "n": 1,
    "name": "walk",
    "names": ["a", "b"],
    "offset": 0.1,
    "on": REST,
    "option": "x",
    "order": "XYZ",
    "origins": (0.0, 1.0, 0.0),
    "other": REST,
    "out": "out.bvh",
    "parents": [-1, 0],
    "path": "out.bvh",
    "pose": REST,
    "poses": CLIP.poses,
    "position": POINT,
    "positions": CLIP.poses.world.positions,
    "points": POINT,
    "q": TURN,
    "ratio": 1.0,
    "reason": "x",
    "reference": CLIP,
    "rig": FIGURE,
    "rise": 0.1,
    "rotation": TURN,
    "seconds": 0.1,
    "skeleton": BODY,
    "source": FIGURE,
    "start": ARM.rest,
    "step": 2,
    "t": 0.5,
    "target": POINT,
    "targets": np.tile(POINT, (2, 1)),
    "terrain": poise.Terrain.flat(),
    "content": REST,
    "times": CLIP.times,
    "tracks": (),
    "v": (1.0, 0.0, 0.0),
    "value": POINT,
    "values": {"LeftHand": TURN},
    "weight": 0.5,
    "what": "x",
    "joints": ("Head",),
    "row": 2,
    "root": None,
    "tip": "LeftHand",
    "up": "y",
    "kinds": [3, 3],
}

RIGHT: dict[str, dict[str, Any]] = {
    "Baked": {"result": None},
    "Clip": {"times": CLIP.times},
    "Comparison": {"task": None, "methods": (), "machine": {}, "settings": {}},
    "Contacts": {"heel": np.zeros((4, 2), bool), "ball": np.zeros((4, 2), bool)},
    "Contacts.at": {"times": CLIP.times},
    "Contacts.from_intervals": {"intervals": {"left": {"heel": [], "ball": []}, "right": {"heel": [], "ball": []}}},
    "Converted": {"files": (), "off": None, "share": None, "lost": (), "notes": ()},
    "Coupling": {"leader": 0, "offset": 0.0},
    "Effort": {"reachable": 9, "path": 9, "joints": (2,), "batches": (1,), "seconds": 0.5},
    "FileError": {"path": "a.bvh"},
    "Finished": {"file": "a", "value": 1, "error": None},
    "Fitted": {"joints": ("Head",), "residuals": np.zeros((4, 1))},
    "Roles": {"joints": {}, "confidence": {}, "reasons": {}, "legs": (), "kind": "other", "missing": ()},
    "Joint": {
        "row": 0,
        "kind": poise.Kind.BALL,
        "parent": None,
        "children": (),
        "axis": None,
        "limit": None,
        "coupling": None,
        "source_id": None,
    },
    "Leg": {"upper": "a", "lower": "b", "foot": "c", "toes": None},
    "LookAt": {"joint": "Head"},
    "Loop": {"a": "Hips", "b": "Head", "rotation": TURN, "axis": (0.0, 0.0, 1.0)},
    "Match.__getitem__": {"role": "leftHand"},
    "Match.with_joint": {"role": "leftHand"},
    "Match.save": {"path": "match.toml"},
    "RetargetReport.save": {"path": "report.json"},
    "RetargetReport.to_html": {"path": "report.html"},
    "match": {"source": FIGURE, "target": FIGURE},
    "retarget": {"clip": CLIP, "target": FIGURE},
    "Retargeter": {"source": FIGURE, "target": FIGURE},
    "Retargeter.__call__": {"pose": REST},
    "MatchedJoint": {"role": "leftHand", "source": "LeftHand", "target": "LeftHand"},
    "Match.list_joints": {"of_target": True},
    "Markers": {"positions": np.zeros((3, 2, 3)), "names": ("a", "b")},
    "Markers.__getitem__": {"name": "a"},
    "Markers.index": {"name": "a"},
    "Pole": {"joint": "LeftForeArm"},
    "Pose": {"q": np.array(REST.q)},
    "Pose.with_q": {"q": np.array(REST.q)},
    "Position": {},
    "Orientation.parse": {"value": TURN},
    "Orientation.with_target": {"value": TURN},
    "Place.parse": {"value": np.eye(4)},
    "Place.with_target": {"value": np.eye(4)},
    "Prepared.stream": {"targets": np.tile(POINT, (2, 1))},
    "Range": {},
    "Range.nearest": {"value": 0.5},
    "Rig.named_pose": {"name": "home"},
    "Skeleton.legal": {"q": np.array(REST.q)},
    "Skeleton.with_loops": {"loops": [poise.Loop("Hips", "Head")]},
    "Skin": {"bind": np.zeros((1, 4, 4))},
    "Skin.joints": {},
    "Trace": {"errors": np.zeros(1), "q": np.zeros((1, 6))},
    "Channel": {"joint": 3, "path": "rotation", "times": [0.0, 1.0], "values": [TURN, TURN]},
    "Terrain": {"surface": poise.Terrain.flat().surface},
    "Terrain.heightmap": {"source": np.zeros((3, 3))},
    "Terrain.mesh": {"path": "none.glb"},
    "Tracker": {"goals": GOAL},
    "UnknownNameError": {"name": "x"},
    "bake": {"goals": poise.Position("LeftHand", POINT)},
    "compare": {"goal": GOAL, "solvers": ["ccd"], "effort": _LEAST},
    "prepare": {"goals": GOAL},
    "solve": {"goals": GOAL},
    "each": {"files": [], "job": len, "executor": ThreadPoolExecutor(1)},
    "load": {"path": poise.samples.path("arm.urdf")},
    "load_markers": {"path": "none.c3d"},
    "load_motion": {"path": "none.csv"},
    "load_values": {"path": "none.json"},
    "load_contacts": {"path": "none.json", "clip": "walk"},
    "save_contacts": {"path": "contacts.json", "clip": "walk"},
    "sample": {"name": "arm"},
    "samples.sample": {"name": "arm"},
    "samples.path": {"name": "arm"},
    "save_motion": {"path": "out.csv"},
    "plot.draw_poses": {"path": "out.txt", "poses": [("rest", REST)]},
    "plot.draw_solve": {"path": "out.txt", "result": None},
    "rotations.slerp": {},
    "rotation_between": {"a": POINT, "b": POINT},
    "rotations.rotation_between": {"a": POINT, "b": POINT},
    "solvers.make_solver": {"name": "ccd"},
    "extend.checked_offset": {"offset": POINT},
    "extend.count": {"value": 3},
    "extend.finite": {"values": POINT},
    "extend.one_of": {"value": "x", "allowed": ("x",)},
    "extend.real": {"value": 1.0},
    "extend.read_bytes": {"path": Path("none")},
    "extend.write_atomically": {"path": Path("none"), "data": b""},
    "extend.checked_soft": {"soft": 0.0},
    "Pose.__getitem__": {"index": 0},
    "Result.__getitem__": {"index": 0},
    "Result.length": {"value": 0.1},
    "Rig.clip": {"name": "humanoid"},
    "Skeleton": {
        name: getattr(ARM.skeleton, name)
        for name in ("names", "parents", "kinds", "axes", "A", "B", "rest_q", "limits", "couplings")
    },
    "bone_end": {"rig": poise.load(poise.sample("humanoid")), "joint": "LeftHand"},
    "plot.draw_feet": {"path": "out.txt", "planted": CLIP},
    "plot.draw_frames": {"path": "out.txt", "done": CLIP},
}

# Whose methods are called, by class; of an owner that a call changes, one for each call.
OWNERS: dict[str, Callable[[], Any]] = {
    "Aim": lambda: poise.Aim("Head", POINT),
    "Baked": _baked,
    "Balance": poise.Balance,
    "Clip": lambda: CLIP,
    "Contacts": lambda: planted().contacts,
    "Direction": lambda: poise.Direction("Head", POINT),
    "EulerBox": lambda: poise.EulerBox("XYZ"),
    "Finished": lambda: poise.Finished("a", 1, None),
    "Fitted": _fitted,
    "Thresholds": poise.Thresholds,
    "Grounder": lambda: poise.Grounder(CLIP, poise.Terrain.flat()),
    "Roles": roles,
    "KeyedClip": lambda: poise.KeyedClip(BODY, (_track(),)),
    "LookAt": lambda: poise.LookAt("Head", POINT),
    "Loop": lambda: poise.Loop("Hips", "Head", rotation=TURN),
    "Markers": _markers,
    "RetargetReport": lambda: poise.retarget(CLIP, FIGURE).report,
    "Retargeted": lambda: poise.retarget(CLIP, FIGURE),
    "Retargeter": lambda: poise.Retargeter(FIGURE, FIGURE),
    "Match": lambda: poise.match(FIGURE, FIGURE),
    "Near": lambda: poise.Near(REST),
    "Orientation": lambda: poise.Orientation("Head", TURN),
    "Pin": lambda: poise.Pin("Head"),
    "Place": lambda: poise.Place("Head", POINT, TURN),
    "Planted": planted,
    "Pole": lambda: poise.Pole("LeftForeArm", POINT),
    "Pose": lambda: CLIP.poses,
    "Position": lambda: poise.Position("Head", POINT),
    "Prepared": _prepared,
    "Range": lambda: poise.Range(-1.0, 1.0),
    "Result": solved,
    "Rig": lambda: FIGURE,
    "Skeleton": lambda: BODY,
    "SwingTwist": lambda: poise.SwingTwist((0.0, 1.0, 0.0)),
    "Terrain": poise.Terrain.flat,
    "Channel": _track,
    "Tracker": lambda: poise.Tracker(ARM.rest, GOAL),
    "Transforms": lambda: REST.world,
    "Within": lambda: poise.Within(z=(-0.1, 0.1)),
}

_MADE_BY_THE_LIBRARY = "the library makes it and calls it, with values of its own"
LEFT_OUT = {
    "Comparison": "a record that compare() makes; its one file is written by `save`, tested in tests/comparison",
    "Kind": "an enumeration: Kind(9) is Python's own ValueError",
    "Status": "an enumeration",
    "Planted": "its fields are what plant_feet() found",
    "BatchResult": "a type for annotations",
    "SingleResult": "a type for annotations",
    "RetargetReport": "its fields are what retarget() measured",
    "Retargeted": "its fields are what retarget() found",
    "Soles": "its fields are what plant_feet() found",
    "Thresholds.loosen": "the library calls it, with the speed of a clip",
    "Soles.points": _MADE_BY_THE_LIBRARY,
    "Soles.face_down": _MADE_BY_THE_LIBRARY,
    "Soles.ends": _MADE_BY_THE_LIBRARY,
    "Soles.tips": _MADE_BY_THE_LIBRARY,
    "Prepared": _MADE_BY_THE_LIBRARY,
    "Prepared.solve_row_fast": _MADE_BY_THE_LIBRARY,
    "Result": _MADE_BY_THE_LIBRARY,
    "Result.with_pose": _MADE_BY_THE_LIBRARY,
    "Result.from_frozen": _MADE_BY_THE_LIBRARY,
    "Near.part": _MADE_BY_THE_LIBRARY,
    "Near.spread": _MADE_BY_THE_LIBRARY,
    "Pose.make_unchecked": "it says by its name that it checks nothing",
    "KeyedClip.make_unchecked": "it says by its name that it checks nothing",
    "Channel.sample": "the library calls it, of tracks that are checked",
    "View": "it starts a server; tests/viewer has its wrong calls",
    "warmup": "it compiles; its one word is checked in tests/machine",
    "Loop.is_within": _MADE_BY_THE_LIBRARY,
    "solvers.check": _MADE_BY_THE_LIBRARY,
    "extend.set_fields": "only constructors may call it, of a value of their own",
}
# Calls that are refused with what RIGHT says: there is no such file, no such pose, nothing to replace.
REFUSED = {
    "Balance.parse",
    "Balance.with_target",
    "Near.parse",
    "Near.with_target",
    "Pin.parse",
    "Pin.with_target",
    "Result.__getitem__",
    "Rig.named_pose",
    "Terrain.mesh",
    "extend.read_bytes",
    "Match.load",
    "load_markers",
    "load_motion",
    "plot.draw_feet",
    "plot.draw_frames",
    "plot.draw_poses",
    "plot.draw_solve",
    "load_contacts",
    "load_values",
    "compare",
}
# What is right but slow, and what a programmer says of a check: not what a check is given.
SLOW = {"compare": {"solvers": ("all",), "peers": ("all", "star"), "progress": ("class",)}}
_OF_CHECKS = {"what", "last", "truths", "option", "allowed", "planar", "may_be_empty"}
_PROTOCOL = {"__getitem__", "__call__"}  # methods without a name of their own that people call by their arguments
_OF_SOLVERS = {
    "run",
    "bind",
    "settings",
    "engine",
    "arm",
    "refuse",
    "compute_spread",
}  # called by solve(), with packed problems


def _rest_of_right() -> None:
    """What is right and takes a solve to make."""
    RIGHT["Baked"]["result"] = solved()
    RIGHT["save_contacts"]["contacts"] = planted().contacts
    RIGHT["plot.draw_solve"]["result"] = solved()
    RIGHT["plot.draw_feet"]["planted"] = planted()
    RIGHT["plot.draw_frames"]["done"] = poise.retarget(CLIP, FIGURE)


def calls() -> dict[str, Call]:
    """Every public callable by its name: functions, constructors, methods."""
    _rest_of_right()
    found: dict[str, Any] = {}
    for name in poise.__all__:
        value = getattr(poise, name)
        if inspect.ismodule(value):
            own = {each: getattr(value, each) for each in value.__all__}
            found |= {f"{name}.{each}": one for each, one in own.items() if inspect.isfunction(one)}
        elif inspect.isclass(value):
            found |= _of_class(name, value)
        else:
            found[name] = value
    return {name: _call(name, value) for name, value in sorted(found.items()) if not _is_left_out(name)}


def _is_left_out(name: str) -> bool:
    return name in LEFT_OUT or name.partition(".")[0] in {"View", "Comparison", "Kind", "Status"}


def _of_class(name: str, kind: type) -> dict[str, Any]:
    if issubclass(kind, Warning | Exception) and "__init__" not in vars(kind):
        return {}  # errors take what Python's own do
    found: dict[str, Any] = {name: kind}
    for method in dir(kind):
        is_function = inspect.isroutine(inspect.getattr_static(kind, method)) or inspect.isfunction(
            getattr(kind, method)
        )
        if hasattr(kind, "handles") and method in _OF_SOLVERS:
            continue
        if isinstance(inspect.getattr_static(kind, method), functools.cached_property):
            continue  # for inspect a descriptor of a method
        is_ours = str(getattr(getattr(kind, method), "__module__", "")).partition(".")[0] == "poise"
        if getattr(getattr(kind, method), "is_alias", False):
            continue  # an old name: tests/calls/test_old_names.py
        if is_function and is_ours and (not method.startswith("_") or (method in _PROTOCOL and method in vars(kind))):
            found[f"{name}.{method}"] = getattr(kind, method)
    return found


def _call(name: str, function: Callable[..., Any]) -> Call:
    own = inspect.signature(function).parameters
    right = RIGHT.get(name, {})
    if "self" in own:
        kind, method = name.split(".")
        function = functools.partial(_of_owner, OWNERS[kind], method)
    known = [
        one for one in own.values() if one.name != "self" and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    needed = {one.name: right.get(one.name, USUAL.get(one.name, ...)) for one in known if one.default is one.empty}
    unknown = [each for each, value in needed.items() if value is ...]
    assert not unknown, f"say in RIGHT what is right for {unknown} of {name}"
    needed |= {each: value for each, value in right.items() if each not in needed}
    requested = [one.name for one in known if not (name.startswith("extend.") and one.name in _OF_CHECKS)]
    return Call(name, function, needed, tuple(requested))


def _of_owner(owner: Callable[[], Any], method: str, **values: Any) -> Any:
    return getattr(owner(), method)(**values)

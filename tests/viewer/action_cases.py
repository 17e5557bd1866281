"""Every action and command with good arguments, on a document that has something of everything."""

from __future__ import annotations

from functools import cache

import poise
from poise.io import samples
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import build_document
from poise.viewer.document.program_widgets import Control, HandleState

CONTROLS = (Control("slider", "stiff", 0.5), Control("button", "go", 0), Control("text", "note", ""))
HAND = [0.45, 1.25, 0.3]
TARGET = {"chain": "left_arm", "serial": 7}


@cache
def rig():
    return poise.load(samples.path("humanoid.glb"))


def everything():
    """The humanoid with a handle, a chain that looks, one with a place, and only the arm switched on."""
    pose = rig().pose.replace({"LeftForeArm": [0.9238795, 0.0, -0.3826834, 0.0]})
    arm = build_chain(pose, "left_arm", "LeftArm", "LeftHand")
    others = (
        build_chain(pose, "left_leg", "LeftUpLeg", "LeftFoot", stays_on_ground=True, enabled=False),
        build_chain(pose, "head", None, "Head", "look", enabled=False),
    )
    return build_document(
        rig(), pose=pose, chains=(arm, *others), handles=(HandleState("ball", (0.0, 1.0, 1.0)),), controls=CONTROLS
    )


#: Arguments that change the document, per action.
GOOD = {
    "target": [
        {**TARGET, "position": HAND}, {**TARGET, "position": HAND, "rotation": [0, 1, 0, 0]},
        {**TARGET, "direction": [1, 2, 3]}, {"chain": "head", "position": [0, 0, 5]},
        {**TARGET, "rotation": [3, 0, 0, 4]},
    ],
    "pole": [{"chain": "left_arm", "position": [0, 1, -1]}],
    "handle": [
        {"name": "ball", "position": [1, 2, 3]}, {"name": "ball", "position": [0, 0, 0], "rotation": [0, 0, 2, 0]},
    ],
    "control": [{"name": "stiff", "value": 0.75}, {"name": "go"}, {"name": "note", "value": "hello"}],
    "chain_add": [
        {"tip": "RightHand"},
        {"tip": "RightHand", "root": "RightArm", "kind": "place"}, {"tip": "Head", "kind": "look"},
        {"tip": "RightFoot", "root": None, "kind": "pin"}, {"tip": "LeftHand", "root": "Spine", "kind": "direction"},
    ],
    "chain_remove": [{"chain": "left_arm"}],
    "chain_change": [
        {"chain": "left_arm", "enabled": False}, {"chain": "left_arm", "weight": 2.5},
        {"chain": "left_arm", "pull": 0.25},
        {"chain": "left_leg", "ground": False},
        {"chain": "left_arm", "root": "LeftShoulder"}, {"chain": "left_arm", "root": None},
        *({"chain": "left_arm", "kind": kind} for kind in ("place", "direction", "look", "pin")),
        {"chain": "left_leg", "enabled": True, "weight": 3, "kind": "place"},
    ],
    "pin": [{"joint": "RightFoot", "on": True}],
    "pull": [
        {"joint": "RightHand", "position": HAND}, {"joint": "Chest", "offset": [0, 0.1, 0], "position": [0, 1, 0]},
        {"joint": "Head", "position": [0, 1.6, 0], "rotation": [1, 0, 1, 0], "serial": 4},
    ],
    "scope": [{"value": "body"}, {"value": "limbs"}],
    "anatomical": [{"on": True}],
    "turn": [
        {"joint": "LeftForeArm", "rotation": [1, 0, 0, 0]},
        {"joint": "Spine", "rotation": [0.9, 0.1, 0, 0.2], "serial": 3},
    ],
    "unkey": [{"joint": "Spine", "time": 0.5}],
    "limit": [
        {"joint": "LeftForeArm", "limit": None},
        {"joint": "LeftArm", "limit": {"type": "range", "low": -0.5, "high": None, "axis": [0, 0, 1]}},
        {"joint": "LeftArm", "limit": {"type": "swing_twist", "axis": [1, 0, 0], "swing": 0.4, "twist": [-0.1, 0.1]}},
        {
            "joint": "LeftArm",
            "limit": {
                "type": "swing_twist", "axis": [1, 0, 0], "swing": [[-0.4, 0.3], [-0.2, 0.1]], "twist": [None, None],
                "across": [0, 1, 0],
            },
        },
        {"joint": "LeftArm", "limit": {"type": "euler", "order": "XYZ", "ranges": [[-0.1, 0.1], [None, 0.2], [-1, 1]]}},
    ],
    "solver": [{"view": 0, "name": "ccd"}, {"view": 1, "name": "auto"}, {"view": 0, "name": "levenberg_marquardt"}],
    "option": [{"view": 1, "name": "iterations", "value": 5}, {"view": 1, "name": "order", "value": "tip-first"}],
    "mode": [{"value": "plain"}, {"value": "hinge"}],
    "run": [{"value": "iterate"}, {"value": "race"}],
    "from": [{"value": "start"}],
    "tolerance": [{"value": 0.01}, {"value": 1e-9}],
    "free_root": [{"on": True}],
    "views": [{"count": 2}, {"count": 6}],
    "clip": [{"name": "walk"}],
    "plant": [{"on": True}],
    "terrain": [{"words": "slope:10"}, {"words": "hills"}, {"words": "stairs:0.1,0.4@90"}],
}  # fmt: skip

_WALK = ("clip", {"name": "walk"})
_KEYED = {"joint": "Spine", "rotation": [0.9, 0.1, 0, 0.2], "key": True, "time": 0.5}
_EMPTY = {"path": "nobody.bvh", "size": 0}
_UPLOAD = ("upload", {"id": 1, "main": "nobody.bvh", "files": 1, "bytes": 0})

#: What has to be done before.
FIRST = {"unkey": [_WALK, ("turn", _KEYED)], "plant": [_WALK], "play": [_WALK], "seek": [_WALK], "undo": [_WALK],
         "redo": [_WALK, ("undo", {})],
         "upload_file": [_UPLOAD], "upload_done": [_UPLOAD, ("upload_file", _EMPTY)]}  # fmt: skip

#: Arguments of what a page may ask for besides.
COMMANDS = {
    "idle": [{"on": True}, {"on": False}],
    "select": [{"joint": "LeftHand"}, {"joint": None}],
    "watch": [{"curve": False}, {"curve": True}],
    "step": [{}],
    "reset": [{}],
    "keep_start": [{}],
    "play": [{"on": True}, {"on": False}],
    "seek": [{"time": 0.5}, {"time": 0}, {"time": 99}],
    "speed": [{"value": 0.5}],
    "race": [{"chain": "left_arm"}, {"chain": None}],
    "race_play": [{"on": True}, {"on": False}],
    "race_seek": [{"iteration": 2}, {"iteration": 0}, {"iteration": 99}],
    "race_step": [{"count": 1}, {"count": -2}],
    "race_speed": [{"value": 2}],
    "undo": [{}],
    "redo": [{}],
    "scene": [{"name": None}, {"name": "ccd"}],
    "save": [{"format": "json"}],
    "cancel": [{}],
    "upload": [_UPLOAD[1]],
    "upload_file": [_EMPTY],
    "upload_done": [{}],
    "upload_cancel": [{}],
    "match": [{"role": "leftHand", "turn": 20.0}],
}

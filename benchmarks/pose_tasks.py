"""Forty tasks for whole figures: where hands, feet, hips and face are to be, for any figure with known roles.

A task begins at the standing pose: the rest pose with arms that hang. Places are steps to the figure's left, ahead and
up from a landmark of that pose, in lengths of the figure's own arm (shoulder to wrist), leg (hip to ankle), thigh, shin
or trunk (hips to shoulders). `out` instead of left is away from the middle of the body.
"""

from __future__ import annotations

import argparse
import inspect
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from character_rigs import SIDES, Body, Floats, body_of, in_another_guise, loaded, unit

import poise
from poise.maths import rotations

FIGURES: dict[str, dict[str, Any]] = {
    "glb/mixamo_human_makehuman.glb": {},
    "glb/knight_kaykit.glb": {},  # short legs, no collar bones, no neck
    "glb/human_female_m2m.glb": {},  # a root bone on the floor
    "glb/cryptovoxels.vrm": {},
    "bvh/mocapbank.bvh": {},  # centimetres, no toes
    "fbx/arnaud_skinned.fbx": {},  # own limits, a bone above the pelvis
    "glb/mannequiny_gdquest.glb": {"up": "y"},  # rolled
    "bvh/cmu_12_01_walk.bvh": {"up": "z", "scale": 100.0},  # rolled
}
QUICK_FIGURES = ("glb/mixamo_human_makehuman.glb", "glb/knight_kaykit.glb")
HANGS_OUT, ELBOW_AHEAD = 8.0, 12.0  # [deg] of hanging arms from straight down
FLAT = 0.04  # of the leg: height of a joint that lies on the floor
FEET = ("leftFoot", "rightFoot")
HANDS = ("leftHand", "rightHand")
HEAD_AT = 0.88  # of the height of people: where their head begins

Unit = Literal["arm", "leg", "thigh", "shin", "trunk"]


class Target(NamedTuple):
    """Where a role is to be: steps from a landmark; `flat` keeps its rotation as it stood."""

    role: str
    landmark: str
    left: float
    ahead: float
    up: float
    unit: Unit = "arm"
    flat: bool = False
    looks: bool = False  # a place for the face to look at


class Task(NamedTuple):
    """What a figure is asked for, and what a person keeps.

    pinned    roles that stay where they stand; toes where the heel may rise (the foot of figures without toes)
    supports  roles that bear weight; empty where balance is not judged
    twists    the trunk is to twist at least as much as it bends to a side
    low       elbows are to be low
    words     what people do
    """

    name: str
    targets: tuple[Target, ...]
    words: str
    pinned: tuple[str, ...] = FEET
    supports: tuple[str, ...] = FEET
    twists: bool = False
    low: bool = False


def mirror_target(target: Target) -> Target:
    """The same for the other side of the body."""
    swap = {"left": "right", "right": "left"}

    def turn(word: str) -> str:
        head, colon, tail = word.rpartition(":")
        side = next((side for side in SIDES if tail.startswith(side)), "")
        return head + colon + (swap[side] + tail[len(side) :] if side else tail)

    return target._replace(role=turn(target.role), landmark=turn(target.landmark), left=-target.left)


def both(*targets: Target) -> tuple[Target, ...]:
    """Targets of the left side, and the same of the right."""
    return tuple(each for target in targets for each in (target, mirror_target(target)))


T = Target
TOES = ("leftToes", "rightToes")
TASKS = (
    Task("squat by 0.25 of the leg", (T("hips", "hips", 0, -0.06, -0.25, "leg"),), "trunk a little ahead, arms hang"),
    Task("squat by 0.45 of the leg", (T("hips", "hips", 0, -0.14, -0.45, "leg"),), "heels up where ankles end", TOES),
    Task("kneel on one knee", (T("hips", "seat", 0, 0.1, 0, "leg"),
         T("leftFoot", "floor:seat left hip", 0, -0.85, 0.25, "shin")),
         "shin on the floor behind, toes tucked", ("rightFoot",), ("rightFoot", "leftLowerLeg", "leftFoot")),
    Task("kneel on both knees", (T("hips", "kneeling", 0, 0, 0),
         *both(T("leftFoot", "floor:leftUpperLeg", 0, -0.95, 0.25, "shin"))),
         "shins on the floor behind, toes tucked", (), ("leftLowerLeg", "rightLowerLeg", "leftFoot", "rightFoot")),
    Task("hand to the floor ahead", (T("leftHand", "floor:leftFoot", 0.1, 0.55, 0.15),), "knees bend, free arm hangs"),
    Task("hand to the floor beside the foot", (T("leftHand", "floor:leftFoot", 0.35, 0.1, 0.15),), "free arm hangs"),
    Task("hand low behind", (T("leftHand", "floor:leftFoot", 0.25, -0.5, 0.35),),
         "trunk turns, free arm hangs", twists=True),
    Task("both hands to the floor", both(T("leftHand", "floor:leftFoot", 0, 0.45, 0.15)), "knees bend"),
    Task("both hands to the toes", both(T("leftHand", "floor:leftFoot", 0.08, 0.3, 0.25)), "trunk folds"),
    Task("reach high", (T("leftHand", "leftUpperArm", 0, 0.1, 1.03),), "collar bone rises, other arm hangs", TOES),
    Task("reach high with both hands", both(T("leftHand", "leftUpperArm", 0, 0.1, 1.0)), "upright"),
    Task("reach high and ahead", (T("leftHand", "leftUpperArm", 0, 0.75, 0.75),), "other arm hangs"),
    Task("hand behind the back", (T("leftHand", "hips", 0, -0.38, 0.45),), "elbow back and out"),
    Task("both hands behind the back", both(T("leftHand", "hips", 0.1, -0.38, 0.4)), "elbows back and out"),
    Task("hand behind the head", (T("leftHand", "head", 0.12, -0.3, 0.12),), "elbow out, forearm clear of the neck"),
    Task("hand to the other shoulder", (T("leftHand", "rightUpperArm", 0.08, 0.34, 0.0),),
         "forearm in front of the chest"),
    Task("hand to the other hip", (T("leftHand", "rightUpperLeg", 0.0, 0.36, 0.15),), "round the body", twists=True),
    Task("hands on hips", both(T("leftHand", "leftUpperLeg", 0.2, 0.1, 0.3)), "elbows out"),
    Task("hand to the face", (T("leftHand", "head", 0.06, 0.3, 0.08),), "elbow down", low=True),
    Task("hands joined at the chest", both(T("leftHand", "shoulders", 0.06, 0.45, -0.35)),
         "elbows down and out", low=True),
    Task("both hands to one side", (T("leftHand", "hips", 0.9, 0.1, 0.1), T("rightHand", "hips", 0.8, 0.25, 0.1)),
         "trunk twists, weight shifts", twists=True),
    Task("look back over the shoulder", (T("head", "head", 0.8, -1.5, 0.0, looks=True),),
         "eyes, neck, chest share", twists=True),
    Task("reach behind at chest height", (T("leftHand", "leftUpperArm", 0.4, -1.0, -0.1),),
         "twist before bend", twists=True),
    Task("kick to the front", (T("leftFoot", "leftUpperLeg", 0, 0.88, -0.35, "leg"),), "counter-lean", ("rightFoot",),
         ("rightFoot",)),
    Task("kick to the side", (T("leftFoot", "leftUpperLeg", 0.85, 0.1, -0.4, "leg"),), "counter-lean", ("rightFoot",),
         ("rightFoot",)),
    Task("kick to head height", (T("leftFoot", "leftUpperLeg", 0, 0.65, 0.7, "leg"),), "counter-lean", ("rightFoot",),
         ("rightFoot",)),
    Task("sit on a chair, hands on knees", (T("hips", "seat", 0, 0, 0), *both(T("leftHand", "leftLap", 0, -0.1, 0.3))),
         "trunk upright", supports=()),
    Task("sit on the floor", (T("hips", "floor:hips", 0, 0, 0.15, "leg"),
         *both(T("leftFoot", "leftFoot", 0.05, 0.65, 0, "leg"))),
         "knees up, trunk upright", (), ()),
    Task("crawl", (T("hips", "kneeling", 0, 0, 0), *both(T("leftFoot", "floor:leftUpperLeg", 0, -1.0, 0.1, "shin"),
         T("leftHand", "floor:leftUpperArm", 0, 1.0, 0.08, "trunk"))), "hips above knees, palms flat", (),
         ("leftLowerLeg", "rightLowerLeg", "leftHand", "rightHand")),
    Task("push a wall", (*both(T("leftHand", "leftUpperArm", -0.05, 1.05, -0.1)),
         T("rightFoot", "rightFoot", 0, -0.5, 0.08, "leg")),
         "lean in a line, one leg back", ("leftFoot",), ()),
    Task("pull a rope", (T("leftHand", "shoulders", 0, 0.8, -0.35), T("rightHand", "shoulders", 0, 0.5, -0.4),
         T("hips", "hips", 0, -0.2, -0.15, "leg"), T("leftFoot", "leftFoot", 0, 0.3, 0, "leg", flat=True)),
         "weight back", ("rightFoot",), ()),
    Task("carry a box", both(T("leftHand", "shoulders", 0.3, 0.55, -0.65)), "elbows at the sides", low=True),
    Task("sack on a shoulder", (T("leftHand", "leftUpperArm", -0.02, 0.3, 0.22),), "elbow ahead and down"),
    Task("lift a box from the floor", both(T("leftHand", "floor:feet", 0.3, 0.55, 0.35)), "knees bend, hips back"),
    Task("step up with a hand on a rail", (T("leftFoot", "leftFoot", 0, 0.4, 0.4, "leg", flat=True),
         T("rightHand", "rightUpperArm", -0.2, 0.5, -0.5)),
         "elbow low", ("rightToes",), ("rightFoot", "leftFoot"), low=True),
    Task("lunge", (T("hips", "hips", 0, 0.35, -0.3, "leg"), T("leftFoot", "leftFoot", 0, 0.75, 0, "leg", flat=True)),
         "weight between the feet", ("rightToes",)),
    Task("lean on a table", both(T("leftHand", "hips", 0.35, 0.75, 0.0)), "trunk leans, arms straight", supports=()),
    Task("cross arms", (T("leftHand", "rightUpperArm", 0.28, 0.48, -0.45),
         T("rightHand", "leftUpperArm", -0.28, 0.44, -0.55)), "elbows at the sides"),
    Task("left hand to right knee", (T("leftHand", "rightLowerLeg", 0.05, 0.32, 0.1),),
         "twist before bend", twists=True),
    Task("quad stretch", (T("leftFoot", "leftUpperLeg", 0, -0.35, -0.3, "leg"),
         T("leftHand", "leftUpperLeg", 0, -0.35, -0.22, "leg")),
         "knee down, trunk upright", ("rightFoot",), ("rightFoot",)),
)  # fmt: skip


class Figure(NamedTuple):
    """A figure that stands: its body, whose rest is the standing pose, and its measures.

    sizes   lengths of arm, leg, thigh, shin, trunk
    floor   height of the lowest of its soles
    height  from the floor to the crown of a person whose head begins there
    metre   a metre of a person whose leg is 0.85 m
    """

    body: Body
    sizes: dict[str, float]
    floor: float
    height: float
    metre: float


def list_files(options: argparse.Namespace) -> list[str]:
    """The files of the figures that a command is asked for: those with a word of `figures`, else all, or two."""
    words = [word for word in options.figures.split(",") if word]
    chosen = QUICK_FIGURES if options.quick and not words else FIGURES
    return [file for file in chosen if not words or any(word in file for word in words)]


@cache
def load_figure(folder: Path, file: str) -> Figure:
    """A figure of the test data, perhaps in another guise, with hanging arms."""
    guise = FIGURES.get(file, {})
    rig = loaded(folder / file)
    body = body_of(Path(file).name, in_another_guise(rig, **guise) if guise else rig)
    assert body is not None, file
    return stand_figure(body)


def stand_figure(body: Body) -> Figure:
    """Let the arms of a body hang, and measure it."""
    return measure_figure(body._replace(rest=hang_arms(body)))


def measure_figure(body: Body) -> Figure:
    """Measure a body in its pose."""
    sizes = {
        "arm": body.length("left", ("UpperArm", "LowerArm", "Hand")),
        "leg": body.leg,
        "thigh": float(np.linalg.norm(body.at("leftUpperLeg") - body.at("leftLowerLeg"))),
        "shin": float(np.linalg.norm(body.at("leftFoot") - body.at("leftLowerLeg"))),
        "trunk": float(np.linalg.norm(body.middle("UpperArm") - body.middle("UpperLeg"))),
    }
    floor = find_floor(body)
    height = (float(body.at("head") @ body.up) - floor) / HEAD_AT
    return Figure(body, sizes, floor, height, body.leg / 0.85)


def hang_arms(body: Body) -> poise.Pose:
    """The rest pose with arms that hang: turned by the smallest rotations, from shoulder to hand."""
    goals: list[Any] = []
    world = body.rest.world
    for side in SIDES:
        out, angles = body.outward(side), np.radians([HANGS_OUT, ELBOW_AHEAD])
        ways = (unit(-body.up + np.tan(angles[0]) * out), unit(-body.up + np.tan(angles[1]) * body.forward))
        turn = np.array([1.0, 0.0, 0.0, 0.0])
        for (first, tip), way in zip((("UpperArm", "LowerArm"), ("LowerArm", "Hand")), ways, strict=True):
            bone = rotations.rotate(turn, unit(body.at(side + tip) - body.at(side + first)))
            turn = rotations.multiply(rotations.rotation_between(bone, way), turn)
            joint = body.joints[side + first]
            goals.append(poise.Orientation(joint, rotations.multiply(turn, world[joint].rotations), root=joint))
        hand = body.joints[side + "Hand"]
        goals.append(poise.Orientation(hand, rotations.multiply(turn, world[hand].rotations), root=hand))
    return poise.solve(body.rest, goals, natural=False).pose


def find_floor(body: Body) -> float:
    """The height of the lowest joint of both feet and of what hangs on them."""
    skeleton = body.rest.skeleton
    feet = [skeleton.index(body.joints[role]) for role in FEET]
    below = [row for row in range(len(skeleton)) if any(foot in skeleton.list_path(row) for foot in feet)]
    heights = body.rest.world.positions[below] @ body.up
    return float(heights.min())


def find_landmark(figure: Figure, name: str) -> Floats:
    """The place of a landmark: a role, a name of find_named_place, or what is below either on the floor."""
    body = figure.body
    if name.startswith("floor:"):
        place = find_landmark(figure, name.removeprefix("floor:"))
        return place + (figure.floor - place @ body.up) * body.up
    return body.at(name) if name in body.joints else find_named_place(figure, name)


def find_named_place(figure: Figure, name: str) -> Floats:
    """The place of a landmark that is no joint.

    shoulders, feet  midway between both sides
    seat             of the hips where thighs are level and shins upright; `seat left hip` is the left hip then
    leftLap          the left knee then
    kneeling         of the hips where thighs are upright and knees on the floor
    """
    body, sizes = figure.body, figure.sizes
    above = body.at("hips") - body.middle("UpperLeg")
    if name in ("shoulders", "feet"):
        return body.middle("UpperArm" if name == "shoulders" else "Foot")
    if name.endswith("Lap"):
        return body.at(name.removesuffix("Lap") + "Foot") + sizes["shin"] * body.up
    seat = body.middle("Foot") + sizes["shin"] * body.up - sizes["thigh"] * body.forward
    if name == "seat":
        return seat + above
    if name == "seat left hip":
        return seat + body.at("leftUpperLeg") - body.middle("UpperLeg")
    assert name == "kneeling", name
    hips = body.middle("UpperLeg")
    return hips + above + (figure.floor + sizes["thigh"] + FLAT * sizes["leg"] - hips @ body.up) * body.up


def find_place(figure: Figure, target: Target) -> Floats:
    """The place of a target."""
    body, size = figure.body, figure.sizes[target.unit]
    steps = target.left * body.left + target.ahead * body.forward + target.up * body.up
    return find_landmark(figure, target.landmark) + size * steps


def find_pinned(figure: Figure, task: Task) -> tuple[str, ...]:
    """The roles that a task pins: a foot instead of toes that are not there."""
    joints = figure.body.joints
    return tuple(role if role in joints else role.replace("Toes", "Foot") for role in task.pinned)


def make_goals(figure: Figure, task: Task) -> list[Any]:
    """The goals of a task."""
    body = figure.body
    goals: list[Any] = [poise.Pin(body.joints[role]) for role in find_pinned(figure, task)]
    for target in task.targets:
        joint, place = body.joints[target.role], find_place(figure, target)
        if target.looks:
            goals.append(poise.LookAt(joint, place))
        elif target.flat:
            goals.append(poise.Place(joint, place, body.rest.world[joint].rotations))
        else:
            goals.append(poise.Position(joint, place))
    return goals


def solve_task(figure: Figure, task: Task) -> poise.Result:
    """Pose a figure from where it stands, on the floor where the solver knows floors."""
    options: dict[str, Any] = {"floor": figure.floor} if "floor" in inspect.signature(poise.solve).parameters else {}
    return poise.solve(figure.body.rest, make_goals(figure, task), free_root=True, **options)

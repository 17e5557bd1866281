"""How natural_proofs.py judges a posed figure: by forward kinematics alone, from where joints are in the world.

Millimetres are those of a figure whose leg is 0.85 m long. Radii are shares of the figure's height, halves of breadths
and circumferences of men through 2 pi, means of ANSUR II (Gordon et al., 2012 anthropometric survey of U.S. Army
personnel, Natick 2014): stature 1756 mm; head 154 wide and 199 long; neck 398 around; chest 255 deep; thigh 625
around; forearm 310 at its widest, wrist 176 around; hands 88 wide. Masses are those of de Leva (pose_evaluation.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pose_evaluation as evaluation
import pose_tasks
from character_rigs import SIDES, Floats, unit
from pose_tasks import FEET, Figure, Task

import poise
from poise.maths import rotations

RADII = {"head": 0.050, "neck": 0.036, "trunk": 0.072, "thigh": 0.056, "forearm": 0.022, "hand": 0.012}
KNEE = 0.03  # of the leg: radius of knees and shins on the floor, flattened
CROWN = 0.07  # of the height: from the head joint to the middle of the upper ball of the head
KNUCKLES = 0.15  # of the arm: from the wrist, where the hand has no joints
TOUCHES = 0.05  # of the leg: what is lower bears weight
SHIN_POINTS = (0.0, 0.25, 0.5)  # from the knee on; an ankle may stand as low as the floor
ALONG = np.linspace(0.0, 1.0, 16)[:, None]  # points of forearm and hand
BENT = 20.0  # [deg] a trunk that leans more is bent
SHOWS = 0.1  # of the arm, and of a unit vector: an elbow that stands off the line less shows no side
SHOWN = 5.0  # [deg] a trunk that bends less to a side does not show it
NEAR = 1e-3  # of the leg, and 100 times as much of a direction: what counts as reached
BOUNDS = {
    "error [mm]": 1.0, "below the floor [mm]": 5.0, "forearm in head or trunk [mm]": 5.0,
    "free arm from hanging [deg]": 25.0, "mass beside the support [mm]": 5.0, "side bend beyond twist [deg]": 0.0,
}  # fmt: skip
# What proofs do not ask of tasks, and an eye sees: bounds from ranges of people (AAOS), a little wide.
SEEN = {
    "hand in the body, forearm in a thigh [mm]": 15.0, "collar bone [deg]": 35.0, "wrist roll [deg]": 45.0,
    "wrist bend [deg]": 80.0, "ankle [deg]": 45.0, "knees astray [deg]": 30.0,
    "elbow from its lowest [deg]": 60.0, "head from upright [deg]": 70.0, "upper arm behind the chest [deg]": 60.0,
}  # fmt: skip


class Measured(NamedTuple):
    """A value of one case, and the bound that it is to keep; NaN where the measure is not asked of the case."""

    proof: str
    measure: str
    bound: float
    asked: bool
    figure: str
    case: str
    value: float
    part: str = ""


class Found(NamedTuple):
    """A measure and what has it."""

    value: float
    part: str


def judge_pose(figure: Figure, task: Task, pose: poise.Pose) -> dict[str, Any]:
    """The measures of a pose, each with what has it; NaN where a measure is not asked of the task."""
    posed = evaluation.Posed(figure.body, pose)
    up, overlaps = figure.body.up, measure_overlaps(figure, posed)
    forearms = [each for each in overlaps if "forearm" in each.part and "thigh" not in each.part]
    found = {
        "error [mm]": measure_error(figure, task, posed),
        "below the floor [mm]": max(list_depths(figure, posed)),
        "forearm in head or trunk [mm]": max(forearms),
        "free arm from hanging [deg]": measure_hang(figure, task, posed),
        "mass beside the support [mm]": measure_balance(figure, task, posed),
        "side bend beyond twist [deg]": measure_bend(figure, task, posed),
        "hand in the body, forearm in a thigh [mm]": max(each for each in overlaps if each not in forearms),
        "collar bone [deg]": max(list_collars(figure, posed)),
        "wrist roll [deg]": max(list_rolls(figure, posed)),
        "wrist bend [deg]": max(list_wrists(figure, posed)),
        "ankle [deg]": max(list_ankles(figure, posed)),
        "knees astray [deg]": Found(float(posed.knees_astray()), ""),
        "elbow from its lowest [deg]": measure_elbows(figure, task, posed),
        "head from upright [deg]": Found(float(evaluation.degrees(rotations.rotate(posed.turned("head"), up), up)), ""),
        "upper arm behind the chest [deg]": max(list_arms_behind(figure, posed)),
    }
    twist, bend = measure_trunk(figure, posed)
    hips = (posed.at("hips") - figure.body.at("hips")) / figure.metre
    steps = [round(100 * float(hips @ way)) for way in (figure.body.left, figure.body.forward, figure.body.up)]
    return {
        **{name: round(each.value, 2) for name, each in found.items()},
        "lean [deg]": round(float(posed.lean())), "twist [deg]": round(twist), "side bend [deg]": round(bend),
        "hips: left, ahead, up [cm]": steps, "parts": {name: each.part for name, each in found.items() if each.part},
    }  # fmt: skip


def in_millimetres(figure: Figure, length: float) -> float:
    """A length of this figure, of one whose leg is 0.85 m."""
    return 1000.0 * length / figure.metre


def measure_error(figure: Figure, task: Task, posed: evaluation.Posed) -> Found:
    """The farthest of what is pinned or placed from where it is to be; of a face how far it looks aside."""
    body = figure.body
    wanted = {role: body.at(role) for role in pose_tasks.find_pinned(figure, task)}
    wanted |= {target.role: pose_tasks.find_place(figure, target) for target in task.targets if not target.looks}
    found = [
        Found(in_millimetres(figure, float(np.linalg.norm(posed.at(role) - at))), role) for role, at in wanted.items()
    ]
    for target in task.targets:
        if target.looks:
            way = unit(pose_tasks.find_place(figure, target) - posed.at(target.role))
            face = rotations.rotate(posed.turned(target.role), body.forward)
            aside = in_millimetres(figure, NEAR * body.leg / 2.0) * float(evaluation.degrees(face, way))
            found.append(Found(aside, "face"))  # two degrees are as much as the bound
    return max(found)


def list_depths(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far soles, knees, shins and hands are below the floor."""
    body, leg = figure.body, figure.body.leg
    for side in SIDES:
        knee, ankle = posed.at(side + "LowerLeg"), posed.at(side + "Foot")
        points = [("sole", point, 0.0) for point in find_sole(figure, posed, side)]
        points += [("shin" if share else "knee", knee + share * (ankle - knee), KNEE * leg) for share in SHIN_POINTS]
        ends = posed.at(side + "Hand"), find_knuckles(figure, posed, side)
        points += [("hand", point, RADII["hand"] * figure.height) for point in ends]
        for part, point, radius in points:
            yield Found(in_millimetres(figure, figure.floor + radius - float(point @ body.up)), f"{side} {part}")


def find_sole(figure: Figure, posed: evaluation.Posed, side: str) -> Floats:
    """Corners (6, 3) of a sole that stood on the floor: of heel, ball and tip."""
    body = figure.body
    foot, toes = side + "Foot", side + "Toes"
    shin, at = figure.sizes["shin"], body.at(foot)
    ahead = evaluation.Posed(body, body.rest).foot_ahead(side)
    ball = float((body.at(toes) - at) @ ahead) if toes in body.joints else 0.7 * evaluation.TOES_AT * shin
    tip = max(evaluation.TOES_AT * shin, 1.3 * ball)
    half = evaluation.HALF_FOOT * shin * np.cross(body.up, ahead)
    corners: list[Floats] = []
    for along, role in ((-evaluation.HEEL_AT * shin, foot), (ball, foot), (tip, toes if toes in body.joints else foot)):
        under = at + along * ahead
        under = under + (figure.floor - under @ body.up) * body.up
        ways = np.array([under + half, under - half]) - body.at(role)
        corners += [*(posed.at(role) + rotations.rotate(posed.turned(role), ways))]
    return np.array(corners)


def find_knuckles(figure: Figure, posed: evaluation.Posed, side: str) -> Floats:
    """Where the fingers of a hand begin."""
    body, middle, hand = figure.body, side + "MiddleProximal", side + "Hand"
    if middle in body.joints:
        return posed.at(middle)
    bone = unit(body.at(hand) - body.at(side + "LowerArm"))
    return posed.at(hand) + KNUCKLES * figure.sizes["arm"] * rotations.rotate(posed.turned(hand), bone)


def measure_overlaps(figure: Figure, posed: evaluation.Posed) -> list[Found]:
    """How much nearer forearms and hands are to parts of the body than radii allow, and than they stood."""
    stood = list_clearances(figure, evaluation.Posed(figure.body, figure.body.rest))
    now = list_clearances(figure, posed)
    return [Found(in_millimetres(figure, min(stood[part], 0.0) - now[part]), part) for part in now]


def list_clearances(figure: Figure, posed: evaluation.Posed) -> dict[str, float]:
    """The distance of each forearm and hand from the axes of each part of the body, less both radii."""
    found: dict[str, float] = {}
    for side in SIDES:
        elbow, wrist = posed.at(side + "LowerArm"), posed.at(side + "Hand")
        hand = find_knuckles(figure, posed, side)
        for limb, first, last in (("forearm", elbow, wrist), ("hand", wrist, hand)):
            points = first + ALONG * (last - first)
            for part, axis in list_axes(figure, posed):
                apart = min(float(measure_distances(points, a, b).min()) for a, b in pairwise(axis))
                radii = RADII[limb] + RADII[part.split()[-1]]
                found[f"{side} {limb} in {part}"] = apart - radii * figure.height
    return found


def list_axes(figure: Figure, posed: evaluation.Posed) -> Iterator[tuple[str, list[Floats]]]:
    """The axes of head, neck, trunk and thighs, as points in a line."""
    joints = figure.body.joints
    head = posed.at("head")
    crown = head + CROWN * figure.height * rotations.rotate(posed.turned("head"), figure.body.up)
    yield "head", [head, crown]
    neck = posed.at("neck") if "neck" in joints else posed.middle("UpperArm")
    yield "neck", [neck, head]
    spine = [posed.at(role) for role in ("spine", "chest", "upperChest") if role in joints]
    yield "trunk", [posed.middle("UpperLeg"), *spine, neck]
    for side in SIDES:
        yield f"{side} thigh", [posed.at(side + "UpperLeg"), posed.at(side + "LowerLeg")]


def measure_distances(points: Floats, first: Floats, last: Floats) -> Floats:
    """Distances (n,) of points from the line between two others."""
    way = last - first
    share = np.clip((points - first) @ way / max(float(way @ way), 1e-300), 0.0, 1.0)
    return np.linalg.norm(points - first - share[:, None] * way, axis=-1)


def measure_hang(figure: Figure, task: Task, posed: evaluation.Posed) -> Found:
    """How far free arms are from hanging, where the trunk is bent."""
    asked = {target.role for target in task.targets}
    free = [side for side in SIDES if side + "Hand" not in asked]
    if not free or float(posed.lean()) < BENT:
        return Found(float("nan"), "")
    ways = {side: posed.at(side + "Hand") - posed.at(side + "UpperArm") for side in free}
    return max(Found(float(evaluation.degrees(way, -figure.body.up)), f"{side} arm") for side, way in ways.items())


def measure_balance(figure: Figure, task: Task, posed: evaluation.Posed) -> Found:
    """How far the centre of mass is beside the polygon around what bears weight."""
    if not task.supports:
        return Found(float("nan"), "")
    points: list[Floats] = []
    for role in task.supports:
        if role in FEET:
            sole = find_sole(figure, posed, role.removesuffix("Foot"))
            low = sole[sole @ figure.body.up < figure.floor + TOUCHES * figure.body.leg]
            points += [*(low if len(low) else sole)]
        else:
            points.append(posed.at(role))
    level = np.stack([figure.body.left, figure.body.forward])
    outside = measure_outside(np.array(points) @ level.T, level @ posed.centre_of_mass())
    way = level @ posed.centre_of_mass() - (np.array(points) @ level.T).mean(axis=0)
    side = ("left", "right") if abs(way[0]) > abs(way[1]) else ("ahead", "behind")
    return Found(in_millimetres(figure, outside), side[int(way[np.argmax(np.abs(way))] < 0)])


def measure_outside(points: Floats, place: Floats) -> float:
    """How far a place (2,) is from the convex hull of points (n, 2); 0 inside."""
    angles = np.linspace(0.0, 2 * np.pi, 720, endpoint=False)
    ways = np.stack([np.cos(angles), np.sin(angles)])
    return max(0.0, float((place @ ways - (points @ ways).max(axis=0)).max()))


def measure_bend(figure: Figure, task: Task, posed: evaluation.Posed) -> Found:
    """How much more the trunk bends to a side than it twists, where it is to twist."""
    twist, bend = measure_trunk(figure, posed)
    if not task.twists:
        return Found(float("nan"), "")
    return Found(bend - twist if bend > SHOWN else -twist, f"bend {bend:.0f}, twist {twist:.0f}")


def measure_trunk(figure: Figure, posed: evaluation.Posed) -> tuple[float, float]:
    """How far the chest is twisted about its own line since it stood, and bent to a side [deg]."""
    body, turn = figure.body, posed.turned(find_chest(figure))
    twist = float(np.degrees(rotations.twist_angle(turn, body.up)))
    side = rotations.rotate(turn, body.up) @ rotations.rotate(rotations.about(body.up, np.radians(twist)), body.left)
    return abs((twist + 180) % 360 - 180), abs(float(np.degrees(np.arcsin(np.clip(side, -1, 1)))))


def find_chest(figure: Figure) -> str:
    """The role of the highest joint of the trunk."""
    return next(role for role in ("upperChest", "chest", "spine", "hips") if role in figure.body.joints)


def list_collars(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far each collar bone is turned in the chest; nothing for a figure without them."""
    yield Found(0.0, "")
    for side in SIDES:
        if side + "Shoulder" in figure.body.joints:
            turn = find_own_turn(figure, posed, side + "Shoulder")
            yield Found(float(np.degrees(2 * np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0])))), side)


def list_arms_behind(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far each upper arm is behind the chest's own plane of both sides and up."""
    behind = -rotations.rotate(posed.turned(find_chest(figure)), figure.body.forward)
    for side in SIDES:
        way = unit(posed.at(side + "LowerArm") - posed.at(side + "UpperArm"))
        yield Found(float(np.degrees(np.arcsin(np.clip(way @ behind, -1.0, 1.0)))), side)


def list_rolls(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far each hand is rolled about its forearm, from how it hung."""
    for side, since, bone in list_hands(figure, posed):
        roll = float(np.degrees(rotations.twist_angle(since, bone)))
        yield Found(abs((roll + 180) % 360 - 180), side)


def list_wrists(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far each hand is bent from the line of its forearm, from how it hung."""
    for side, since, bone in list_hands(figure, posed):
        yield Found(float(evaluation.degrees(rotations.rotate(since, bone), bone)), side)


def list_hands(figure: Figure, posed: evaluation.Posed) -> Iterator[tuple[str, Floats, Floats]]:
    """Of each side how the hand is turned in what carries it, from how it hung, and the line of the forearm then.

    A forearm with roll bones carries the hand by the last of them.
    """
    body, skeleton = figure.body, figure.body.rest.skeleton
    for side in SIDES:
        carrier = skeleton.names[int(skeleton.parents[skeleton.index(body.joints[side + "Hand"])])]
        carried = rotations.multiply(posed.world[carrier].rotations, rotations.inverse(posed.rest[carrier].rotations))
        since = rotations.multiply(rotations.inverse(carried), posed.turned(side + "Hand"))
        yield side, since, unit(body.at(side + "Hand") - body.at(side + "LowerArm"))


def measure_elbows(figure: Figure, task: Task, posed: evaluation.Posed) -> Found:
    """How far bent elbows are turned about the line from shoulder to hand from where they are lowest."""
    found = [Found(float("nan"), "")]
    for side in SIDES if task.low else ():
        shoulder, elbow, wrist = (posed.at(side + part) for part in ("UpperArm", "LowerArm", "Hand"))
        out = evaluation.off_line(shoulder, elbow, wrist)
        lowest = evaluation.off_line(wrist, wrist - figure.body.up, shoulder)
        is_asked = any(target.role == side + "Hand" for target in task.targets)
        if is_asked and np.linalg.norm(out) > SHOWS * figure.sizes["arm"] and np.linalg.norm(lowest) > SHOWS:
            found.append(Found(float(evaluation.degrees(out, lowest)), side))
    return max(found, key=lambda each: -1.0 if np.isnan(each.value) else each.value)


def list_ankles(figure: Figure, posed: evaluation.Posed) -> Iterator[Found]:
    """How far each ankle is bent from how it stood, toes towards the shin."""
    for side in SIDES:
        shin, stood = ((at(side + "LowerLeg") - at(side + "Foot")) for at in (posed.at, figure.body.at))
        ahead = evaluation.Posed(figure.body, figure.body.rest).foot_ahead(side)
        toes = rotations.rotate(posed.turned(side + "Foot"), ahead)
        yield Found(float(evaluation.degrees(stood, ahead) - evaluation.degrees(shin, toes)), side)


def find_own_turn(figure: Figure, posed: evaluation.Posed, role: str) -> Floats:
    """The rotation of a joint since it stood, seen from its parent."""
    skeleton, name = figure.body.rest.skeleton, figure.body.joints[role]
    parent = skeleton.names[int(skeleton.parents[skeleton.index(name)])]

    def find_turn(joint: str) -> Floats:
        return rotations.multiply(posed.world[joint].rotations, rotations.inverse(posed.rest[joint].rotations))

    return rotations.multiply(rotations.inverse(find_turn(parent)), find_turn(name))

"""Proofs of natural_proofs.py about rigs: hands that roll, roll bones, root bones above the hips."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pose_evaluation as evaluation
import pose_judge
import pose_tasks
import real_poses
from character_rigs import SIDES, Body, Floats, body_of, loaded, unit
from pose_judge import Measured
from pose_tasks import Figure

import poise
from poise.maths import rotations

ROLLS = tuple(sign * angle for angle in (45.0, 80.0, 120.0, 170.0) for sign in (1.0, -1.0))
PLACES = {"ahead": (0.1, 0.65, -0.2), "down": (0.2, 0.3, -0.7), "out": (0.7, 0.3, 0.0)}  # out, ahead, up, of the arm
ROLL_BONES = "field/roll_bones.glb"
WITH_ROLL_BONES = ("glb/mixamo_human_makehuman.glb", "bvh/walk_mass.bvh")
QUICK_SOLVERS = ("levenberg_marquardt", "ccd", "fabrik")
HALVES = (("UpperArm", "LowerArm"), ("LowerArm", "Hand"))
LINES = 0.01  # [deg] off their line, as exact as it can be measured
MOST = 45.0 + LINES  # [deg] of a wrist
REACHED = 0.1  # [mm], that is 1e-4 of a metre
ROOTED = ("bvh/cmu_12_01_walk.bvh", "bvh/walk_mass.bvh", "bvh/mocapbank.bvh", "bvh/jumping_jacks_cmu1.bvh")
ROOT_CHANNELS = {
    "free root": "Xposition Yposition Zposition Zrotation Xrotation Yrotation",
    "turning root": "Zrotation Xrotation Yrotation",
    "sliding root": "Xposition Yposition Zposition",
}
WAYS = {"ahead": (0, 1), "to the left": (1, 0), "ahead and to the right": (-0.7, 0.7)}


def judge_rolls(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Proof 2: hands rolled about their forearms, and roll bones in every solver."""
    figures = {file: pose_tasks.load_figure(folder, file) for file in pose_tasks.list_files(options)}
    rolled = {ROLL_BONES: pose_tasks.load_figure(folder, ROLL_BONES)}
    for file in WITH_ROLL_BONES[: 1 if options.quick else None]:
        body = body_of(file, add_roll_bones(loaded(folder / file)))
        assert body is not None, file
        rolled[f"{file} with roll bones"] = pose_tasks.stand_figure(body)
    for file, figure in (figures | rolled).items():
        for where, steps in PLACES.items():
            yield from judge_hand(figure, file, where, np.array(steps))
    for file, figure in rolled.items():
        for case, options_of in list_ways(figure, QUICK_SOLVERS if options.quick else poise.solvers.names()):
            yield from judge_roll_bones(figure, file, case, options_of)


def add_roll_bones(rig: poise.Rig) -> poise.Skeleton:
    """The skeleton of a rig with a bone more in the middle of each upper arm and forearm, every joint rolled."""
    skeleton, world, joints = rig.skeleton, rig.rest.world, dict(rig.roles.joints)
    rows: dict[str, tuple[str | None, Floats]] = {}
    rolls = {joints[side + tip]: joints[side + first] for side in SIDES for first, tip in HALVES}
    for row, name in enumerate(skeleton.names):
        parent = skeleton.names[skeleton.parents[row]] if skeleton.parents[row] >= 0 else None
        rows[name] = (f"{rolls[name]}Roll" if name in rolls else parent, world[name].positions)
        for tip, first in rolls.items():
            if first == name:
                rows[f"{name}Roll"] = (name, (world[name].positions + world[tip].positions) / 2)
    names = list(rows)
    parents = [-1 if parent is None else names.index(parent) for parent, _ in rows.values()]
    frames = rotations.normalise(np.random.default_rng(3).normal(size=(len(names), 4)))
    offsets, own = np.array([place for _, place in rows.values()]), frames.copy()
    for row in reversed(range(len(names))):
        if parents[row] >= 0:
            back = rotations.inverse(frames[parents[row]])
            own[row] = rotations.multiply(back, frames[row])
            offsets[row] = rotations.rotate(back, offsets[row] - offsets[parents[row]])
    fixed = {name for row, name in enumerate(skeleton.names) if skeleton.kinds[row] == poise.Kind.FIXED}
    kinds = [poise.Kind.FIXED if name in fixed else poise.Kind.BALL for name in names]
    return poise.Skeleton.build(names, parents, kinds, offsets=offsets, rotations=own, roles=joints)


def judge_hand(figure: Figure, file: str, where: str, steps: Floats) -> Iterator[Measured]:
    """A hand that is rolled about its forearm, where it would be by its place alone."""
    body = figure.body
    hand = body.joints["leftHand"]
    place = body.at("leftUpperArm") + figure.sizes["arm"] * steps @ np.stack([body.left, body.forward, body.up])
    posed = evaluation.Posed(body, poise.solve(body.rest, poise.Position(hand, place)).pose)
    bone = unit(posed.at("leftHand") - posed.at("leftLowerArm"))
    for angle in ROLLS:
        turn = rotations.multiply(rotations.about(bone, np.radians(angle)), posed.world[hand].rotations)
        pose = poise.solve(body.rest, poise.Place(hand, place, turn)).pose
        found = next(pose_judge.list_rolls(figure, evaluation.Posed(body, pose)))  # the left comes first
        case = f"{where}, {angle:g} degrees"
        yield Measured("2", "roll that a wrist takes [deg]", MOST, True, file, case, found.value)
        off = rotations.multiply(rotations.inverse(turn), pose.world[hand].rotations)
        left = float(np.degrees(2 * np.arctan2(np.linalg.norm(off[1:]), abs(off[0]))))
        yield Measured("2", "rotation of a rolled hand that is missed [deg]", 0.1, True, file, case, left)


def list_ways(figure: Figure, solvers: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every solver and kind of goal that an arm with roll bones is brought to its targets by."""
    body = figure.body
    hand, upper = body.joints["leftHand"], body.joints["leftUpperArm"]
    rng = np.random.default_rng(15)
    ways = unit(rng.normal(size=(20, 3)))
    ways += np.maximum(-2.0 * (ways @ body.forward), 0.0)[:, None] * body.forward  # none behind
    places = body.at("leftUpperArm") + figure.sizes["arm"] * rng.uniform(0.4, 0.9, (20, 1)) * ways
    turns = rotations.multiply(
        rotations.normalise(np.array([1.0, 0, 0, 0]) + 0.6 * rng.normal(size=(20, 4))), body.rest.world[hand].rotations
    )
    position = poise.Position(hand, places)
    pole = poise.Pole(body.joints["leftLowerArm"], places - 2.0 * body.forward, tip=hand)
    yield "Position", {"goals": position}
    yield "Place", {"goals": poise.Place(hand, places, turns)}
    yield "Position and Pole", {"goals": [position, pole]}
    yield "Place and Pole", {"goals": [poise.Place(hand, places, turns), pole]}
    yield "Position and Near", {"goals": [position, poise.Near(body.rest)]}
    yield "Position, closest", {"goals": position, "prefer": "closest"}
    held = [poise.Pin(body.joints[role]) for role in pose_tasks.FEET]
    yield "Position, free root", {"goals": [position, *held], "free_root": True}
    for solver in solvers:
        for root in (None, upper):
            goal = poise.Position(hand, places, root=root)
            yield f"Position by {solver} from {root or 'the collar bone'}", {"goals": goal, "solver": solver}


def judge_roll_bones(figure: Figure, file: str, case: str, options: dict[str, Any]) -> Iterator[Measured]:
    """How far roll bones are turned off their own line."""
    try:
        pose = poise.solve(figure.body.rest, **options).pose
    except poise.PoiseError:
        return  # refused
    posed, skeleton = evaluation.Posed(figure.body, pose), pose.skeleton
    hand = skeleton.index(figure.body.joints["leftHand"])
    for name in (skeleton.names[row] for row in skeleton.list_path(hand) if skeleton.names[row].endswith("Roll")):
        child = skeleton.names[next(row for row, up in enumerate(skeleton.parents) if up == skeleton.index(name))]
        parent = skeleton.names[int(skeleton.parents[skeleton.index(name)])]
        bones = [
            rotations.rotate(rotations.inverse(world[parent].rotations), world[child].positions - world[name].positions)
            for world in (posed.rest, pose.world)
        ]
        off = evaluation.degrees(bones[1], bones[0])
        yield Measured("2", "roll bone off its line [deg]", LINES, True, file, case, float(np.max(off)), name)


def judge_roots(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Proof 4: rigs whose root bone is above the hips, and can move as those can."""
    for file in ROOTED[: 1 if options.quick else None]:
        for every in (False, True):
            for name, channels in ROOT_CHANNELS.items():
                case = f"{name}, {'all joints' if every else 'hips'} with position channels"
                rig = load_rooted(folder / file, channels, every=every)
                body = body_of(file, rig)
                if body is None:
                    yield Measured("4", "rigs whose figure is not found", 0.0, True, file, case, 1.0)
                    continue
                yield from judge_moved(body, file, f"{case}, from rest")
                moving = rig.clips[0].poses[len(rig.clips[0].poses.q) // 3]
                yield from judge_moved(body._replace(rest=moving), file, f"{case}, from a frame")
                yield from judge_six(rig, body, file, case)


def load_rooted(path: Path, channels: str, *, every: bool) -> poise.Rig:
    """The rig of a BVH file that gets a root bone."""
    with tempfile.TemporaryDirectory() as made:
        rooted = Path(made) / "rooted.bvh"
        rooted.write_text(add_root(path.read_text(encoding="utf-8"), channels, every=every), encoding="utf-8")
        return loaded(rooted)


def add_root(text: str, channels: str, *, every: bool) -> str:
    """A BVH file with a root bone above its root, and position channels of the joints below, of all where wanted."""
    head, _, motion = text.partition("MOTION")
    lines = head.splitlines()
    first = next(number for number, line in enumerate(lines) if line.split()[:1] == ["ROOT"])
    lines[first] = lines[first].replace("ROOT", "JOINT")
    offsets: list[list[str]] = []
    counts: list[int] = []
    offset: list[str] = []
    for number, line in enumerate(lines):
        words = line.split()
        if words[:1] == ["OFFSET"]:
            offset = words[1:]
        if words[:1] == ["CHANNELS"]:
            counts.append(int(words[1]))
            offsets.append(offset)
            if every and words[1] == "3":
                lines[number] = " ".join(["CHANNELS 6 Xposition Yposition Zposition", *words[2:]])
    rows = [line.split() for line in motion.strip().splitlines()]
    start = next(number for number, row in enumerate(rows) if row[:2] == ["Frame", "Time:"]) + 1
    written = [" ".join(row) for row in rows[:start]]
    for row in rows[start:]:
        values, place = ["0"] * len(channels.split()), 0
        for count, own in zip(counts, offsets, strict=True):
            values += [*(own if every and count == 3 else []), *row[place : place + count]]
            place += count
        written.append(" ".join(values))
    root = ["ROOT RootBone", "{", "OFFSET 0 0 0", f"CHANNELS {len(channels.split())} {channels}"]
    return "\n".join([*lines[:first], *root, *lines[first:], "}", "MOTION", *written, ""])


def judge_moved(body: Body, file: str, case: str) -> Iterator[Measured]:
    """Hips 1 m and 3 m away, with a free root: alone, and with head, hands and feet."""
    metre = body.leg / 0.85
    hips, root = body.joints["hips"], body.rest.skeleton.names[0]
    ends = [body.joints[role] for role in ("head", *real_poses.ENDS)]
    for name, (left, ahead) in WAYS.items():
        for far in (1.0, 3.0):
            step = far * metre * (left * body.left + ahead * body.forward)
            goals = [poise.Position(joint, body.rest.world[joint].positions + step) for joint in (hips, *ends)]
            for count in (1, len(goals)):
                pose = poise.solve(body.rest, goals[:count], free_root=True).pose
                off = pose.world[hips].positions - body.at("hips") - step
                words = f"{case}, {far:g} m {name}" + (", six things" if count > 1 else "")
                miss = 1000.0 / metre * float(np.linalg.norm(off))
                yield Measured("4", "hips with a root bone: missed by [mm]", REACHED, True, file, words, miss)
                turn = evaluation.Posed(body._replace(joints={"root": root}), pose).turned("root")
                angle = float(np.degrees(2 * np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0]))))
                yield Measured("4", "root bone turned [deg]", LINES, True, file, words, angle)
                own = (
                    1000.0 / metre * float(np.linalg.norm(pose.world[root].positions - body.rest.world[root].positions))
                )
                yield Measured("4", "root bone moved [mm]", REACHED, False, file, words, own)


def judge_six(rig: poise.Rig, body: Body, file: str, case: str) -> Iterator[Measured]:
    """Frames of the clip rebuilt from six effectors."""
    poses = rig.clips[0].poses
    frames = np.unique(np.linspace(0, len(poses.q) - 1, real_poses.FRAMES).round().astype(int))
    clip = real_poses.Recorded(file, rig.rest, poses[frames], body.joints)
    found = poise.solve(rig.rest, real_poses.goals_of(clip, turned=False), free_root=True).pose
    roles = ("hips", "head", *(side + part for side in SIDES for part in ("Hand", "Foot")))
    pairs = [(found.world[joint], clip.poses.world[joint]) for joint in map(body.joints.__getitem__, roles)]
    off = np.max([np.linalg.norm(ours.positions - own.positions, axis=-1) for ours, own in pairs], axis=0)
    lost = 100.0 * float((off > pose_judge.NEAR * body.leg).mean())
    yield Measured("4", "six effectors with a root bone: frames not reached [%]", 2.0, True, file, case, lost)

"""Proofs of natural_proofs.py about motion: hands along paths in and out of reach, and clips that sit down or are calm.

A path is closed, in a second and a half to and fro, at 60 frames a second. Change of step is the second difference of
places between frames: what an eye sees as a pop. Paths are followed by a Tracker, by bake on a still clip, and by
solve() from the pose before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pose_evaluation as evaluation
import pose_judge
import pose_tasks
from character_rigs import Floats, loaded, unit
from pose_judge import Measured
from pose_tasks import Figure

import poise
from poise.maths import rotations

FRAMES, RATE = 180, 60
WITHIN = 0.95  # of the arm: as far as the collar bone is to rest
ALLOWED, TIMES = 6.0, 2.0  # [mm a frame] of a change of step, and times that of the engine alone
CALM, REACHES = 15.0, 35.0  # [deg] of collar bones, within reach and anywhere
HELD_TOLERANCE = 10.0  # [mm] of an elbow beside where natural poses have it in that frame alone
STANCES = 6  # frames of a walk to sit down from
WALKS = ("bvh/walk_mass.bvh", "bvh/cmu_12_01_walk.bvh", "bvh/mocapbank.bvh")
WAVES = np.linspace(0.0, 2.0 * np.pi, FRAMES)


class ReachPath(NamedTuple):
    """Where the left hand goes from the shoulder: steps (frames, 3) out, ahead and up, in lengths of the arm."""

    name: str
    steps: Floats


def list_paths() -> list[ReachPath]:
    """Forty paths of five kinds."""
    paths: list[ReachPath] = []
    ways = {
        "ahead": (0, 1, 0), "out": (1, 0, 0), "up": (0, 0, 1), "down": (0.1, 0, -1), "ahead and down": (0, 1, -1),
        "ahead and up": (0, 1, 1), "across": (-0.7, 1, 0), "out and behind": (1, -0.5, 0), "out and up": (1, 0, 1),
        "across and up": (-0.4, 1, 0.8), "out and down": (1, 0.2, -1), "ahead and out": (1, 1, 0),
    }  # fmt: skip
    radius = (0.925 - 0.225 * np.cos(WAVES))[:, None]
    paths += [ReachPath(f"out of reach, {name}", radius * unit(np.array(way, float))) for name, way in ways.items()]
    for name, way in list(ways.items())[:8]:
        along = (0.15 - 0.75 * np.cos(WAVES))[:, None] * unit(np.array(way, float))
        aside = 0.04 * unit(np.cross(way, (0.3, 0.5, 0.8)))
        paths.append(ReachPath(f"through the shoulder, {name}", along + aside))
    for height in (-0.6, -0.4, -0.2, 0.0):
        for depth in (0.3, 0.5):
            steps = np.stack([-0.3 + 0.55 * np.cos(WAVES), -depth + 0.15 * np.sin(WAVES), height + 0 * WAVES], axis=-1)
            paths.append(ReachPath(f"behind the back, {depth} at {height}", steps))
    for height in (0.7, 0.9):
        for size in (0.3, 0.6):
            steps = np.stack([0.1 + size * np.cos(WAVES), size * np.sin(WAVES), height + 0 * WAVES], axis=-1)
            paths.append(ReachPath(f"overhead, {size} at {height}", steps))
    for height in (-0.4, 0.0, 0.4, 0.6):
        for size in (0.75, 1.0):
            steps = np.stack([0.2 + size * np.cos(WAVES), 0.1 + size * np.sin(WAVES), height + 0 * WAVES], axis=-1)
            paths.append(ReachPath(f"around, {size} at {height}", steps))
    return paths


def place_path(figure: Figure, path: ReachPath) -> Floats:
    """The places (frames, 3) of a path."""
    body = figure.body
    axes = np.stack([body.left, body.forward, body.up])
    return body.at("leftUpperArm") + figure.sizes["arm"] * path.steps @ axes


def follow_tracker(figure: Figure, places: Floats, natural: bool | None) -> poise.Pose:
    """The poses of a Tracker."""
    hand = figure.body.joints["leftHand"]
    tracker = poise.Tracker(figure.body.rest, poise.Position(hand, places[0]), natural=natural)
    poses = [tracker(place, dt=1.0 / RATE).pose.q for place in places]
    return poise.Pose(figure.body.rest.skeleton, np.array(poses))


def follow_bake(figure: Figure, places: Floats, natural: bool | None) -> poise.Pose:
    """The poses of a still clip that is baked."""
    rest = figure.body.rest
    still = poise.Clip.at_rate(poise.Pose(rest.skeleton, np.tile(rest.q, (len(places), 1))), RATE, "still")
    return poise.bake(still, poise.Position(figure.body.joints["leftHand"], places), natural=natural).poses


def follow_solve(figure: Figure, places: Floats, natural: bool | None) -> poise.Pose:
    """The poses of solve(), each from the pose before."""
    pose, hand, poses = figure.body.rest, figure.body.joints["leftHand"], []
    for place in places:
        pose = poise.solve(pose, poise.Position(hand, place), natural=natural).pose
        poses.append(pose.q)
    return poise.Pose(pose.skeleton, np.array(poses))


FOLLOWERS: dict[str, Callable[[Figure, Floats, bool | None], poise.Pose]] = {
    "Tracker": follow_tracker, "bake": follow_bake, "solve": follow_solve,
}  # fmt: skip


def measure_steps(figure: Figure, poses: poise.Pose, role: str) -> Floats:
    """Changes of step (frames - 2,) of a joint [mm a frame]."""
    return measure_changes(figure, poses.world[figure.body.joints[role]].positions)


def measure_changes(figure: Figure, places: Floats) -> Floats:
    """Changes of step (frames - 2,) of places (frames, 3) [mm a frame]."""
    return 1000.0 / figure.metre * np.linalg.norm(np.diff(places, 2, axis=0), axis=-1)


def judge_paths(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Proof 1: what elbow, hand and collar bone do along paths in and out of reach."""
    paths = list_paths()[:: 8 if options.quick else 1]
    for file in pose_tasks.list_files(options):
        figure = pose_tasks.load_figure(folder, file)
        for name, follow in FOLLOWERS.items():
            for path in paths:
                yield from judge_path(figure, file, path, name, follow)
    for file in WALKS[: 1 if options.quick else None]:
        yield from judge_walk(folder, file)


def judge_path(figure: Figure, file: str, path: ReachPath, name: str, follow: Any) -> Iterator[Measured]:
    """The measures of one path."""
    places = place_path(figure, path)
    poses, plain = (follow(figure, places, natural) for natural in (None, False))
    for part, role in (("elbow", "leftLowerArm"), ("hand", "leftHand")):
        steps, bound = measure_steps(figure, poses, role), measure_steps(figure, plain, role).max()
        frame, most = int(steps[3:].argmax()) + 4, float(steps[3:].max())
        excess = most - max(TIMES * bound, ALLOWED)
        words = f"frame {frame}, {most:.0f} (the engine alone {bound:.0f})"
        yield Measured(
            "1", f"{part}, {name}: change of step beyond bound [mm]", 0.0, True, file, path.name, excess, words
        )
    if "leftShoulder" not in figure.body.joints:
        return
    far = np.linalg.norm(path.steps, axis=-1)
    turns = measure_collars(figure, poses)
    for words, bound, frames in (("within 0.95 of reach", CALM, far < WITHIN), ("anywhere", REACHES, far >= 0.0)):
        value = float(turns[frames].max()) if frames.any() else float("nan")
        yield Measured("1", f"collar bone, {name}, {words} [deg]", bound, True, file, path.name, value)


def judge_walk(folder: Path, file: str) -> Iterator[Measured]:
    """A hand that eases, in a second of a walk, to a place that goes along with the shoulder, well inside reach."""
    rig = loaded(folder / file)
    body = pose_tasks.body_of(file, rig)
    assert body is not None
    clip, figure = rig.clips[0], pose_tasks.measure_figure(body)
    clip = poise.Clip(clip.times[1:], clip.poses[1:], clip.name)  # CMU's first frame is a T
    world, joints = clip.poses.world, body.joints
    hips = world[joints["hips"]]
    turn = rotations.multiply(hips.rotations, rotations.inverse(body.rest.world[joints["hips"]].rotations))
    share = np.clip((clip.times - clip.times[0] - 0.3)[:, None], 0.0, 1.0)
    share = share * share * (3 - 2 * share)
    for name, (out, ahead, up) in {"ahead": (0.0, 0.75, 0.0), "out": (0.6, 0.4, 0.2), "up": (0.1, 0.4, 0.7)}.items():
        step = out * body.left + ahead * body.forward + up * body.up
        goal = world[joints["leftUpperArm"]].positions + figure.sizes["arm"] * rotations.rotate(turn, step)
        places = (1 - share) * world[joints["leftHand"]].positions + share * goal
        for start in ("the hips", "the collar bone"):
            root = joints["hips"] if start == "the hips" else None
            baked = poise.bake(clip, poise.Position(joints["leftHand"], places, root=root)).poses
            steps, own = (measure_steps(figure, poses, "leftLowerArm") for poses in (baked, clip.poses))
            hand = measure_steps(figure, baked, "leftHand").max()
            bound = max(TIMES * own.max(), TIMES * hand, ALLOWED)
            words = f"frame {int(steps.argmax()) + 1}, {steps.max():.0f} (clip {own.max():.0f}, hand {hand:.0f})"
            measure = "elbow, reach in a walk: change of step beyond bound [mm]"
            case = f"{name}, from {start}"
            yield Measured("1", measure, 0.0, True, file, case, float(steps.max() - bound), words)


def measure_collars(figure: Figure, poses: poise.Pose) -> Floats:
    """How far (frames,) the left collar bone is turned in the chest [deg]."""
    turn = pose_judge.find_own_turn(figure, evaluation.Posed(figure.body, poses), "leftShoulder")
    return np.degrees(2 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0])))


def judge_bake(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Proof 6: clips that sit down from a stride, and clips that are calm."""
    for file in WALKS[: 1 if options.quick else None]:
        yield from judge_sitting(folder, file)
    for file in pose_tasks.list_files(options):
        figure = pose_tasks.load_figure(folder, file)
        yield from judge_calm(figure, file)


def judge_sitting(folder: Path, file: str) -> Iterator[Measured]:
    """Sit down from frames of a walk, feet held, in a second at 30 frames a second: deep, and back."""
    rig = loaded(folder / file)
    poses, body = rig.clips[0].poses, pose_tasks.body_of(file, rig)
    assert body is not None
    ramp = np.linspace(0.0, 1.0, 30)
    share = np.concatenate([np.zeros(10), ramp * ramp * (3 - 2 * ramp), np.ones(10)])[:, None]
    for frame in np.linspace(1, len(poses.q) - 1, STANCES).round().astype(int):
        stance = poses[int(frame)]
        figure = pose_tasks.measure_figure(body._replace(rest=stance))
        still = poise.Clip.at_rate(poise.Pose(stance.skeleton, np.tile(stance.q, (len(share), 1))), 30, "still")
        held: list[Any] = [poise.Pin(body.joints[role]) for role in pose_tasks.FEET]
        for down, back in ((0.5, 0.3), (0.4, 0.4)):
            way = figure.body.leg * (down * body.up + back * body.forward)
            hips = poise.Position(body.joints["hips"], figure.body.at("hips") - share * way)
            baked = poise.bake(still, [*held, hips], free_root=True).poses
            yield from judge_knees(figure, baked, file, f"sits down by {down}, back by {back}, from frame {frame}")


def judge_knees(figure: Figure, baked: poise.Pose, file: str, case: str) -> Iterator[Measured]:
    """How much more both knees change their step than the hips."""
    own = float(measure_steps(figure, baked, "hips").max())
    for role in ("leftLowerLeg", "rightLowerLeg"):
        steps = measure_steps(figure, baked, role)
        most, frame = float(steps.max()), int(steps.argmax()) + 1
        forced = float(measure_changes(figure, carry_knee(figure, baked, role)).max())
        name = "sits down: knee's change of step beyond 2 x hips'"
        words = f"{role} {frame}, {most:.0f} (hips {own:.1f}, forced {forced:.1f})"
        yield Measured("6", f"{name} [mm]", 0.0, True, file, case, most - 2 * own, words)
        beyond = most - max(2 * own, forced)
        yield Measured("6", f"{name} and what hip and foot force [mm]", 1.0, False, file, case, beyond, words)


def carry_knee(figure: Figure, baked: poise.Pose, role: str) -> Floats:
    """Where a knee would be (frames, 3) that goes on as straight as its hip and its foot let it.

    The hip goes as the hips do, not turned: both say the circle that the knee is on. A leg that is nearly straight
    opens this circle from a point, and no knee can be calm there.
    """
    body, side = figure.body, role.removesuffix("LowerLeg")
    hips, knees, feet = (baked.world[body.joints[each]].positions for each in (side + "UpperLeg", role, side + "Foot"))
    way = baked.world[body.joints["hips"]].positions
    upper, lower = np.linalg.norm(knees[0] - hips[0]), np.linalg.norm(feet[0] - knees[0])
    found: list[Floats] = []
    for hip, foot in zip(hips[0] + way - way[0], feet, strict=True):
        distance = np.linalg.norm(foot - hip)
        along = unit(foot - hip)
        share = 0.5 * (distance + (upper * upper - lower * lower) / distance)
        onward = knees[0] if not found else 2 * found[-1] - found[-2] if len(found) > 1 else found[-1]
        side_way = onward - hip - along * float((onward - hip) @ along)
        found.append(hip + share * along + np.sqrt(max(upper * upper - share * share, 0.0)) * unit(side_way))
    return np.array(found)


def judge_calm(figure: Figure, file: str) -> Iterator[Measured]:
    """A hand that draws a figure ahead of the chest, in four seconds and in one."""
    for seconds, fps in ((4.0, 30.0), (4.0, 120.0), (1.0, 30.0)):
        frames = round(seconds * fps)
        t = np.linspace(0.0, 2 * np.pi, frames)
        steps = np.stack([0.28 * np.cos(t), 0.56 + 0.1 * np.sin(2 * t), 0.28 * np.sin(t) - 0.19], axis=-1)
        places = place_path(figure, ReachPath("calm", steps))
        rest = figure.body.rest
        still = poise.Clip.at_rate(poise.Pose(rest.skeleton, np.tile(rest.q, (frames, 1))), fps, "still")
        goal = poise.Position(figure.body.joints["leftHand"], places)
        baked, alone = (poise.bake(still, goal, continuous=continuous).poses for continuous in (True, False))
        elbows = [poses.world[figure.body.joints["leftLowerArm"]].positions for poses in (baked, alone)]
        apart = 1000.0 / figure.metre * np.linalg.norm(elbows[0] - elbows[1], axis=-1)
        case = f"calm, {seconds:g} s at {fps:g}"
        lost = 100.0 * float((apart > HELD_TOLERANCE).mean())
        yield Measured("6", "calm clips: frames that lose natural answers [%]", 0.0, True, file, case, lost)
        if "leftShoulder" in figure.body.joints:
            turns = measure_collars(figure, baked)
            yield Measured("6", "calm clips: collar bone [deg]", 2.0, True, file, case, float(turns.max()))

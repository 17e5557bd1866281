"""Measures of planted clips that are not the product's own: made of joint positions of source and result alone.

Lengths are metres of a figure whose leg, thigh and shin, is 0.85 m long; changes of step are millimetres a frame, in
the clip's own frames, unfiltered. The points of a sole are those that lie on the floor while the source's foot is
lowest and stillest; a point is in contact while it is slower than 0.25 m/s and lower than 4 cm in the source. What the
source does itself is taken off each measure, or stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import poise
from poise.maths import rotations

Array = np.ndarray
LEG = 0.85  # [m] thigh and shin of the figure whose metres all lengths are
NEAR = 0.1  # [s] before and after: the source's largest change of step there is what a result's is compared with
SLOW, LOW, SHORTEST = 0.25, 0.04, 0.08  # [m/s], [m], [s] of a point in contact
NEAR_ZERO = 0.15  # [m] feet whose lowest joint is at most so high stand on a floor at 0
THICK = 0.02  # [m] from the lowest joint of a foot to its sole, where the floor is not at 0
LEAP = 0.03  # [m] mean way of joints from a reference pose in the first frame, at least
BEHIND, AHEAD = 0.25, 0.5  # of ankle to ball: the heel behind the ankle, and a tip that no joint says before the ball
FLATTEST = 0.05  # the share of all frames in which a foot is taken to lie flat
HALTED = 0.5  # a knee that goes less than this share of its source's step before toe-off has a hitch
MOVING = 0.25  # [m/s] slower knees have none
LEAVING = 0.02  # [m] a foot that goes less far before it stands again has not left: captured feet tremble
STRAIGHT = 6.0  # [deg] there a knee goes 10 times as fast as hip and ankle come nearer, and a captured one snaps
SNAPS = 5.0, 10.0  # [mm a frame] excess of a knee that snaps at a landing: from SLOW_RATE on, and below
SLOW_RATE = 45.0  # [frames/s]
DOUBLE = 2.0  # and so many times the source's own
UPRIGHT = 0.4  # [m] pelvis over the floor, below which a figure sits or lies
STILL = 0.5  # [m] a clip that goes less far heads where it faces
FACES = 0.1  # of the distance of hip joints: the mean way across of a figure that turns round is shorter
PARTS = ("hip", "knee", "ankle", "toe")


class Leg(NamedTuple):
    """Rows of the joints of a leg; toes and their end are None where it has none."""

    name: str
    hip: int
    knee: int
    ankle: int
    toe: int | None
    tip: int | None


class Track(NamedTuple):
    """Where all joints are: places (F, J, 3) [file units] and world rotations (F, J, 4), w x y z."""

    places: Array
    turns: Array


class Point(NamedTuple):
    """A point of a sole that a joint carries, at an offset (3,) in the joint's frame."""

    joint: int
    offset: Array
    label: str

    def follow(self, track: Track) -> Array:
        """(F, 3) where it goes."""
        turned = rotations.rotate(track.turns[:, self.joint], np.broadcast_to(self.offset, (len(track.turns), 3)))
        return track.places[:, self.joint] + turned


class Scene(NamedTuple):
    """A source, its result, and what both stand on.

    metre    file units in a metre of the figure
    up       the axis that points up
    floor    height of the source's own floor [file units]
    pelvis   the row of the joint that carries the body
    others   rows of hands and head, by name
    soles    the points of each foot: heel, ball and, where there are toes, tip
    parents  (J,) row of each joint's parent
    """

    source: Track
    result: Track
    terrain: Any
    rate: float
    metre: float
    up: int
    floor: float
    pelvis: int
    legs: tuple[Leg, ...]
    others: dict[str, int]
    soles: tuple[tuple[Point, ...], ...]
    parents: Array

    @property
    def near(self) -> int:
        """Frames in 0.1 s, at least one."""
        return max(1, round(NEAR * self.rate))

    def measure_height(self, points: Array, *, of_source: bool) -> Array:
        """Metres above the source's floor, or above the ground of the result."""
        ground = self.floor if of_source else self.terrain.heights(points)
        return (points[..., self.up] - ground) / self.metre


def build_scene(planted: poise.Planted, rig: poise.Rig) -> Scene:
    """Everything that is measured of a planted clip."""
    figure, skeleton = planted.figure, planted.poses.skeleton
    up = {"y": 1, "z": 2}[figure.up]
    carried = np.zeros((len(planted), 1, 3))
    if planted.passed is not None:  # the ground goes by: what stands goes with it
        passed = rotations.rotate(rotations.inverse(figure.turn), planted.passed * figure.metre)
        carried = passed[:, None]
    source, result = (
        Track(clip.poses.world.positions + carried, clip.poses.world.rotations.copy())
        for clip in (planted.travelled, planted)
    )
    legs = tuple(find_leg(leg, skeleton) for leg in figure.legs)
    metre = measure_legs(source, legs) / LEG
    if has_reference_start(source, metre):  # it takes no part: what it is in the source it is in the result
        for track in (source, result):
            track.places[0], track.turns[0] = track.places[1], track.turns[1]
    seconds = float(planted.times[-1] - planted.times[0])
    rate = (len(planted) - 1) / seconds if seconds else 1.0
    floor = find_floor(source, legs, metre, up, rate)
    roles = rig.roles.joints
    others = {name: skeleton.index(roles[name]) for name in ("leftHand", "rightHand", "head") if name in roles}
    soles = tuple(find_sole(source, leg, floor, metre, up, rate) for leg in legs)
    pelvis, parents = skeleton.index(figure.trunk), np.array(skeleton.parents)
    return Scene(source, result, planted.terrain, rate, metre, up, floor, pelvis, legs, others, soles, parents)


def has_reference_start(track: Track, metre: float) -> bool:
    """Whether no motion leads from the first frame to the second: joints leap, and then go on far more slowly."""
    steps = np.linalg.norm(np.diff(track.places[:5], axis=0), axis=-1).mean(axis=1) / metre
    return len(steps) > 1 and bool(steps[0] > LEAP and (steps[0] > 2.0 * steps[1:]).all())


def find_leg(leg: Any, skeleton: poise.Skeleton) -> Leg:
    """Rows of the joints of a leg; the tip is the child of the toes that is farthest away."""
    row = skeleton.index
    toe = row(leg.toes) if leg.toes else None
    children = [] if toe is None else [i for i, parent in enumerate(skeleton.parents) if parent == toe]
    lengths = np.linalg.norm(skeleton.A[children, :3], axis=-1)
    tip = children[int(lengths.argmax())] if children and lengths.max() > 0 else None
    return Leg(leg.name, row(leg.upper), row(leg.lower), row(leg.foot), toe, tip)


def find_facing(track: Track, legs: tuple[Leg, ...], up: int) -> Array:
    """Find where a figure faces (3,), level and of unit length.

    It is square to the mean way from its right hips to its left: zero where it has no legs of two sides, or turns
    round.
    """
    sides = [track.places[:, [leg.hip for leg in legs if side in leg.name]] for side in ("left", "right")]
    if not all(side.shape[1] for side in sides):
        return np.zeros(3)
    left, right = (side.mean(axis=(0, 1)) for side in sides)
    ahead = np.cross(left - right, np.eye(3)[up])
    length, apart = np.linalg.norm(ahead), np.linalg.norm(sides[0].mean(axis=1) - sides[1].mean(axis=1), axis=-1)
    return ahead / length if length > FACES * apart.mean() else np.zeros(3)


def find_heading(track: Track, legs: tuple[Leg, ...], up: int, metre: float) -> Array:
    """Find where a clip goes (3,), else where its figure faces, else along an axis. It is level and of unit length."""
    hips = track.places[:, [leg.hip for leg in legs]].mean(axis=1)
    ahead = hips[-1] - hips[0]
    ahead[up] = 0.0
    if np.linalg.norm(ahead) < STILL * metre:
        ahead = find_facing(track, legs, up)
    if not ahead.any():
        ahead = np.eye(3)[{1: 2, 2: 1}[up]]
    return ahead / np.linalg.norm(ahead)


def measure_legs(track: Track, legs: tuple[Leg, ...]) -> float:
    """Mean length of thigh and shin [file units], medians over the frames."""
    rows = np.array([[leg.hip, leg.knee, leg.ankle] for leg in legs])
    bones = np.linalg.norm(np.diff(track.places[:, rows], axis=2), axis=-1)
    return float(np.median(bones.sum(axis=-1), axis=0).mean())


def find_floor(track: Track, legs: tuple[Leg, ...], metre: float, up: int, rate: float) -> float:
    """Height of the floor [file units]: 0 where the lowest joints of flat feet are near it, else below them."""
    lows: list[float] = []
    for leg in legs:
        rows = [row for row in (leg.ankle, leg.toe, leg.tip) if row is not None]
        flat = find_flat_frames(track, leg, metre, up, rate)
        lows.append(float(np.median(track.places[flat][:, rows, up].min(axis=1))))
    return 0.0 if 0.0 <= min(lows) <= NEAR_ZERO * metre else min(lows) - THICK * metre


def find_flat_frames(track: Track, leg: Leg, metre: float, up: int, rate: float) -> Array:
    """The frames in which ankle and ball of a foot are lowest and slowest."""
    ankle = track.places[:, leg.ankle]
    ball = ankle if leg.toe is None else track.places[:, leg.toe]
    speed = np.maximum(measure_speed(ankle, rate), measure_speed(ball, rate)) / metre
    height = (ankle[:, up] - ankle[:, up].min() + ball[:, up] - ball[:, up].min()) / metre
    return np.argsort(speed + 4.0 * height, kind="stable")[: max(3, round(FLATTEST * len(ankle)))]


def find_sole(track: Track, leg: Leg, floor: float, metre: float, up: int, rate: float) -> tuple[Point, ...]:
    """Heel, ball and tip of a foot, which are on the floor in the frames in which it is lowest and stillest."""
    ankle = track.places[:, leg.ankle]
    ball = ankle if leg.toe is None else track.places[:, leg.toe]
    flat = find_flat_frames(track, leg, metre, up, rate)

    def carry(joint: int, points: Array, label: str) -> Point:
        points = points.copy()
        points[:, up] = floor
        local = rotations.rotate(rotations.inverse(track.turns[flat, joint]), points - track.places[flat, joint])
        return Point(joint, np.median(local, axis=0), label)

    ahead = ball[flat] - ankle[flat]
    points = [carry(leg.ankle, ankle[flat] - BEHIND * ahead, "heel")]
    if leg.toe is not None:
        end = ball[flat] + AHEAD * ahead if leg.tip is None else track.places[flat, leg.tip]
        points += [carry(leg.ankle, ball[flat], "ball"), carry(leg.toe, end, "tip")]
    return tuple(points)


def measure_speed(points: Array, rate: float) -> Array:
    """The faster (F,) of the steps before and after each frame, a second."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=-1) * rate
    return np.maximum(np.append(steps, 0.0), np.insert(steps, 0, 0.0))


def measure_changes(points: Array, metre: float) -> Array:
    """Change of step |p+ - 2 p + p-| (F, ...) [mm a frame]; 0 in the first and the last frame."""
    changes = np.zeros(points.shape[:-1])
    if len(points) > 2:
        changes[1:-1] = 1000.0 / metre * np.linalg.norm(np.diff(points, 2, axis=0), axis=-1)
    return changes


def take_largest_near(values: Array, frames: int) -> Array:
    """The largest of values (F, ...) so many frames before and after."""
    found = values.copy()
    for shift in range(1, min(frames, len(values) - 1) + 1):
        found[shift:] = np.maximum(found[shift:], values[:-shift])
        found[:-shift] = np.maximum(found[:-shift], values[shift:])
    return found


def list_runs(mask: Array) -> list[tuple[int, int]]:
    """First frame, and the one after the last, of each run in which a mask (F,) holds."""
    edges = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def find_contacts(scene: Scene, point: Point) -> Array:
    """When (F,) a point of a sole stands in the source."""
    path = point.follow(scene.source)
    still = measure_speed(path, scene.rate) / scene.metre < SLOW
    still &= scene.measure_height(path, of_source=True) < LOW
    for first, end in list_runs(still):
        still[first:end] = (end - first) / scene.rate >= SHORTEST
    return still


def judge_scene(scene: Scene) -> dict[str, Any]:
    """All measures of a result, with the frames of the worst."""
    contacts = [np.array([find_contacts(scene, point) for point in points]) for points in scene.soles]
    measures: dict[str, Any] = {"frames": len(scene.source.places), "rate": round(scene.rate, 2)}
    measures["contact"] = float(np.mean([held[:2].any(axis=0).mean() for held in contacts]))
    measures["excess"] = measure_excess(scene)
    measures["pelvis"] = measure_pelvis(scene)
    measures["support"] = measure_support(scene)
    measures["events"] = list_events(scene, contacts)
    measures |= measure_soles(scene, contacts)
    measures["knee_bend"] = measure_knees(scene)
    measures["toe_bend"] = measure_toes(scene)
    measures["toe_pitch"] = measure_push_offs(scene, contacts)
    return measures


def measure_excess(scene: Scene) -> dict[str, dict[str, Any]]:
    """Change of step beyond the source's largest within 0.1 s, for each kind of joint: the worst."""
    found: dict[str, dict[str, Any]] = {}
    for part, name, row in list_joints(scene):
        before, after = (measure_changes(track.places[:, row], scene.metre) for track in (scene.source, scene.result))
        allowed = take_largest_near(before, scene.near)
        frame = int((after - allowed).argmax())
        excess = float(after[frame] - allowed[frame])
        if part not in found or excess > found[part]["mm"]:
            joint = f"{name} {part}" if name != part else name
            found[part] = {"mm": excess, "joint": joint, "frame": frame, "source": float(allowed[frame])}
    return found


def list_joints(scene: Scene) -> Iterator[tuple[str, str, int]]:
    """Part, whose it is, and row of each joint whose steps are looked at."""
    for leg in scene.legs:
        for part in (*PARTS, "tip"):
            row = getattr(leg, part)
            if row is not None:
                yield part, leg.name, row
    for name, row in scene.others.items():
        part = "head" if name == "head" else "hand"
        yield part, name.removesuffix("Hand"), row


def measure_pelvis(scene: Scene) -> dict[str, Any]:
    """How far the pelvis is from where it is in the source [mm]: up or down, and level."""
    moved = (scene.result.places[:, scene.pelvis] - scene.source.places[:, scene.pelvis]) / scene.metre * 1000.0
    rise = moved[:, scene.up]
    frame = int(np.abs(rise).argmax())
    level = np.linalg.norm(np.delete(moved, scene.up, axis=1), axis=1)
    return {
        "median": float(np.median(np.abs(rise))), "largest": float(np.abs(rise).max()), "frame": frame,
        "rise": float(rise[frame]), "level": float(level.max()),
    }  # fmt: skip


def measure_support(scene: Scene) -> dict[str, Any]:
    """Height of the pelvis over the mean ground under all feet, as a share of the source's over its floor.

    Lowest is what 5 % of the frames are below. Frames in which the source sits or lies say nothing.
    """
    pelvis = scene.source.places[:, scene.pelvis]
    before = scene.measure_height(pelvis, of_source=True)
    feet = scene.result.places[:, [leg.ankle for leg in scene.legs]]
    ground = scene.terrain.heights(feet).mean(axis=1)
    after = (scene.result.places[:, scene.pelvis, scene.up] - ground) / scene.metre
    upright = np.flatnonzero(before > UPRIGHT)
    if not len(upright):
        return {"lowest": 1.0, "median": 1.0, "frame": 0}
    shares = after[upright] / before[upright]
    frame = int(upright[shares.argmin()])
    return {"lowest": float(np.percentile(shares, 5.0)), "median": float(np.median(shares)), "frame": frame}


def list_events(scene: Scene, contacts: list[Array]) -> list[dict[str, Any]]:
    """Toe-offs and landings, and whether the knee has a hitch there.

    At a toe-off: within 0.1 s before it a knee that moves in the source goes less than half of its way from one frame
    to the next. At a landing: within 0.1 s the knee's step changes by far more than the source's, and by twice as much.
    A toe-off is clear where the foot leaves and the source's leg is bent in the frames that have the hitch.
    """
    events: list[dict[str, Any]] = []
    count, near, snap = len(scene.source.places), scene.near, SNAPS[int(scene.rate < SLOW_RATE)]
    for leg, points, held in zip(scene.legs, scene.soles, contacts, strict=True):
        bend, foot = measure_bend(scene.source, leg), points[:2][-1].follow(scene.source) / scene.metre
        before, after = (track.places[:, leg.knee] / scene.metre for track in (scene.source, scene.result))
        steps = [np.linalg.norm(np.diff(path, axis=0), axis=-1) for path in (before, after)]
        changes = measure_changes(after, 1.0)
        allowed = take_largest_near(measure_changes(before, 1.0), near)
        snapped = (changes > allowed + snap) & (changes > DOUBLE * allowed)
        moving = steps[0] * scene.rate > MOVING
        halted = moving & (steps[1] < HALTED * steps[0])
        standing: Array = held[:2].any(axis=0)
        starts = [first for first, _ in list_runs(standing)]
        for first, end in list_runs(standing):
            if 2 < end < count - 3:
                frames = np.arange(max(0, end - 1 - near), end)
                frames = frames[halted[frames]]
                swing = foot[end - 1 : min((start for start in starts if start >= end), default=count) + 1]
                leaves = np.linalg.norm(swing - swing[0], axis=-1).max() > LEAVING
                clear = leaves and not (len(frames) and bend[frames[0] : frames[-1] + 2].min() < STRAIGHT)
                events.append(
                    {"kind": "toe-off", "leg": leg.name, "frame": end, "hitch": len(frames) > 0, "clear": bool(clear)}
                )
            if 2 < first < count - 3:
                hitch = bool(snapped[max(0, first - near) : first + near + 1].any())
                events.append({"kind": "landing", "leg": leg.name, "frame": first, "hitch": hitch})
    return events


def measure_soles(scene: Scene, contacts: list[Array]) -> dict[str, Any]:
    """Skate of heels and balls in contact [cm/s], depth of soles and height of standing feet over the ground [mm].

    Depth is beyond the source's own in its floor, height beyond the source's own in the same frame. The first and last
    frame of a contact do not count.
    """
    way, time = np.zeros(2), 0.0
    depth: dict[str, Any] = {"mm": 0.0, "frame": 0, "point": ""}
    floating = {"mm": 0.0, "frame": 0, "point": ""}
    for leg, points, held in zip(scene.legs, scene.soles, contacts, strict=True):
        paths = [[point.follow(track) for point in points] for track in (scene.source, scene.result)]
        heights = [np.array([scene.measure_height(path, of_source=k == 0) for path in paths[k]]) for k in range(2)]
        inner = np.array([trim_runs(mask) for mask in held])
        for mask, before, after in zip(inner[:2], *(path[:2] for path in paths), strict=True):
            both = mask[1:] & mask[:-1]
            way += [measure_level_way(path, scene.up)[both].sum() / scene.metre for path in (before, after)]
            time += both.sum() / scene.rate
        for point, before, after in zip(points, *heights, strict=True):
            deep = 1000.0 * (-after - max(0.0, float(-before.min())))
            keep_largest(depth, deep, f"{leg.name} {point.label}")
        over = 1000.0 * (heights[1].min(axis=0) - np.maximum(heights[0].min(axis=0), 0.0))
        keep_largest(floating, np.where(inner.any(axis=0), over, 0.0), leg.name)
    skate, source = (float(100.0 * length / time) if time else 0.0 for length in (way[1], way[0]))
    return {"skate": skate, "skate_source": source, "depth": depth, "float": floating}


def trim_runs(mask: Array) -> Array:
    """A mask (F,) without the first and the last frame of each run."""
    return mask & np.append(mask[1:], False) & np.insert(mask[:-1], 0, False)


def measure_level_way(path: Array, up: int) -> Array:
    """Level way (F - 1,) from frame to frame."""
    return np.linalg.norm(np.delete(np.diff(path, axis=0), up, axis=1), axis=1)


def keep_largest(found: dict[str, Any], values: Array, name: str) -> None:
    """Keep the largest of values (F,) with its frame and whose it is."""
    frame = int(values.argmax())
    if values[frame] > found["mm"]:
        found.update(mm=float(values[frame]), frame=frame, point=name)


def measure_knees(scene: Scene) -> dict[str, Any]:
    """Largest bend of a knee [deg], and the same knee's largest in the source; of the knee that has gained most."""
    found: dict[str, Any] = {}
    for leg in scene.legs:
        before, after = (measure_bend(track, leg) for track in (scene.source, scene.result))
        frame = int(after.argmax())
        gain = float(after[frame] - before.max())
        if not found or gain > found["gain"]:
            found = {"gain": gain, "deg": float(after[frame]), "source": float(before.max()), "frame": frame}
    return found


def measure_bend(track: Track, leg: Leg) -> Array:
    """Angle (F,) between thigh and shin [deg]."""
    thigh = track.places[:, leg.knee] - track.places[:, leg.hip]
    shin = track.places[:, leg.ankle] - track.places[:, leg.knee]
    sine = np.linalg.norm(np.cross(thigh, shin), axis=-1)
    return np.degrees(np.arctan2(sine, (thigh * shin).sum(axis=-1)))


def measure_toes(scene: Scene) -> dict[str, Any]:
    """Largest turn of toes against their foot, from how they lie on the floor [deg], and the source's own largest."""
    found: dict[str, Any] = {"deg": 0.0, "source": 0.0, "frame": 0}
    for leg, points in zip(scene.legs, scene.soles, strict=True):
        if leg.toe is None:
            continue
        flat = find_flat_frame(scene, points)
        turns = [
            rotations.multiply(rotations.inverse(track.turns[:, leg.ankle]), track.turns[:, leg.toe])
            for track in (scene.source, scene.result)
        ]
        from_flat = [rotations.multiply(rotations.inverse(turns[0][flat]), turn) for turn in turns]
        before, after = (measure_angle(turn) for turn in from_flat)
        frame = int(after.argmax())
        if after[frame] - before.max() > found["deg"] - found["source"] or not found["deg"]:
            found = {"deg": float(after[frame]), "source": float(before.max()), "frame": frame, "leg": leg.name}
    return found


def find_flat_frame(scene: Scene, points: tuple[Point, ...]) -> int:
    """The frame in which the points of a sole are nearest to the source's floor."""
    heights = np.array([scene.measure_height(point.follow(scene.source), of_source=True) for point in points])
    return int(np.abs(heights).max(axis=0).argmin())


def measure_angle(turn: Array) -> Array:
    """Angles (F,) of rotations (F, 4) [deg]."""
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(turn[:, 1:], axis=-1), np.abs(turn[:, 0])))


def measure_push_offs(scene: Scene, contacts: list[Array]) -> dict[str, Any]:
    """How far the pitch of toes over the ground is from the source's in the 0.1 s before the ball leaves it [deg].

    The largest of all push-offs, and their median.
    """
    found: list[tuple[float, int, str]] = []
    for leg, points, held in zip(scene.legs, scene.soles, contacts, strict=True):
        if leg.toe is None:
            continue
        before, after = (measure_pitch(scene, leg, points, of_source=flag) for flag in (True, False))
        off = np.abs(after - before)
        for first, end in list_runs(held[1]):
            if 2 < end < len(off) - 3:
                frames = slice(max(first, end - scene.near), end)
                found.append((float(off[frames].max()), int(off[frames].argmax()) + frames.start, leg.name))
    if not found:
        return {"deg": 0.0, "median": 0.0, "frame": 0, "count": 0}
    worst, frame, name = max(found)
    middle = float(np.median([off for off, _, _ in found]))
    return {"deg": worst, "median": middle, "frame": frame, "leg": name, "count": len(found)}


def measure_pitch(scene: Scene, leg: Leg, points: tuple[Point, ...], *, of_source: bool) -> Array:
    """Pitch (F,) of toes over the ground below them [deg]: of what points level forward while the sole is flat."""
    track = scene.source if of_source else scene.result
    flat = find_flat_frame(scene, points)
    ahead = points[2].follow(scene.source)[flat] - points[1].follow(scene.source)[flat]
    ahead[scene.up] = 0.0
    local = rotations.rotate(rotations.inverse(scene.source.turns[flat, leg.toe]), ahead / np.linalg.norm(ahead))
    pointing = rotations.rotate(track.turns[:, leg.toe], np.broadcast_to(local, (len(track.turns), 3)))
    rise = pointing[:, scene.up]
    level = np.linalg.norm(np.delete(pointing, scene.up, axis=1), axis=1)
    pitch = np.degrees(np.arctan2(rise, level))
    if of_source:
        return pitch
    normals = scene.terrain.normals(points[1].follow(track))
    across = (np.delete(normals, scene.up, axis=1) * np.delete(pointing, scene.up, axis=1)).sum(axis=1)
    return pitch + np.degrees(np.arctan2(across, level * normals[:, scene.up]))


def measure_apart(first: poise.Clip, second: poise.Clip, metre: float) -> float:
    """How far any joint is from where it is in another clip of the same frames, at most [mm]."""
    if len(first) != len(second):
        return float("inf")
    moved = np.linalg.norm(first.poses.world.positions - second.poses.world.positions, axis=-1)
    return float(1000.0 / metre * moved.max())

"""Frame sheet of a retargeted clip. The source is grey, the target has colours."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.footing import Footing
from poise.ground.plant import Planted
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import count_frames
from poise.maths.smoothing import average_hann
from poise.maths.vectors import normalise
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.plot.frame_sheet import (
    BODY_COLOUR,
    GROUND_COLOUR,
    LEG_COLOURS,
    MISSED_COLOUR,
    PERSON_M,
    SOURCE_COLOUR,
    Cell,
    SheetView,
    build_views,
    choose_frames,
    draw_lines,
    draw_profiles,
    measure_cell,
    render_sheet,
    sample_reach,
    write_words,
)
from poise.retargeting.added_joints import extend_poses
from poise.retargeting.body import Body
from poise.retargeting.retarget import Retargeted

_LIMB_COLOURS: dict[str, str] = dict(zip(("leftLeg", "rightLeg", "leftArm", "rightArm"), LEG_COLOURS, strict=True))
_LIMBS = {"Leg": ("UpperLeg", "LowerLeg", "Foot", "Toes"), "Arm": ("UpperArm", "LowerArm", "Hand")}
_FACING_HALF_WINDOW_S = 0.5  # [s] half the window over which the heading of the views is smoothed
_MIN_FACING = 0.1  # length of a unit heading on level ground
_SOURCE_WIDTH, _TARGET_WIDTH, _MISSED_WIDTH, _GROUND_WIDTH = 0.9, 1.2, 2.0, 0.6
_CONTACT_SIZE = 3.5


class FigureLines(NamedTuple):
    """Lines of a figure in all frames.

    points   (F, J, 3) joints in axes ahead, left, up, relative to the middle of the hips; a person is 1.8 m tall
    bones    (n, 2) rows of joints
    colours  of the bones
    missed   (F, n) where a bone's direction exceeds its bound
    """

    points: Floats
    bones: Ints
    colours: tuple[str, ...]
    missed: Bools


class MotionScene(NamedTuple):
    """What a sheet shows.

    source, target  both figures
    headings        (F, 3) level directions in which the target faces
    planted         its planted feet, with the ground; None without
    origin          (F, 3) middle of its hips in axes ahead, left, up [file units]
    scale           of the picture [1 / file unit]
    body            the target as measured
    ankles          (F, 2, 3) in the picture, and whether their feet stand (F, 2)
    stands
    title           of the sheet
    """

    source: FigureLines
    target: FigureLines
    headings: Floats
    planted: Planted | None
    origin: Floats
    scale: float
    body: Body
    ankles: Floats
    stands: Bools
    title: str


def render_frames(file_format: str, done: Retargeted, every: int | None) -> bytes:
    """Render the sheet to bytes, reproducibly."""
    scene = build_motion_scene(done)
    frames = choose_frames(len(done), every)
    cell = _measure_room(scene, frames)

    def draw_frame(axes: Any, place: int, corner: Floats) -> None:
        frame = int(frames[place])
        _draw_frame(axes, scene, slice(int(frames[place - 1]) + 1 if place else frame, frame + 1), corner, cell)

    return render_sheet(file_format, scene.title, len(frames), cell, draw_frame)


def build_motion_scene(done: Retargeted) -> MotionScene:
    """Build the scene. The source is drawn as large as the target, by leg lengths, with its hips at the target's."""
    report = done.report
    source_body, body = done.bodies
    points = _find_points(done.poses, body)
    origin = _find_hips(points, body)
    named = points[:, [body.rows[role] for role in body.rows]]
    scale = PERSON_M / float(np.median(np.ptp(named, axis=1).max(axis=1)))
    source_points = _find_points(done.source.poses, source_body)
    ratio = scale * body.leg_length / source_body.leg_length
    source_points = ratio * (source_points - _find_hips(source_points, source_body)[:, None])
    missed = {role: angles > report.bounds[role] for role, angles in report.angles.items()}
    relative = scale * (points - origin[:, None])
    ankles = relative[:, [body.rows[f"{side}Foot"] for side in SIDES]]
    verdict = "ok" if report.ok else f"{format_count(len(report.worse), 'measure')} beyond bounds"
    return MotionScene(
        _build_lines(source_points, source_body, {}), _build_lines(relative, body, missed),
        _find_headings(relative, body, done.times), None if done.root == "in_place" else done.planted,
        origin, scale, body, ankles, _find_stands(done.contacts, len(done)), f"{report.title}: {verdict}",
    )  # fmt: skip


def _find_points(poses: Pose, body: Body) -> Floats:
    """Find all joints (F, J, 3) in axes ahead, left, up."""
    return rotations.rotate(body.world_turn, extend_poses(poses, body.skeleton).world.positions)


def _find_hips(points: Floats, body: Body) -> Floats:
    return points[:, [body.rows[f"{side}UpperLeg"] for side in SIDES]].mean(axis=1)


def _find_stands(contacts: Contacts | None, count: int) -> Bools:
    """Find when each foot stands (F, 2)."""
    stands = np.zeros((count, len(SIDES)), dtype=np.bool_)
    for column, side in enumerate(SIDES):
        if contacts is not None and side in contacts.legs:
            stands[:, column] = contacts.any[:, contacts.legs.index(side)]
    return stands


def _build_lines(points: Floats, body: Body, missed: dict[str, Bools]) -> FigureLines:
    """Build the lines of a figure.

    Joints that lead to none with a role are left out, and so are those above the first one that has a role or branches.
    """
    rows, joints = body.rows, _list_joints(body)
    is_body = np.isin(np.arange(len(body.skeleton)), list(rows.values()))
    for row, parent in reversed(joints):
        is_body[parent] |= bool(is_body[row]) and parent >= 0
    starts = {rows[f"{side}{part}"]: (side, limb) for side in SIDES for limb in _LIMBS for part in _LIMBS[limb]
              if f"{side}{part}" in rows}  # fmt: skip
    roles = {row: role for role, row in rows.items()}
    branches = Counter(parent for row, parent in joints if is_body[row])
    first = next(row for row, _ in joints if is_body[row] and (row in roles or branches[row] > 1))
    colours, segments = {first: BODY_COLOUR}, {first: ""}
    bones: list[tuple[int, int]] = []
    for row, parent in joints:
        if parent not in colours or not is_body[row]:
            continue
        bones.append((parent, row))
        colours[row] = _LIMB_COLOURS["".join(starts[row])] if row in starts else colours[parent]
        segments[row] = roles[row] if roles.get(row) in missed else ("" if row in roles else segments[parent])
    is_missed = np.zeros((len(points), len(bones)), dtype=np.bool_)
    for place, (parent, _) in enumerate(bones):
        if segments[parent]:
            is_missed[:, place] = missed[segments[parent]]
    return FigureLines(points, np.array(bones), tuple(colours[parent] for parent, _ in bones), is_missed)


def _list_joints(body: Body) -> list[tuple[int, int]]:
    """List joints and their parents, parents first. The parent of a foot beside its leg is the shin."""
    parents = body.skeleton.parents.tolist()
    for foot in body.detached_feet:
        parents[foot.row] = foot.shin
    depths: dict[int, int] = {-1: 0}

    def find_depth(row: int) -> int:
        if row not in depths:
            depths[row] = find_depth(parents[row]) + 1
        return depths[row]

    return [(row, parents[row]) for row in sorted(range(len(parents)), key=find_depth)]


def _find_headings(points: Floats, body: Body, times: Floats) -> Floats:
    """Find the level headings (F, 3) of a figure.

    They are square to hips and shoulders, as far as they are known, smoothed over a second.
    """
    across = np.zeros((len(points), 3))
    for part in ("UpperLeg", "UpperArm"):
        if not all(f"{side}{part}" in body.rows for side in SIDES):
            continue
        across += normalise(points[:, body.rows[f"left{part}"]] - points[:, body.rows[f"right{part}"]])
    heading = np.stack([across[:, 1], -across[:, 0], np.zeros(len(points))], axis=-1)
    lengths = np.linalg.norm(heading, axis=-1)
    shown = np.flatnonzero(lengths > _MIN_FACING)
    if not len(shown):
        return np.broadcast_to([1.0, 0.0, 0.0], heading.shape)
    angles = np.unwrap(np.arctan2(heading[shown, 1], heading[shown, 0]))
    angle = np.interp(np.arange(len(points)), shown, angles)
    angle = average_hann(angle, count_frames(times, _FACING_HALF_WINDOW_S))
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(len(points))], axis=-1)


def _list_views(scene: MotionScene, frame: int) -> tuple[SheetView, ...]:
    """List the views from the side and from the front."""
    return build_views(scene.headings[frame])[:2]


def _measure_room(scene: MotionScene, frames: Ints) -> Cell:
    """Measure a cell with room for both figures."""
    projected: list[Floats] = []
    for frame in map(int, frames):
        for lines in (scene.source, scene.target):
            drawn = lines.points[frame, np.unique(lines.bones)]
            projected += [view.project_points(drawn) for view in _list_views(scene, frame)]
    return measure_cell(np.concatenate(projected), 2)


def _draw_frame(axes: Any, scene: MotionScene, frames: slice, corner: Floats, cell: Cell) -> None:
    """Draw the last of some frames from both sides. What one of them misses is red."""
    frame, target = frames.stop - 1, scene.target
    missed = target.missed[frames].any(axis=0)
    roles = {int(row): role for role, row in scene.body.rows.items()}
    names = dict.fromkeys(roles.get(int(target.bones[place, 0]), "") for place in np.flatnonzero(missed))
    words = ", ".join(name for name in names if name)
    write_words(axes, f"{frame}  {words}", corner, cell, is_missed=bool(missed.any()))
    for index, view in enumerate(_list_views(scene, frame)):
        middle = cell.place_view(index, corner)
        _draw_ground(axes, scene, frame, view, middle, cell)
        for lines, width in ((scene.source, _SOURCE_WIDTH), (target, _TARGET_WIDTH)):
            colours = (SOURCE_COLOUR,) * len(lines.bones) if lines is scene.source else lines.colours
            draw_lines(axes, view.project_points(lines.points[frame][lines.bones]) + middle, colours, width)
        red = view.project_points(target.points[frame][target.bones[missed]]) + middle
        draw_lines(axes, red, (MISSED_COLOUR,) * len(red), _MISSED_WIDTH)
        for ankle, stands in zip(scene.ankles[frame], scene.stands[frame], strict=True):
            if stands:
                axes.plot(*(view.project_points(ankle) + middle), "o", ms=_CONTACT_SIZE, mfc="none", mec=BODY_COLOUR)


def _draw_ground(axes: Any, scene: MotionScene, frame: int, view: SheetView, middle: Floats, cell: Cell) -> None:
    """Draw the ground below each ankle."""
    if scene.planted is None:
        return
    lines = scene.ankles[frame][:, None] + sample_reach(cell, 1.0) * view.right
    lines[..., 2] = _find_heights(scene, scene.planted, frame, lines)
    colours = (GROUND_COLOUR,) * len(lines)
    draw_profiles(axes, view.project_points(lines) + middle, middle, cell, colours, _GROUND_WIDTH)


def _find_heights(scene: MotionScene, planted: Planted, frame: int, points: Floats) -> Floats:
    """Find heights (...) of the ground below points (..., 3)."""
    figure, body = planted.figure, scene.body
    turn = rotations.multiply(figure.turn, rotations.inverse(body.world_turn))
    metre = figure.metre
    places = rotations.rotate(turn, (points / scene.scale + scene.origin[frame]) / metre)
    if planted.passed is not None:
        places = places + planted.passed[frame]
    heights = Footing(planted.terrain, figure).heights(places)
    return scene.scale * (heights * metre - scene.origin[frame, 2])

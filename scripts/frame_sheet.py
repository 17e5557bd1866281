"""Draw a planted clip frame by frame, from three sides, to be looked at as an animator would.

python scripts/frame_sheet.py walk.bvh --terrain stairs:0.15,0.30 --terrain-direction along --out sheet.png

Each frame is seen from the side (it goes to the right), from the front, and from above at an angle: planted in colour
over the source in grey, whose hips are put where those of the result are. Frames in which a joint is over its bound are
marked in red, with the joint's name; so are those between the one shown and the one shown before. A part of a clip is
looked at more closely with --frames 40:80 --every 1. Cells are as wide as the longest stride, or the longest animal.
"""

from __future__ import annotations

import itertools
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import poise
from poise.cli.input_output_files import select_clip
from poise.cli.terrain_options import TerrainOptions, build_terrain
from poise.errors import PoiseError
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, END, HIP, KNEE
from poise.ground.way import way_of
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.clip import Clip
from poise.model.rig_roles import find_roles
from poise.plot.frame_sheet import (
    BODY_COLOUR,
    GROUND_COLOUR,
    LEG_COLOURS,
    MAX_DRAWN_FRAMES,
    MIN_FRAME_STEP,
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

LONGEST = 0.6  # [m] longer bones that have no role are weapons, or lead to where the file has its origin
PARTS = {"hip": HIP, "knee": KNEE, "ankle": ANKLE, "toe": END}


class Scene(NamedTuple):
    """What is drawn, in metres, z up.

    joints, source  (F, J, 3) of the result and of the source
    hips            (F, 3) the middle of a cell
    soles           (F, L, 3, 3) heel, ball and tip
    legs            (F, L, 5, 3) as of Motion
    bones           (n, 2) rows of joints between which lines are drawn, their colours in `colours`
    size            how many times as large as a person it is drawn, for those with a large head on short legs
    over            (F, K) where joints are over their bounds, named by `names`
    """

    joints: Floats
    source: Floats
    hips: Floats
    soles: Floats
    legs: Floats
    bones: Ints
    colours: tuple[str, ...]
    over: Bools
    names: tuple[str, ...]
    way: Floats
    footing: Footing
    title: str
    size: float


def main(arguments: list[str] | None = None) -> None:
    """Plant a clip and draw its sheet."""
    requested = _requested(arguments)
    rig = poise.load(requested.file)
    clip = select_clip(rig, requested.clip, "frame_sheet.py")
    words = TerrainOptions(requested.terrain, direction=requested.terrain_direction)
    words.check()
    planted = poise.plant_feet(clip, build_terrain(words, clip, rig, None), rig=rig)
    shown = choose_frames(len(planted), requested.every, requested.frames)
    requested.out.write_bytes(drawn(scene_of(planted), shown, requested.out.suffix[1:].lower()))
    print(f"{requested.out}: {planted.report.title}")


def _requested(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description="Draw a planted clip frame by frame, from three sides.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--clip")
    parser.add_argument("--terrain", default="flat")
    parser.add_argument("--terrain-direction")
    parser.add_argument(
        "--every", type=int, help=f"default: {MIN_FRAME_STEP}, or so many that {MAX_DRAWN_FRAMES} frames are shown"
    )
    parser.add_argument("--frames", metavar="FIRST:LAST", help="default: all; 40: are those from 40 to the end")
    parser.add_argument("--out", type=Path, required=True, help="a .png, .svg or .pdf file")
    return parser.parse_args(arguments)


def scene_of(planted: poise.Planted) -> Scene:
    """Everything in metres, z up."""
    report, figure = planted.report, planted.figure
    joints, source = _places(planted, planted), _places(planted, planted.source)
    legs = report.motions[1].places
    hips, before = legs[:, :, HIP].mean(axis=1), _places(planted, planted.source, hips=True)
    size = _size(planted)
    bones, colours = _bones(planted, size * LONGEST)
    jumps, way = report.jumps, way_of(planted.source, figure).direction
    return Scene(
        joints, source + (hips - before)[:, None], hips, report.paths[1].points, legs, bones, colours,
        jumps.after > jumps.bound, jumps.joints, rotations.rotate(figure.turn, way),
        Footing(planted.terrain, figure), f"{planted.name}: {report.title}", size,
    )  # fmt: skip


def _size(planted: poise.Planted) -> float:
    """By how much cells must be larger than for a person, so that the figure is inside as it mostly is."""
    named = _places(planted, planted)[:, np.isin(planted.figure.skeleton.names, _named(planted))]
    return max(1.0, float(np.median(np.ptp(named, axis=1).max(axis=1))) / PERSON_M)


def _named(planted: poise.Planted) -> list[str]:
    """The joints that are known to be of the body: those with a role, and the legs."""
    legs = [joint for leg in planted.figure.legs for joint in (leg.upper, leg.lower, leg.foot)]
    return [*find_roles(planted.figure.skeleton).joints.values(), *legs]


def _places(planted: poise.Planted, clip: Clip, *, hips: bool = False) -> Floats:
    """All joints (F, J, 3) of a clip, or the middle of its hips (F, 3)."""
    figure = planted.figure
    places = clip.poses.world.positions
    if hips:
        places = places[:, [figure.skeleton.index(leg.upper) for leg in figure.legs]].mean(axis=1)
    places = rotations.rotate(figure.turn, places / figure.metre)
    passed = np.zeros((len(clip), 3)) if planted.passed is None else planted.passed
    return places + (passed if hips else passed[:, None])


def _bones(planted: poise.Planted, longest: float) -> tuple[Ints, tuple[str, ...]]:
    """Rows (n, 2) of the bones below the joint that carries the figure, and their colours: each leg has its own."""
    skeleton, figure = planted.figure.skeleton, planted.figure
    own = {skeleton.index(leg.upper): LEG_COLOURS[i % len(LEG_COLOURS)] for i, leg in enumerate(figure.legs)}
    rest = poise.Pose(skeleton, skeleton.rest_q).world.positions / figure.metre
    mover, body = skeleton.index(figure.mover), _body(planted)
    colours = {mover: BODY_COLOUR}
    named, bones = _named(planted), list[tuple[int, int]]()
    for row, parent in enumerate(map(int, skeleton.parents)):
        if parent in colours and (body[row] or colours[parent] != BODY_COLOUR or parent in {end for _, end in bones}):
            colours[row] = own.get(row, colours[parent])
            known = skeleton.names[row] in named and skeleton.names[parent] in named
            short = np.linalg.norm(rest[row] - rest[parent]) < longest
            if (parent != mover or figure.mover in named) and (known or short):
                bones.append((parent, row))
    drawn = [colours[parent] for parent, _ in bones]
    for i, pair in _jumped(figure):
        bones.append(pair)
        drawn.append(LEG_COLOURS[i % len(LEG_COLOURS)])
    return np.array(bones), tuple(drawn)


def _jumped(figure: Figure) -> list[tuple[int, tuple[int, int]]]:
    """Pairs of joints of a leg, and which leg, that no bones lead to each other: feet outside their legs."""
    skeleton, pairs = figure.skeleton, list[tuple[int, tuple[int, int]]]()
    for i, leg in enumerate(figure.legs):
        rows = [skeleton.index(name) for name in (leg.upper, leg.lower, leg.foot, leg.toes) if name]
        for start, end in itertools.pairwise(rows):
            above = end
            while above not in (start, -1):
                above = int(skeleton.parents[above])
            if above != start:
                pairs.append((i, (start, end)))
    return pairs


def _body(planted: poise.Planted) -> Bools:
    """Whether a joint (J,) leads to one of the body: rigs also have controls that pull at no bone."""
    skeleton = planted.figure.skeleton
    body = np.isin(skeleton.names, _named(planted))
    for row in reversed(range(len(skeleton))):
        body[skeleton.parents[row]] |= body[row] and skeleton.parents[row] >= 0
    return body


def cell_of(scene: Scene, frames: Ints) -> Cell:
    """A cell in which all that is drawn of these frames has room, and no less than a person who walks needs."""
    bones, hips = np.unique(scene.bones), scene.hips[frames, None]
    soles = scene.soles.reshape(len(scene.soles), -1, 3)
    drawn = (scene.joints[:, bones], scene.source[:, bones], soles)
    points = np.concatenate([part[frames] - hips for part in drawn], axis=1)
    views = build_views(scene.way, scene.size)
    return measure_cell(np.stack([view.project_points(points) for view in views]), len(views))


def drawn(scene: Scene, frames: Ints, kind: str) -> bytes:
    """The sheet as a file."""
    cell = cell_of(scene, frames)

    def draw_frame(axes: Any, place: int, corner: Floats) -> None:
        frame = int(frames[place])
        _frame(axes, scene, frame, int(frames[place - 1]) + 1 if place else frame, corner, cell)

    return render_sheet(kind, scene.title, len(frames), cell, draw_frame)


def _frame(axes: Any, scene: Scene, frame: int, since: int, corner: Floats, cell: Cell) -> None:
    """Draw one frame from three sides, and its words."""
    popped = [(at, joint) for at in range(since, frame + 1) for joint in map(int, np.flatnonzero(scene.over[at]))]
    message = dict.fromkeys(f"{scene.names[joint]} {at}" for at, joint in popped)
    write_words(axes, f"{frame}  " + ", ".join(message), corner, cell, is_missed=bool(message))
    for row, view in enumerate(build_views(scene.way, scene.size)):
        shift = cell.place_view(row, corner) - view.project_points(scene.hips[frame])
        _ground(axes, scene, frame, row, view, shift, cell)
        for points, colours, wide in (
            (scene.source, (SOURCE_COLOUR,) * len(scene.bones), 0.7),
            (scene.joints, scene.colours, 1.1),
        ):
            draw_lines(axes, view.project_points(points[frame][scene.bones]) + shift, colours, wide)
        soles = view.project_points(scene.soles[frame]) + shift
        ankles = view.project_points(scene.legs[frame][:, [ANKLE]]) + shift
        draw_lines(axes, np.concatenate([ankles, soles[:, :1]], axis=1), LEG_COLOURS * len(soles), 0.5)
        draw_lines(axes, soles, LEG_COLOURS * len(soles), 1.4)
        _marks(axes, scene, frame, {joint for _, joint in popped}, view, shift)


def _ground(axes: Any, scene: Scene, frame: int, row: int, view: SheetView, shift: Floats, cell: Cell) -> None:
    """Draw the profile below each foot in the side and front view, a net of lines in the third."""
    hips, left = scene.hips[frame], np.cross([0.0, 0.0, 1.0], scene.way)
    offsets = scene.legs[frame, :, ANKLE] - hips
    run = sample_reach(cell, scene.size)
    if row == 0:
        lines = [hips + (offset @ left) * left + run * scene.way for offset in offsets]
    elif row == 1:
        lines = [hips + (offset @ scene.way) * scene.way + run * left for offset in offsets]
    else:
        net = sample_reach(cell, scene.size, 9)[:, 0]
        lines = [hips + at * one + run * other for one, other in ((left, scene.way), (scene.way, left)) for at in net]
    points = np.stack(lines)
    points[..., 2] = scene.footing.heights(points)
    colours = LEG_COLOURS * len(lines) if row < 2 else (GROUND_COLOUR,) * len(lines)
    middle = view.project_points(hips) + shift
    draw_profiles(axes, view.project_points(points) + shift, middle, cell, colours, 0.8 if row < 2 else 0.35)


def _marks(axes: Any, scene: Scene, frame: int, popped: set[int], view: SheetView, shift: Floats) -> None:
    """A ring about each joint of a leg that is over its bound here, or was since the frame before."""
    for joint in popped:
        leg, part = divmod(joint, len(PARTS))
        if leg < scene.legs.shape[1]:
            at = view.project_points(scene.legs[frame, leg, list(PARTS.values())[part]]) + shift
            axes.plot(*at, "o", ms=6, mfc="none", mec=MISSED_COLOUR, mew=0.9)


if __name__ == "__main__":
    try:
        main()
    except PoiseError as error:
        raise SystemExit(f"error: {error}") from None

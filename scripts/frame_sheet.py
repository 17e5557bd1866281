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
from poise.errors import InputError, PoiseError
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, END, HIP, KNEE
from poise.ground.way import way_of
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.clip import Clip
from poise.model.rig_roles import find_roles
from poise.plot.scene_drawing import encode_figure, open_canvas

COLUMNS, MOST, EVERY = 8, 32, 3  # frames beside each other; more than so many are shown farther apart
ASIDE, BELOW, ABOVE = 0.85, 1.15, 0.95  # [m] to either side of the hips in a cell, below and above them, at least
MARGIN = 0.05  # [m] that a cell goes beyond what is in it
LETTER = 0.052  # [m] in a cell that a letter takes
LONGEST = 0.6  # [m] longer bones that have no role are weapons, or lead to where the file has its origin
PERSON = 1.8  # [m] that the joints of a person reach, from end to end
HEAD = 0.22  # [m] room for the words of a frame
INCH = 1.05  # of the picture for a metre
TURN, RAISED = np.radians(35.0), np.radians(35.0)  # where the third view is seen from
LEGS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7")
BODY, SOURCE, GROUND, OVER = "#1F2933", "#B8C0C7", "#8A6D3B", "#D00000"
PARTS = {"hip": HIP, "knee": KNEE, "ankle": ANKLE, "toe": END}


class View(NamedTuple):
    """Axes (3,) of the world that run to the right and up in the picture."""

    right: Floats
    up: Floats

    def observed(self, points: Floats) -> Floats:
        """Points (..., 3) as (..., 2)."""
        return np.stack([points @ self.right, points @ self.up], axis=-1)


class Cell(NamedTuple):
    """How much of a picture a frame takes in a view [m]: to either side of the hips, below them and above them."""

    aside: float
    below: float
    above: float

    @property
    def wide(self) -> float:
        """From side to side."""
        return 2 * self.aside

    @property
    def tall(self) -> float:
        """Three views and the words."""
        return 3 * (self.below + self.above) + HEAD

    @property
    def columns(self) -> int:
        """Frames beside each other: fewer wide ones."""
        return max(2, int(COLUMNS * ASIDE / self.aside))


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
    shown = frames_of(len(planted), requested.every, requested.frames)
    requested.out.write_bytes(drawn(scene_of(planted), shown, requested.out.suffix[1:].lower()))
    print(f"{requested.out}: {planted.report.title}")


def _requested(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(description="Draw a planted clip frame by frame, from three sides.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--clip")
    parser.add_argument("--terrain", default="flat")
    parser.add_argument("--terrain-direction")
    parser.add_argument("--every", type=int, help=f"default: {EVERY}, or so many that {MOST} frames are shown")
    parser.add_argument("--frames", metavar="FIRST:LAST", help="default: all; 40: are those from 40 to the end")
    parser.add_argument("--out", type=Path, required=True, help="a .png, .svg or .pdf file")
    return parser.parse_args(arguments)


def frames_of(count: int, every: int | None, part: str | None = None) -> Ints:
    """The frames that are shown, of all or of a `part`, FIRST:LAST; InputError where that has none."""
    words = (part or ":").split(":")
    if len(words) != 2 or not all(word.isdecimal() for word in words if word):
        raise InputError(f"--frames takes FIRST:LAST, not {part!r}")
    first, last = int(words[0] or 0), min(int(words[1] or count), count - 1)
    if first > last:
        raise InputError(f"--frames {part} are none of the {count} frames of this clip")
    return np.arange(first, last + 1, max(1, every or max(EVERY, -(-(last + 1 - first) // MOST))))


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
    return max(1.0, float(np.median(np.ptp(named, axis=1).max(axis=1))) / PERSON)


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
    own = {skeleton.index(leg.upper): LEGS[i % len(LEGS)] for i, leg in enumerate(figure.legs)}
    rest = poise.Pose(skeleton, skeleton.rest_q).world.positions / figure.metre
    mover, body = skeleton.index(figure.mover), _body(planted)
    colours = {mover: BODY}
    named, bones = _named(planted), list[tuple[int, int]]()
    for row, parent in enumerate(map(int, skeleton.parents)):
        if parent in colours and (body[row] or colours[parent] != BODY or parent in {end for _, end in bones}):
            colours[row] = own.get(row, colours[parent])
            known = skeleton.names[row] in named and skeleton.names[parent] in named
            short = np.linalg.norm(rest[row] - rest[parent]) < longest
            if (parent != mover or figure.mover in named) and (known or short):
                bones.append((parent, row))
    drawn = [colours[parent] for parent, _ in bones]
    for i, pair in _jumped(figure):
        bones.append(pair)
        drawn.append(LEGS[i % len(LEGS)])
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


def views_of(way: Floats, size: float = 1.0) -> tuple[View, View, View]:
    """From the side, from the front, and from above at an angle, of who goes along `way` (3,), see `Scene`."""
    up, left = np.array([0.0, 0.0, 1.0]), np.cross([0.0, 0.0, 1.0], way)
    right = np.cos(TURN) * way + np.sin(TURN) * left
    behind = np.cross(up, right)
    tilted = np.cos(RAISED) * up + np.sin(RAISED) * behind
    return View(way / size, up / size), View(left / size, up / size), View(right / size, tilted / size)


def cell_of(scene: Scene, frames: Ints) -> Cell:
    """A cell in which all that is drawn of these frames has room, and no less than a person who walks needs."""
    bones, hips = np.unique(scene.bones), scene.hips[frames, None]
    soles = scene.soles.reshape(len(scene.soles), -1, 3)
    drawn = (scene.joints[:, bones], scene.source[:, bones], soles)
    points = np.concatenate([part[frames] - hips for part in drawn], axis=1)
    observed = np.stack([view.observed(points) for view in views_of(scene.way, scene.size)])
    across, up = observed[..., 0], observed[..., 1]
    return Cell(
        max(ASIDE, float(abs(across).max()) + MARGIN),
        max(BELOW, float(-up.min()) + MARGIN),
        max(ABOVE, float(up.max()) + MARGIN),
    )


def drawn(scene: Scene, frames: Ints, kind: str) -> bytes:
    """The sheet as a file."""
    cell = cell_of(scene, frames)
    columns, tall = min(cell.columns, len(frames)), cell.tall
    bands = -(-len(frames) // columns)
    width, height = max(columns * cell.wide, LETTER * len(scene.title)), bands * tall + HEAD
    with open_canvas(INCH * width, INCH * height) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(-bands * tall, HEAD)
        axes.text(0.05, 0.5 * HEAD, scene.title, size=9, weight="bold", va="center")
        for i, frame in enumerate(frames):
            corner = np.array([i % columns * cell.wide, -(i // columns) * tall])
            _frame(axes, scene, frame, frames[i - 1] + 1 if i else frame, corner, cell)
        return encode_figure(figure, kind)


def _frame(axes: Any, scene: Scene, frame: int, since: int, corner: Floats, cell: Cell) -> None:
    """Draw one frame from three sides, and its words."""
    popped = [(at, joint) for at in range(since, frame + 1) for joint in map(int, np.flatnonzero(scene.over[at]))]
    message = dict.fromkeys(f"{scene.names[joint]} {at}" for at, joint in popped)
    words = _shortened(f"{frame}  " + ", ".join(message), int(cell.wide / LETTER))
    axes.text(corner[0] + 0.05, corner[1] - 0.6 * HEAD, words, size=6.5, color=OVER if message else BODY, va="center")
    for row, view in enumerate(views_of(scene.way, scene.size)):
        down = HEAD + row * (cell.below + cell.above) + cell.above
        shift = corner + np.array([cell.aside, -down]) - view.observed(scene.hips[frame])
        _ground(axes, scene, frame, row, view, shift, cell)
        for points, colours, wide in (
            (scene.source, (SOURCE,) * len(scene.bones), 0.7),
            (scene.joints, scene.colours, 1.1),
        ):
            _lines(axes, view.observed(points[frame][scene.bones]) + shift, colours, wide)
        soles = view.observed(scene.soles[frame]) + shift
        ankles = view.observed(scene.legs[frame][:, [ANKLE]]) + shift
        _lines(axes, np.concatenate([ankles, soles[:, :1]], axis=1), LEGS * len(soles), 0.5)
        _lines(axes, soles, LEGS * len(soles), 1.4)
        _marks(axes, scene, frame, {joint for _, joint in popped}, view, shift)
    axes.vlines(corner[0], corner[1] - cell.tall, corner[1], color="#DDDDDD", lw=0.5)


def _shortened(words: str, most: int) -> str:
    """Words of at most so many letters."""
    return words if len(words) <= most else words[: most - 3].rstrip(", ") + "..."


def _ground(axes: Any, scene: Scene, frame: int, row: int, view: View, shift: Floats, cell: Cell) -> None:
    """Draw the profile below each foot in the side and front view, a net of lines in the third."""
    hips, left = scene.hips[frame], np.cross([0.0, 0.0, 1.0], scene.way)
    offsets = scene.legs[frame, :, ANKLE] - hips
    reach = cell.aside - MARGIN
    run = scene.size * np.linspace(-reach, reach, 171)[:, None]
    if row == 0:
        lines = [hips + (offset @ left) * left + run * scene.way for offset in offsets]
    elif row == 1:
        lines = [hips + (offset @ scene.way) * scene.way + run * left for offset in offsets]
    else:
        net = scene.size * np.linspace(-reach, reach, 9)
        lines = [hips + at * one + run * other for one, other in ((left, scene.way), (scene.way, left)) for at in net]
    points = np.stack(lines)
    points[..., 2] = scene.footing.heights(points)
    observed = view.observed(points) + shift
    middle = view.observed(hips) + shift
    far = np.abs(observed[..., 0] - middle[0]) > reach
    observed[far | (observed[..., 1] < middle[1] - cell.below) | (observed[..., 1] > middle[1] + cell.above)] = np.nan
    colours = LEGS * len(lines) if row < 2 else (GROUND,) * len(lines)
    _lines(axes, observed, colours, 0.8 if row < 2 else 0.35)


def _marks(axes: Any, scene: Scene, frame: int, popped: set[int], view: View, shift: Floats) -> None:
    """A ring about each joint of a leg that is over its bound here, or was since the frame before."""
    for joint in popped:
        leg, part = divmod(joint, len(PARTS))
        if leg < scene.legs.shape[1]:
            at = view.observed(scene.legs[frame, leg, list(PARTS.values())[part]]) + shift
            axes.plot(*at, "o", ms=6, mfc="none", mec=OVER, mew=0.9)


def _lines(axes: Any, lines: Floats, colours: tuple[str, ...], wide: float) -> None:
    """Draw lines (n, k, 2) in a colour each."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  (an extra; `canvas` says how to install it)

    axes.add_collection(LineCollection(list(lines), colors=colours[: len(lines)], linewidths=wide, capstyle="round"))


if __name__ == "__main__":
    try:
        main()
    except PoiseError as error:
        raise SystemExit(f"error: {error}") from None

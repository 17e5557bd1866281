"""Poses of docs/pose_gallery.md as shaded figures. The page's own lines are run, and what they return is drawn.

A part of the body is a capsule with two radii. It is drawn as the outline of both circles with a gradient across it.
Parts are painted from far to near. Of two that overlap, that one is nearer whose axis is nearer where both axes come
closest in the picture.
"""

from __future__ import annotations

import ast
import contextlib
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import poise
from figures._style import BLUE, GREEN, RED

Floats: TypeAlias = NDArray[np.float64]

PAGE = Path(__file__).parent.parent / "pose_gallery.md"
# Where the eye is [deg]: around the figure from ahead to its left, and above the floor.
AHEAD, LEFT, BEHIND = (25.0, 12.0), (90.0, 6.0), (155.0, 12.0)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CELL_PT, _TITLE_PT, _GAP_PT = 92.0, 26.0, 7.0
_SHOWN = 1.35  # times: a page shows the picture larger than its own points
_LARGEST = 66.0  # [pt] of a metre
_LINE = 17  # letters of a title that stand beside each other
_ROUGH = 0.2  # [pt] an outline of straight lines is off a circle by at most about this
_LIGHT = np.array([-0.5, -0.87])  # where light comes from, in the picture with y down
_THIN_M = 0.016  # radius
_TIE_M = 1e-6  # depths that differ by less are the same
# Light, middle and dark of a gradient.
_SHADES = {"body": ("#dfe5ea", "#9aa7b3", "#56616c"), "left": ("#ffb27a", RED, "#8a3c00"),
           "right": ("#7fc4ee", BLUE, "#003c60")}  # fmt: skip


class Shot(NamedTuple):
    """A pose of the page and the places that its line asks for."""

    name: str
    pose: poise.Pose
    places: list[Floats]


class Part(NamedTuple):
    """A capsule of the body: both ends of its axis, the radius at each, and whose it is."""

    ends: Floats
    radii: tuple[float, float]
    shade: str

    @property
    def is_thick(self) -> bool:
        """Whether it is no finger, toe or nose; thin parts are drawn without a gradient and a shadow."""
        return max(self.radii) > _THIN_M


@cache
def read_sections() -> dict[str, list[Shot]]:
    """Run the page's code and list the poses of each section that has some."""
    setup, *sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    space: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        poise.samples.copy_to(folder)  # as a reader does
        _run(setup, space)
        taken: dict[int, list[Floats]] = {}
        space["pose"] = _note_places(space["pose"], taken)
        found: dict[str, list[Shot]] = {}
        for section in sections:
            names = _run(section, space)
            found[section.partition("\n")[0]] = [Shot(name, space[name], taken[id(space[name])]) for name in names]
    return found


def _run(text: str, space: dict[str, Any]) -> list[str]:
    """Run the Python blocks of a part of the page, and list the names that it gives to values of pose()."""
    code = "\n".join(_PYTHON.findall(text))
    exec(code, space)  # noqa: S102  (the project's own page)
    return [
        ast.unparse(line.targets[0])
        for line in ast.parse(code).body
        if isinstance(line, ast.Assign) and ast.unparse(line.value).startswith("pose(")
    ]


def _note_places(pose: Any, taken: dict[int, list[Floats]]) -> Any:
    """Wrap pose() of the page so that the places which it is asked for are noted by the pose that it returns."""

    def posed(*goals: Any, **places: Any) -> poise.Pose:
        found: poise.Pose = pose(*goals, **places)
        wanted = [*places.values(), *(goal.position for goal in goals if isinstance(goal, poise.Place))]
        taken[id(found)] = [np.asarray(place, dtype=np.float64) for place in wanted]
        return found

    return posed


def list_parts(pose: poise.Pose) -> Iterator[Part]:
    """List the parts of the sample figure in a pose; sizes are those of its mesh [m]."""
    world = pose.world

    def put(joint: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Floats:
        return world[joint].positions + poise.rotations.rotate(world[joint].rotations, np.array([x, y, z]))

    def part(start: Floats, end: Floats, first: float, last: float, shade: str = "body") -> Part:
        return Part(np.array([start, end]), (first, last), shade)

    for across in (0.05, -0.05):
        yield part(put("Hips", 1.1 * across, -0.02), put("Spine", 0.9 * across), 0.1, 0.085)
        yield part(put("Spine", 0.9 * across), put("Chest", 1.1 * across, 0.02), 0.085, 0.09)
        yield part(put("Chest", 1.1 * across, 0.02), put("Chest", 1.3 * across, 0.12), 0.09, 0.098)
    yield part(put("Neck", 0, -0.02), put("Head", 0, 0.03), 0.056, 0.046)
    yield part(put("Head", 0, 0.05, 0.025), put("Head", 0, 0.11), 0.072, 0.092)
    yield part(put("Head", 0, 0.07, 0.095), put("Head", 0, 0.055, 0.112), 0.014, 0.016)  # nose
    for side, shade, out in (("Left", "left", 1.0), ("Right", "right", -1.0)):
        arm, elbow, hand = (f"{side}{name}" for name in ("Arm", "ForeArm", "Hand"))
        yield part(put(f"{side}Shoulder"), put(arm), 0.066, 0.064)
        yield part(put(arm), put(elbow), 0.06, 0.043, shade)
        yield part(put(elbow), put(elbow, 0.08 * out), 0.043, 0.044, shade)
        yield part(put(elbow, 0.08 * out), put(hand), 0.044, 0.027, shade)
        for across in (-0.016, 0.016):  # palm
            yield part(put(hand, 0.01 * out, 0, across), put(hand, 0.085 * out, 0, 1.2 * across), 0.022, 0.02, shade)
        for across, length in ((-0.031, 0.15), (-0.01, 0.172), (0.011, 0.175), (0.031, 0.162)):  # fingers
            yield part(put(hand, 0.085 * out, 0, across), put(hand, length * out, 0, across), 0.0115, 0.009, shade)
        yield part(put(hand, 0.03 * out, 0, 0.025), put(hand, 0.085 * out, -0.01, 0.062), 0.014, 0.01, shade)  # thumb
        hip, knee, foot, toe = (f"{side}{name}" for name in ("UpLeg", "Leg", "Foot", "Toe"))
        yield part(put(hip), put(knee), 0.088, 0.058, shade)
        yield part(put(knee), put(knee, 0, -0.13, -0.012), 0.056, 0.06, shade)
        yield part(put(knee, 0, -0.13, -0.012), put(foot), 0.06, 0.036, shade)
        yield part(put(foot), put(foot, 0, -0.047, -0.04), 0.038, 0.036, shade)  # heel
        yield part(put(foot, 0, -0.01, 0.01), put(toe, 0, 0.012), 0.036, 0.028, shade)
        for across in (-0.026, 0.026):
            yield part(put(foot, 0, -0.06, -0.035), put(toe, across, 0.002), 0.024, 0.022, shade)
            yield part(put(toe, across, 0, 0.012), put(toe, 0.85 * across, -0.003, 0.06), 0.02, 0.016, shade)  # toes


def find_axes(eye: tuple[float, float]) -> Floats:
    """Find the axes of a picture (3, 3) in the world: to its right, down, and towards the eye."""
    around, above = np.radians(eye)
    (sine, cosine), (rise, level) = (np.sin(around), np.cos(around)), (np.sin(above), np.cos(above))
    return np.array([[cosine, 0.0, -sine], [sine * rise, -level, cosine * rise], [sine * level, rise, cosine * level]])


def sort_parts(parts: list[Part], axes: Floats) -> list[int]:
    """Sort the rows of parts from far to near."""
    seen = [part.ends @ axes.T for part in parts]
    depths = [round(float(ends[:, 2].mean()) / _TIE_M) for ends in seen]
    nearer: dict[int, set[int]] = {row: set() for row in range(len(parts))}  # those that hide a part in places
    for first, second in combinations(range(len(parts)), 2):
        shares, apart = _find_closest(seen[first][:, :2], seen[second][:, :2])
        if apart < max(parts[first].radii) + max(parts[second].radii):
            here, there = (
                round(float(ends[0, 2] + share * (ends[1, 2] - ends[0, 2])) / _TIE_M)
                for ends, share in zip((seen[first], seen[second]), shares, strict=True)
            )
            far, near = (first, second) if (here, depths[first]) <= (there, depths[second]) else (second, first)
            nearer[far].add(near)
    order: list[int] = []
    while nearer:
        hiding = set().union(*nearer.values())
        free = [row for row in nearer if row not in hiding] or list(nearer)  # all hide each other: the farthest first
        chosen = min(free, key=lambda row: (depths[row], row))
        order.append(chosen)
        del nearer[chosen]
    return order


def _find_closest(first: Floats, second: Floats) -> tuple[tuple[float, float], float]:
    """Find where two lines (2, 2) come closest: the share along each, and the distance."""
    best = ((0.0, 0.0), np.inf)
    ways = first[1] - first[0], second[1] - second[0]
    crossing = _cross(*ways)
    shares: list[tuple[float, float]] = []
    if abs(crossing) > 1e-12:
        between = second[0] - first[0]
        shares.append((_cross(between, ways[1]) / crossing, _cross(between, ways[0]) / crossing))
    for share in (0.0, 1.0):
        shares.append((share, _find_foot(second, first[0] + share * ways[0])))
        shares.append((_find_foot(first, second[0] + share * ways[1]), share))
    for here, there in shares:
        if 0.0 <= here <= 1.0 and 0.0 <= there <= 1.0:
            apart = float(np.linalg.norm(first[0] + here * ways[0] - second[0] - there * ways[1]))
            best = min(best, ((here, there), apart), key=lambda found: found[1])
    return best


def _cross(first: Floats, second: Floats) -> float:
    return float(first[0] * second[1] - first[1] * second[0])


def _find_foot(line: Floats, point: Floats) -> float:
    """Find the share along a line (2, 2) that is closest to a point."""
    way = line[1] - line[0]
    return float(np.clip((point - line[0]) @ way / max(float(way @ way), 1e-12), 0.0, 1.0))


def outline(centres: Floats, radii: tuple[float, float], rough: float = 0.001) -> Floats:
    """Outline two circles and what lies between them (m, 2). `rough` is how far lines may be off the circles."""
    way = centres[1] - centres[0]
    apart = float(np.linalg.norm(way))
    round_ = np.linspace(
        0.0, 1.0, 2 + int(np.ceil(np.pi / np.sqrt(8.0 * rough / max(radii))))
    )  # points of half a circle
    if apart <= abs(radii[0] - radii[1]) + 1e-9:  # one within the other
        larger = int(radii[1] > radii[0])
        return centres[larger] + radii[larger] * _find_ways(2.0 * np.pi * np.append(round_ / 2.0, 0.5 + round_ / 2.0))
    along, half = np.arctan2(way[1], way[0]), np.arccos((radii[0] - radii[1]) / apart)
    back = along + half + (2.0 * np.pi - 2.0 * half) * round_
    front = along - half + 2.0 * half * round_
    ends = zip(centres, radii, (back, front), strict=True)
    return np.concatenate([centre + radius * _find_ways(turns) for centre, radius, turns in ends])


def _find_ways(turns: Floats) -> Floats:
    return np.stack([np.cos(turns), np.sin(turns)], axis=-1)


class Picture:
    """An SVG that grows: definitions, and what is drawn [pt]."""

    def __init__(self) -> None:
        """Begin with the shades."""
        self.definitions = [
            f'<linearGradient id="{name}">'
            + "".join(
                f'<stop offset="{at}" stop-color="{colour}"/>' for at, colour in zip((0, 0.45, 1), shades, strict=True)
            )
            + "</linearGradient>"
            for name, shades in _SHADES.items()
        ]
        self.drawn: list[str] = []

    def draw_part(self, part: Part, name: str, corner: Floats, axes: Floats) -> None:
        """Draw a capsule. The axes have the picture's scale; the check of figures compares parts by their name."""
        centres, scale, shade = corner + part.ends @ axes[:2].T, float(np.linalg.norm(axes[0])), part.shade
        radii = scale * part.radii[0], scale * part.radii[1]
        fill = f"url(#{self._define_gradient(centres, radii, shade)})" if part.is_thick else _SHADES[shade][1]
        self.drawn.append(
            f'<path id="{name}" d="{_write_path(outline(centres, radii, _ROUGH))}" fill="{fill}" '
            f'stroke="{_SHADES[shade][2]}"/>'
        )

    def _define_gradient(self, centres: Floats, radii: tuple[float, float], shade: str) -> str:
        """Define the gradient across a capsule, and return its name."""
        way = centres[1] - centres[0]
        apart = float(np.linalg.norm(way))
        toward = _LIGHT
        if apart > 0.0:  # a long part is shaded across, one that points to the eye like a ball
            along = way / apart
            toward = _LIGHT - 0.85 * min(1.0, apart / sum(radii)) * (_LIGHT @ along) * along
        toward = toward / np.linalg.norm(toward)
        middle, size = centres.mean(axis=0), max(radii)
        (x1, y1), (x2, y2) = middle + size * toward, middle - size * toward
        name = f"g{len(self.definitions)}"
        self.definitions.append(
            f'<linearGradient id="{name}" href="#{shade}" gradientUnits="userSpaceOnUse" '
            f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )
        return name

    def draw_cross(self, at: Floats) -> None:
        """Draw the place of a goal."""
        x, y = at
        way = f"M{x - 3.2:.1f} {y:.1f}L{x + 3.2:.1f} {y:.1f}M{x:.1f} {y - 3.2:.1f}L{x:.1f} {y + 3.2:.1f}"
        self.drawn += [
            f'<path d="{way}" stroke="white" stroke-width="2.6"/>',
            f'<path d="{way}" stroke="{GREEN}" stroke-width="1.4"/>',
        ]

    def draw_title(self, text: str, x: float, y: float) -> None:
        """Write a title in lines around x; the comment is what the check of figures compares."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            lines = [*lines[:-1], longer] if len(longer) <= _LINE or not lines[-1] else [*lines, word]
        self.drawn.append(f"<!-- {escape(text)} -->")
        self.drawn += [
            f'<text x="{x:.1f}" y="{y + 10.0 * row:.1f}">{escape(line)}</text>' for row, line in enumerate(lines)
        ]

    def write(self, path: Path, size: tuple[float, float]) -> None:
        """Write the file; its ground is white, on a dark page too."""
        width, height = size
        edge = f"M0 0L{width:.0f} 0L{width:.0f} {height:.0f}L0 {height:.0f}Z"
        look = 'font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="8.5" text-anchor="middle"'
        shown = " ".join(f'{name}="{_SHOWN * pt:.0f}pt"' for name, pt in (("width", width), ("height", height)))
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {shown} viewBox="0 0 {width:.0f} {height:.0f}">',
            "<defs>", *self.definitions, "</defs>",
            f'<path id="ground" d="{edge}" fill="white"/>',
            f'<g {look} stroke-width="0.35">', *self.drawn, "</g>", "</svg>", "",
        ]  # fmt: skip
        path.write_text("\n".join(lines), encoding="utf-8")


def _write_path(points: Floats) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"


def draw_section(path: Path, title: str, *eyes: tuple[float, float]) -> None:
    """Draw the poses of a section beside each other, a row for each eye."""
    shots = read_sections()[title]
    parts = [list(list_parts(shot.pose)) for shot in shots]
    views = [[_bound(each, find_axes(eye)) for each in parts] for eye in eyes]
    widest = max(float(high[0] - low[0]) for row in views for low, high in row)
    scale = min(_LARGEST, (_CELL_PT - _GAP_PT) / widest)
    picture, base = Picture(), _TITLE_PT
    for number, (eye, row) in enumerate(zip(eyes, views, strict=True)):
        top, bottom = min(float(low[1]) for low, _ in row), max(float(high[1]) for _, high in row)
        for column, (shot, bodies, (low, high)) in enumerate(zip(shots, parts, row, strict=True)):
            middle = (column + 0.5) * _CELL_PT
            corner = np.array([middle - scale * float(low[0] + high[0]) / 2.0, base - scale * top])
            if number == 0:
                picture.draw_title(shot.name.replace("_", " "), middle, 10.0)
            name = f"{shot.name}_{number}"
            picture.drawn.append(f'<g id="{name}">')
            _draw_view(picture, shot, name, bodies, corner, scale * find_axes(eye))
            picture.drawn.append("</g>")
        base += scale * (bottom - top) + _GAP_PT
    picture.write(path, (len(shots) * _CELL_PT, base))


def _bound(parts: list[Part], axes: Floats) -> tuple[Floats, Floats]:
    """Bound a figure and its shadow in a picture: least and largest x and y."""
    points = np.concatenate([outline((part.ends @ axes.T)[:, :2], part.radii) for part in parts])
    shadow = np.concatenate([_cast(part) @ axes[:2].T for part in parts if part.is_thick])
    both = np.concatenate([points, shadow])
    return both.min(axis=0), both.max(axis=0)


def _cast(part: Part) -> Floats:
    """Cast the shadow of a part on the floor: its outline from above (m, 3)."""
    level = outline(part.ends[:, [0, 2]], part.radii, 0.005)
    return np.stack([level[:, 0], np.zeros(len(level)), level[:, 1]], axis=-1)


def _draw_view(picture: Picture, shot: Shot, name: str, parts: list[Part], corner: Floats, axes: Floats) -> None:
    """Draw a pose with its shadow and its places; the axes have the picture's scale."""
    shadow = "".join(_write_path(corner + _cast(part) @ axes[:2].T) for part in parts if part.is_thick)
    picture.drawn.append(f'<path d="{shadow}" fill="#dcdcdc"/>')
    for row in sort_parts(parts, axes / float(np.linalg.norm(axes[0]))):
        picture.draw_part(parts[row], f"{name}_{row}", corner, axes)
    for place in shot.places:
        picture.draw_cross(corner + axes[:2] @ place)

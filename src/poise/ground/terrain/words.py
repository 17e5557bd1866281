"""Parse terrain and its directions from the command line, and describe them.

A terrain is a shape with its numbers, or a file.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import FileError, InputError, UnknownNameError
from poise.ground.terrain.arguments import finite_number
from poise.ground.terrain.files.mesh_files import UPS
from poise.ground.terrain.noise import Noise
from poise.ground.terrain.shapes import Plane, Stairs
from poise.ground.terrain.terrain import Terrain
from poise.io.files import suggest_similar_paths
from poise.io.text_parsing import parse_number
from poise.maths.arrays import Floats

_MAPS = (".png", ".npz")
_STRAIGHT = 0.01  # [degrees] by which a direction may differ from the default and be it
_DIGITS = 15  # so that quarter turns are exact


@dataclass(frozen=True)
class _Shape:
    """Syntax of a shape: arguments, maker, and direction. With the names of its numbers and how many it needs."""

    numbers: tuple[str, ...]
    needs: int
    make: Callable[..., Terrain]
    directed: bool = False

    def usage(self, name: str) -> str:
        """The syntax of the shape. Optional parts are in brackets, but @TURN: a terminal would take that for markup."""
        text = f"{name}:{','.join(self.numbers[: self.needs])}" if self.needs else name
        return text + "".join(f"[{',' if self.needs else ':'}{number}]" for number in self.numbers[self.needs :])


_SHAPES = {
    "flat": _Shape(("HEIGHT",), 0, Terrain.flat),
    "slope": _Shape(("DEGREES",), 1, Terrain.slope, directed=True),
    "stairs": _Shape(("RISE", "GOING"), 2, Terrain.stairs, directed=True),
    "noise": _Shape(("AMPLITUDE", "WAVELENGTH"), 1, Terrain.noise),
}
_EXAMPLES = {"flat": "flat", "slope": "slope:15", "stairs": "stairs:0.15,0.30", "noise": "noise:0.05,1"}
FORMS = (*(shape.usage(name) for name, shape in _SHAPES.items()), *(f"FILE{suffix}" for suffix in (*_MAPS, *UPS)))


def is_shape(text: str) -> bool:
    """Return whether the text names a shape. A shape stands upright whatever axis is up; other texts name a file."""
    return text.partition("@")[0].partition(":")[0] in _SHAPES


def terrain_of(
    text: str,
    *,
    size: ArrayLike | None = None,
    height: float | None = None,
    origin: ArrayLike | None = None,
    up: str | None = None,
    unit: float | None = None,
    direction: ArrayLike | None = None,
) -> Terrain:
    """Make the terrain of a text.

    "flat", "slope:15", "stairs:0.15,0.30", "noise:0.05" or "noise:0.05,1.0" are shapes, in metres of a figure that
    is 1.7 m tall, see `Terrain.flat`, `slope`, `stairs` and `noise`; anything else is the path of a height map (.png,
    .npz) or mesh (.glb, .gltf, .obj, .stl), in the clip's own unit. "slope:15@90" and "stairs:0.15,0.30@90" are turned
    by so many degrees to the left, seen from above, see `turned_by`.

    size, height, origin  of a height map, see `Terrain.heightmap`; InputError with anything else
    up                    the frame of the points, and of a file; default: y, and z for STL
    unit                  a length of the terrain in lengths of the clip; default: as said above
    direction             (3,) along which a slope or stairs climb, instead of an angle in the text; InputError with
                          anything else

    UnknownNameError lists what exists; InputError says which numbers a shape takes.
    """
    shape, at, turn = text.partition("@")
    name, colon, rest = shape.partition(":")
    suffix = Path(text).suffix.lower()
    options = {"size": size, "height": height, "origin": origin}
    placed = [f"--terrain-{key}" for key, value in options.items() if value is not None]
    if placed and (suffix not in _MAPS or name in _SHAPES):
        verb = "is" if len(placed) == 1 else "are"
        message = f"{' and '.join(placed)} {verb} for height maps ({', '.join(_MAPS)}), not for {text!r}"
        raise InputError(message)
    known = name in _SHAPES or suffix in _MAPS or suffix in UPS
    if known and (direction is not None or (at and name in _SHAPES)):
        _check_directed(name, text, twice=bool(at) and direction is not None)
    if name in _SHAPES:
        numbers = _numbers(name, rest, given=bool(colon))
        way = _way(name, turn, direction, up or "y") if at or direction is not None else {}
        return _SHAPES[name].make(*numbers, **way, up=up or "y", unit=unit)
    unit = 1.0 if unit is None else unit
    if suffix in (*_MAPS, *UPS) and not _exists(text):
        hint = suggest_similar_paths(Path(text), (*_MAPS, *UPS))
        if hint:  # else the reader explains it
            raise FileError(text, f"{os.strerror(errno.ENOENT)}{hint}")
    if suffix in _MAPS:
        return Terrain.heightmap(text, size=size, height=height, origin=origin, up=up or "y", unit=unit)
    if suffix in UPS:
        return Terrain.mesh(text, up=up, unit=unit)
    if text and _exists(text):
        raise FileError(text, f"is no terrain; terrains: {', '.join(FORMS)}")
    raise UnknownNameError("terrain", text, FORMS)


def _check_directed(name: str, text: str, *, twice: bool) -> None:
    """Refuse a direction for undirected ground, and two directions."""
    directed = [other for other, shape in _SHAPES.items() if shape.directed]
    if name not in directed:
        message = f"a direction (@TURN, --terrain-direction) is for {' and '.join(directed)}, not for {text!r}"
        raise InputError(message)
    if twice:
        message = f"{text!r} says a direction, and so does --terrain-direction; give one of them"
        raise InputError(message)


def _way(name: str, turn: str, direction: ArrayLike | None, up: str) -> dict[str, ArrayLike]:
    """Return the direction argument of a shape. It is the caller's, or that of an angle in the text."""
    if direction is not None:
        return {"direction": direction}
    try:
        return {"direction": turned_by(parse_number(turn.strip()), up)}
    except ValueError as error:
        message = f"@{turn} is no turn of {name}; write degrees to the left, for example {_EXAMPLES[name]}@90"
        raise InputError(message) from error


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or a NUL in it
        return False


def _numbers(name: str, text: str, *, given: bool) -> list[float]:
    """The numbers after a shape's name."""
    shape = _SHAPES[name]
    words = text.split(",") if given else []
    try:
        numbers = [parse_number(word.strip()) for word in words]
    except ValueError:
        numbers = None
    if numbers is None or not shape.needs <= len(numbers) <= len(shape.numbers):
        written = f"{name}:{text}" if given else name
        message = f"{written!r} is not a terrain; write {shape.usage(name)}, for example {_EXAMPLES[name]}"
        raise InputError(message)
    return numbers


def describe_terrain(terrain: Terrain, up: str = "y") -> str:
    """Describe a terrain in words, such as "a slope of 15 degrees".

    A slope or stairs that climb another way than by default say which, in the frame whose up axis is `up`.
    """
    climb = _describe_climb(uphill(terrain, up), up)
    match terrain.surface:
        case Plane(_, 0.0, 0.0):
            return "flat ground"
        case Plane(_, x, y):
            return f"a slope of {math.degrees(math.atan(math.hypot(x, y))):.3g} degrees{climb}"
        case Stairs(rise, going):
            return f"stairs, {abs(rise):g} up every {going:g}{climb}"
        case Noise(amplitude):
            return f"bumps of {amplitude:g}"
        case _:
            return {"HeightMap": "a height map", "Mesh": "a mesh"}.get(type(terrain.surface).__name__, "a function")


def _describe_climb(way: Floats | None, up: str) -> str:
    """Describe the climbing direction of the ground. Nothing where it is the default."""
    if way is None or abs(angle_of(way, up)) < _STRAIGHT:
        return ""
    numbers = ", ".join(f"{round(part, 3) + 0.0:g}" for part in way.tolist())
    return f", climbing along ({numbers})"


def turned_by(degrees: float, up: str) -> Floats:
    """Return the direction (3,) at an angle to the default direction. `up` is the up axis of its frame.

    Positive angles turn to the left, seen from above: 90 is +x, whichever axis is up.
    """
    angle = math.radians(finite_number(degrees, "the angle of a direction"))
    return _in_frame(round(math.sin(angle), _DIGITS), -round(math.cos(angle), _DIGITS), up)


def angle_of(direction: Floats, up: str) -> float:
    """Return the angle [degrees] of a direction (3,) with a level part. `turned_by` gives that part back."""
    x, y = (direction[0], -direction[2]) if up == "y" else direction[:2]
    return math.degrees(math.atan2(x, -y))


def uphill(terrain: Terrain, up: str) -> Floats | None:
    """Return the unit level direction (3,) of climbing slopes or stairs. `up` is the up axis of its frame.

    None for any other ground. Stairs and slopes that fall along their direction climb against it.
    """
    match terrain.surface:
        case Plane(_, x, y) if x or y:
            length = math.hypot(x, y)
            return _in_frame(x / length, y / length, up)
        case Stairs(rise, _, x, y) if rise:
            way = math.copysign(1.0, rise)
            return _in_frame(way * x, way * y, up)
        case _:
            return None


def _in_frame(x: float, y: float, up: str) -> Floats:
    """Return a plan direction (x, y) of surfaces in a frame. No zero has a sign."""
    return np.array([x, 0.0, -y] if up == "y" else [x, y, 0.0]) + 0.0

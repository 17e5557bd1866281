"""Terrain options: shape, height map size, direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from poise.errors import InputError
from poise.ground.figure.figure import figure_of
from poise.ground.plant import even
from poise.ground.terrain.directions import turned_by
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import is_shape, terrain_of
from poise.ground.way import way_of
from poise.io.numbers import number
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.rig import Rig

Vector: TypeAlias = tuple[float, ...]

ALONG, AGAINST = "along", "against"

DirectionOption = Annotated[
    str | None,
    typer.Option(
        "--terrain-direction",
        metavar="DIRECTION",
        help="uphill direction of slope and stairs: along (travel direction), against, degrees to the left of where "
        "glTF figures face, or X,Y[,Z] in the clip's axes",
    ),
]


class TerrainWords(NamedTuple):
    """Terrain options as typed. They are sent to worker processes, which build the terrain."""

    words: str
    size: str | None = None
    height: float | None = None
    origin: str | None = None
    up: str | None = None
    unit: float | None = None
    direction: str | None = None

    def check(self) -> None:
        """Check everything possible without a clip. Raise PoiseError for invalid options."""
        if self.up is not None and is_shape(self.words):
            raise InputError(
                f"--terrain-up is for terrain files, not for {self.words!r}, which stands upright in every clip"
            )
        if self.direction is None:
            made(self)
            return
        read_direction(self.direction)
        made(self, "y", (0.0, 0.0, 1.0))  # raises if this terrain has no direction


def terrain_under(of: TerrainWords, clip: Clip, rig: Rig, legs: Sequence[str] | None, **given: Any) -> Terrain:
    """Build the terrain of a clip.

    The clip may define the direction; `character_options` are `up` and `metre` of `plant_feet`.
    """
    if of.direction is None:
        return made(of)
    figure = figure_of(even(clip)[0], rig=rig, legs=legs, **given)
    return made(of, figure.up, direction_of(of.direction, figure.up, lambda: way_of(clip, figure).direction))


@cache
def made(of: TerrainWords, up: str | None = None, direction: Vector | None = None) -> Terrain:
    """Build a terrain, cached in each process. `direction` (3,) is in the frame with the up axis `up`."""
    frame: Any = up or of.up
    size, origin = _numbers("--terrain-size", of.size, (2,)), _point(of.origin, of.up)
    return terrain_of(of.words, size=size, height=of.height, origin=origin, up=frame, unit=of.unit, direction=direction)


def direction_of(text: str, up: str, way: Callable[[], Floats]) -> Vector:
    """Convert a direction option to a vector (3,) in clip axes.

    `compute_travel` computes the travel direction of the clip, if it is needed.
    """
    said = read_direction(text)
    if isinstance(said, str):
        went = way()
        return tuple((went if said == ALONG else -went).tolist())
    if len(said) == 1:
        return tuple(turned_by(said[0], up).tolist())
    return tuple(_raised(said, up))


def read_direction(text: str) -> str | Vector:
    """Parse a direction option.

    It is `along`, `against`, an angle (1,), two level numbers or three; InputError for anything else.
    """
    if text.strip() in (ALONG, AGAINST):
        return text.strip()
    numbers = tuple(_split(text))
    if not 1 <= len(numbers) <= 3:  # noqa: PLR2004
        raise InputError(
            "--terrain-direction takes along, against, an angle in degrees, or two or three numbers X,Y[,Z] in the "
            f"clip's axes, not {text!r}"
        )
    if len(numbers) > 1 and not any(numbers):
        raise InputError(f"--terrain-direction {text} points nowhere: one of its numbers must not be 0")
    return numbers


def _numbers(option: str, text: str | None, counts: tuple[int, ...]) -> list[float] | None:
    """Parse comma-separated numbers. InputError states the required count."""
    if text is None:
        return None
    numbers = _split(text)
    if len(numbers) not in counts:
        raise InputError(f"{option} takes {' or '.join(map(str, counts))} numbers with commas between, not {text!r}")
    return numbers


def _split(text: str) -> list[float]:
    """Split comma-separated numbers. The list is empty if one of them is invalid."""
    try:
        return [number(word.strip()) for word in text.split(",")]
    except ValueError:
        return []


def _point(text: str | None, up: str | None) -> list[float] | None:
    """Parse a point. Two numbers are level coordinates at height 0."""
    numbers = _numbers("--terrain-origin", text, (2, 3))
    return None if numbers is None else _raised(numbers, up)


def _raised(numbers: Sequence[float], up: str | None) -> list[float]:
    """Insert 0 for the up axis into two level numbers. Three numbers are returned as they are."""
    raised = list(numbers)
    if len(raised) == 2:  # noqa: PLR2004
        raised.insert(2 if up == "z" else 1, 0.0)
    return raised

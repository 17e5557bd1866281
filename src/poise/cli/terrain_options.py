"""Terrain options of `poise plant` and `poise view`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from poise.errors import InputError
from poise.ground.figure.figure import figure_of
from poise.ground.plant import even, free_base
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import is_shape, terrain_of, turned_by
from poise.ground.way import way_of
from poise.io.text_parsing import parse_number
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.rig import Rig

Vector: TypeAlias = tuple[float, ...]

ALONG_TRAVEL, AGAINST_TRAVEL = "along", "against"

DirectionOption = Annotated[
    str | None,
    typer.Option(
        "--terrain-direction",
        metavar="DIRECTION",
        help="uphill direction of slope and stairs: along (travel direction), against, degrees to the left of where "
        "glTF figures face, or X,Y[,Z] in the clip's axes",
    ),
]


class TerrainOptions(NamedTuple):
    """Terrain options as typed. They are sent to worker processes, which build the terrain."""

    spec: str
    size: str | None = None
    height: float | None = None
    origin: str | None = None
    up: str | None = None
    unit: float | None = None
    direction: str | None = None

    def check(self) -> None:
        """Check everything possible without a clip. Raise PoiseError for invalid options."""
        if self.up is not None and is_shape(self.spec):
            raise InputError(
                f"--terrain-up is for terrain files, not for {self.spec!r}, which stands upright in every clip"
            )
        if self.direction is None:
            build_cached_terrain(self)
            return
        parse_direction(self.direction)
        build_cached_terrain(self, "y", (0.0, 0.0, 1.0))  # raises if this terrain has no direction


def build_terrain(
    options: TerrainOptions, clip: Clip, rig: Rig, legs: Sequence[str] | None, **character_options: Any
) -> Terrain:
    """Build the terrain of a clip.

    The clip may define the direction; `character_options` are `up` and `metre` of `plant_feet`.
    """
    if options.direction is None:
        return build_cached_terrain(options)
    clip = free_base(clip)
    character = figure_of(even(clip)[0], rig=rig, legs=legs, **character_options)
    return build_cached_terrain(
        options,
        character.up,
        resolve_direction(options.direction, character.up, lambda: way_of(clip, character).direction),
    )


@cache
def build_cached_terrain(options: TerrainOptions, up: str | None = None, direction: Vector | None = None) -> Terrain:
    """Build a terrain, cached in each process. `direction` (3,) is in the frame with the up axis `up`."""
    up_axis: Any = up or options.up
    size, origin = _parse_numbers("--terrain-size", options.size, (2,)), _parse_point(options.origin, options.up)
    return terrain_of(
        options.spec,
        size=size,
        height=options.height,
        origin=origin,
        up=up_axis,
        unit=options.unit,
        direction=direction,
    )


def resolve_direction(text: str, up: str, compute_travel: Callable[[], Floats]) -> Vector:
    """Convert a direction option to a vector (3,) in clip axes.

    `compute_travel` computes the travel direction of the clip, if it is needed.
    """
    direction = parse_direction(text)
    if isinstance(direction, str):
        travel_direction = compute_travel()
        return tuple((travel_direction if direction == ALONG_TRAVEL else -travel_direction).tolist())
    if len(direction) == 1:
        return tuple(turned_by(direction[0], up).tolist())
    return tuple(_insert_up_coordinate(direction, up))


def parse_direction(text: str) -> str | Vector:
    """Parse a direction option.

    It is `along`, `against`, an angle (1,), two level numbers or three; InputError for anything else.
    """
    if text.strip() in (ALONG_TRAVEL, AGAINST_TRAVEL):
        return text.strip()
    numbers = tuple(_split_numbers(text))
    if not 1 <= len(numbers) <= 3:  # noqa: PLR2004
        raise InputError(
            "--terrain-direction takes along, against, an angle in degrees, or two or three numbers X,Y[,Z] in the "
            f"clip's axes, not {text!r}"
        )
    if len(numbers) > 1 and not any(numbers):
        raise InputError(f"--terrain-direction {text} points nowhere: one of its numbers must not be 0")
    return numbers


def _parse_numbers(option: str, text: str | None, allowed_counts: tuple[int, ...]) -> list[float] | None:
    """Parse comma-separated numbers. InputError states the required count."""
    if text is None:
        return None
    numbers = _split_numbers(text)
    if len(numbers) not in allowed_counts:
        raise InputError(
            f"{option} takes {' or '.join(map(str, allowed_counts))} numbers with commas between, not {text!r}"
        )
    return numbers


def _split_numbers(text: str) -> list[float]:
    """Split comma-separated numbers. The list is empty if one of them is invalid."""
    try:
        return [parse_number(word.strip()) for word in text.split(",")]
    except ValueError:
        return []


def _parse_point(text: str | None, up: str | None) -> list[float] | None:
    """Parse a point. Two numbers are level coordinates at height 0."""
    numbers = _parse_numbers("--terrain-origin", text, (2, 3))
    return None if numbers is None else _insert_up_coordinate(numbers, up)


def _insert_up_coordinate(coordinates: Sequence[float], up: str | None) -> list[float]:
    """Insert 0 for the up axis into two level numbers. Three numbers are returned as they are."""
    point = list(coordinates)
    if len(point) == 2:  # noqa: PLR2004
        point.insert(2 if up == "z" else 1, 0.0)
    return point

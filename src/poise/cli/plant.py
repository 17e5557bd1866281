"""`poise plant`: a clip's feet put on a terrain. `poise lock`: a clip's feet kept still on its own flat ground."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import feet
from poise.errors import InputError
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted, lock_feet, plant_feet
from poise.ground.terrain.words import FORMS, terrain_of
from poise.io.numbers import number
from poise.model.clip import Clip
from poise.model.rig import Rig


class InPlace(StrEnum):
    """What to do with a clip that walks in place."""

    TRAVEL = "travel"
    KEEP = "keep"
    REFUSE = "refuse"


class UpAxis(StrEnum):
    """An up axis."""

    Y = "y"
    Z = "z"


_Clip = Annotated[Path, typer.Argument(metavar="CLIP", help="a glTF, GLB, VRM or BVH file with an animation")]
_Out = Annotated[Path, typer.Option("-o", "--out", help="write the clip here (.glb, .gltf, .vrm, .bvh)")]
_FromClip = Annotated[str | None, typer.Option("--from-clip", help="which clip, where the file has several")]
_Feet = Annotated[str | None, typer.Option("--feet", metavar="NAMES", help="which legs: left,right; default: all")]
_Contacts = Annotated[
    Path | None,
    typer.Option(help="when heels and balls stand (.json, .toml); default: what the sidecar says, else detected"),
]
_InPlace = Annotated[
    InPlace, typer.Option("--in-place", help="a clip that walks in place: let it travel, keep it there, or refuse it")
]
_Metre = Annotated[
    float | None, typer.Option("--metre", help="file units per metre; default: so that the figure is 1.7 m tall")
]
_Up = Annotated[UpAxis | None, typer.Option("--up", help="the clip's up axis; default: away from the feet")]
_Stretch = Annotated[
    float, typer.Option("--stretch", min=0.0, help="most that a leg may grow where it is too short: 0.02 is 2 %")
]
_Report = Annotated[Path | None, typer.Option("--report", help="write measures and curves (.html), or numbers (.json)")]
_Plot = Annotated[Path | None, typer.Option("--plot", help="write a picture from the side (.png, .svg, .pdf)")]
_SaveContacts = Annotated[
    Path | None, typer.Option(help="write them here, to be edited: .json, or a table in a sidecar (.toml)")
]
_Strict = Annotated[
    bool, typer.Option("--strict", help="exit with 1 where feet skate, sink, pop or miss by more than their bounds")
]
_Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]


def plant(
    file: _Clip,
    *,
    terrain: Annotated[str, typer.Option("--terrain", metavar="TERRAIN", help=f"one of {', '.join(FORMS)}")],
    out: _Out,
    from_clip: _FromClip = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlace.TRAVEL,
    terrain_size: Annotated[
        str | None, typer.Option("--terrain-size", metavar="X,Y", help="a height map's extent, first post to last")
    ] = None,
    terrain_height: Annotated[
        float | None, typer.Option("--terrain-height", help="what white of a height map stands for")
    ] = None,
    terrain_origin: Annotated[
        str | None, typer.Option("--terrain-origin", metavar="X,Y[,Z]", help="where the middle of a height map lies")
    ] = None,
    terrain_up: Annotated[
        UpAxis | None, typer.Option("--terrain-up", help="up in a terrain file; default: y, and z for STL")
    ] = None,
    terrain_unit: Annotated[
        float | None,
        typer.Option(
            "--terrain-unit",
            metavar="CLIP_UNITS",
            help="what a length of 1 of the terrain is in the clip; default: 1 for files, a metre for shapes",
        ),
    ] = None,
    metre: _Metre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    as_json: _Json = False,
) -> None:
    """Put the feet of a clip on a terrain: heels and balls stand still where they land, hips follow the ground."""
    size, origin = _numbers("--terrain-size", terrain_size, (2,)), _origin(terrain_origin, terrain_up)
    axis = terrain_up and terrain_up.value
    ground = terrain_of(terrain, size=size, height=terrain_height, origin=origin, up=axis, unit=terrain_unit)
    legs = feet.names_of(feet_names)
    given = _given(up=up, metre=metre, stretch=stretch, in_place=in_place)

    def put(rig: Rig, clip: Clip, held: Contacts | None) -> Planted:
        return plant_feet(clip, ground, rig=rig, legs=legs, contacts=held, **given)

    asked, files = feet.PlantRequest(file, from_clip, legs, contacts), feet.Files(out, report, plot, save_contacts)
    feet.run(asked, files, put, verb="plant", as_json=as_json, strict=strict)


def lock(
    file: _Clip,
    *,
    out: _Out,
    from_clip: _FromClip = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlace.KEEP,
    metre: _Metre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    as_json: _Json = False,
) -> None:
    """Remove the sliding of feet from a clip: they are held still on the flat floor that the clip itself has."""
    legs = feet.names_of(feet_names)
    given = _given(up=up, metre=metre, stretch=stretch, in_place=in_place)

    def put(rig: Rig, clip: Clip, held: Contacts | None) -> Planted:
        return lock_feet(clip, rig=rig, legs=legs, contacts=held, **given)

    asked, files = feet.PlantRequest(file, from_clip, legs, contacts), feet.Files(out, report, plot, save_contacts)
    feet.run(asked, files, put, verb="lock", as_json=as_json, strict=strict)


def _given(*, up: UpAxis | None, metre: float | None, stretch: float, in_place: InPlace) -> dict[str, Any]:
    """The options that both verbs take, as plant_feet() and lock_feet() name them."""
    return {"up": up and up.value, "metre": metre, "stretch": stretch, "in_place": in_place.value}


def _numbers(option: str, text: str | None, counts: tuple[int, ...]) -> list[float] | None:
    """Numbers between commas; InputError says how many there must be."""
    if text is None:
        return None
    try:
        numbers = [number(word.strip()) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts:
        raise InputError(f"{option} takes {' or '.join(map(str, counts))} numbers with commas between, not {text!r}")
    return numbers


def _origin(text: str | None, up: UpAxis | None) -> list[float] | None:
    """A point; of two numbers the one where the ground is level, at height 0."""
    numbers = _numbers("--terrain-origin", text, (2, 3))
    if numbers is not None and len(numbers) == 2:  # noqa: PLR2004
        numbers.insert(2 if up is UpAxis.Z else 1, 0.0)
    return numbers

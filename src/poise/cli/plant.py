"""`poise plant` and `poise lock`: foot planting of clips.

`plant` places the feet on a terrain, `lock` on the clip's own flat floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from poise.cli.given.clips import Chosen
from poise.cli.given.grounds import DirectionOption, TerrainWords, terrain_under
from poise.cli.given.opened import IncludeRoot
from poise.cli.library.options import Cluster, Format, Overwrite, Workers, library_of, only, refuse
from poise.cli.library.plan import is_library
from poise.cli.library.run import run as run_library
from poise.cli.library.verbs import Row
from poise.cli.planted import clips as feet_clips
from poise.cli.planted import feet
from poise.cli.told import outputs
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted, lock_feet, plant_feet
from poise.ground.terrain.words import FORMS
from poise.libraries.clip_files import ALL
from poise.model.clip import Clip
from poise.model.rig import Rig


class InPlace(StrEnum):
    """Treatment of a clip walking in place."""

    TRAVEL = "travel"
    KEEP = "keep"
    REFUSE = "refuse"


class Strides(StrEnum):
    """Step length on stairs."""

    KEEP = "keep"
    FIT = "fit"


class UpAxis(StrEnum):
    """Up axis: y or z."""

    Y = "y"
    Z = "z"


_Clips = Annotated[
    list[Path],
    typer.Argument(
        metavar="CLIP",
        help="a file with an animation: glTF, GLB, VRM, VRMA, BVH, FBX, USD or AMC; or many, folders, patterns",
    ),
]
_Out = Annotated[
    Path,
    typer.Option(
        "-o",
        "--out",
        help="write the clip here (.glb, .gltf, .vrm, .vrma, .bvh, .json, .csv, .npz); of many: the folder",
    ),
]
_Feet = Annotated[str | None, typer.Option("--feet", metavar="NAMES", help="which legs: left,right; default: all")]
_Contacts = Annotated[
    Path | None,
    typer.Option(help="contact intervals of heels and balls (.json, .toml); default: the sidecar's, else detected"),
]
_InPlace = Annotated[
    InPlace, typer.Option("--in-place", help="in-place clips: add travel, keep them in place, or reject them")
]
_Metre = Annotated[
    float | None, typer.Option("--metre", help="file units per metre; default: for a character height of 1.7 m")
]
_Up = Annotated[UpAxis | None, typer.Option("--up", help="the clip's up axis; default: away from the feet")]
_Stretch = Annotated[
    float, typer.Option("--stretch", min=0.0, help="maximum stretch of a leg that is too short: 0.02 is 2 %")
]
_FeetOnly = Annotated[
    bool, typer.Option("--feet-only", help="plant feet only, not hands, elbows, knees and hips on the ground")
]
_Report = Annotated[Path | None, typer.Option("--report", help="write measures and curves (.html), or numbers (.json)")]
_Plot = Annotated[Path | None, typer.Option("--plot", help="write a picture from the side (.png, .svg, .pdf)")]
_SaveContacts = Annotated[
    Path | None, typer.Option(help="write the contacts for editing: .json, or a table in a sidecar (.toml)")
]
_Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="exit with 1 if a foot measure (skate, penetration, spikes, error) exceeds its bound"
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]


class _Many(NamedTuple):
    """Batch options as typed."""

    suffix: str | None
    overwrite: bool
    processes: int | None
    cluster: str | None


@dataclass(frozen=True)
class FeetWork:
    """Foot planting job for one file. The fields are the options as typed."""

    verb: str
    terrain: TerrainWords | None
    clip: str | None
    legs: tuple[str, ...] | None
    given: tuple[tuple[str, Any], ...]
    strict: bool
    include_root: Path | None = None

    def put(self, rig: Rig, clip: Clip, held: Contacts | None) -> Planted:
        """Plant or lock a clip."""
        given = dict(self.given)
        if self.terrain is None:
            return lock_feet(clip, rig=rig, legs=self.legs, contacts=held, **given)
        ground = terrain_under(self.terrain, clip, rig, self.legs, up=given["up"], metre=given["metre"])
        return plant_feet(clip, ground, rig=rig, legs=self.legs, contacts=held, **given)

    def __call__(self, file: Path, out: Path) -> Row:
        """Process one file of a batch and return its table row."""
        asked = feet.PlantRequest(file, self.clip, self.legs, None, self.include_root)
        files = feet.Files(out, None, None, None)
        if self.clip == ALL:
            _, all_done = feet_clips.put_all(asked, files, self.put, verb=self.verb, advance=lambda _done, _now: None)
            return feet_clips.row_of(all_done, strict=self.strict)
        done = feet.put_one(asked, files, self.put, verb=self.verb)
        return feet.row_of(done, strict=self.strict)


def _run(
    work: FeetWork, clips: list[Path], files: feet.Files, contacts: Path | None, many: _Many, *, as_json: bool
) -> None:
    """Plant the feet of one clip, or of a batch."""
    if not (is_library(clips, files.out) or many.suffix is not None):
        only(work.verb, overwrite=many.overwrite, processes=many.processes, cluster=many.cluster)
        asked = feet.PlantRequest(clips[0], work.clip, work.legs, contacts, work.include_root)
        run = feet_clips.run if work.clip == ALL else feet.run
        run(asked, files, work.put, verb=work.verb, as_json=as_json, strict=work.strict)
        return
    refuse(work.verb, contacts=contacts, report=files.report, plot=files.plot, save_contacts=files.contacts)
    library = library_of(
        files.out, many.suffix, overwrite=many.overwrite, processes=many.processes, cluster=many.cluster
    )
    raise typer.Exit(run_library(work.verb, clips, library, work, as_json=as_json, each_clip=work.clip == ALL))


def plant(
    files: _Clips,
    *,
    terrain: Annotated[str, typer.Option("--terrain", metavar="TERRAIN", help=f"one of {', '.join(FORMS)}")],
    out: _Out,
    clip: Chosen = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlace.TRAVEL,
    stride: Annotated[
        Strides, typer.Option("--stride", help="keep the step length, or fit it to at most one stair tread per step")
    ] = Strides.KEEP,
    terrain_size: Annotated[
        str | None,
        typer.Option("--terrain-size", metavar="X,Y", help="extent of a height map, first post to last (clip units)"),
    ] = None,
    terrain_height: Annotated[
        float | None, typer.Option("--terrain-height", help="height of white in a height map (clip units)")
    ] = None,
    terrain_origin: Annotated[
        str | None,
        typer.Option("--terrain-origin", metavar="X,Y[,Z]", help="position of the centre of a height map (clip units)"),
    ] = None,
    terrain_up: Annotated[
        UpAxis | None, typer.Option("--terrain-up", help="up in a terrain file; default: y, and z for STL")
    ] = None,
    terrain_unit: Annotated[
        float | None,
        typer.Option(
            "--terrain-unit",
            metavar="CLIP_UNITS",
            help="length of one terrain unit in the clip; default: 1 for files, a metre for shapes",
        ),
    ] = None,
    terrain_direction: DirectionOption = None,
    feet_only: _FeetOnly = False,
    metre: _Metre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    include_root: IncludeRoot = None,
    suffix: Format = None,
    overwrite: Overwrite = False,
    processes: Workers = None,
    cluster: Cluster = None,
    as_json: _Json = False,
) -> None:
    """Plant the feet of a clip on a terrain. Heels and balls stay fixed in contact, the hips follow the ground."""
    frame = terrain_up and terrain_up.value
    ground = TerrainWords(terrain, terrain_size, terrain_height, terrain_origin, frame, terrain_unit, terrain_direction)
    ground.check()  # errors in the options are reported before any file is read
    outputs.check_not_read({"--terrain": Path(terrain)}, {"--out": out, "--report": report, "--plot": plot})
    given = _given(up=up, metre=metre, stretch=stretch, in_place=in_place, feet_only=feet_only)
    given |= {"stride": stride.value}
    work = FeetWork("plant", ground, clip, feet.names_of(feet_names), tuple(given.items()), strict, include_root)
    many = _Many(suffix, overwrite, processes, cluster)
    _run(work, files, feet.Files(out, report, plot, save_contacts), contacts, many, as_json=as_json)


def lock(
    files: _Clips,
    *,
    out: _Out,
    clip: Chosen = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlace.KEEP,
    feet_only: _FeetOnly = False,
    metre: _Metre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    include_root: IncludeRoot = None,
    suffix: Format = None,
    overwrite: Overwrite = False,
    processes: Workers = None,
    cluster: Cluster = None,
    as_json: _Json = False,
) -> None:
    """Remove foot sliding from a clip. The feet are held still on the flat floor of the clip itself."""
    given = _given(up=up, metre=metre, stretch=stretch, in_place=in_place, feet_only=feet_only)
    work = FeetWork("lock", None, clip, feet.names_of(feet_names), tuple(given.items()), strict, include_root)
    many = _Many(suffix, overwrite, processes, cluster)
    _run(work, files, feet.Files(out, report, plot, save_contacts), contacts, many, as_json=as_json)


def _given(
    *, up: UpAxis | None, metre: float | None, stretch: float, in_place: InPlace, feet_only: bool
) -> dict[str, Any]:
    """Build the common arguments of plant_feet() and lock_feet()."""
    numbers = {"up": up and up.value, "metre": metre, "stretch": stretch}
    return numbers | {"in_place": in_place.value, "feet_only": feet_only}

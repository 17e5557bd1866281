"""`poise plant` and `poise lock`: foot planting of clips.

`plant` places the feet on a terrain, `lock` on the clip's own flat floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from poise.cli import output_paths, plant_clips
from poise.cli import plant_clips as feet_clips
from poise.cli.batch_files import (
    ClusterOption,
    FormatOption,
    OverwriteOption,
    ProcessesOption,
    ResultRow,
    build_batch_options,
    is_batch,
    reject_batch_options,
    reject_single_file_options,
)
from poise.cli.batch_run import run_batch as run_library
from poise.cli.clips import ClipOption
from poise.cli.ground_options import DirectionOption, TerrainOptions, build_terrain
from poise.cli.rig_options import IncludeRoot
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted, lock_feet, plant_feet
from poise.ground.terrain.words import FORMS
from poise.io.clip_files import ALL_CLIPS
from poise.model.clip import Clip
from poise.model.rig import Rig


class InPlaceMode(StrEnum):
    """Treatment of a clip walking in place."""

    TRAVEL = "travel"
    KEEP = "keep"
    REFUSE = "refuse"


class StrideMode(StrEnum):
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
    InPlaceMode, typer.Option("--in-place", help="in-place clips: add travel, keep them in place, or reject them")
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


class _BatchArguments(NamedTuple):
    """Batch options as typed."""

    suffix: str | None
    overwrite: bool
    processes: int | None
    cluster: str | None


@dataclass(frozen=True)
class PlantJob:
    """Foot planting job for one file. The fields are the options as typed."""

    verb: str
    terrain: TerrainOptions | None
    clip: str | None
    legs: tuple[str, ...] | None
    options: tuple[tuple[str, Any], ...]
    strict: bool
    include_root: Path | None = None

    def plant_clip(self, rig: Rig, clip: Clip, contacts: Contacts | None) -> Planted:
        """Plant or lock a clip."""
        options = dict(self.options)
        if self.terrain is None:
            return lock_feet(clip, rig=rig, legs=self.legs, contacts=contacts, **options)
        terrain = build_terrain(self.terrain, clip, rig, self.legs, up=options["up"], metre=options["metre"])
        return plant_feet(clip, terrain, rig=rig, legs=self.legs, contacts=contacts, **options)

    def __call__(self, file: Path, out: Path) -> ResultRow:
        """Process one file of a batch and return its table row."""
        request = plant_clips.PlantRequest(file, self.clip, self.legs, None, self.include_root)
        files = plant_clips.OutputPaths(out, None, None, None)
        if self.clip == ALL_CLIPS:
            _, outcomes = feet_clips.plant_all_clips(
                request, files, self.plant_clip, verb=self.verb, advance=lambda _done, _now: None
            )
            return feet_clips.build_clips_row(outcomes, strict=self.strict)
        outcome = plant_clips.plant_file(request, files, self.plant_clip, verb=self.verb)
        return plant_clips.build_row(outcome, strict=self.strict)


def _run_command(
    job: PlantJob,
    clips: list[Path],
    files: plant_clips.OutputPaths,
    contacts: Path | None,
    batch: _BatchArguments,
    *,
    as_json: bool,
) -> None:
    """Plant the feet of one clip, or of a batch."""
    if not (is_batch(clips, files.out) or batch.suffix is not None):
        reject_batch_options(job.verb, overwrite=batch.overwrite, processes=batch.processes, cluster=batch.cluster)
        request = plant_clips.PlantRequest(clips[0], job.clip, job.legs, contacts, job.include_root)
        run = feet_clips.run_all_clips if job.clip == ALL_CLIPS else plant_clips.run_one_clip
        run(request, files, job.plant_clip, verb=job.verb, as_json=as_json, strict=job.strict)
        return
    reject_single_file_options(
        job.verb, contacts=contacts, report=files.report, plot=files.plot, save_contacts=files.contacts
    )
    batch_options = build_batch_options(
        files.out, batch.suffix, overwrite=batch.overwrite, processes=batch.processes, cluster=batch.cluster
    )
    raise typer.Exit(run_library(job.verb, clips, batch_options, job, as_json=as_json, each_clip=job.clip == ALL_CLIPS))


def plant(
    files: _Clips,
    *,
    terrain: Annotated[str, typer.Option("--terrain", metavar="TERRAIN", help=f"one of {', '.join(FORMS)}")],
    out: _Out,
    clip: ClipOption = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlaceMode.TRAVEL,
    stride: Annotated[
        StrideMode, typer.Option("--stride", help="keep the step length, or fit it to at most one stair tread per step")
    ] = StrideMode.KEEP,
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
    suffix: FormatOption = None,
    overwrite: OverwriteOption = False,
    processes: ProcessesOption = None,
    cluster: ClusterOption = None,
    as_json: _Json = False,
) -> None:
    """Plant the feet of a clip on a terrain. Heels and balls stay fixed in contact, the hips follow the ground."""
    frame = terrain_up and terrain_up.value
    ground = TerrainOptions(
        terrain, terrain_size, terrain_height, terrain_origin, frame, terrain_unit, terrain_direction
    )
    ground.check()  # errors in the options are reported before any file is read
    output_paths.check_not_an_input({"--terrain": Path(terrain)}, {"--out": out, "--report": report, "--plot": plot})
    options = _build_plant_options(up=up, metre=metre, stretch=stretch, in_place=in_place, feet_only=feet_only)
    options |= {"stride": stride.value}
    job = PlantJob(
        "plant", ground, clip, plant_clips.split_names(feet_names), tuple(options.items()), strict, include_root
    )
    batch = _BatchArguments(suffix, overwrite, processes, cluster)
    _run_command(
        job, files, plant_clips.OutputPaths(out, report, plot, save_contacts), contacts, batch, as_json=as_json
    )


def lock(
    files: _Clips,
    *,
    out: _Out,
    clip: ClipOption = None,
    feet_names: _Feet = None,
    contacts: _Contacts = None,
    in_place: _InPlace = InPlaceMode.KEEP,
    feet_only: _FeetOnly = False,
    metre: _Metre = None,
    up: _Up = None,
    stretch: _Stretch = 0.0,
    report: _Report = None,
    plot: _Plot = None,
    save_contacts: _SaveContacts = None,
    strict: _Strict = False,
    include_root: IncludeRoot = None,
    suffix: FormatOption = None,
    overwrite: OverwriteOption = False,
    processes: ProcessesOption = None,
    cluster: ClusterOption = None,
    as_json: _Json = False,
) -> None:
    """Remove foot sliding from a clip. The feet are held still on the flat floor of the clip itself."""
    options = _build_plant_options(up=up, metre=metre, stretch=stretch, in_place=in_place, feet_only=feet_only)
    job = PlantJob(
        "lock", None, clip, plant_clips.split_names(feet_names), tuple(options.items()), strict, include_root
    )
    batch = _BatchArguments(suffix, overwrite, processes, cluster)
    _run_command(
        job, files, plant_clips.OutputPaths(out, report, plot, save_contacts), contacts, batch, as_json=as_json
    )


def _build_plant_options(
    *, up: UpAxis | None, metre: float | None, stretch: float, in_place: InPlaceMode, feet_only: bool
) -> dict[str, Any]:
    """Build the common arguments of plant_feet() and lock_feet()."""
    numbers = {"up": up and up.value, "metre": metre, "stretch": stretch}
    return numbers | {"in_place": in_place.value, "feet_only": feet_only}

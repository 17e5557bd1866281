"""`poise view`: interactive page with draggable targets and live solving."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from poise.cli.given.clips import clip_of
from poise.cli.given.grounds import DirectionOption, TerrainWords, direction_of
from poise.cli.given.opened import IncludeRoot
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.cli.told.serving import serve
from poise.errors import FileError, InputError, naming
from poise.ground.terrain.arguments import level_direction
from poise.ground.terrain.directions import angle_of
from poise.ground.way import travel_direction
from poise.io.files import write_atomically
from poise.io.registry import load
from poise.maths.arrays import Floats
from poise.model import plain
from poise.viewer import scenes
from poise.viewer.document.actions import method, timeline
from poise.viewer.document.chains import chain_of
from poise.viewer.document.document import Document, document_of
from poise.viewer.document.landscape import ground_up, land_of

_PAGES = (".html", ".htm")

_File = Annotated[
    Path | None,
    typer.Argument(help="a rig: glTF, VRM, VRMA, BVH, FBX, USD, URDF, MJCF, ASF/AMC; without: the first scene"),
]
_Scene = Annotated[str | None, typer.Option("--scene", metavar="NAME", help="a demo scene; --list-scenes lists them")]
_Host = Annotated[
    str, typer.Option("--host", help="address to listen at; anything but localhost is open to other machines")
]
_Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one")]
_NoBrowser = Annotated[bool, typer.Option("--no-browser", help="print the address only")]
_Clip = Annotated[str | None, typer.Option("--clip", metavar="NAME", help="play this clip of the file")]
_Terrain = Annotated[str | None, typer.Option("--terrain", metavar="WORDS", help="ground, as in poise plant, or hills")]
_Plant = Annotated[bool, typer.Option("--plant", help="plant the feet of the clip on the terrain")]
_Solver = Annotated[str | None, typer.Option("--solver", metavar="NAME", help="the solver; `poise solvers` lists them")]
_Joint = Annotated[
    str | None, typer.Option("--joint", metavar="JOINT", help="show one chain: the joint with the target")
]
_Root = Annotated[
    str | None, typer.Option("--root", metavar="JOINT", help="first joint that moves; default: the limb's own")
]
_Packages = Annotated[
    list[Path] | None,
    typer.Option(
        "--package-path", metavar="DIR", help="a folder with meshes of package://, a package or of several; repeatable"
    ),
]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write an offline page and exit")]


class ViewOptions(NamedTuple):
    """Options of a view. Unset options are None."""

    clip: str | None
    terrain: str | None
    plant: bool
    solver: str | None
    joint: str | None
    root: str | None
    direction: str | None = None


def view(
    file: _File = None,
    *,
    scene: _Scene = None,
    list_scenes: Annotated[bool, typer.Option("--list-scenes", help="list the demo scenes and exit")] = False,
    host: _Host = "127.0.0.1",
    port: _Port = 0,
    no_browser: _NoBrowser = False,
    clip: _Clip = None,
    terrain: _Terrain = None,
    terrain_direction: DirectionOption = None,
    plant: _Plant = False,
    solver: _Solver = None,
    joint: _Joint = None,
    root: _Root = None,
    package_path: _Packages = None,
    html: _Html = None,
    include_root: IncludeRoot = None,
) -> None:
    """Open a rig or a demo scene in the browser. Drag targets, the solvers follow live. Ctrl-C ends it."""
    if list_scenes:
        _list()
        return
    if html is not None:
        _check_page(html)
    packages = _folders(package_path or [])
    shown = ViewOptions(clip, terrain, plant, solver, joint, root, terrain_direction)
    with plain.first_picture() if html is None else contextlib.nullcontext():
        with naming(file):
            document = as_shown(_opened(file, scene, include_root), shown).but(packages=packages)
        for note in document.rig.notes:
            say(f"note: {note}", err=True)
        if html is None:
            serve(document, host=host, port=port, open_browser=not no_browser)
            return
    with naming(file):
        write_page(document, html)
    say(f"written: {html}")


def as_shown(document: Document, shown: ViewOptions) -> Document:
    """Apply the view options to a document. PoiseError for unknown names and impossible combinations."""
    if shown.root is not None and shown.joint is None:
        raise InputError("--root is the first joint of a chain: give its tip with --joint")
    if shown.clip is not None or (shown.plant and document.clip is None):
        name = clip_of(document.rig, shown.clip, "--plant").name
        document = timeline.clip(document, {"name": name})
    if shown.joint is not None:
        tip = document.skeleton.names[document.skeleton.index(shown.joint)]
        chains = (chain_of(document.start, tip, shown.root, tip),)
        asked = shown.clip is not None or shown.plant  # otherwise the chain is shown, not the motion of the file
        document = document.but(chains=chains, clip=document.clip if asked or document.scene else None)
    if shown.solver is not None:
        document = method.solver(document, {"view": 0, "name": shown.solver})
    words = _turned(document, shown)
    if words is not None:
        land_of(document.rig, words)  # raises for an invalid terrain
        document = document.but(terrain=words)
    return timeline.plant(document, {"on": True}) if shown.plant else document


def _turned(document: Document, shown: ViewOptions) -> str | None:
    """Resolve the terrain text with its direction angle. The direction may be that of the document's clip."""
    if shown.direction is None:
        return shown.terrain
    if shown.terrain is None:
        raise InputError("--terrain-direction is the direction of --terrain: give both")
    TerrainWords(shown.terrain, direction=shown.direction).check()
    up = ground_up(document.rig)
    way = np.array(direction_of(shown.direction, up, lambda: _way(document, str(shown.direction))))
    level_direction(way, up)  # raises for a vertical direction
    return f"{shown.terrain}@{round(angle_of(way, up), 2) + 0.0:g}"


def _way(document: Document, direction: str) -> Floats:
    """Compute the travel direction of the playing clip. InputError without a clip."""
    if document.clip is None:
        raise InputError(f"--terrain-direction {direction} is about the way of a clip: give one with --clip")
    return travel_direction(document.rig.clip(document.clip), rig=document.rig)


def write_page(document: Document, path: Path) -> None:
    """Write an offline page of the document. It shows the clip, or the reached targets."""
    from poise.viewer.session.stills import page_of  # noqa: PLC0415  (solves; loads the kernels)

    write_atomically(path, page_of(document))


def _opened(file: Path | None, scene: str | None, include_root: Path | None) -> Document:
    """Load the rig of the file, or a scene. The default is the first scene."""
    if file is None:
        return scenes.scene(scene or scenes.names()[0])
    if scene is not None:
        raise InputError(f"give a file or --scene, not both: {file} and {scene}")
    rig = load(file, include_root=include_root)
    if not len(rig.skeleton):
        raise FileError(file, "holds no joints: there is nothing to show")
    return document_of(rig)


def _folders(given: list[Path]) -> tuple[Path, ...]:
    """Check the package folders. InputError for a path that is no folder."""
    for folder in given:
        if not folder.is_dir():
            raise InputError(f"--package-path is a folder with meshes, and {folder} is none")
    return tuple(given)


def _check_page(path: Path) -> None:
    if path.suffix.lower() not in _PAGES:
        raise InputError(f"--html writes a page (.html), not {path.name!r}")
    outputs.check_place(path)


def _list() -> None:
    width = max(map(len, scenes.names()))
    for name in scenes.names():
        about = scenes.about(name)
        say(f"{name:{width}}  {about.title}: {about.text}")

"""`poise view`: interactive page with draggable targets and live solving."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from poise.cli.goal_options import parse_goal
from poise.cli.input_output_files import IncludeRoot, check_animated, check_writable, select_clip
from poise.cli.retarget import load_match
from poise.cli.terminal import say
from poise.cli.terrain_options import DirectionOption, TerrainOptions, resolve_direction
from poise.errors import FileError, InputError, prefix_file_name
from poise.ground.terrain.arguments import level_direction
from poise.ground.terrain.words import angle_of
from poise.ground.way import travel_direction
from poise.io.collision_shapes import add_package_folders
from poise.io.files import write_atomically
from poise.io.registry import load
from poise.maths.arrays import Floats
from poise.model import numpy_kinematics
from poise.retargeting.match import check_target
from poise.viewer import scenes
from poise.viewer.document import actions
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import AUTO_SOLVER, Document, build_document, build_scope
from poise.viewer.document.goal_chains import build_goal_chains
from poise.viewer.document.side_by_side import Retargeting, build_side_by_side
from poise.viewer.document.terrain import build_document_terrain, find_terrain_up

# --- Viewer server in a terminal -------------------------------------------------------------------------------------
#
# It prints the address, a new one after the page is closed, and ends with Ctrl-C.


_WAIT_INTERVAL_S = 1.0  # [s] wait interval; on some systems Ctrl-C is handled only between two waits


def serve(document: Document, *, host: str, port: int, open_browser: bool) -> None:
    """Serve a document until Ctrl-C. InputError for an unusable address."""
    from poise.viewer.server import Server, is_loopback  # noqa: PLC0415  (needs the extra `view`)
    from poise.viewer.session.session_thread import SessionThread  # noqa: PLC0415

    if not is_loopback(host):
        say(f"warning: {host} can be reached from other machines; anyone with the link can use this viewer", err=True)
    with Server(SessionThread(document), host=host, port=port) as server:
        server.on_page_left(lambda: say(f"the page was closed; open it again: {server.url}"))
        server.on_link_request(lambda: say(f"a new link was asked for: {server.url}"))
        say(f"{document.name}: {server.url}")
        say("Ctrl-C ends it")
        if open_browser:
            webbrowser.open(server.url)
        _wait()
    say("closed")


def can_open_browser() -> bool:
    """Return whether a browser can be opened for the user.

    It needs a terminal for input and output, and a local browser.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    if sys.platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in os.environ
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a browser without a display is a text browser
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _wait() -> None:
    """Wait for Ctrl-C."""
    try:
        while True:
            threading.Event().wait(_WAIT_INTERVAL_S)
    except KeyboardInterrupt:
        say()


# --- Command ---------------------------------------------------------------------------------------------------------


_PAGE_SUFFIXES = (".html", ".htm")

_File = Annotated[
    Path | None,
    typer.Argument(help="a rig: glTF, VRM, VRMA, BVH, FBX, USD, URDF, MJCF, ASF/AMC; without: a figure to pull"),
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
_Goals = Annotated[
    list[str] | None,
    typer.Option("--goal", metavar="WORDS", help="show these goals as chains, in the words of poise solve; repeatable"),
]
_Packages = Annotated[
    list[Path] | None,
    typer.Option(
        "--package-path", metavar="DIR", help="a folder with meshes of package://, a package or of several; repeatable"
    ),
]
_Onto = Annotated[
    Path | None,
    typer.Option("--onto", metavar="TARGET", help="retarget the clip onto this rig; both are shown side by side"),
]
_Match = Annotated[Path | None, typer.Option("--match", metavar="FILE", help="which joint moves which, for --onto")]
_Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write an offline page and exit")]


class ViewOptions(NamedTuple):
    """Options of a view. Unset options are None."""

    clip: str | None
    terrain: str | None
    plants_feet: bool
    solver: str | None
    joint: str | None
    root: str | None
    terrain_direction: str | None = None
    goals: tuple[str, ...] = ()


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
    goal: _Goals = None,
    package_path: _Packages = None,
    onto: _Onto = None,
    match: _Match = None,
    html: _Html = None,
    include_root: IncludeRoot = None,
) -> None:
    """Open a rig or a demo scene in the browser. Drag targets, the solvers follow live. Ctrl-C ends it."""
    if list_scenes:
        _print_scenes()
        return
    if html is not None:
        _check_page_path(html)
    package_folders = _check_package_folders(package_path or [])
    options = ViewOptions(clip, terrain, plant, solver, joint, root, terrain_direction, tuple(goal or ()))
    _check_onto(file, onto, match, options)
    with numpy_kinematics.defer_kernels() if html is None else contextlib.nullcontext():
        if file is not None and onto is not None:
            document = _load_side_by_side(file, onto, match, clip, include_root, package_folders)
        else:
            with prefix_file_name(file):
                document = configure_document(_load_document(file, scene, include_root, package_folders), options)
        document = document.replace(package_folders=package_folders)
        for note in document.rig.notes:
            say(f"note: {note}", err=True)
        if html is None:
            serve(document, host=host, port=port, open_browser=not no_browser)
            return
    with prefix_file_name(file):
        write_page(document, html)
    say(f"written: {html}")


def configure_document(document: Document, options: ViewOptions) -> Document:
    """Apply the view options to a document. PoiseError for unknown names and impossible combinations."""
    if options.root is not None and options.joint is None:
        raise InputError("--root is the first joint of a chain: give its tip with --joint")
    if options.clip is not None or (options.plants_feet and document.clip_name is None):
        name = select_clip(document.rig, options.clip, "--plant").name
        document = actions.choose_clip(document, {"name": name})
    if options.joint is not None:
        tip = document.skeleton.names[document.skeleton.index(options.joint)]
        chains = (build_chain(document.start, tip, options.root, tip),)
        # otherwise the chain is shown, not the motion of the file
        shows_motion = options.clip is not None or options.plants_feet
        document = document.replace(
            chains=chains,
            scope="chains",
            free_root=document.free_root and document.scene_name is not None,
            clip_name=document.clip_name if shows_motion or document.scene_name else None,
        )
    if options.goals:
        document = _show_goals(document, options)
    if options.solver is not None:
        if document.scope == "body" and options.solver != AUTO_SOLVER:  # most methods take one limb at a time
            document = document.replace(**build_scope(document.rig, document.start, "limbs"))
        document = actions.choose_solver(document, {"view": 0, "name": options.solver})
    terrain_text = _resolve_terrain_text(document, options)
    if terrain_text is not None:
        build_document_terrain(document.rig, terrain_text)  # raises for an invalid terrain
        document = document.replace(terrain_spec=terrain_text)
    return actions.switch_planting(document, {"on": True}) if options.plants_feet else document


def _show_goals(document: Document, options: ViewOptions) -> Document:
    """Show goals as chains in place of those of the file. A clip plays only if it was asked for."""
    if options.joint is not None:
        raise InputError("--joint and --goal both name the chains; give --goal alone")
    chains = build_goal_chains(document.start, [parse_goal(text, document.start) for text in options.goals])
    shows_motion = options.clip is not None or options.plants_feet
    clip_name = document.clip_name if shows_motion else None
    return document.replace(chains=chains, scope="chains", free_root=False, clip_name=clip_name)


def _resolve_terrain_text(document: Document, options: ViewOptions) -> str | None:
    """Resolve the terrain text with its direction angle. The direction may be that of the document's clip."""
    if options.terrain_direction is None:
        return options.terrain
    if options.terrain is None:
        raise InputError("--terrain-direction is the direction of --terrain: give both")
    TerrainOptions(options.terrain, direction=options.terrain_direction).check()
    up = find_terrain_up(document.rig)
    direction = np.array(
        resolve_direction(
            options.terrain_direction, up, lambda: _find_travel_direction(document, str(options.terrain_direction))
        )
    )
    level_direction(direction, up)  # raises for a vertical direction
    return f"{options.terrain}@{round(angle_of(direction, up), 2) + 0.0:g}"


def _find_travel_direction(document: Document, direction: str) -> Floats:
    """Compute the travel direction of the playing clip. InputError without a clip."""
    if document.clip_name is None:
        raise InputError(f"--terrain-direction {direction} is the travel direction of a clip: give one with --clip")
    return travel_direction(document.rig.clip(document.clip_name), rig=document.rig)


def write_page(document: Document, path: Path) -> None:
    """Write an offline page of the document. It shows the clip, or the reached targets."""
    from poise.viewer.session.downloads import build_document_page  # noqa: PLC0415  (solves; loads the kernels)

    write_atomically(path, build_document_page(document))


def _load_document(
    file: Path | None, scene: str | None, include_root: Path | None, package_folders: tuple[Path, ...]
) -> Document:
    """Load the rig of the file, or a scene. The default is the first scene."""
    if file is None:
        return scenes.build_scene(scene or scenes.names()[0])
    if scene is not None:
        raise InputError(f"give a file or --scene, not both: {file} and {scene}")
    rig = add_package_folders(load(file, include_root=include_root), package_folders)
    if not len(rig.skeleton):
        raise FileError(file, "holds no joints: there is nothing to show")
    return build_document(rig)


def _check_onto(file: Path | None, onto: Path | None, match: Path | None, options: ViewOptions) -> None:
    """Check the options beside a retargeted clip."""
    if onto is None:
        if match is not None:
            raise InputError("--match says which joint moves which of --onto TARGET: give both")
        return
    if file is None:
        raise InputError("--onto takes a file with a clip: poise view CLIP --onto TARGET")
    names = {"--terrain": options.terrain, "--plant": options.plants_feet, "--solver": options.solver,
             "--joint": options.joint, "--goal": options.goals}  # fmt: skip
    given = [name for name, value in names.items() if value]
    if given:
        raise InputError(f"--onto shows a clip of two figures: {given[0]} is for one")


def _load_side_by_side(
    file: Path,
    onto: Path,
    match: Path | None,
    clip: str | None,
    include_root: Path | None,
    package_folders: tuple[Path, ...],
) -> Document:
    """Load a clip and its target, and retarget. Errors of the target name its file."""
    source = load(file, include_root=include_root)
    with prefix_file_name(onto):
        target = add_package_folders(load(onto, include_root=include_root), package_folders)
        check_target(target.roles)
    check_animated(source, file, "retarget")
    name = select_clip(source, clip, "--onto").name
    pairs = None if match is None else load_match(match, source, target)
    with prefix_file_name(file):
        return build_side_by_side(Retargeting(source, target, name, pairs), f"{file.name} onto {onto.name}")


def _check_package_folders(folders: list[Path]) -> tuple[Path, ...]:
    """Check the package folders. InputError for a path that is no folder."""
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"--package-path is a folder with meshes, and {folder} is none")
    return tuple(folders)


def _check_page_path(path: Path) -> None:
    if path.suffix.lower() not in _PAGE_SUFFIXES:
        raise InputError(f"--html writes a page (.html), not {path.name!r}")
    check_writable(path)


def _print_scenes() -> None:
    width = max(map(len, scenes.names()))
    for name in scenes.names():
        description = scenes.describe_scene(name)
        say(f"{name:{width}}  {description.title}: {description.text}")

"""`poise demo`: a tour of solving, planting and the viewer.

It solves on a bundled character and arm and plants a walk on bundled hills; the results are a table, files and
pictures.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from poise.batch.each import count_cores, each
from poise.call_clock import count_seconds
from poise.cli.files import is_same_file
from poise.cli.terminal import say
from poise.cli.view import can_show, serve
from poise.errors import FileError, UnsupportedError
from poise.ground.plant import Planted, plant_feet
from poise.ground.terrain.terrain import Terrain
from poise.io import samples
from poise.io.files import write_atomically
from poise.io.registry import load, save
from poise.maths.formatting import format_time
from poise.model.clip import Clip
from poise.problem.goals import Position
from poise.solving.result import Result
from poise.solving.solve import solve
from poise.viewer import scenes
from poise.viewer.session.downloads import build_document_page, solve_document_pose

# --- Next commands to try, ready to run from the current folder ------------------------------------------------------


def find_poise_command() -> str:
    """Find the shell command for `poise`. It is its name where the shell finds this installation, else a path."""
    script = Path(sys.argv[0])
    if script.stem != "poise":  # python -m poise
        return f"{_format_program('python', Path(sys.executable))} -m poise"
    return _format_program("poise", script)


def _format_program(name: str, file: Path) -> str:
    on_path = shutil.which(name)
    if on_path is not None and is_same_file(Path(on_path), file):
        return name
    return shlex.quote(_shorten_path(file))


def _shorten_path(file: Path) -> str:
    """Return the shorter of the absolute and relative path. The relative one starts with a folder, as shells need."""
    absolute = os.path.abspath(file)  # noqa: PTH100  (links, as in .venv/bin, must not be resolved)
    try:
        relative = os.path.relpath(absolute)
    except ValueError:  # on another drive
        return absolute
    relative = relative if os.sep in relative else os.path.join(os.curdir, relative)  # noqa: PTH118  (Path drops the dot)
    return min(relative, absolute, key=len)


def list_next_steps(files: Path, *, posed: str, walk: str) -> list[tuple[str, str]]:
    """List three commands to try with the demo's files. Each has a description.

    Parameters
    ----------
    files
        The folder of the demo's files.
    posed, walk
        The names of a posed character and of a character with the clip "walk" in it.
    """
    poise = find_poise_command()
    paths = {name: shlex.quote(str(files / name)) for name in (posed, walk, "mine.glb", "mine.png", "stairs.glb")}
    page = shlex.quote(str(files / "stairs.html"))
    solve = f"{poise} solve {paths[posed]} --joint RightHand --to -0.4 1.2 0.35 -o {paths['mine.glb']}"
    plant = f"{poise} plant {paths[walk]} --clip walk --terrain stairs:0.15,0.30 -o {paths['stairs.glb']}"
    return [
        ("drag a hand in the browser", f"{poise} view {paths[posed]}"),
        ("solve for a target of your own", f"{solve} --plot {paths['mine.png']}"),
        ("put a walk on stairs", f"{plant} --report {page}"),
    ]


# --- Command ---------------------------------------------------------------------------------------------------------


_TABLE_WIDTH = 124  # [characters] table width for output other than a terminal


class DemoSolve(NamedTuple):
    """One solve of the demo."""

    sample: str
    joint: str
    target: tuple[float, float, float]
    out: str

    @property
    def target_text(self) -> str:
        """Target as text."""
        return " ".join(f"{value:g}" for value in self.target)


# Two processes take the solves in this order. The second compiles for the foot and the arm while the first is at the
# hand; the unreachable hand and the walk reuse the kernels of the first.
SOLVES = (
    DemoSolve("humanoid.glb", "LeftHand", (0.4, 1.2, 0.35), "humanoid_reach.glb"),
    DemoSolve("humanoid.bvh", "RightFoot", (-0.15, 0.45, 0.35), "humanoid_step.bvh"),
    DemoSolve("arm.urdf", "tool", (0.25, -0.4, 0.5), "arm_reach.json"),
    DemoSolve("humanoid.glb", "LeftHand", (0.9, 1.9, 0.6), "humanoid_too_far.glb"),
)
WALK_STAGE = len(SOLVES)  # index of the walk among the stages; the viewer's scene is last
_MAX_PROCESSES = 2

HILLS_NAME = "humanoid_hills"  # file stem of the walk on hills: a clip, a picture and a page
VIEWER_NAME = "viewer"  # file stem of the viewer's scene: a picture and a page
_VIEWER_SCENE = "biped"  # name of the viewer's scene


def demo(
    *,
    folder: Annotated[Path, typer.Option("-o", "--out", help="where the posed files and pictures go")] = Path(
        "poise-demo"
    ),
    headless: Annotated[bool, typer.Option("--headless", help="never wait for input or open a browser")] = False,
) -> None:
    """Solve on bundled rigs and plant a walk on bundled hills. A table is printed, files go to a folder.

    It suggests next commands and ends with the viewer in the browser, until Ctrl-C. With --headless, or without a
    terminal or a browser, it writes a picture and a page of the viewer's scene instead.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot make this folder: {error.strerror}") from error
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("rig", "joint", "target", "result", "left", "iterations", "time", "written"):
        table.add_column(column, no_wrap=True)
    *rows, walk_lines = _run_stages(folder)
    for row in rows:
        table.add_row(*row)
    is_shown = not headless and can_show()
    if not is_shown:
        _announce_stage(WALK_STAGE + 1, "drawing: the viewer's scene, as a picture and as a page")
        _draw_viewer(folder)
    console = Console()
    Console(width=console.width if console.is_terminal else _TABLE_WIDTH).print(table)
    say(*walk_lines, "")
    say(f"posed files and pictures are in {folder}")
    if not is_shown:
        say(f"the viewer's scene without a server: {VIEWER_NAME}.html, .png")
    _print_next_steps(folder)
    if is_shown:
        say("")
        _serve_scene(folder)


def _run_stages(folder: Path) -> Iterator[tuple[str, ...]]:
    """Run all stages but the last. Yield the table rows, then the lines about the walk, and announce each stage."""
    stage_texts = [f"solving: {scene.joint} of {scene.sample} to {scene.target_text}" for scene in SOLVES]
    stage_texts.append("planting: the walk of humanoid.glb on hills.npz")
    results = each(
        range(len(stage_texts)), partial(_run_stage, folder=folder), processes=min(_MAX_PROCESSES, count_cores())
    )
    for number, text in enumerate(stage_texts):
        _announce_stage(number, text)
        yield next(results).require()


def _run_stage(number: int, *, folder: Path) -> tuple[str, ...]:
    """Run one stage in a worker process.

    Return a table row, or the lines about the walk; only the first stage announces compilation.
    """
    from poise.kernels.compilation import suppress_progress  # noqa: PLC0415  (imports Numba)

    with nullcontext() if number == 0 else suppress_progress():
        return (
            _plant_walk(folder)
            if number == WALK_STAGE
            else _format_row(SOLVES[number], _solve_scene(SOLVES[number], folder))
        )


def _announce_stage(number: int, text: str) -> None:
    """Announce a stage. The first solve of each kind compiles, which takes seconds."""
    say(f"{number + 1}/{WALK_STAGE + 2} {text}")


def _print_next_steps(folder: Path) -> None:
    say("", "try next:")
    for label, command in list_next_steps(folder, posed=SOLVES[0].out, walk=f"{HILLS_NAME}.glb"):
        say(f"  {label}:", f"    {command}")


def _serve_scene(folder: Path) -> None:
    """Serve the viewer's scene until Ctrl-C. Without the viewer extra, write a page and a picture instead."""
    try:
        serve(scenes.build_scene(_VIEWER_SCENE), host="127.0.0.1", port=0, open_browser=True)
    except UnsupportedError as error:
        say(f"no viewer: {error}", err=True)
        _draw_viewer(folder)
        say(f"the viewer's scene without a server: {VIEWER_NAME}.html, .png")


def _format_row(scene: DemoSolve, result: Result) -> tuple[str, ...]:
    """Format a row of the table. Without a known unit of the rig its lengths are in its own units."""
    unit = " units" if result.problem.skeleton.metres_per_unit is None else ""
    return (
        scene.sample,
        scene.joint,
        f"{scene.target_text}{unit or ' m'}",
        str(result.status).replace("_", " "),
        result.length(float(result.errors[0])) + unit,
        str(int(result.iterations)),
        format_time(result.seconds),
        scene.out,
    )


def _solve_scene(scene: DemoSolve, folder: Path) -> Result:
    rig = load(samples.path(scene.sample))
    goal = Position(scene.joint, scene.target)
    result = solve(rig.rest, goal)
    save(result.pose, folder / scene.out)
    _draw_solve(folder / f"{Path(scene.out).stem}.png", scene, result)
    return result


def _plant_walk(folder: Path) -> tuple[str, ...]:
    """Plant the bundled walk on the bundled hills. Write clip, page and picture; return summary lines."""
    rig, hills = load(samples.path("humanoid.glb")), Terrain.heightmap(samples.path("hills.npz"))
    clip = rig.clips[0]
    began = perf_counter()
    planted = plant_feet(clip, hills, rig=rig)
    seconds = count_seconds(began)
    save(Clip(planted.times, planted.poses, "walk_on_hills"), folder / f"{HILLS_NAME}.glb", like=rig)
    planted.report.to_html(folder / f"{HILLS_NAME}.html")
    _draw_feet(folder / f"{HILLS_NAME}.png", planted)
    before, after = planted.report.before, planted.report.after
    summary = (
        f"humanoid.glb walks over hills.npz, {len(planted)} frames in {format_time(seconds)}: foot skate "
        f"{before.skate:.1f} cm/s -> {after.skate:.1f} cm/s, deepest in the ground {before.penetration:.1f} mm -> "
        f"{after.penetration:.1f} mm"
    )
    return summary, f"written: {HILLS_NAME}.glb, .html, .png"


def _draw_feet(path: Path, planted: Planted) -> None:
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    try:
        plot.draw_feet(path, planted)
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw_viewer(folder: Path) -> None:
    """Write the viewer's scene as a page and a picture."""
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    document = scenes.build_scene(_VIEWER_SCENE)
    write_atomically(folder / f"{VIEWER_NAME}.html", build_document_page(document))
    chain = document.active_chains[0]
    poses = [("start", document.start), ("reached", solve_document_pose(document))]
    try:
        plot.draw_poses(
            folder / f"{VIEWER_NAME}.png", poses, target=chain.position, chain=chain.list_joints(document.skeleton)
        )
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw_solve(path: Path, scene: DemoSolve, result: Result) -> None:
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    start = result.problem.start
    title = str(result.status).replace("_", " ")
    try:
        plot.draw_poses(
            path,
            [("rest", start), (title, result.pose)],
            target=scene.target,
            chain=[*result.joints, scene.joint],
        )
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)

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

from poise.batch.parallel_jobs import count_cores, each
from poise.call_clock import count_seconds
from poise.cli.input_output_files import is_same_file
from poise.cli.terminal import say
from poise.cli.view import can_open_browser, serve
from poise.errors import FileError, UnsupportedError
from poise.formatting import format_time
from poise.ground.plant import Planted, plant_feet
from poise.ground.terrain.terrain import Terrain
from poise.io import samples
from poise.io.files import write_atomically
from poise.io.registry import load, save
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


def _format_program(program_name: str, file: Path) -> str:
    program_on_path = shutil.which(program_name)
    if program_on_path is not None and is_same_file(Path(program_on_path), file):
        return program_name
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


def list_next_steps(folder: Path, *, posed_name: str, walk_name: str) -> list[tuple[str, str]]:
    """List three commands to try with the demo's files. Each has a description.

    Parameters
    ----------
    folder
        The folder of the demo's files.
    posed_name, walk_name
        The names of a posed character and of a character with the clip "walk" in it.
    """
    poise_command = find_poise_command()
    paths = {
        name: shlex.quote(str(folder / name)) for name in (posed_name, walk_name, "mine.glb", "mine.png", "stairs.glb")
    }
    page_path = shlex.quote(str(folder / "stairs.html"))
    solve_command = (
        f"{poise_command} solve {paths[posed_name]} --joint RightHand --to -0.4 1.2 0.35 -o {paths['mine.glb']}"
    )
    plant_command = (
        f"{poise_command} plant {paths[walk_name]} --clip walk --terrain stairs:0.15,0.30 -o {paths['stairs.glb']}"
    )
    return [
        ("drag a hand in the browser", f"{poise_command} view {paths[posed_name]}"),
        ("solve for a target of your own", f"{solve_command} --plot {paths['mine.png']}"),
        ("put a walk on stairs", f"{plant_command} --report {page_path}"),
    ]


# --- Command ---------------------------------------------------------------------------------------------------------


_TABLE_WIDTH = 124  # [characters] table width for output other than a terminal


class DemoSolve(NamedTuple):
    """One solve of the demo."""

    sample_name: str
    joint: str
    target: tuple[float, float, float]
    output_name: str

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
WALK_STAGE_INDEX = len(SOLVES)  # index of the walk among the stages; the viewer's scene is last
_MAX_PROCESSES = 2

HILLS_NAME = "humanoid_hills"  # file stem of the walk on hills: a clip, a picture and a page
VIEWER_NAME = "viewer"  # file stem of the viewer's scene: a picture and a page
_VIEWER_SCENE_NAME = "biped"  # name of the viewer's scene


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
    uses_browser = not headless and can_open_browser()
    if not uses_browser:
        _announce_stage(WALK_STAGE_INDEX + 1, "drawing: the viewer's scene, as a picture and as a page")
        _draw_viewer(folder)
    console = Console()
    Console(width=console.width if console.is_terminal else _TABLE_WIDTH).print(table)
    say(*walk_lines, "")
    say(f"posed files and pictures are in {folder}")
    if not uses_browser:
        say(f"the viewer's scene without a server: {VIEWER_NAME}.html, .png")
    _print_next_steps(folder)
    if uses_browser:
        say("")
        _serve_scene(folder)


def _run_stages(folder: Path) -> Iterator[tuple[str, ...]]:
    """Run all stages but the last. Yield the table rows, then the lines about the walk, and announce each stage."""
    stage_texts = [
        f"solving: {demo_solve.joint} of {demo_solve.sample_name} to {demo_solve.target_text}" for demo_solve in SOLVES
    ]
    stage_texts.append("planting: the walk of humanoid.glb on hills.npz")
    results = each(
        range(len(stage_texts)), partial(_run_stage, folder=folder), processes=min(_MAX_PROCESSES, count_cores())
    )
    for stage_index, text in enumerate(stage_texts):
        _announce_stage(stage_index, text)
        yield next(results).require()


def _run_stage(stage_index: int, *, folder: Path) -> tuple[str, ...]:
    """Run one stage in a worker process.

    Return a table row, or the lines about the walk; only the first stage announces compilation.
    """
    from poise.kernels.entries import suppress_progress  # noqa: PLC0415  (imports Numba)

    with nullcontext() if stage_index == 0 else suppress_progress():
        return (
            _plant_walk(folder)
            if stage_index == WALK_STAGE_INDEX
            else _format_row(SOLVES[stage_index], _run_demo_solve(SOLVES[stage_index], folder))
        )


def _announce_stage(stage_index: int, text: str) -> None:
    """Announce a stage. The first solve of each kind compiles, which takes seconds."""
    say(f"{stage_index + 1}/{WALK_STAGE_INDEX + 2} {text}")


def _print_next_steps(folder: Path) -> None:
    say("", "try next:")
    for label, command in list_next_steps(folder, posed_name=SOLVES[0].output_name, walk_name=f"{HILLS_NAME}.glb"):
        say(f"  {label}:", f"    {command}")


def _serve_scene(folder: Path) -> None:
    """Serve the viewer's scene until Ctrl-C. Without the viewer extra, write a page and a picture instead."""
    try:
        serve(scenes.build_scene(_VIEWER_SCENE_NAME), host="127.0.0.1", port=0, open_browser=True)
    except UnsupportedError as error:
        say(f"no viewer: {error}", err=True)
        _draw_viewer(folder)
        say(f"the viewer's scene without a server: {VIEWER_NAME}.html, .png")


def _format_row(demo_solve: DemoSolve, result: Result) -> tuple[str, ...]:
    """Format a row of the table. Without a known unit of the rig its lengths are in its own units."""
    unit_text = " units" if result.problem.skeleton.metres_per_unit is None else ""
    return (
        demo_solve.sample_name,
        demo_solve.joint,
        f"{demo_solve.target_text}{unit_text or ' m'}",
        str(result.status).replace("_", " "),
        result.length(float(result.errors[0])) + unit_text,
        str(int(result.iterations)),
        format_time(result.seconds),
        demo_solve.output_name,
    )


def _run_demo_solve(demo_solve: DemoSolve, folder: Path) -> Result:
    rig = load(samples.path(demo_solve.sample_name))
    goal = Position(demo_solve.joint, demo_solve.target)
    result = solve(rig.rest, goal)
    save(result.pose, folder / demo_solve.output_name)
    _draw_solve(folder / f"{Path(demo_solve.output_name).stem}.png", demo_solve, result)
    return result


def _plant_walk(folder: Path) -> tuple[str, ...]:
    """Plant the bundled walk on the bundled hills. Write clip, page and picture; return summary lines."""
    rig, hills = load(samples.path("humanoid.glb")), Terrain.heightmap(samples.path("hills.npz"))
    clip = rig.clips[0]
    start_time = perf_counter()
    planted = plant_feet(clip, hills, rig=rig)
    seconds = count_seconds(start_time)
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
        plot.draw_feet(planted, path)
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw_viewer(folder: Path) -> None:
    """Write the viewer's scene as a page and a picture."""
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    document = scenes.build_scene(_VIEWER_SCENE_NAME)
    write_atomically(folder / f"{VIEWER_NAME}.html", build_document_page(document))
    chain = document.active_chains[0]
    poses = [("start", document.start), ("reached", solve_document_pose(document))]
    try:
        plot.draw_poses(
            poses, folder / f"{VIEWER_NAME}.png", target=chain.position, chain=chain.list_joints(document.skeleton)
        )
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw_solve(path: Path, demo_solve: DemoSolve, result: Result) -> None:
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    start = result.problem.start
    title = str(result.status).replace("_", " ")
    try:
        plot.draw_poses(
            [("rest", start), (title, result.pose)],
            path,
            target=demo_solve.target,
            chain=[*result.joints, demo_solve.joint],
        )
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)

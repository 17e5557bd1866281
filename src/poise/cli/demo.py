"""`poise demo`: a tour of solving, planting and the viewer.

It solves on a bundled character and arm and plants a walk on bundled hills; the results are a table, files and
pictures.
"""

from __future__ import annotations

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

from poise.cli.terminal import say
from poise.cli.told.next_steps import next_steps
from poise.cli.told.serving import can_show, serve
from poise.errors import FileError, UnsupportedError
from poise.ground.plant import Planted, plant_feet
from poise.ground.terrain.terrain import Terrain
from poise.io import samples
from poise.io.files import write_atomically
from poise.io.registry import load, save
from poise.libraries.each import cores, each
from poise.maths.in_words import write_time
from poise.model.clip import Clip
from poise.problem.goals import Position
from poise.solving.result import Result
from poise.solving.solve import solve
from poise.timing.clock import count_seconds
from poise.viewer import scenes
from poise.viewer.session.stills import page_of, solved_pose

_WIDTH = 124  # [characters] table width for output other than a terminal


class DemoSolve(NamedTuple):
    """One solve of the demo."""

    sample: str
    joint: str
    target: tuple[float, float, float]
    out: str

    @property
    def place(self) -> str:
        """Target as text."""
        return " ".join(f"{value:g}" for value in self.target)


# Two processes take the solves in this order. The second compiles for the foot and the arm while the first is at the
# hand; the unreachable hand and the walk reuse the kernels of the first.
SCENES = (
    DemoSolve("humanoid.glb", "LeftHand", (0.4, 1.2, 0.35), "humanoid_reach.glb"),
    DemoSolve("humanoid.bvh", "RightFoot", (-0.15, 0.45, 0.35), "humanoid_step.bvh"),
    DemoSolve("arm.urdf", "tool", (0.25, -0.4, 0.5), "arm_reach.json"),
    DemoSolve("humanoid.glb", "LeftHand", (0.9, 1.9, 0.6), "humanoid_too_far.glb"),
)
WALK = len(SCENES)  # index of the walk among the stages; the viewer's scene is last
_PROCESSES = 2

HILLS = "humanoid_hills"  # file stem of the walk on hills: a clip, a picture and a page
VIEWER = "viewer"  # file stem of the viewer's scene: a picture and a page
_SHOWN = "biped"  # name of the viewer's scene


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
    *rows, walked = _done(folder)
    for row in rows:
        table.add_row(*row)
    is_shown = not headless and can_show()
    if not is_shown:
        _doing(WALK + 1, "drawing: the viewer's scene, as a picture and as a page")
        _draw_viewer(folder)
    console = Console()
    Console(width=console.width if console.is_terminal else _WIDTH).print(table)
    say(*walked, "")
    say(f"posed files and pictures are in {folder}")
    if not is_shown:
        say(f"the viewer's scene without a server: {VIEWER}.html, .png")
    _say_next(folder)
    if is_shown:
        say("")
        _serve(folder)


def _done(folder: Path) -> Iterator[tuple[str, ...]]:
    """Run all stages but the last. Yield the table rows, then the lines about the walk, and announce each stage."""
    doing = [f"solving: {scene.joint} of {scene.sample} to {scene.place}" for scene in SCENES]
    doing.append("planting: the walk of humanoid.glb on hills.npz")
    answers = each(range(len(doing)), partial(_stage, folder=folder), processes=min(_PROCESSES, cores()))
    for number, what in enumerate(doing):
        _doing(number, what)
        yield next(answers).require()


def _stage(number: int, *, folder: Path) -> tuple[str, ...]:
    """Run one stage in a worker process.

    Return a table row, or the lines about the walk; only the first stage announces compilation.
    """
    from poise.kernels.announced import quiet  # noqa: PLC0415  (imports Numba)

    with nullcontext() if number == 0 else quiet():
        return _walk(folder) if number == WALK else _row(SCENES[number], _run(SCENES[number], folder))


def _doing(number: int, what: str) -> None:
    """Announce a stage. The first solve of each kind compiles, which takes seconds."""
    say(f"{number + 1}/{WALK + 2} {what}")


def _say_next(folder: Path) -> None:
    say("", "try next:")
    for what, command in next_steps(folder, posed=SCENES[0].out, walk=f"{HILLS}.glb"):
        say(f"  {what}:", f"    {command}")


def _serve(folder: Path) -> None:
    """Serve the viewer's scene until Ctrl-C. Without the viewer extra, write a page and a picture instead."""
    try:
        serve(scenes.scene(_SHOWN), host="127.0.0.1", port=0, open_browser=True)
    except UnsupportedError as error:
        say(f"no viewer: {error}", err=True)
        _draw_viewer(folder)
        say(f"the viewer's scene without a server: {VIEWER}.html, .png")


def _row(scene: DemoSolve, result: Result) -> tuple[str, ...]:
    """Format a row of the table. Without a known unit of the rig its lengths are in its own units."""
    unit = " units" if result.problem.skeleton.metres_per_unit is None else ""
    return (
        scene.sample,
        scene.joint,
        f"{scene.place}{unit or ' m'}",
        str(result.status).replace("_", " "),
        result.length(float(result.errors[0])) + unit,
        str(int(result.iterations)),
        write_time(result.seconds),
        scene.out,
    )


def _run(scene: DemoSolve, folder: Path) -> Result:
    rig = load(samples.path(scene.sample))
    goal = Position(scene.joint, scene.target)
    result = solve(rig.rest, goal)
    save(result.pose, folder / scene.out)
    _draw(folder / f"{Path(scene.out).stem}.png", scene, result)
    return result


def _walk(folder: Path) -> tuple[str, ...]:
    """Plant the bundled walk on the bundled hills. Write clip, page and picture; return summary lines."""
    rig, hills = load(samples.path("humanoid.glb")), Terrain.heightmap(samples.path("hills.npz"))
    clip = rig.clips[0]
    began = perf_counter()
    planted = plant_feet(clip, hills, rig=rig)
    seconds = count_seconds(began)
    save(Clip(planted.times, planted.poses, "walk_on_hills"), folder / f"{HILLS}.glb", like=rig)
    planted.report.to_html(folder / f"{HILLS}.html")
    _draw_feet(folder / f"{HILLS}.png", planted)
    before, after = planted.report.before, planted.report.after
    told = (
        f"humanoid.glb walks over hills.npz, {len(planted)} frames in {write_time(seconds)}: foot skate "
        f"{before.skate:.1f} cm/s -> {after.skate:.1f} cm/s, deepest in the ground {before.penetration:.1f} mm -> "
        f"{after.penetration:.1f} mm"
    )
    return told, f"written: {HILLS}.glb, .html, .png"


def _draw_feet(path: Path, planted: Planted) -> None:
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    try:
        plot.draw_feet(path, planted)
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw_viewer(folder: Path) -> None:
    """Write the viewer's scene as a page and a picture."""
    from poise import plot  # noqa: PLC0415  (only when a picture is drawn)

    document = scenes.scene(_SHOWN)
    write_atomically(folder / f"{VIEWER}.html", page_of(document))
    chain = document.active[0]
    poses = [("start", document.start), ("reached", solved_pose(document))]
    try:
        plot.draw_poses(folder / f"{VIEWER}.png", poses, target=chain.position, chain=chain.joints(document.skeleton))
    except UnsupportedError as error:
        say(f"no picture: {error}", err=True)


def _draw(path: Path, scene: DemoSolve, result: Result) -> None:
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

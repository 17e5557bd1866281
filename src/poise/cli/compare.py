"""`poise compare`: compare solvers on a limb of a rig."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console

from poise import plot, solvers
from poise.cli.input_output_files import IncludeRoot, check_writable, load_rig
from poise.cli.solver_options import ANGLE_TOLERANCE_HELP, TOLERANCE_HELP
from poise.cli.target_file import build_placeholder_goal, open_target_table
from poise.cli.terminal import say
from poise.comparison import compare as compare_module
from poise.comparison.compare import SUFFIXES, Comparison
from poise.comparison.results import format_table
from poise.comparison.task import OneGoal
from poise.errors import InputError, escape_controls
from poise.io import samples
from poise.model.clip import Clip
from poise.model.joint_tree import FLAT_MESSAGE, is_flat
from poise.model.rig import Rig
from poise.model.rig_roles import DefaultLimb, choose_goal_kind, find_default_limbs
from poise.plot.scene_drawing import open_canvas
from poise.solvers.base.option_parsing import parse_options

_MAX_TARGETS = 10_000  # targets of a file, solved by every method: bounds the run time


class GoalKindName(StrEnum):
    """Kind of goal for the tip."""

    POSITION = "position"
    PLACE = "place"
    ORIENTATION = "orientation"


class EffortName(StrEnum):
    """Effort of a comparison."""

    QUICK = "quick"
    NORMAL = "normal"
    FULL = "full"


class _GoalTargets(NamedTuple):
    """Goal and targets of a comparison."""

    goal: OneGoal
    targets: Any


def compare(
    file: Annotated[Path | None, typer.Argument(help="a rig; without: the bundled character")] = None,
    *,
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint", metavar="JOINT", help="the joint or link with the targets; default: that of a detected limb"
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option("--root", metavar="JOINT", help="first joint that moves; default: the limb's own")
    ] = None,
    goal: Annotated[
        GoalKindName | None, typer.Option("--goal", help="kind of goal; default: place for arms of six joints")
    ] = None,
    targets: Annotated[
        str,
        typer.Option(metavar="reachable|path|FILE", help="targets: random, a smooth path, or a table as for solve"),
    ] = "reachable",
    clip: Annotated[str | None, typer.Option("--clip", metavar="NAME", help="the clip that the path follows")] = None,
    solver: Annotated[
        str, typer.Option("--solvers", metavar="all|LIST", help="e.g. ccd,fabrik or ccd,ccd:order=tip-first:bend=0")
    ] = "all",
    peers: Annotated[
        bool, typer.Option("--peers", help="also compare other libraries; missing ones print install commands")
    ] = False,
    tolerance: Annotated[float | None, typer.Option(help=TOLERANCE_HELP)] = None,
    angle_tolerance: Annotated[float | None, typer.Option("--angle-tolerance", help=ANGLE_TOLERANCE_HELP)] = None,
    limits: Annotated[Path | None, typer.Option(help="a sidecar file (.ik.toml) with limits")] = None,
    no_limits: Annotated[bool, typer.Option("--no-limits", help="ignore every limit")] = False,
    include_root: IncludeRoot = None,
    effort: Annotated[
        EffortName,
        typer.Option(
            "--effort",
            help="quick: a smoke test without reliable figures; full: more targets, chains of up to 200 joints, "
            "for minutes",
        ),
    ] = EffortName.NORMAL,
    seed: Annotated[int, typer.Option(min=0, help="seed of the random targets")] = 0,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", "--report", help=f"write a report ({', '.join(SUFFIXES)}) here")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Compare the solvers on a limb of a rig. All get the same targets and the same evaluation."""
    if root is not None and joint is None:
        raise InputError("--root is the first joint of a chain: give its tip with --joint")
    if out is not None:
        _check_report_path(out)
    path = samples.path("humanoid.glb") if file is None else file
    rig = load_rig(path, limits, no_limits=no_limits, include_root=include_root)
    goal_targets = _select_goal(rig, (root, joint), goal, targets)
    comparison = compare_module.compare(
        rig.rest, goal_targets.goal, solvers=_parse_solvers(solver), peers="all" if peers else (),
        targets=goal_targets.targets,
        clip=_select_clip(rig, clip), tolerance=tolerance, angle_tolerance=angle_tolerance,
        effort=effort.value, seed=seed, name=_format_rig_name(rig), progress=True,
    )  # fmt: skip
    if out is not None:
        comparison.save(out)
    _print_comparison(comparison, out, as_json=as_json)


def _check_report_path(out: Path) -> None:
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot write a report to {out.name!r}: its name ends with {', '.join(SUFFIXES)}")
    check_writable(out)
    if out.suffix.lower() in plot.SUFFIXES:
        with open_canvas(1.0, 1.0):  # reports a missing Matplotlib before minutes of work
            pass


def _select_goal(
    rig: Rig, chain_ends: tuple[str | None, str | None], goal: GoalKindName | None, targets: str
) -> _GoalTargets:
    limb = next(iter(find_default_limbs(rig)), None)
    root, joint = chain_ends
    if joint is not None:
        limb = DefaultLimb("", root, joint, choose_goal_kind(rig.skeleton, root, joint))
    if limb is None:
        if is_flat(rig.skeleton.kinds, rig.skeleton.parents):
            raise InputError(f"there is no chain to compare methods on: {FLAT_MESSAGE}")
        raise InputError("no limb was detected in this file: give --joint JOINT, and --root ROOT")
    if targets in ("reachable", "path"):
        return _GoalTargets(build_placeholder_goal(goal or limb.goal_kind, limb.tip, limb.root), targets)
    target_table = open_target_table(Path(targets), limb.tip, limb.root)
    if not 0 < target_table.row_count <= _MAX_TARGETS:
        raise InputError(
            f"{targets}: methods are compared on 1 to {_MAX_TARGETS:,} targets, "
            f"this table has {target_table.row_count:,}"
        )
    table_goal_name = type(target_table.goal).__name__.lower()
    if goal is not None and goal.value != table_goal_name:
        raise InputError(f"{targets}: its rows are targets of {table_goal_name} goals, --goal says {goal.value}")
    return _GoalTargets(target_table.goal.with_target(np.concatenate(list(target_table))), "given")


def _select_clip(rig: Rig, clip_name: str | None) -> Clip | None:
    return rig.clip(clip_name) if clip_name is not None else next(iter(rig.clips), None)


def _parse_solvers(solver_list: str) -> Any:
    """Parse `all` or a list of solvers with options. Example: `ccd:order=tip-first:bend=0,fabrik`."""
    if solver_list == "all":
        return solver_list
    parsed_solvers: list[solvers.Solver] = []
    for solver_text in solver_list.split(","):
        name, *options = solver_text.strip().split(":")
        parsed_solvers.append(
            solvers.make_solver(name, **parse_options(type(solvers.make_solver(name)), options, name))
        )
    return parsed_solvers


def _format_rig_name(rig: Rig) -> str:
    # file names may not be valid UTF-8, the report is
    return "" if rig.path is None else escape_controls(rig.path.name)


def _print_comparison(comparison: Comparison, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(comparison.document(), indent=1, allow_nan=False))
        return
    console = Console()
    say(*format_table(comparison, console.width if console.is_terminal else 120).split("\n"))
    say("", comparison.verdict)
    if out is not None:
        say(f"written: {out}")

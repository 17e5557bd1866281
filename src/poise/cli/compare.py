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
from poise.cli.given.opened import ANGLE_TOLERANCE, TOLERANCE, IncludeRoot, opened
from poise.cli.given.targets import example, open_targets
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.cli.told.bars import bar
from poise.comparison import compare as comparing
from poise.comparison.comparison import SUFFIXES, Comparison
from poise.comparison.findings.table import text_table
from poise.comparison.trials.task import OneGoal
from poise.errors import InputError, one_line
from poise.io import samples
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.roles.usual_limbs import UsualLimb, usual_kind, usual_limbs
from poise.model.ways import FLAT, is_flat
from poise.plot.canvas import canvas
from poise.solvers.base.parameters import read_options

_MOST = 10_000  # targets of a file, solved by every method: bounds the run time
_STEPS = 1000  # steps of the progress bar


class GoalKind(StrEnum):
    """Kind of goal for the tip."""

    POSITION = "position"
    PLACE = "place"
    ORIENTATION = "orientation"


class EffortName(StrEnum):
    """Effort of a comparison."""

    QUICK = "quick"
    NORMAL = "normal"
    FULL = "full"


class _Asked(NamedTuple):
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
        GoalKind | None, typer.Option("--goal", help="kind of goal; default: place for arms of six joints")
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
    tolerance: Annotated[float | None, typer.Option(help=TOLERANCE)] = None,
    angle_tolerance: Annotated[float | None, typer.Option("--angle-tolerance", help=ANGLE_TOLERANCE)] = None,
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
        _check_report(out)
    chosen = samples.path("humanoid.glb") if file is None else file
    rig = opened(chosen, limits, no_limits=no_limits, include_root=include_root)
    asked = _asked(rig, (root, joint), goal, targets)
    with bar("comparing", _STEPS) as advance:
        done = 0

        def tell(what: str, share: float) -> None:
            nonlocal done
            advance(int(share * _STEPS) - done, what)
            done = int(share * _STEPS)

        found = comparing.compare(
            rig.rest, asked.goal, solvers=_solvers(solver), peers="all" if peers else (), targets=asked.targets,
            clip=_clip(rig, clip), tolerance=tolerance, angle_tolerance=angle_tolerance,
            effort=effort.value, seed=seed, name=_name(rig), progress=tell,
        )  # fmt: skip
    if out is not None:
        found.save(out)
    _say(found, out, as_json=as_json)


def _check_report(out: Path) -> None:
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot write a report to {out.name!r}: its name ends with {', '.join(SUFFIXES)}")
    outputs.check_place(out)
    if out.suffix.lower() in plot.SUFFIXES:
        with canvas(1.0, 1.0):  # reports a missing Matplotlib before minutes of work
            pass


def _asked(rig: Rig, ends: tuple[str | None, str | None], goal: GoalKind | None, targets: str) -> _Asked:
    limb = next(iter(usual_limbs(rig)), None)
    root, joint = ends
    if joint is not None:
        limb = UsualLimb("", root, joint, usual_kind(rig.skeleton, root, joint))
    if limb is None:
        if is_flat(rig.skeleton.kinds, rig.skeleton.parents):
            raise InputError(f"there is no chain to compare methods on: {FLAT}")
        raise InputError("no limb was detected in this file: give --joint JOINT, and --root ROOT")
    if targets in ("reachable", "path"):
        return _Asked(example(goal or limb.kind, limb.tip, limb.root), targets)
    rows = open_targets(Path(targets), limb.tip, limb.root)
    if not 0 < rows.count <= _MOST:
        raise InputError(f"{targets}: methods are compared on 1 to {_MOST:,} targets, this table has {rows.count:,}")
    kind = type(rows.goal).__name__.lower()
    if goal is not None and goal.value != kind:
        raise InputError(f"{targets}: its rows are targets of {kind} goals, --goal says {goal.value}")
    return _Asked(rows.goal.with_target(np.concatenate(list(rows))), "given")


def _clip(rig: Rig, name: str | None) -> Clip | None:
    return rig.clip(name) if name is not None else next(iter(rig.clips), None)


def _solvers(words: str) -> Any:
    """Parse `all` or a list of solvers with options. Example: `ccd:order=tip-first:bend=0,fabrik`."""
    if words == "all":
        return words
    found: list[solvers.Solver] = []
    for word in words.split(","):
        name, *options = word.strip().split(":")
        found.append(solvers.named(name, **read_options(type(solvers.named(name)), options, name)))
    return found


def _name(rig: Rig) -> str:
    return "" if rig.path is None else one_line(rig.path.name)  # file names may not be valid UTF-8, the report is


def _say(found: Comparison, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.document(), indent=1, allow_nan=False))
        return
    console = Console()
    say(*text_table(found, console.width if console.is_terminal else 120).split("\n"))
    say("", found.verdict)
    if out is not None:
        say(f"written: {out}")

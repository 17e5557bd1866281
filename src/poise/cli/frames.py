"""`poise solve --every-frame`: every frame of a clip solved from its own pose, the clip written with what was found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from poise.cli.given import asked
from poise.cli.given.opened import limited
from poise.cli.given.targets import Targets
from poise.cli.library.verbs import Row
from poise.cli.many import SolveOptions
from poise.cli.told import outputs
from poise.cli.told.answer import largest
from poise.cli.told.bars import bar
from poise.errors import InputError
from poise.io.registry import load, save
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.problem.goals import Goal, Near
from poise.solvers.base.status import Status
from poise.solving.frames.bake import Baked, bake


def clip_of(rig: Rig, name: str | None, who: str = "--every-frame", option: str = "--from-clip") -> Clip:
    """The clip that is meant: the one named, or the only one; InputError lists what there is."""
    if name is not None:
        return rig.clip(name)
    if not rig.clips:
        raise InputError(f"{who} needs a clip, and there is none in this file")
    if len(rig.clips) != 1:
        names = ", ".join(repr(clip.name) for clip in rig.clips)
        raise InputError(f"{who} needs {option} NAME: this file has {len(rig.clips)} clips: {names}")
    return rig.clips[0]


def goals_of(clip: Clip, rows: Targets | None, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """The goals, with the rows of a table as targets of the first: one for each frame.

    To stay near means each frame's own pose.
    """
    goals = tuple(
        Near(clip.poses, joints=goal.joints, weight=goal.weight) if isinstance(goal, Near) else goal for goal in goals
    )
    if rows is None:
        return goals
    if rows.count != len(clip):
        raise InputError(
            f"the clip {clip.name!r} has {len(clip)} frames, the table {rows.count} targets: give one each"
        )
    return (rows.goal.with_target(np.concatenate(list(rows))), *goals)


def solve_clip(
    rig: Rig, clip: Clip, goals: tuple[Goal, ...], out: Path | None, how: SolveOptions, *, as_json: bool
) -> int:
    """Solve, write the clip and say how many frames were reached; return the exit code."""
    if out is not None:
        outputs.check_pose_file(out)
    given = _given(how)
    with bar("solving", len(clip), rate=True) as advance:
        baked = bake(clip, goals, **given, progress=lambda done: advance(done, ""))
    if out is not None:
        save(Clip(baked.times, baked.poses, baked.name), out, like=rig)
    _say(baked, out, as_json=as_json)
    return 0 if bool(np.all(baked.result.reached)) else 1


def _given(how: SolveOptions) -> dict[str, Any]:
    """The options as bake() takes them."""
    given = how._asdict()
    if given.pop("prefer") != "first" or given.pop("seeds") is not None:
        raise InputError("--every-frame takes the first pose found in each frame; --prefer and --seeds go without it")
    return given


@dataclass(frozen=True)
class FramesWork:
    """One clip of many, solved frame by frame: the options as they were typed."""

    wanted: asked.GoalOptions
    others: tuple[asked.GoalOptions, ...]
    clip: str | None
    limits: Path | None
    no_limits: bool
    solver: tuple[str, tuple[str, ...], bool | None]
    short: tuple[tuple[str, Any], ...]
    given: tuple[tuple[str, Any], ...]  # of SolveOptions, all but the solver

    def warm(self, file: Path) -> None:
        """Solve two frames: what has to be compiled is compiled then."""
        rig = self._rig(file)
        clip = clip_of(rig, self.clip)
        self._baked(Clip(clip.times[:2], clip.poses[:2], clip.name))

    def _rig(self, file: Path) -> Rig:
        return limited(load(file), self.limits, no_limits=self.no_limits)

    def _baked(self, clip: Clip) -> Baked:
        start = clip.at(0.0)
        goals = asked.all_goals(self.wanted, self.others, start, main=True)
        name, options, natural = self.solver
        given = dict(self.given)
        chosen = asked.solver_of(
            name, start, goals, given["prefer"], options, free_root=given["free_root"], natural=natural,
            **dict(self.short),
        )  # fmt: skip
        return bake(clip, goals_of(clip, None, goals), **_given(SolveOptions(chosen, **given)))

    def __call__(self, file: Path, out: Path) -> Row:
        """Solve a file's clip; its row of the table."""
        rig = self._rig(file)
        baked = self._baked(clip_of(rig, self.clip))
        save(Clip(baked.times, baked.poses, baked.name), out, like=rig)
        missed = np.flatnonzero(~np.asarray(baked.result.reached))
        return {
            "status": "missed" if len(missed) else "ok", "frames": len(baked), "missed": len(missed),
            "position_error": largest(baked.result.position_errors),
            "angle_error": largest(baked.result.angle_errors), "solver": baked.result.solver,
            "message": baked.result.message(int(missed[0])) if len(missed) else "",
        }  # fmt: skip


def _say(baked: Baked, out: Path | None, *, as_json: bool) -> None:
    result = baked.result
    missed = np.flatnonzero(~np.asarray(result.reached))
    if as_json:
        said: dict[str, Any] = {
            "clip": baked.name, "frames": len(baked), "reached": len(baked) - len(missed), "solver": result.solver,
            "worst_position_error": largest(result.position_errors), "worst_angle_error": largest(result.angle_errors),
            "missed": [{"frame": i, "status": str(Status(int(result.codes[i])))} for i in missed.tolist()],
            "seconds": result.seconds, "out": None if out is None else str(out),
        }  # fmt: skip
        typer.echo(json.dumps(said, indent=1, allow_nan=False))
        return
    typer.echo(f"{len(baked) - len(missed)} of {len(baked)} frames reached ({result.solver})")
    for i in missed[:3].tolist():
        typer.echo(f"frame {i}, {baked.times[i]:.3f} s: {result.message(i)}")
    if len(missed) > 3:  # noqa: PLR2004
        typer.echo(f"and {len(missed) - 3} more")
    if out is not None:
        typer.echo(f"clip {baked.name!r} in {out}")

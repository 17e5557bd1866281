"""`poise solve --every-frame`: solve every frame of a clip.

Each frame starts from its own pose; the solved clip is written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from poise.cli.given import asked
from poise.cli.given.clips import clip_of
from poise.cli.given.opened import limited
from poise.cli.given.targets import Targets
from poise.cli.library.verbs import Row
from poise.cli.many import SolveOptions
from poise.cli.terminal import say
from poise.cli.told import outputs
from poise.cli.told.answer import largest
from poise.cli.told.bars import bar
from poise.cli.told.clips import free_names, new_files, save_clips
from poise.errors import InputError
from poise.io.registry import load
from poise.libraries.clip_files import ALL
from poise.maths.arrays import Ints
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.problem.goals import Goal, Near
from poise.solvers.base.status import Status
from poise.solving.frames.bake import Baked, bake


def goals_of(clip: Clip, rows: Targets | None, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Build the per-frame goals. The rows of a table are the targets of the first goal, one for each frame.

    A Near goal refers to each frame's own pose.
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
    """Solve a clip, write it and print a summary. Return the exit code."""
    if out is not None:
        outputs.check_pose_file(out, rig.path)
    given = _given(how)
    with bar("solving", len(clip), rate=True) as advance:
        baked = bake(clip, goals, **given, progress=lambda done: advance(done, ""))
    (name,) = free_names([baked.name], out, rig)
    baked = replace(baked, name=name)
    if out is not None:
        outputs.save_and_note(clip_made(baked), out, rig)
    if as_json:
        typer.echo(json.dumps(as_object(baked, out), indent=1, allow_nan=False))
    else:
        _say(baked)
        if out is not None:
            say(f"clip {baked.name!r} in {out}")
    return 0 if bool(np.all(baked.result.reached)) else 1


def _given(how: SolveOptions) -> dict[str, Any]:
    """Build the arguments of bake()."""
    given = how._asdict()
    if given.pop("prefer") != "first" or given.pop("seeds") is not None:
        raise InputError("--every-frame takes the first pose found in each frame; --prefer and --seeds go without it")
    return given


@dataclass(frozen=True)
class FramesWork:
    """Job for one clip, solved frame by frame. The fields are the options as typed."""

    wanted: asked.GoalOptions
    others: tuple[asked.GoalOptions, ...]
    clip: str | None
    limits: Path | None
    no_limits: bool
    solver: tuple[str, tuple[str, ...], bool | None]
    short: tuple[tuple[str, Any], ...]
    given: tuple[tuple[str, Any], ...]  # SolveOptions without the solver
    include_root: Path | None = None

    def warm(self, file: Path) -> None:
        """Solve two frames to compile the kernels."""
        clip = self._clips(self._rig(file))[0]
        self._baked(Clip(clip.times[:2], clip.poses[:2], clip.name))

    def _rig(self, file: Path) -> Rig:
        return limited(load(file, include_root=self.include_root), self.limits, no_limits=self.no_limits)

    def _clips(self, rig: Rig) -> tuple[Clip, ...]:
        """Return the selected clips: one, or all."""
        if self.clip == ALL and rig.clips:
            return rig.clips
        return (clip_of(rig, None if self.clip == ALL else self.clip),)

    def solve_all(self, rig: Rig, out: Path | None, *, as_json: bool) -> int:
        """Solve every clip of a file, write and report each. Return the exit code."""
        clips = self._clips(rig)
        if out is not None:
            outputs.check_pose_file(out, rig.path)
        files = [None] * len(clips) if out is None else new_files(out, clips)
        baked: list[Baked] = []
        with bar("solving", sum(map(len, clips)), rate=True) as advance:
            for clip in clips:
                baked.append(self._baked(clip))
                advance(len(clip), clip.name)
        names = free_names([clip.name for clip in clips], out, rig)
        baked = [replace(clip, name=name) for clip, name in zip(baked, names, strict=True)]
        save_clips([(clip_made(clip), file) for clip, file in zip(baked, files, strict=True) if file is not None], rig)
        if as_json:
            said = [as_object(clip, file) for clip, file in zip(baked, files, strict=True)]
            typer.echo(json.dumps({"clips": said}, indent=1, allow_nan=False))
        else:
            for clip, file in zip(baked, files, strict=True):
                say(f"{clip.name!r}:" if file is None else f"{clip.name!r} in {file}:")
                _say(clip)
        return 0 if all(bool(np.all(clip.result.reached)) for clip in baked) else 1

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
        """Solve a file's clips and return its row of the table."""
        rig = self._rig(file)
        clips = self._clips(rig)
        baked = [self._baked(clip) for clip in clips]
        files = new_files(out, clips) if self.clip == ALL else [out]
        save_clips([(clip_made(clip), new) for clip, new in zip(baked, files, strict=True)], rig)
        missed = [_missed(clip) for clip in baked]
        count = sum(map(len, missed))
        said = [one.result.message(int(frames[0])) for one, frames in zip(baked, missed, strict=True) if len(frames)]
        errors = {
            name: max((e for e in map(largest, given) if e is not None), default=None)
            for name, given in (
                ("position_error", [one.result.position_errors for one in baked]),
                ("angle_error", [one.result.angle_errors for one in baked]),
            )
        }
        return {
            "status": "missed" if count else "ok", "frames": sum(map(len, baked)), "missed": count, **errors,
            "solver": baked[0].result.solver, "files": list(dict.fromkeys(map(str, files))), "message": "; ".join(said),
        }  # fmt: skip


def clip_made(baked: Baked) -> Clip:
    """Build the clip to write."""
    return Clip(baked.times, baked.poses, baked.name)


def as_object(baked: Baked, out: Path | None) -> dict[str, Any]:
    """Build the JSON document of a solved clip."""
    result, missed = baked.result, _missed(baked)
    return {
        "clip": baked.name, "frames": len(baked), "reached": len(baked) - len(missed), "solver": result.solver,
        "worst_position_error": largest(result.position_errors), "worst_angle_error": largest(result.angle_errors),
        "missed": [{"frame": i, "status": str(Status(int(result.codes[i])))} for i in missed.tolist()],
        "seconds": result.seconds, "out": None if out is None else str(out),
    }  # fmt: skip


def _missed(baked: Baked) -> Ints:
    """Find the frames with missed targets."""
    return np.flatnonzero(~np.asarray(baked.result.reached))


def _say(baked: Baked) -> None:
    """Print the reached count and the first missed frames."""
    result, missed = baked.result, _missed(baked)
    say(f"{len(baked) - len(missed)} of {len(baked)} frames reached ({result.solver})")
    for i in missed[:3].tolist():
        say(f"frame {i}, {baked.times[i]:.3f} s: {result.message(i)}")
    if len(missed) > 3:  # noqa: PLR2004
        say(f"and {len(missed) - 3} more")

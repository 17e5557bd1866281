"""Stick figures of final poses, side by side. They show an easy, a median and the hardest target for each method."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.table import length_unit
from poise.comparison.report.charts import opened
from poise.comparison.report.look import Look, named
from poise.comparison.trials.runs import LEAVES, MethodRun
from poise.comparison.trials.task import Task
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.in_words import write_number
from poise.model.pose import Pose
from poise.plot.scene import Panel, prepared, projected, z_up_order
from poise.problem.goals import Orientation, Position
from poise.problem.layout import POSITION
from poise.problem.measuring.measure import point_of

_SIDE, _LEAST = 190.0, 110.0  # px, longer side of a picture and lower bound of the shorter one
_AROUND = 0.2  # margin as a share of the chain extent
_AXES = 0.13  # length of drawn rotation axes as a share of the picture
_FLOOR, _CEILING = 1e-6, 1e6  # tolerances: scores are clipped to this range
_TITLES = ("An easy target", "A middling target", "The hardest target")


class _Ended(NamedTuple):
    """Method with its run and its final pose. The pose is that for the drawn target."""

    look: Look
    run: MethodRun
    pose: Pose | None


class _Crop(NamedTuple):
    """Visible part of the projection. Holds its middle (2,), the sides of the drawing (2,) and the scale."""

    middle: Floats
    sides: Floats
    scale: float

    def at(self, points: Floats) -> Floats:
        """Convert points (..., 2) to the drawing."""
        return 0.5 * self.sides + self.scale * (points - self.middle) * [1.0, -1.0]


class _Scene(NamedTuple):
    """Shared content of the pictures of one target.

    Holds the start, the rows of the chain, the moving rows and the target.

    `target` is a point of the drawing (2,), `target_rotation` is w x y z; either may be None.
    """

    start: Panel
    chain: Ints
    moving: Ints
    crop: _Crop
    aim: Floats | None
    turns: Floats | None


def pictures(findings: Findings, shown: Sequence[Look]) -> str:
    """Draw three rows of stick figures."""
    task, runs = findings.task, [(look, look.method.main) for look in shown]
    some = [(look, run) for look, run in runs if run is not None and len(run)]
    if not some or not task.joints:
        return "<p>There are no poses to show.</p>"
    words = "Dashed: the chain in the start pose. Coloured: where the method ends. "
    words += "" if isinstance(task.goal, Orientation) else "Ring with a cross: the target. "
    words += "" if isinstance(task.goal, Position) else "Small axes: the rotation wanted, and the one reached. "
    parts = [f'<p class="muted">{words}The rest of the figure is grey, and cut where it is far from the chain.</p>']
    for title, row in zip(_TITLES, _chosen([run for _, run in some]), strict=False):
        ended = [_Ended(look, run, _pose(task, run.q[row])) for look, run in some]
        parts += [f"<h3>{title} (number {row + 1})</h3>", _pictures(task, ended, row, length_unit(findings))]
    return "".join(parts)


def _chosen(runs: Sequence[MethodRun]) -> list[int]:
    """Choose the targets of smallest, median and largest error.

    Errors are averaged over the methods; duplicates are dropped.
    """
    count = min(len(run) for run in runs)
    scores = np.array([run.scores[:count] for run in runs])
    missed = np.sum([~run.solved()[:count] for run in runs], axis=0)
    logs = np.log10(np.clip(np.nan_to_num(scores, nan=_CEILING, posinf=_CEILING), _FLOOR, _CEILING)).mean(axis=0)
    order = np.lexsort((logs, missed))
    return list(dict.fromkeys(int(order[i]) for i in (0, count // 2, count - 1)))


def _pose(task: Task, q: Floats) -> Pose | None:
    return task.problem.posed(q[None])[0] if np.isfinite(q).all() else None


def _pictures(task: Task, ended: Sequence[_Ended], row: int, unit: str) -> str:
    """Draw the poses of all methods for one target."""
    point = None if isinstance(task.goal, Orientation) else task.main.rows[row, :3]
    chain = _way(task)
    poses = [one.pose for one in ended if one.pose is not None]
    panels, scene = prepared([("", task.start), *(("", pose) for pose in poses)], point, chain)
    seen = [projected(panel.points[panel.chain]) for panel in panels]
    aim = None if scene.target is None else projected(scene.target)
    crop = _crop(np.concatenate([*seen, *([] if aim is None else [aim[None]])]))
    moving = np.array([task.start.skeleton.index(name) for name in task.joints])
    turns = None if isinstance(task.goal, Position) else task.main.rows[row, -4:]
    shared = _Scene(panels[0], panels[0].chain, moving, crop, None if aim is None else crop.at(aim), turns)
    rest, cells = iter(panels[1:]), list[str]()
    for one in ended:
        svg = _drawn(task, one, shared, None if one.pose is None else next(rest))
        left = escape(_left(task, one.run, row, unit))
        cells.append(
            f'<figure class="{one.look.style}">{svg}<figcaption>{named(one.look)}<br>{left}</figcaption></figure>'
        )
    return f'<div class="small" style="--least: 160px">{"".join(cells)}</div>'


def _way(task: Task) -> list[str]:
    """List the joints from the first moving one to the goal's. Fixed joints between them count."""
    skeleton, first = task.start.skeleton, task.start.skeleton.index(task.joints[0])
    row, found = skeleton.index(task.goal.joint), list[int]()
    while row >= 0:
        found.append(row)
        if row == first:
            break
        row = int(skeleton.parents[row])
    return [skeleton.names[row] for row in reversed(found)]


def _left(task: Task, run: MethodRun, row: int, unit: str) -> str:
    """Format the remaining error of a target."""
    errors, beyond = run.errors[row], float(run.violations[row])
    if not np.isfinite(errors).all():
        return "no answer"
    if run.solved()[row]:
        return "solved"
    if beyond > LEAVES:
        return f"a limit left by {beyond:.2g} rad or {unit}"
    units = [unit if measure.kind == POSITION else "rad" for measure in task.problem.measures]
    return f"{', '.join(f'{write_number(error, 2)} {unit}' for error, unit in zip(errors, units, strict=True))} left"


def _crop(points: Floats) -> _Crop:
    low, high = points.min(axis=0), points.max(axis=0)
    extent = high - low + 2 * _AROUND * max(float((high - low).max()), 1e-9)
    scale = _SIDE / float(extent.max())
    return _Crop(0.5 * (low + high), np.maximum(scale * extent, _LEAST), scale)


def _drawn(task: Task, one: _Ended, scene: _Scene, panel: Panel | None) -> str:
    """Draw one pose with the target.

    The body is grey; the chain is shown before and after, and the gap to the target.
    """
    shown, crop = scene.start if panel is None else panel, scene.crop
    points, before = crop.at(projected(shown.points)), crop.at(projected(scene.start.points))
    near = _inside(points, shown.bones, crop.sides) & ~np.isin(shown.bones, scene.chain).all(axis=1) & ~shown.faint
    wide, high = crop.sides.tolist()
    parts = [opened(wide, high, f"{one.look.method.name}: the pose that it ends in")]
    parts += [_bones("bone", points, shown.bones[near]), _line("was", before[scene.chain])]
    tip = points[scene.chain[-1]]
    if one.pose is not None:
        joint, tip = tip, _tip(task, one.pose, crop)
        parts += [_line("limb", points[scene.chain]), _line("limb", np.array([joint, tip]))]
        parts += [f'<circle class="joint" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in points[scene.moving]]
        if scene.turns is not None:
            parts.append(_axes("is", one.pose, one.pose.world[task.goal.joint].rotations, tip, crop))
        if scene.aim is not None:
            parts.append(_line("gap", np.array([tip, scene.aim])))
    if scene.turns is not None:
        parts.append(_axes("wanted", task.start, scene.turns, tip if scene.aim is None else scene.aim, crop))
    return "".join([*parts, "" if scene.aim is None else _mark(scene.aim), "</svg>"])


def _tip(task: Task, pose: Pose, crop: _Crop) -> Floats:
    """Project the goal's point of a pose, offset included."""
    measures = {measure.kind: measure for measure in task.problem.measures}
    if POSITION in measures:
        point = point_of(task.problem.posed(pose.q[None]), measures[POSITION], task.goal)[0]
    else:
        point = pose.world[task.goal.joint].positions
    return crop.at(projected(point[z_up_order(pose)]))


def _mark(aim: Floats) -> str:
    """Draw the target as a ring with a cross."""
    x, y = aim.tolist()
    cross = f'<path class="target" d="M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12"/>'
    return f'{cross}<circle class="target" cx="{x:.1f}" cy="{y:.1f}" r="4.2"/>'


def _axes(style: str, pose: Pose, turn: Floats, at: Floats, crop: _Crop) -> str:
    """Draw the axes of a rotation at a point. The rotation is w x y z."""
    ends = rotations.rotate(np.broadcast_to(turn, (3, 4)), np.eye(3))[:, z_up_order(pose)]
    ways = projected(ends) * [1.0, -1.0] * _AXES * float(crop.sides.max())
    path = "".join(f"M{at[0]:.1f} {at[1]:.1f}l{x:.1f} {y:.1f}" for x, y in ways)
    return f'<path class="axes {style}" d="{path}"/>'


def _inside(points: Floats, bones: Ints, sides: Floats) -> Bools:
    """Find bones with an end inside the picture."""
    within: Bools = np.asarray(((points >= 0) & (points <= sides)).all(axis=1))
    return np.asarray(within[bones.reshape(-1, 2)].any(axis=1))


def _line(style: str, points: Floats) -> str:
    return f'<path class="{style}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def _bones(style: str, points: Floats, bones: Ints) -> str:
    path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in points[bones])
    return f'<path class="{style}" d="{path}"/>' if path else ""

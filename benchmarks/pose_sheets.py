"""A sheet of tasks on one figure: front and side of each, as capsules above the floor, with what misses its bound."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pose_evaluation as evaluation
import pose_judge
import pose_tasks
from character_rigs import SIDES, Floats
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Picture

COLUMNS = 5  # tasks beside each other
WIDE, BELOW, ABOVE = 0.5, 0.2, 1.4  # of the height: half a cell, and what it shows below and above the floor
INCH, DOTS = 1.05, 80  # of the picture for half the height of a figure, and in an inch
BODY, LEFT, RIGHT, FLOOR, WANTED, FAULT = "#8FA3B0", "#D55E00", "#0072B2", "#8A6D3B", "#00A000", "#D00000"
UPPER_ARM, SHIN, FOOT = 0.025, 0.035, 0.02  # radii, shares of the height, beside those of the judge


def draw_sheet(figure: pose_tasks.Figure, tasks: Sequence[pose_tasks.Task], path: Path) -> str:
    """Solve the tasks and draw each from the front and from the left; return what is on the sheet."""
    rows = -(-len(tasks) // COLUMNS)
    wide, tall = 4 * WIDE + 0.1, BELOW + ABOVE
    picture = Picture(figsize=(2 * INCH * COLUMNS * wide, 2 * INCH * rows * tall), dpi=DOTS)
    axes = picture.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, COLUMNS * wide)
    axes.set_ylim(-rows * tall, 0.0)
    points = 72 * 2 * INCH  # of the paper for the height of a figure
    for number, task in enumerate(tasks):
        row, column = divmod(number, COLUMNS)
        pose = pose_tasks.solve_task(figure, task).pose
        found = pose_judge.judge_pose(figure, task, pose)
        posed = evaluation.Posed(figure.body, pose)
        left, base = column * wide, -row * tall - ABOVE
        for view, across in enumerate((figure.body.left, -figure.body.forward)):
            corner = np.array([left + WIDE * (1 + 2 * view), base])
            draw_view(View(axes, corner, across, points), figure, task, posed)
        axes.text(left + 0.03, -row * tall - 0.08, f"{number + 1} {task.name}", size=11, color="black")
        faults = [f"{name.partition(' [')[0]} {found[name]:.0f}" for name in list_faults(found)]
        axes.text(left + 0.03, -row * tall - 0.15, task.words, size=9, color=FLOOR)
        axes.text(left + 0.03, -row * tall - 0.2, "\n".join(faults), size=8, color=FAULT, va="top")
    picture.savefig(path)
    return f"{path}: {figure.body.name}, {len(tasks)} tasks, from the front and from the left; the left side is orange"


def list_faults(found: dict[str, Any]) -> list[str]:
    """The measures that miss their bounds."""
    bounds = pose_judge.BOUNDS | pose_judge.SEEN
    return [name for name, bound in bounds.items() if found[name] > bound]


class View(NamedTuple):
    """Where a pose is drawn: the place of its ground in the picture, the way to its right, points for the height."""

    axes: Any
    corner: Floats
    across: Floats
    points: float


def draw_view(view: View, figure: pose_tasks.Figure, task: pose_tasks.Task, posed: evaluation.Posed) -> None:
    """Draw a pose, its floor and its targets."""
    axes, corner, across, points = view
    body, height = figure.body, figure.height
    middle = (posed.at("hips") + posed.middle("Foot")) / 2
    toward = np.cross(across, body.up)

    def put(place: Floats) -> Floats:
        return corner + np.array([(place - middle) @ across, place @ body.up - figure.floor]) / height

    bones = sorted(list_bones(figure, posed), key=lambda bone: float((bone[0] + bone[1]) @ toward))
    axes.plot([corner[0] - WIDE, corner[0] + WIDE], [corner[1]] * 2, color=FLOOR, lw=1.0)
    for first, last, radius, colour in bones:
        ends = [put(first), put(last)]
        lines = LineCollection([ends], colors=colour, linewidths=2 * radius * points, alpha=0.75, capstyle="round")
        axes.add_collection(lines)
        axes.add_collection(LineCollection([ends], colors="black", linewidths=0.6))
    for target in task.targets:
        if not target.looks:
            axes.plot(*put(pose_tasks.find_place(figure, target)), "+", color=WANTED, ms=6, mew=1.2)


def list_bones(figure: pose_tasks.Figure, posed: evaluation.Posed) -> list[tuple[Floats, Floats, float, str]]:
    """Capsules of a figure: both ends, radius as a share of the height, colour."""
    radii = pose_judge.RADII
    bones: list[tuple[Floats, Floats, float, str]] = []
    for part, axis in pose_judge.list_axes(figure, posed):
        if "thigh" not in part:
            bones += [(a, b, radii[part], BODY) for a, b in pairwise(axis)]
    for side, colour in zip(SIDES, (LEFT, RIGHT), strict=True):
        names = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
        shoulder, elbow, wrist, hip, knee, ankle = (posed.at(side + name) for name in names)
        heel, ball, tip = pose_judge.find_sole(figure, posed, side).reshape(3, 2, 3).mean(axis=1)
        bones += [
            (posed.middle("UpperArm"), shoulder, UPPER_ARM, BODY), (shoulder, elbow, UPPER_ARM, colour),
            (elbow, wrist, radii["forearm"], colour),
            (wrist, pose_judge.find_knuckles(figure, posed, side), radii["hand"], colour),
            (hip, knee, radii["thigh"], colour), (knee, ankle, SHIN, colour),
            *((a, b, FOOT / 3, colour) for a, b in ((ankle, heel), (heel, ball), (ball, tip), (ankle, ball))),
        ]  # fmt: skip
    head = posed.at("head")
    face = pose_judge.rotations.rotate(posed.turned("head"), figure.body.forward)
    nose = head + 0.07 * figure.height * face
    return [*bones, (head, nose, 0.012, "#333333")]

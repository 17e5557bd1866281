"""CCD and Jacobian transpose reaching one target, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poise
from figures._classic import BONES, CLASSIC, COLOURS, LONGEST, NUMBERS, TOLERANCE
from figures._clip import Board, clip, words
from figures._rope import rope

TARGET = np.array([5.6, 3.2, 0.0])
WIDTH, HEIGHT = 640, 300
SHOWN = (*range(11), 15, 20, 30, 50, 100, 200, 500, 1000, LONGEST)  # iterations
GHOSTS = (0, 1, 2, 5, 20)  # iterations of the still
BOARDS = {name: Board(130 + 320 * i, 200, 16.5) for i, name in enumerate(CLASSIC)}


def draw(path: Path) -> None:
    """A frame for each iteration at first, then for fewer and fewer."""
    traces = {name: traced(name) for name in CLASSIC}
    longest = max(len(errors) for _, errors in traces.values()) - 1
    shown = [i for i in SHOWN if i < longest] + [longest]
    frames = [(_frame(traces, i), 0.5) for i in shown]
    frames[-1] = (frames[-1][0], 2.5)
    still = _frame(traces, longest, GHOSTS)
    titles = "".join(words(board.left + 30, 18, name, anchor="middle", bold=True) for name, board in BOARDS.items())
    about = "CCD and Jacobian transpose reach for one target"
    clip(path, frames, still, ground=titles, width=WIDTH, height=HEIGHT, about=about)


def traced(name: str) -> tuple[NUMBERS, NUMBERS]:
    """The chain (rows, bones + 1, 2) and the distance left (rows,) at the start and after each iteration."""
    goal = poise.Position("tip", TARGET)
    result = poise.solve(rope(BONES), goal, solver=CLASSIC[name], tolerance=TOLERANCE, trace=True)
    assert result.trace is not None
    return result.problem.make_pose(result.trace.q).world.positions[..., :2], result.trace.errors


def _frame(traces: dict[str, tuple[NUMBERS, NUMBERS]], iteration: int, ghosts: tuple[int, ...] = ()) -> str:
    drawn = []
    for name, (points, errors) in traces.items():
        board, last = BOARDS[name], min(iteration, len(errors) - 1)
        drawn += [board.chain(points[i], COLOURS[name], opacity=0.25) for i in ghosts if i < last]
        drawn += [board.line(points[: last + 1, -1], "#6b6b6b", 1, dash="2 2")] if last and last < 60 else []
        drawn += [board.chain(points[last], COLOURS[name]), board.cross(TARGET[:2])]
        done = f"there after {last} iterations" if last == len(errors) - 1 else f"iteration {last}"
        left = f"{errors[last]:.2f} bones left" if errors[last] > TOLERANCE else "less than 1/1000 bone left"
        middle = board.left + 30
        drawn += [
            words(middle, 274, done, anchor="middle"),
            words(middle, 291, left, anchor="middle"),
        ]
    return "".join(drawn)

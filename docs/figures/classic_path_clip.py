"""CCD and Jacobian transpose following a figure of eight, side by side."""

from __future__ import annotations

from pathlib import Path

from figures._classic import CLASSIC, COLOURS, FRAMES, following, path
from figures._clip import Board, clip, words

WIDTH, HEIGHT = 640, 280
EVERY, SECONDS = 3, 0.08  # a frame of the clip is so many frames of the path, and takes so long
GHOSTS = range(0, FRAMES, 40)  # frames of the still
BOARDS = {name: Board(160 + 320 * i, 222, 21) for i, name in enumerate(CLASSIC)}


def draw(file: Path) -> None:
    """Every third frame; the still has a few of them, paler the earlier."""
    frames = [(_frame(i), SECONDS) for i in range(0, FRAMES, EVERY)]
    about = "CCD and Jacobian transpose follow a moving target"
    clip(file, frames, _still(), ground=_ground(), width=WIDTH, height=HEIGHT, about=about)


def _ground() -> str:
    drawn = []
    for name, board in BOARDS.items():
        drawn += [board.line(path()[:, :2], "#d9d9d9", 1.5), words(board.left, 18, name, anchor="middle", bold=True)]
        largest = following(name).turns.max()
        message = f"largest joint step: {largest:.2g} degrees a frame"
        drawn.append(words(board.left, 268, message, anchor="middle"))
    return "".join(drawn)


def _frame(i: int) -> str:
    drawn: list[str] = []
    for name, board in BOARDS.items():
        drawn += [board.chain(following(name).points[i], COLOURS[name]), board.cross(path()[i, :2])]
    return "".join(drawn)


def _still() -> str:
    drawn: list[str] = []
    for name, board in BOARDS.items():
        for k, i in enumerate(GHOSTS):
            opacity = 0.2 + 0.8 * k / (len(GHOSTS) - 1)
            drawn.append(board.chain(following(name).points[i], COLOURS[name], opacity=opacity))
    return "".join(drawn)

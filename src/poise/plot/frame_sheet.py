"""Frame sheets. Each frame of a clip is drawn from several sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats, Ints
from poise.plot.scene_drawing import encode_figure, open_canvas

# frames beside each other; clips with more frames than the most are drawn with wider steps
COLUMNS, MAX_DRAWN_FRAMES, MIN_FRAME_STEP = 8, 32, 3
# [m] to either side of the hips in a cell, below and above them, at least
MIN_ASIDE_M, MIN_BELOW_M, MIN_ABOVE_M = 0.85, 1.15, 0.95
MARGIN_M = 0.05  # [m] of a cell around what is in it
PERSON_M = 1.8  # [m] that the joints of a person reach, from end to end
HEAD_M = 0.22  # [m] room for the words of a frame
LETTER_M = 0.052  # [m] width of a letter
INCH_PER_M = 1.05
BODY_COLOUR, SOURCE_COLOUR, GROUND_COLOUR, MISSED_COLOUR = "#1F2933", "#B8C0C7", "#8A6D3B", "#D00000"
LEG_COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7")
_RULE_COLOUR = "#DDDDDD"
_GROUND_SAMPLES = 171
_ABOVE_TURN_RAD, _ABOVE_RAISE_RAD = np.radians(35.0), np.radians(35.0)  # direction of the view from above


class SheetView(NamedTuple):
    """Axes (3,) to the right and up in the picture."""

    right: Floats
    up: Floats

    def project_points(self, points: Floats) -> Floats:
        """Project points (..., 3) to (..., 2)."""
        return np.stack([points @ self.right, points @ self.up], axis=-1)


class Cell(NamedTuple):
    """Room of a frame in a view [m].

    It is that to either side of the hips, below them and above them.
    """

    aside: float
    below: float
    above: float
    view_count: int = 3

    @property
    def width(self) -> float:
        """From side to side."""
        return 2 * self.aside

    @property
    def height(self) -> float:
        """All views and the words."""
        return self.view_count * (self.below + self.above) + HEAD_M

    @property
    def columns(self) -> int:
        """Frames beside each other. Of wide ones there are fewer."""
        return max(2, int(COLUMNS * MIN_ASIDE_M / self.aside))

    def place_view(self, index: int, corner: Floats) -> Floats:
        """Find where the hips (2,) of a view are in the picture."""
        down = HEAD_M + index * (self.below + self.above) + self.above
        return corner + np.array([self.aside, -down])


def choose_frames(count: int, every: int | None, part: str | None = None) -> Ints:
    """Choose the drawn frames.

    part  FIRST:LAST, or None for all; InputError where it has no frames
    """
    words = (part or ":").split(":")
    if len(words) != 2 or not all(word.isdecimal() for word in words if word):  # noqa: PLR2004
        raise InputError(f"--frames takes FIRST:LAST, not {part!r}")
    first, last = int(words[0] or 0), min(int(words[1] or count), count - 1)
    if first > last:
        raise InputError(f"--frames {part} are none of the {count} frames of this clip")
    step = max(1, every or max(MIN_FRAME_STEP, -(-(last + 1 - first) // MAX_DRAWN_FRAMES)))
    return np.arange(first, last + 1, step)


def build_views(way: Floats, size: float = 1.0) -> tuple[SheetView, SheetView, SheetView]:
    """Build the views from side, front and above.

    way   (3,) level direction in which the figure goes; z is up
    size  how many times as large as a person the figure is
    """
    up, left = np.array([0.0, 0.0, 1.0]), np.cross([0.0, 0.0, 1.0], way)
    right = np.cos(_ABOVE_TURN_RAD) * way + np.sin(_ABOVE_TURN_RAD) * left
    behind = np.cross(up, right)
    tilted = np.cos(_ABOVE_RAISE_RAD) * up + np.sin(_ABOVE_RAISE_RAD) * behind
    return SheetView(way / size, up / size), SheetView(left / size, up / size), SheetView(right / size, tilted / size)


def measure_cell(projected: Floats, view_count: int) -> Cell:
    """Measure a cell with room for points (..., 2).

    They are relative to the hips. A cell is never smaller than a walking person needs.
    """
    across, up = projected[..., 0], projected[..., 1]
    return Cell(
        max(MIN_ASIDE_M, float(abs(across).max()) + MARGIN_M),
        max(MIN_BELOW_M, float(-up.min()) + MARGIN_M),
        max(MIN_ABOVE_M, float(up.max()) + MARGIN_M),
        view_count,
    )


def render_sheet(
    file_format: str, title: str, count: int, cell: Cell, draw_frame: Callable[[Any, int, Floats], None]
) -> bytes:
    """Render a sheet to bytes of a file format, reproducibly.

    draw_frame  called with the axes, the number of the cell and its upper left corner (2,)
    """
    columns = min(cell.columns, count)
    bands = -(-count // columns)
    width, height = max(columns * cell.width, LETTER_M * len(title)), bands * cell.height + HEAD_M
    with open_canvas(INCH_PER_M * width, INCH_PER_M * height) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(-bands * cell.height, HEAD_M)
        axes.text(0.05, 0.5 * HEAD_M, title, size=9, weight="bold", va="center")
        for place in range(count):
            corner = np.array([place % columns * cell.width, -(place // columns) * cell.height])
            draw_frame(axes, place, corner)
            axes.vlines(corner[0], corner[1] - cell.height, corner[1], color=_RULE_COLOUR, lw=0.5)
        return encode_figure(figure, file_format)


def write_words(axes: Any, words: str, corner: Floats, cell: Cell, *, is_missed: bool) -> None:
    """Write the words of a frame, in red where something is missed."""
    colour = MISSED_COLOUR if is_missed else BODY_COLOUR
    words = shorten_words(words, int(cell.width / LETTER_M))
    axes.text(corner[0] + 0.05, corner[1] - 0.6 * HEAD_M, words, size=6.5, color=colour, va="center")


def shorten_words(words: str, max_letters: int) -> str:
    """Shorten words to at most so many letters."""
    return words if len(words) <= max_letters else words[: max_letters - 3].rstrip(", ") + "..."


def draw_lines(axes: Any, lines: Floats, colours: tuple[str, ...], width: float) -> None:
    """Draw lines (n, k, 2) in a colour each."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  (an extra; `open_canvas` tells how to get it)

    axes.add_collection(LineCollection(list(lines), colors=colours[: len(lines)], linewidths=width, capstyle="round"))


def draw_profiles(axes: Any, lines: Floats, middle: Floats, cell: Cell, colours: tuple[str, ...], width: float) -> None:
    """Draw ground lines (n, k, 2) of a view. What is outside of the cell is left out.

    middle  (2,) of the hips in the picture
    """
    kept = lines.copy()
    far = np.abs(kept[..., 0] - middle[0]) > cell.aside - MARGIN_M
    kept[far | (kept[..., 1] < middle[1] - cell.below) | (kept[..., 1] > middle[1] + cell.above)] = np.nan
    draw_lines(axes, kept, colours, width)


def sample_reach(cell: Cell, size: float, count: int = _GROUND_SAMPLES) -> Floats:
    """Sample distances (count, 1) across a cell."""
    reach = cell.aside - MARGIN_M
    return size * np.linspace(-reach, reach, count)[:, None]

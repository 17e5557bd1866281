"""Picture of planted feet: side view, then height and speed."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, END, HIP, Motion
from poise.ground.figure.steps import runs
from poise.ground.plant import Planted
from poise.ground.report.measures import SolePaths, speeds
from poise.ground.report.report import Report
from poise.maths.arrays import Floats, Ints
from poise.plot.scene_drawing import encode_figure, open_canvas
from poise.svg.charts import choose_range

# --- Side views: straight, or unrolled along a turning path ----------------------------------------------------------


_LEG_SPACING_M, _MAX_DRAWN_LEGS = 0.45, 14  # [m] between drawn legs, and their largest number
_IN_PLACE_DISTANCE_M = 0.3  # [m] for shorter displacements the direction of the feet is the view's
_CORNER_DISTANCE_M = 0.15  # [m] distance between path corners; smaller motion of the hips is sway
_TURN_RATIO = 1.2  # ratio of path length to displacement above which the path is unrolled
_MIN_UNROLLED_LENGTH_M = 1.0  # [m] shorter paths are never unrolled


class StraightView(NamedTuple):
    """Side view along a fixed direction (2,). `origin` (2,) is its zero; the legs of `frames` (n,) are drawn."""

    direction: Floats
    origin: Floats
    frames: Ints

    label = "along the path [m]"

    def project_points(self, points: Floats) -> Floats:
        """Project points (n, ..., 3) [m] to along and up."""
        return np.stack([(points[..., :2] - self.origin) @ self.direction, points[..., 2]], axis=-1)

    def find_ground_points(self, motion: Motion, distances: Floats) -> Floats:
        """Find ground positions (L, k, 2) on the line of each foot. They lie at the distances `distances` (k,)."""
        left_direction = np.array([-self.direction[1], self.direction[0]])
        ankles = motion.places[:, :, ANKLE, :2] - self.origin
        lateral_offsets = np.median(ankles @ left_direction, axis=0)
        return self.origin + distances[:, None] * self.direction + lateral_offsets[:, None, None] * left_direction


class UnrolledView(NamedTuple):
    """Side view along a turning path, unrolled into a line. The drawing is monotone in time.

    distances         (F,) distance along the path in every frame [m]
    corner_distances  (k,) distance along the path at its corners [m]
    corners           (k, 2) positions of the corners [m]
    angles            (k,) directions of the path at the corners [rad], unwrapped
    frames            (n,) frames with drawn legs
    """

    distances: Floats
    corner_distances: Floats
    corners: Floats
    angles: Floats
    frames: Ints

    label = "along the unrolled path [m]"

    def project_points(self, points: Floats) -> Floats:
        """Project points (n, ..., 3) [m] to along and up. The distance along the path is each frame's own."""
        distances = self.distances[self.frames]
        path_positions, path_directions = self._interpolate_path(distances)
        shape = (-1, *(1,) * (points.ndim - 2), 2)
        along_offsets = ((points[..., :2] - path_positions.reshape(shape)) * path_directions.reshape(shape)).sum(
            axis=-1
        )
        return np.stack([along_offsets + distances.reshape(shape[:-1]), points[..., 2]], axis=-1)

    def find_ground_points(self, motion: Motion, distances: Floats) -> Floats:
        """Find ground positions (L, k, 2) beside the path.

        They are offset as far as each foot, at the distances `distances` (k,).
        """
        path_positions, path_directions = self._interpolate_path(self.distances)
        offsets = motion.places[:, :, ANKLE, :2] - path_positions[:, None]
        lateral_offsets = np.median((offsets * _rotate_left(path_directions)[:, None]).sum(axis=-1), axis=0)
        path_positions, path_directions = self._interpolate_path(distances)
        return path_positions + lateral_offsets[:, None, None] * _rotate_left(path_directions)

    def _interpolate_path(self, distances: Floats) -> tuple[Floats, Floats]:
        """Interpolate positions (k, 2) and directions (k, 2) of the path.

        Beyond its ends the path is extended straight.
        """
        path_distances = np.clip(distances, 0.0, self.corner_distances[-1])
        positions = np.stack(
            [np.interp(path_distances, self.corner_distances, self.corners[:, axis]) for axis in range(2)], axis=-1
        )
        angle = np.interp(path_distances, self.corner_distances, self.angles)
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return positions + (distances - path_distances)[:, None] * directions, directions


SideView: TypeAlias = StraightView | UnrolledView


def choose_side_view(motion: Motion) -> SideView:
    """Choose the side view of a motion: straight or unrolled."""
    hips = motion.places[:, :, HIP, :2].mean(axis=1)
    corners = _find_corner_frames(hips)
    path_length = float(np.linalg.norm(np.diff(hips[corners], axis=0), axis=1).sum())
    distance = float(np.linalg.norm(hips[-1] - hips[0]))
    return (
        _build_unrolled_view(hips, corners)
        if path_length > max(_TURN_RATIO * distance, _MIN_UNROLLED_LENGTH_M)
        else _build_straight_view(motion, hips, distance)
    )


def _build_straight_view(motion: Motion, hips: Floats, distance: float) -> StraightView:
    displacement = hips[-1] - hips[0]
    if distance < _IN_PLACE_DISTANCE_M:
        displacement = (motion.places[:, :, END, :2] - motion.places[:, :, ANKLE, :2]).mean(axis=(0, 1))
    length = float(np.linalg.norm(displacement))
    direction = displacement / length if length > 0 else np.array([1.0, 0.0])
    leg_count = int(np.clip(np.ceil(distance / _LEG_SPACING_M), 1, _MAX_DRAWN_LEGS)) + 1
    return StraightView(direction, hips[0], np.unique(np.linspace(0, len(motion) - 1, leg_count).round().astype(int)))


def _find_corner_frames(hips: Floats) -> list[int]:
    """Find the frames of path corners. In each the hips (F, 2) have moved on from the corner before."""
    frames = [0]
    for frame, position in enumerate(hips):
        if np.linalg.norm(position - hips[frames[-1]]) >= _CORNER_DISTANCE_M:
            frames.append(frame)
    return frames


def _build_unrolled_view(hips: Floats, corners: list[int]) -> UnrolledView:
    positions = hips[corners]
    displacements = np.diff(positions, axis=0)
    corner_distances = np.concatenate([[0.0], np.linalg.norm(displacements, axis=1).cumsum()])
    angles = np.unwrap(np.arctan2(displacements[:, 1], displacements[:, 0]))
    angles = np.concatenate([angles[:1], 0.5 * (angles[1:] + angles[:-1]), angles[-1:]])
    distances = np.interp(np.arange(len(hips)), corners, corner_distances)
    leg_count = int(np.clip(np.ceil(corner_distances[-1] / _LEG_SPACING_M), 1, _MAX_DRAWN_LEGS)) + 1
    frames = np.searchsorted(distances, np.linspace(0.0, corner_distances[-1], leg_count)).clip(0, len(hips) - 1)
    return UnrolledView(distances, corner_distances, positions, angles, np.unique(frames))


def _rotate_left(directions: Floats) -> Floats:
    """Rotate directions (..., 2) by 90 degrees to the left."""
    return np.stack([-directions[..., 1], directions[..., 0]], axis=-1)


# --- Picture of planted feet -----------------------------------------------------------------------------------------


_LEG_COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7")  # one colour per leg
_SOLE_POINTS = ((HEEL_POINT, "heel", "#0072B2"), (BALL_POINT, "ball", "#D55E00"))
_SOURCE_COLOUR, _GROUND_COLOUR, _EARTH_COLOUR, _TEXT_COLOUR, _GRID_COLOUR = (
    "#9AA5AE",
    "#5F6B76",
    "#E4E8EB",
    "#1F2933",
    "#E4E8EB",
)
# of the picture, the side view and a chart [inch]
_FIGURE_WIDTH_IN, _MAX_VIEW_HEIGHT_IN, _CHART_HEIGHT_IN = 11.0, 4.2, 1.7
# [inch] margins for text
_HEAD_MARGIN_IN, _AXIS_MARGIN_IN, _CHART_GAP_IN, _FOOT_MARGIN_IN, _EDGE_MARGIN_IN = 0.95, 0.25, 0.6, 0.5, 0.7
_SOLE_SAMPLES = 25  # ground samples from heel to ball, and as many from ball to tip
_MIN_AXIS_RANGES = 4.0, 0.4  # smallest range of a chart's axis: heights [cm] and speeds [m/s]
_SAME_GROUND_M = 0.005  # [m] difference of the feet's ground up to which one profile is drawn


def render_feet(file_format: str, planted: Planted) -> bytes:
    """Render the picture to bytes, reproducibly."""
    report = planted.report
    view, legs = choose_side_view(report.motions[1]), report.contacts.legs
    footing = Footing(planted.terrain, planted.figure)
    lines = [_build_leg_lines(view, *pair) for pair in zip(report.motions, report.paths, strict=True)]
    lower_corner, upper_corner = _measure_extent(lines)
    scale = min(
        (_FIGURE_WIDTH_IN - 2 * _EDGE_MARGIN_IN) / (upper_corner[0] - lower_corner[0]),
        _MAX_VIEW_HEIGHT_IN / (upper_corner[1] - lower_corner[1]),
    )
    view_width, view_height = scale * (upper_corner - lower_corner)
    total_height = (
        _HEAD_MARGIN_IN
        + view_height
        + _AXIS_MARGIN_IN
        + _count_rows(legs) * 2 * (_CHART_GAP_IN + _CHART_HEIGHT_IN)
        + _FOOT_MARGIN_IN
    )
    with open_canvas(_FIGURE_WIDTH_IN, total_height) as figure:
        figure.text(
            0.5,
            1 - 0.12 / total_height,
            report.title,
            size=12,
            weight="bold",
            color=_TEXT_COLOUR,
            ha="center",
            va="top",
        )
        axes_rectangle = (
            0.5 * (_FIGURE_WIDTH_IN - view_width) / _FIGURE_WIDTH_IN,
            1 - (_HEAD_MARGIN_IN + view_height) / total_height,
            view_width / _FIGURE_WIDTH_IN,
            view_height / total_height,
        )
        axes = figure.add_axes(axes_rectangle)
        axes.set_xlim(lower_corner[0], upper_corner[0])
        axes.set_ylim(lower_corner[1], upper_corner[1])
        _draw_ground(axes, view, report.motions[1], footing, lower_corner, upper_corner)
        if isinstance(view, UnrolledView):
            _draw_underfoot(axes, view, report.paths[1].points, footing)
        _draw_legs(axes, lines, legs)
        _draw_key(figure, total_height, legs)
        for leg_index in range(len(legs)):
            _draw_charts(figure, total_height, report, leg_index)
        return encode_figure(figure, file_format)


def _count_rows(legs: tuple[str, ...]) -> int:
    """Count the rows of charts, two feet in each."""
    return (len(legs) + 1) // 2


def _build_leg_lines(view: SideView, motion: Motion, paths: SolePaths) -> Floats:
    """Build the drawn legs as lines (n, L, 6, 2). The points are hip, knee, ankle, heel, ball, tip of the sole [m]."""
    return view.project_points(np.concatenate([motion.places[:, :, :3], paths.points], axis=2)[view.frames])


def _measure_extent(lines: list[Floats]) -> tuple[Floats, Floats]:
    """Measure the corners (2,) of the side view [m]."""
    points = np.concatenate(lines).reshape(-1, 2)
    return points.min(axis=0) - np.array([0.3, 0.25]), points.max(axis=0) + np.array([0.3, 0.1])


def _draw_ground(
    axes: Any, view: SideView, motion: Motion, footing: Footing, lower_corner: Floats, upper_corner: Floats
) -> None:
    """Draw the ground profile below the path of each foot. On hills the profiles differ."""
    distances = np.linspace(lower_corner[0], upper_corner[0], 800)
    positions = view.find_ground_points(motion, distances)
    heights = footing.heights(np.concatenate([positions, np.zeros((*positions.shape[:2], 1))], axis=-1))
    axes.fill_between(distances, heights.min(axis=0), lower_corner[1] - 1.0, color=_EARTH_COLOUR, lw=0)
    for leg_index, profile in enumerate(heights):
        is_same = bool(np.ptp(heights, axis=0).max() < _SAME_GROUND_M)
        axes.plot(
            distances,
            profile,
            color=_GROUND_COLOUR if is_same else _LEG_COLOURS[leg_index % len(_LEG_COLOURS)],
            lw=1.2 if is_same else 0.8,
        )
    axes.set_ylabel("height [m]", size=8.5, color=_TEXT_COLOUR)
    axes.set_xlabel(view.label, size=8.5, color=_TEXT_COLOUR, labelpad=1)
    _style_axes(axes)


def _draw_underfoot(axes: Any, view: UnrolledView, soles: Floats, footing: Footing) -> None:
    """Draw the ground below each drawn sole (F, L, 3, 3). On a turning path it differs from the profile."""
    heel, ball, tip = np.moveaxis(soles[view.frames], 2, 0)[..., None, :]
    sole_fraction = np.linspace(0.0, 1.0, _SOLE_SAMPLES)[:, None]
    points = np.concatenate([heel + sole_fraction * (ball - heel), ball + sole_fraction * (tip - ball)], axis=2)
    points[..., 2] = footing.heights(points)
    axes.plot(
        *view.project_points(points).reshape(-1, 2 * _SOLE_SAMPLES, 2).transpose(2, 1, 0),
        color=_GROUND_COLOUR,
        lw=1.2,
        zorder=2,
    )


def _draw_legs(axes: Any, lines: list[Floats], legs: tuple[str, ...]) -> None:
    """Draw the source legs in grey, the planted legs in colour."""
    for points, width, colours in ((lines[0], 1.0, [_SOURCE_COLOUR] * len(legs)), (lines[1], 2.0, _LEG_COLOURS)):
        for leg_index in range(len(legs)):
            style = {
                "color": colours[leg_index % len(colours)],
                "lw": width,
                "solid_capstyle": "round",
                "zorder": 2 + width,
            }
            axes.plot(*points[:, leg_index].transpose(2, 1, 0), **style, solid_joinstyle="round")


def _draw_key(figure: Any, total_height: float, legs: tuple[str, ...]) -> None:
    """Draw the colour key of the legs."""
    entries = [
        ("before", _SOURCE_COLOUR),
        *((f"{leg} leg", _LEG_COLOURS[i % len(_LEG_COLOURS)]) for i, leg in enumerate(legs)),
    ]
    for i, (entry_text, colour) in enumerate(entries):
        x = 0.5 + 1.3 / _FIGURE_WIDTH_IN * (i - (len(entries) - 1) / 2)
        figure.text(x, 1 - 0.42 / total_height, entry_text, size=9, color=colour, ha="center", va="top", weight="bold")


def _draw_charts(figure: Any, total_height: float, report: Report, leg_index: int) -> None:
    """Draw height and speed of one foot. Two feet stand side by side."""
    legs, times = report.contacts.legs, report.contacts.times
    column_width = _FIGURE_WIDTH_IN / min(len(legs), 2)
    width, left_edge = (
        (column_width - _EDGE_MARGIN_IN - 0.25) / _FIGURE_WIDTH_IN,
        (leg_index % 2 * column_width + _EDGE_MARGIN_IN) / _FIGURE_WIDTH_IN,
    )
    foot_speeds = [speeds(paths)[:, leg_index] for paths in report.paths]
    heights = [100.0 * paths.heights[:, leg_index, :2] for paths in report.paths]
    charts_below = 2 * (_count_rows(legs) - 1 - leg_index // 2)  # charts
    panels = (
        ("height above the ground [cm]", heights, _MIN_AXIS_RANGES[0]),
        ("speed along it [m/s]", foot_speeds, _MIN_AXIS_RANGES[1]),
    )
    for row, (axis_title, values, min_range) in enumerate(panels):
        bottom = (_FOOT_MARGIN_IN + (charts_below + 1 - row) * (_CHART_HEIGHT_IN + _CHART_GAP_IN)) / total_height
        axes = figure.add_axes((left_edge, bottom, width, _CHART_HEIGHT_IN / total_height))
        for clip_index, style in enumerate(({"lw": 0.9, "alpha": 0.55, "ls": (0, (3, 1.5))}, {"lw": 1.5})):
            for sole_point, label, colour in _SOLE_POINTS:
                legend_label = label if clip_index else f"{label}, before"
                axes.plot(times, values[clip_index][:, sole_point], color=colour, label=legend_label, **style)
        _set_value_range(axes, values, min_range)
        _draw_contact_bars(axes, report.contacts, leg_index)
        axes.set_title(f"{legs[leg_index]} foot: {axis_title}", size=9, color=_TEXT_COLOUR, loc="left")
        if row and not charts_below:
            axes.set_xlabel("time [s]; bars: heel and ball in contact", size=8.5, color=_TEXT_COLOUR, labelpad=1)
        if row == 0 and leg_index == 0:
            legend_anchor = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.56 / total_height), "ncols": 4}
            figure.legend(*axes.get_legend_handles_labels(), fontsize=8, frameon=False, **legend_anchor)
        _style_axes(axes)


def _set_value_range(axes: Any, values: list[Floats], min_range: float) -> None:
    """Set the value range of a chart.

    The result is always shown, the source as far as it fits; else a note tells so. The bars are below.
    """
    low, high = choose_range(*values)
    centre, half_range = 0.5 * (low + high), 0.5 * max(high - low, min_range)  # avoids charts of rounding errors
    low, high = centre - 1.36 * half_range, centre + 1.44 * half_range
    axes.set_ylim(low, high)
    exceeded_sides = [
        side
        for side, is_exceeded in (("above", values[0].max() > high), ("below", values[0].min() < low))
        if is_exceeded
    ]
    if exceeded_sides:
        note = f"before: also {' and '.join(exceeded_sides)} the shown range"
        axes.text(0.995, 0.985, note, transform=axes.transAxes, size=7.5, color=_GROUND_COLOUR, ha="right", va="top",
                  bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0})  # fmt: skip


def _draw_contact_bars(axes: Any, contacts: Contacts, leg_index: int) -> None:
    """Draw contacts as bars at the bottom of a chart."""
    half_frame_s = 0.5 * float(np.median(np.diff(contacts.times))) if len(contacts.times) > 1 else 0.5
    for row, (contact_mask, (_, _, colour)) in enumerate(
        zip((contacts.heel, contacts.ball), _SOLE_POINTS, strict=True)
    ):
        for frames in runs(contact_mask[:, leg_index], contacts.times):
            start_time, end_time = contacts.times[frames[[0, -1]]] + [-half_frame_s, half_frame_s]
            axes.axvspan(start_time, end_time, 0.06 - 0.05 * row, 0.10 - 0.05 * row, color=colour, lw=0)


def _style_axes(axes: Any) -> None:
    axes.tick_params(labelsize=8, colors=_TEXT_COLOUR)
    axes.grid(color=_GRID_COLOUR, lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)

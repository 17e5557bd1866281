"""Cards of rigs, poses, clips and results."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from poise.formatting import format_count, format_number, format_size, format_time
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.notebook.cards import MAX_ROWS, Table, format_card
from poise.notebook.pictures import draw_pose, draw_poses, draw_result
from poise.solving.result import Result

_STRIP_POSES = 4  # poses side by side of a batch or a clip
_MAX_VALUE_ROWS = 6  # rows of tables beside another table


def format_rig(rig: Rig) -> str:
    """Format a rig: its pose, its numbers, joints, clips and notes."""
    skeleton = rig.skeleton
    numbers = [
        ("joints", f"{len(skeleton):,} ({_count_kinds(skeleton)})"),
        ("degrees of freedom", f"{skeleton.nv:,}"),
        ("limits", f"{sum(limit is not None for limit in skeleton.limits):,}"),
        ("up axis, unit", f"{skeleton.up or 'unknown'}, {_format_unit(skeleton)}"),
        ("skins", f"{len(rig.skins):,}"),
        ("roles of the file", f"{len(rig.humanoid):,}"),
    ]
    clips = [(clip.name, f"{len(clip):,}", format_size(clip.duration)) for clip in rig.clips[:_MAX_VALUE_ROWS]]
    return format_card(
        f"Rig {rig.path.name}" if rig.path is not None else "Rig",
        pictures=[draw_pose(rig.pose, "the rig in the pose of its file")],
        tables=[
            Table(("", ""), numbers),
            _build_joint_table(skeleton),
            Table(("clip", "frames", "seconds"), clips, frozenset({1, 2}), len(rig.clips), "clip"),
        ],
        notes=rig.notes,
    )


def format_pose(pose: Pose) -> str:
    """Format a pose with the values of its joints.

    Of a batch the first poses are drawn.
    """
    count = math.prod(pose.shape)
    if not pose.shape:
        rows = _list_joint_values(pose)
        table = Table(("joint", "kind", "value"), rows, row_count=len(_find_moving(pose.skeleton)), noun="joint")
        return format_card(_name_pose(pose), pictures=[draw_pose(pose, "the pose")], tables=[table])
    if not count:
        return format_card(_name_pose(pose), "The batch has no poses.")
    first_poses = [pose[np.unravel_index(i, pose.shape)] for i in range(min(count, _STRIP_POSES))]
    picture = draw_poses(first_poses, "the first poses of the batch", _say_rest(count))
    return format_card(f"{_name_pose(pose)}, batch of shape {pose.shape}", pictures=[picture])


def format_clip(clip: Clip) -> str:
    """Format a clip: frames spread over its time, and its numbers."""
    numbers = [
        ("frames", f"{len(clip):,}"),
        ("seconds", f"{clip.duration:.4g}"),
        ("frames per second", f"{clip.fps:.6g}"),
        ("joints", f"{len(clip.skeleton):,}"),
    ]
    title = f"{type(clip).__name__} {clip.name}".rstrip()
    if not len(clip):
        return format_card(title, "The clip has no frames.", tables=[Table(("", ""), numbers)])
    frames = np.unique(np.linspace(0, len(clip) - 1, _STRIP_POSES).round().astype(np.int64)).tolist()
    caption = f"Frames {', '.join(map(str, frames))}, from left to right"
    picture = draw_poses([clip.poses[frame] for frame in frames], "poses of the clip", caption)
    return format_card(title, pictures=[picture], tables=[Table(("", ""), numbers)])


def format_result(result: Result) -> str:
    """Format a result: picture, errors of the goals, solver and time.

    Of a batch the first problems are shown.
    """
    return _format_batch(result) if result.shape else _format_single_result(result)


def _format_single_result(result: Result) -> str:
    numbers = [
        ("status", _format_status(result)),
        ("solver", f"natural, {result.solver}" if result.natural else result.solver),
        ("iterations", f"{int(result.iterations):,}"),
        ("time", format_time(result.seconds)),
        ("joints that may move", f"{len(result.joints):,}"),
        ("largest limit violation", format_number(result.violation, 2)),
    ]
    moved_inside = result.moved_inside
    notes = [f"The start was outside the limits of {', '.join(moved_inside[:MAX_ROWS])}."] if moved_inside else []
    return format_card(
        "Result",
        result.message(),
        pictures=[draw_result(result)],
        tables=[_build_goal_table(result), Table(("", ""), numbers)],
        notes=notes,
    )


def _build_goal_table(result: Result) -> Table:
    position_errors, angle_errors = result.position_errors.tolist(), result.angle_errors.tolist()
    rows = [
        (
            type(goal).__name__,
            str(getattr(goal, "joint", "")),
            "" if math.isnan(distance) else result.length(distance),
            "" if math.isnan(angle) else _format_angle(angle),
        )
        for goal, distance, angle in list(zip(result.goals, position_errors, angle_errors, strict=True))[:MAX_ROWS]
    ]
    headings = ("goal", "joint", "distance left", "angle left")
    return Table(headings, rows, frozenset({2, 3}), len(result.goals), "goal")


def _format_batch(result: Result) -> str:
    count, reached = math.prod(result.shape), np.ravel(result.reached)
    first_results = [result[np.unravel_index(i, result.shape)] for i in range(min(count, MAX_ROWS))]
    rows = [
        (f"{i}", _format_status(single), _format_error(single), f"{int(single.iterations):,}")
        for i, single in enumerate(first_results)
    ]
    table = Table(("problem", "status", "error", "iterations"), rows, frozenset({0, 2, 3}), count, "problem")
    summary = f"{int(reached.sum()):,} of {count:,} reached, {format_time(result.seconds / max(count, 1))} each"
    missed_rows = np.flatnonzero(~reached)[:1].tolist()
    notes = [f"The first missed is problem {row:,}: {result.message(row)}" for row in missed_rows]
    first_poses = [single.pose for single in first_results[:_STRIP_POSES]]
    pictures = [draw_poses(first_poses, "the first poses of the batch", _say_rest(count))] if count else []
    title = f"Results of shape {result.shape}"
    return format_card(title, f"{summary} ({result.solver})", pictures=pictures, tables=[table], notes=notes)


def _format_status(result: Result) -> str:
    return str(result.status).replace("_", " ")


def _format_error(result: Result) -> str:
    """Format the largest distance left. It is the largest angle where no goal has a position."""
    has_distance = not np.isnan(result.position_errors).all()
    return result.length(result.error) if has_distance else _format_angle(result.error)


def _format_angle(angle_rad: float) -> str:
    return f"{format_number(math.degrees(angle_rad), 3)}\N{DEGREE SIGN}"


def _say_rest(count: int) -> str:
    """Say how many poses of a batch are not drawn."""
    hidden_count = count - _STRIP_POSES
    return f"The first {_STRIP_POSES}; {format_count(hidden_count, 'more pose')}" if hidden_count > 0 else ""


def _build_joint_table(skeleton: Skeleton) -> Table:
    rows = [
        (
            skeleton.names[i],
            Kind(int(skeleton.kinds[i])).name.lower(),
            skeleton.names[parent] if (parent := int(skeleton.parents[i])) >= 0 else "",
            _format_limit(skeleton, i),
        )
        for i in range(min(len(skeleton), _MAX_VALUE_ROWS))
    ]
    return Table(("joint", "kind", "parent", "limit"), rows, row_count=len(skeleton), noun="joint")


def _format_limit(skeleton: Skeleton, joint_index: int) -> str:
    """Format the ends of a range, or the name of another limit."""
    limit = skeleton.limits[joint_index]
    if not isinstance(limit, Range):
        return "" if limit is None else type(limit).__name__
    has_angles = skeleton.kinds[joint_index] != Kind.SLIDE
    ends = [_format_angle(end) if has_angles else format_number(end, 3) for end in (limit.low, limit.high)]
    return " to ".join(ends)


def _list_joint_values(pose: Pose) -> list[tuple[str, str, str]]:
    skeleton = pose.skeleton
    rows: list[tuple[str, str, str]] = []
    for i in _find_moving(skeleton)[:MAX_ROWS].tolist():
        kind, values = Kind(int(skeleton.kinds[i])), pose.q[skeleton.q_slice(skeleton.names[i])]
        rows.append((skeleton.names[i], kind.name.lower(), _format_value(kind, values)))
    return rows


def _format_value(kind: Kind, values: Floats) -> str:
    if kind == Kind.HINGE:
        return _format_angle(float(values[0]))
    return ", ".join(format_number(float(value), 4) for value in values)


def _find_moving(skeleton: Skeleton) -> Ints:
    return np.flatnonzero(skeleton.kinds != Kind.FIXED)


def _count_kinds(skeleton: Skeleton) -> str:
    counts = Counter(Kind(int(kind)).name.lower() for kind in skeleton.kinds)
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _format_unit(skeleton: Skeleton) -> str:
    metres = skeleton.metres_per_unit
    return "unknown" if metres is None else f"{metres:g} m"


def _name_pose(pose: Pose) -> str:
    return f"Pose of {format_count(len(pose.skeleton), 'joint')}"

"""Write poses, batches and clips as joint values, JSON or CSV.

JSON   {"joints": {name: value}}; a batch {"poses": [{name: value}, ...]}; a clip also has "times" [s]
CSV    a header and a row per pose; a column per number: `name` (hinge, slide), `name.w` to `name.z` (ball),
       `name.px` `name.py` `name.pz` and `name.w` to `name.z` (free); a clip begins with the column `time`

A hinge has radians, a slide file units, a ball a quaternion w x y z relative to rest, a free joint x y z and
a quaternion. Fixed joints have no value; a coupled joint has its computed value. `poise.load_values` reads these files
(`io/joint_value_reader.py`), because it needs the skeleton.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError, join_names
from poise.io.files import write_checked
from poise.io.joint_value_columns import (
    check_no_local_offsets,
    compute_joint_numbers,
    list_columns,
    list_movable_joints,
)
from poise.io.joint_value_reader import parse_values
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

NAME = "joint values"
SUFFIXES = (".json", ".csv")
HAS_SINGLE_CLIP = True
UNSUPPORTED_HINT = "their numbers need a skeleton: poise.load_values(FILE, rig.skeleton)"


def write(content: Saveable, path: Path, source_skeleton: Skeleton) -> None:  # noqa: ARG001  (required by the protocol; there is no document to keep)
    """Write the joint values of a pose, batch, clip or rig.

    UnsupportedError for a pose with translations or scales of single joints (these are not joint values) and for a rig
    with clips: save one of them.
    """
    if isinstance(content, Rig):
        if content.clips:
            names = join_names(repr(clip.name) for clip in content.clips)
            message = f"this rig has clips; save one of them, rig.clip(NAME), or a pose, rig.rest; clips: {names}"
            raise UnsupportedError(message)
        content = content.pose
    poses, times = (content.poses, content.times) if isinstance(content, Clip) else (content, None)
    check_no_local_offsets(poses)
    text = _format_csv(poses, times) if path.suffix.lower() == ".csv" else _format_json(poses, times)
    write_checked(path, text.encode(), lambda path, data: parse_values(path, data, poses.skeleton))


def _format_json(poses: Pose, times: Floats | None) -> str:
    skeleton = poses.skeleton
    numbers, joint_columns = compute_joint_numbers(skeleton, poses.q), _list_joint_columns(skeleton)
    if times is None and not poses.shape:
        named_values = _name_values(joint_columns, numbers)
        return json.dumps({"joints": named_values}, indent=2, ensure_ascii=False) + "\n"
    flat_numbers = numbers.reshape(math.prod(poses.shape), numbers.shape[-1])
    document: dict[str, object] = {} if times is None else {"times": times.tolist()}
    document["poses"] = [_name_values(joint_columns, pose_numbers) for pose_numbers in flat_numbers]
    return json.dumps(document, indent=None, ensure_ascii=False) + "\n"


class _JointColumns(NamedTuple):
    """Name of a joint and the range of its columns."""

    joint_name: str
    start: int
    end: int


def _list_joint_columns(skeleton: Skeleton) -> list[_JointColumns]:
    """List each movable joint's name and columns."""
    joint_columns: list[_JointColumns] = []
    start_column = 0
    for row, value_count in list_movable_joints(skeleton):
        joint_columns.append(_JointColumns(skeleton.names[row], start_column, start_column + value_count))
        start_column += value_count
    return joint_columns


def _name_values(joint_columns: list[_JointColumns], pose_numbers: Floats) -> dict[str, float | list[float]]:
    numbers = pose_numbers.tolist()
    return {name: numbers[start] if end - start == 1 else numbers[start:end] for name, start, end in joint_columns}


def _format_csv(poses: Pose, times: Floats | None) -> str:
    columns = list_columns(poses.skeleton)
    header = columns if times is None else ["time", *columns]
    duplicates = sorted(column for column, count in Counter(header).items() if count > 1)
    if duplicates:
        message = f"two columns would have the same name: {join_names(duplicates)}; save to a .json file"
        raise UnsupportedError(message)
    numbers = compute_joint_numbers(poses.skeleton, poses.q).reshape(math.prod(poses.shape), len(columns))
    rows = numbers if times is None else np.column_stack([times, numbers])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows.tolist())
    return file.getvalue()

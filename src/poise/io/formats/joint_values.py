"""Joint values as JSON or CSV: poses, batches and clips.

JSON   {"joints": {name: value}}; a batch {"poses": [{name: value}, ...]}; a clip also has "times" [s]
CSV    a header and a row per pose; a column per number: `name` (hinge, slide), `name.w` to `name.z` (ball),
       `name.px` `name.py` `name.pz` and `name.w` to `name.z` (free); a clip begins with the column `time`

A hinge has radians, a slide file units, a ball a quaternion w x y z relative to rest, a free joint x y z and
a quaternion. Fixed joints have no value; a coupled joint has its computed value.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np

from poise.errors import UnsupportedError, join_names
from poise.io import joint_values
from poise.io.files import write_checked
from poise.io.joint_values import load_values as load_values
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
    joint_values.check_no_local_offsets(poses)
    text = _format_csv(poses, times) if path.suffix.lower() == ".csv" else _format_json(poses, times)
    write_checked(path, text.encode(), lambda path, data: joint_values.parse_values(path, data, poses.skeleton))


def _format_json(poses: Pose, times: Floats | None) -> str:
    skeleton = poses.skeleton
    numbers = joint_values.compute_joint_numbers(skeleton, poses.q)
    if times is None and not poses.shape:
        return json.dumps({"joints": _name_values(_list_spans(skeleton), numbers)}, indent=2, ensure_ascii=False) + "\n"
    flat_numbers = numbers.reshape(math.prod(poses.shape), numbers.shape[-1])
    document: dict[str, object] = {} if times is None else {"times": times.tolist()}
    spans = _list_spans(skeleton)
    document["poses"] = [_name_values(spans, row) for row in flat_numbers]
    return json.dumps(document, indent=None, ensure_ascii=False) + "\n"


def _list_spans(skeleton: Skeleton) -> list[tuple[str, int, int]]:
    """List each movable joint's name and number range."""
    spans: list[tuple[str, int, int]] = []
    start_column = 0
    for i, value_count in joint_values.list_movable_joints(skeleton):
        spans.append((skeleton.names[i], start_column, start_column + value_count))
        start_column += value_count
    return spans


def _name_values(spans: list[tuple[str, int, int]], pose_numbers: Floats) -> dict[str, float | list[float]]:
    numbers = pose_numbers.tolist()
    return {name: numbers[start] if end - start == 1 else numbers[start:end] for name, start, end in spans}


def _format_csv(poses: Pose, times: Floats | None) -> str:
    columns = joint_values.list_columns(poses.skeleton)
    header = columns if times is None else ["time", *columns]
    duplicates = sorted(column for column, count in Counter(header).items() if count > 1)
    if duplicates:
        message = f"two columns would have the same name: {join_names(duplicates)}; save to a .json file"
        raise UnsupportedError(message)
    numbers = joint_values.compute_joint_numbers(poses.skeleton, poses.q).reshape(math.prod(poses.shape), len(columns))
    rows = numbers if times is None else np.column_stack([times, numbers])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows.tolist())
    return file.getvalue()

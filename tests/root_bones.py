"""BVH files of figures with a root bone above the hips, made from other BVH files."""

from __future__ import annotations

from typing import Literal

Channels = Literal["each", "root and hips", "hips"]
_POSITIONS = "Xposition Yposition Zposition"
ROOT_BONE = "RootBone"


def add_root_bone(text: str, channels: Channels = "each", *, frames: int | None = None) -> str:
    """Write a BVH file with a root bone on the ground, above its own root, the hips.

    Parameters
    ----------
    text
        A BVH file with one root that has six channels.
    channels
        Which joints have position channels: each joint, as some exporters write them; the root bone and the hips; or
        the hips alone, so that the root bone turns only. The positions of joints below the hips are their offsets.
    frames
        How many of the first frames are kept; None for all.
    """
    hierarchy, motion = text.split("MOTION", 1)
    lines: list[str] = []
    columns: list[list[str] | int] = []  # numbers that are added to a row, or how many of its own come next
    offset: list[str] = []
    for line in hierarchy.splitlines()[1:]:
        words = line.split()
        if words[:1] == ["OFFSET"]:
            offset = words[1:4]
        elif words[:1] == ["CHANNELS"] and "position" not in line and channels == "each":
            line = f"CHANNELS {3 + int(words[1])} {_POSITIONS} {' '.join(words[2:])}"  # noqa: PLW2901
            columns += [offset]
        elif words[:1] == ["ROOT"]:
            line = line.replace("ROOT", "JOINT", 1)  # noqa: PLW2901
        columns += [int(words[1])] if words[:1] == ["CHANNELS"] else []
        lines.append(line)
    root_channels = "Zrotation Xrotation Yrotation"
    root_channels = f"3 {root_channels}" if channels == "hips" else f"6 {_POSITIONS} {root_channels}"
    head = ["HIERARCHY", f"ROOT {ROOT_BONE}", "{", "OFFSET 0 0 0", f"CHANNELS {root_channels}", *lines, "}"]
    count_line, time_line, *rows = motion.strip().splitlines()
    rows = rows[:frames]
    count_line = f"Frames: {len(rows)}" if frames is not None else count_line
    still = ["0"] * int(root_channels[0])
    return "\n".join(
        [*head, "MOTION", count_line, time_line, *[_widen(row.split(), still, columns) for row in rows], ""]
    )


def _widen(values: list[str], still: list[str], columns: list[list[str] | int]) -> str:
    """Insert the constant numbers into a row of channel values."""
    found, start = list(still), 0
    for part in columns:
        if isinstance(part, int):
            found += values[start : start + part]
            start += part
        else:
            found += part
    return " ".join(found)

"""Removal of an added free root before a file is written. The nodes or channels of the formats hold its position."""

from __future__ import annotations

from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind


def strip_free_root(content: Saveable) -> Saveable:
    """Strip an added free root before writing.

    The position of a ball joint that was freed becomes a translation; a robot's base stays free.
    """
    freed = content.skeleton.freed
    if freed is None or freed.former_kind == Kind.FIXED:
        return content
    skeleton = content.skeleton.without_free_root
    return content.with_skeleton(skeleton) if isinstance(content, Rig) else content.on(skeleton)

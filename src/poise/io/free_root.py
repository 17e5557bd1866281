"""Export of characters with a free root. The nodes or channels of the formats hold its position."""

from __future__ import annotations

from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind


def strip_free_root(thing: Saveable) -> Saveable:
    """Strip an added free root before writing.

    The position of a ball joint that was freed becomes a translation; a robot's base stays free.
    """
    freed = thing.skeleton.freed
    if freed is None or freed.kind == Kind.FIXED:
        return thing
    bound = thing.skeleton.bound
    return thing.with_skeleton(bound) if isinstance(thing, Rig) else thing.on(bound)

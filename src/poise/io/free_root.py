"""Figures with a free root in files whose nodes and channels hold its place themselves."""

from __future__ import annotations

from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Kind


def without_free_root(thing: Saveable) -> Saveable:
    """The same thing, the place of a ball that was made free among its translations; a robot's base stays free."""
    freed = thing.skeleton.freed
    if freed is None or freed.kind == Kind.FIXED:
        return thing
    bound = thing.skeleton.bound
    return thing.with_skeleton(bound) if isinstance(thing, Rig) else thing.on(bound)

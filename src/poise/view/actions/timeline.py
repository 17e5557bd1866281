"""Which clip plays, on which ground, with planted feet or not."""

from __future__ import annotations

from typing import Any

from poise.errors import InputError, UnsupportedError
from poise.humanoid import humanoid
from poise.view.actions.targets import grounded
from poise.view.document import Document
from poise.view.landscape import OFFERED, land_of
from poise.view.protocol import text_or_none, truth


def clip(document: Document, args: dict[str, Any]) -> Document:
    """Play a clip as it is, its chains switched off: their targets are those of another pose. Null: none."""
    name = text_or_none(args, "name")
    if name is None:
        return document.but(clip=None, plant=False)
    document.rig.clip(name)
    return document.but(clip=name, chains=tuple(chain.but(enabled=False) for chain in document.chains))


def plant(document: Document, args: dict[str, Any]) -> Document:
    """Put the feet of the clip on the ground, or play it as it is."""
    on = truth(args, "on")
    if on and document.clip is None:
        raise InputError("there is no clip whose feet could be planted: choose one first")
    if on and not humanoid(document.rig).legs:
        raise UnsupportedError(
            "this skeleton has no legs that can be told: name them in the sidecar's [humanoid] table"
        )
    return document.but(plant=on, terrain=document.terrain or ("flat" if on else None))


def terrain(document: Document, args: dict[str, Any]) -> Document:
    """Show other ground; null: none. A page names shapes only: files are named where the viewer is started."""
    words = text_or_none(args, "words")
    known = sorted({offered.partition(":")[0] for offered, _ in OFFERED})
    if words is not None and words != document.terrain and words.partition(":")[0] not in known:
        raise InputError(f"ground is one of {', '.join(known)} with its numbers, not {words!r}; files: --terrain FILE")
    if words is not None:
        land_of(document.rig, words)
    changed = document.but(terrain=words, plant=document.plant and words is not None)
    return changed.but(chains=tuple(grounded(changed, chain) for chain in changed.chains))

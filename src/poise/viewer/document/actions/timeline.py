"""Choose clip, terrain and foot planting."""

from __future__ import annotations

import math
from typing import Any

from poise.errors import InputError, UnsupportedError
from poise.model.roles import humanoid
from poise.viewer.document.actions.targets import grounded
from poise.viewer.document.document import Document
from poise.viewer.document.landscape import OFFERED, ground_mesh
from poise.viewer.protocol import text_or_none, truth

_LARGEST = 1e4  # [m or degrees] largest number in a terrain specification of the page


def clip(document: Document, args: dict[str, Any]) -> Document:
    """Play a clip with its chains switched off. The targets belong to another pose. Null: none."""
    name = text_or_none(args, "name")
    if name is None:
        return document.but(clip=None, plant=False)
    document.rig.clip(name)
    return document.but(clip=name, chains=tuple(chain.but(enabled=False) for chain in document.chains))


def plant(document: Document, args: dict[str, Any]) -> Document:
    """Switch foot planting for the clip on or off."""
    on = truth(args, "on")
    if on and document.clip is None:
        raise InputError("there is no clip whose feet could be planted: choose one first")
    roles = humanoid(document.rig) if on else None
    if roles is not None and not (roles.legs or roles.apart):
        raise UnsupportedError(
            "this skeleton has no legs that can be told: name them in the sidecar's [humanoid] table"
        )
    return document.but(plant=on, terrain=document.terrain or ("flat" if on else None))


def terrain(document: Document, args: dict[str, Any]) -> Document:
    """Choose a terrain, or none with null.

    The page may name shapes only; files are named when the viewer is started.
    """
    words = text_or_none(args, "words")
    if words is not None and words != document.terrain:
        _check_shape(words)
        ground_mesh(document.rig, words, document.started)  # raises for terrain that cannot be drawn
    changed = document.but(terrain=words, plant=document.plant and words is not None)
    return changed.but(chains=tuple(grounded(changed, chain) for chain in changed.chains))


def _check_shape(words: str) -> None:
    """Raise InputError for anything but a known shape with numbers.

    A specification of the page never leads to a file.
    """
    known = [offered.partition(":")[0] for offered, _ in OFFERED]
    name, _, numbers = words.replace("@", ",").partition(":")
    if name not in known or (name == "hills" and words != name):
        raise InputError(f"ground is one of {', '.join(known)} with its numbers, not {words!r}; files: --terrain FILE")
    if any(abs(number) > _LARGEST for number in map(float, filter(_is_number, numbers.split(",")))):
        raise InputError(f"the numbers of a ground are metres and degrees, at most {_LARGEST:g}, not {words!r}")


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False

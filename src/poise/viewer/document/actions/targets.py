"""Move targets, poles and handles."""

from __future__ import annotations

import dataclasses
from typing import Any

from poise.errors import InputError, UnknownNameError
from poise.viewer.document.chains import ChainTarget
from poise.viewer.document.document import Document
from poise.viewer.document.landscape import land_of
from poise.viewer.protocol import quaternion, text, vector


def target(document: Document, args: dict[str, Any]) -> Document:
    """Move or rotate the target of a chain. A target of a chain with `ground` stays on the terrain."""
    chain = document.chain(text(args, "chain"))
    changes: dict[str, Any] = {}
    if "position" in args:
        changes["position"] = vector(args, "position")
    if "rotation" in args:
        changes["rotation"] = quaternion(args, "rotation")
    if "direction" in args:
        changes["direction"] = vector(args, "direction")
        if not any(changes["direction"]):
            raise InputError("direction has zero length")
    return document.with_chain(grounded(document, chain.but(**changes)))


def grounded(document: Document, chain: ChainTarget) -> ChainTarget:
    """Place the target of a chain on the terrain. It keeps the height that the tip has above the floor at rest."""
    if not chain.ground or document.terrain is None:
        return chain
    land = land_of(document.rig, document.terrain)
    rest = document.rig.rest.world[chain.tip].positions[land.up]
    return chain.but(position=land.put_on(chain.position, float(rest) - land.floor))


def pole(document: Document, args: dict[str, Any]) -> Document:
    """Set or, with null, remove the pole of a limb."""
    chain = document.chain(text(args, "chain"))
    if args.get("position") is None:
        return document.with_chain(chain.but(pole=None))
    chain.bends(document.skeleton)
    return document.with_chain(chain.but(pole=vector(args, "position")))


def handle(document: Document, args: dict[str, Any]) -> Document:
    """Move a handle of a program."""
    name = text(args, "name")
    if name not in [one.name for one in document.handles]:
        raise UnknownNameError("handle", name, [one.name for one in document.handles])
    changes: dict[str, Any] = {"position": vector(args, "position")}
    if "rotation" in args:
        changes["rotation"] = quaternion(args, "rotation")
    moved = tuple(dataclasses.replace(one, **changes) if one.name == name else one for one in document.handles)
    return document.but(handles=moved)

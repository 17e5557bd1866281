"""Add, change and remove chains and pins."""

from __future__ import annotations

from typing import Any

from poise.errors import InputError
from poise.model.limits import unit_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.viewer.document.actions.targets import grounded
from poise.viewer.document.chains import KINDS, ChainTarget, chain_of
from poise.viewer.document.document import Document
from poise.viewer.protocol import number, one_of, text, text_or_none, truth, vector

_MOST = 64  # chains of a document: more than any rig has limbs


def add(document: Document, args: dict[str, Any], shown: Pose) -> Document:
    """Add a chain from a root to a tip. A root of null means the limb's own; the target starts at the tip."""
    kind = one_of({"kind": "position", **args}, "kind", KINDS)
    return _with(document, shown, text(args, "tip"), text_or_none(args, "root"), kind)


def _with(document: Document, shown: Pose, tip: str, root: str | None, kind: Any, name: str | None = None) -> Document:
    if len(document.chains) >= _MOST:
        raise InputError(f"there are {_MOST} chains already; remove one first")
    made = chain_of(shown, _unused(document, name or tip), root, tip, kind)
    joints = made.joints(document.skeleton)
    if all(document.skeleton[joint].kind == Kind.FIXED for joint in joints[:-1]):
        raise InputError(f"nothing above {made.tip!r} can move; choose a joint further down the limb as its tip")
    return document.but(chains=(*document.chains, made))


def _unused(document: Document, name: str) -> str:
    taken = {chain.id for chain in document.chains}
    numbered = (f"{name} {i}" for i in range(2, _MOST + 3))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def remove(document: Document, args: dict[str, Any]) -> Document:
    """Remove a chain."""
    gone = document.chain(text(args, "chain"))
    return document.but(chains=tuple(chain for chain in document.chains if chain.id != gone.id))


def change(document: Document, args: dict[str, Any], shown: Pose) -> Document:
    """Change kind, root, weight or other settings of a chain."""
    chain = document.chain(text(args, "chain"))
    changes: dict[str, Any] = {}
    if "kind" in args:
        changes["kind"] = one_of(args, "kind", KINDS)
    if "enabled" in args:
        changes["enabled"] = truth(args, "enabled")
    if "ground" in args:
        changes["ground"] = truth(args, "ground")
    if "weight" in args:
        changes["weight"] = number(args, "weight", 1e-6, 1e6)
    if "axis" in args:
        changes["axis"] = unit_axis(vector(args, "axis"))
    if "root" in args:
        changes["root"] = text_or_none(args, "root")
        document.skeleton.chain(changes["root"], chain.tip)
    return document.with_chain(grounded(document, _placed(shown, chain, chain.but(**changes))))


def _placed(shown: Pose, before: ChainTarget, after: ChainTarget) -> ChainTarget:
    """Initialise the target of a chain with a changed kind. A pin holds the joint at its current position."""
    if after.kind == before.kind:
        return after
    there = chain_of(shown, after.id, after.root, after.tip, axis=after.axis)
    position = there.position if after.kind == "pin" else after.position
    return after.but(position=position, rotation=there.rotation, direction=there.direction)


def pin(document: Document, args: dict[str, Any], shown: Pose) -> Document:
    """Pin or unpin a joint at its current position."""
    joint = document.skeleton.names[document.skeleton.index(text(args, "joint"))]
    held = next((chain for chain in document.chains if chain.tip == joint and chain.kind == "pin"), None)
    if not truth(args, "on"):
        return document if held is None else remove(document, {"chain": held.id})
    return document if held is not None else _with(document, shown, joint, None, "pin", f"pin {joint}")

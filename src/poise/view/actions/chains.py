"""Chains that are added, changed and removed; pins."""

from __future__ import annotations

from typing import Any

from poise.errors import InputError
from poise.skeleton import Kind
from poise.view.actions.targets import grounded
from poise.view.chains import KINDS, Chain, chain_of
from poise.view.document import Document
from poise.view.protocol import number, one_of, text, text_or_none, truth

_MOST = 64  # chains: more than any rig has limbs


def add(document: Document, args: dict[str, Any]) -> Document:
    """Add a chain from a root (null: the limb's own) to a tip; its target is where the start pose has the tip."""
    kind = one_of({"kind": "position", **args}, "kind", KINDS)
    return _with(document, text(args, "tip"), text_or_none(args, "root"), kind)


def _with(document: Document, tip: str, root: str | None, kind: Any, name: str | None = None) -> Document:
    if len(document.chains) >= _MOST:
        raise InputError(f"there are {_MOST} chains already; remove one first")
    made = chain_of(document.started, _unused(document, name or tip), root, tip, kind)
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


def change(document: Document, args: dict[str, Any]) -> Document:
    """Change what a chain wants, its first joint, its weight, or switch it on and off."""
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
    if "root" in args:
        changes["root"] = text_or_none(args, "root")
        document.skeleton.chain(changes["root"], chain.tip)
    return document.with_chain(grounded(document, _placed(document, chain, chain.but(**changes))))


def _placed(document: Document, before: Chain, after: Chain) -> Chain:
    """A pin holds the joint where the start pose has it, wherever the target was."""
    if after.kind != "pin" or before.kind == "pin":
        return after
    there = chain_of(document.started, after.id, after.root, after.tip)
    return after.but(position=there.position, rotation=there.rotation)


def pin(document: Document, args: dict[str, Any]) -> Document:
    """Pin a joint where the start pose has it, or let it go."""
    joint = document.skeleton.names[document.skeleton.index(text(args, "joint"))]
    held = next((chain for chain in document.chains if chain.tip == joint and chain.kind == "pin"), None)
    if not truth(args, "on"):
        return document if held is None else remove(document, {"chain": held.id})
    return document if held is not None else _with(document, joint, None, "pin", f"pin {joint}")

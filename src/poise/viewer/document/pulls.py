"""Actions on a whole body: pull a part, or pin it.

    press on a part -> pull_part() -> the chain `pull` (a point of that part at a target) -> the solver, root free

One part is pulled at a time. Its target stays where it was let go, until another part is pulled.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from poise.errors import InputError
from poise.model.pose import Pose
from poise.problem.goal_interface import ORIGIN
from poise.viewer.body_parts import is_of_limb
from poise.viewer.document.chains import TargetedChain, build_chain, to_vector
from poise.viewer.document.document import SCOPES, Document, PullScope, build_scope
from poise.viewer.document.whole_body import (
    LOOK_NAME,
    PIN_WEIGHT,
    build_pin,
    clamp_gaze,
    find_gaze_axes,
    find_root,
)
from poise.viewer.protocol import read_choice, read_quaternion, read_text, read_vector

PULL_NAME = "pull"
_GAZE_BACK_SHARE, _GAZE_END_RAD = 0.22, math.radians(6.0)  # a share for each pose, until it is nearly straight ahead
PULLED_PIN_WEIGHT = 1.0  # a pinned foot that is pulled gives way, so that the other one stands


def switch_scope(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Choose what a drag moves: parts, limbs, or chains as they are.

    New chains are off while a clip plays.
    """
    scope = read_choice(args, "value", SCOPES)
    if scope in ("chains", document.scope):
        return document.replace(scope=scope)
    document = document.replace(**build_scope(document.rig, displayed_pose, cast("PullScope", scope)))
    return document if document.clip_name is None else document.with_chains_off()


def restore_body(document: Document) -> Document:
    """Return the document with its pins at the start pose.

    Nothing is pulled then.
    """
    return _place_pins(release_pull(document, document.start), document.start)


def _place_pins(document: Document, pose: Pose) -> Document:
    """Return the document with all pins on.

    They hold their joints where a pose has them.
    """
    chains = tuple(
        chain.replace(enabled=True).with_target_at(pose) if chain.kind == "pin" else chain for chain in document.chains
    )
    return document.replace(chains=chains)


def pull_part(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Pull a point of a joint, or turn the joint.

    The first move begins from the displayed pose.
    """
    joint = document.skeleton.names[document.skeleton.index(read_text(args, "joint"))]
    if document.is_driven:
        raise InputError("a program shows the poses: there is nothing to pull")
    is_turned = "rotation" in args
    pulled = find_pulled(document)
    if args.get("phase", "start") == "start" or pulled is None or not _is_moved_on(pulled, joint, is_turned=is_turned):
        offset = ORIGIN if is_turned or "offset" not in args else read_vector(args, "offset")
        document, pulled = _begin_pull(document, displayed_pose, joint, offset, is_turned=is_turned)
    rotation = read_quaternion(args, "rotation") if is_turned else pulled.rotation
    pulled = pulled.replace(position=read_vector(args, "position"), rotation=rotation)
    return _let_head_look(document.with_chain(pulled), displayed_pose)


def _is_moved_on(pulled: TargetedChain, joint: str, *, is_turned: bool) -> bool:
    """Return whether a move of a joint continues what is pulled. A turned joint is held at its own place."""
    if pulled.kind == "pin" and is_turned:
        return pulled.tip == joint and pulled.offset == ORIGIN
    return pulled.tip == joint and (pulled.kind == "pin" or is_turned == (pulled.kind == "place"))


def _begin_pull(
    document: Document, displayed_pose: Pose, joint: str, offset: tuple[float, float, float], *, is_turned: bool
) -> tuple[Document, TargetedChain]:
    """Release the previous part, and hold this one at its place."""
    document = _leave_clip(release_pull(document, displayed_pose), displayed_pose)
    pin = find_pin(document, joint)
    if pin is not None and pin.enabled:
        pulled = pin.replace(offset=offset, weight=PULLED_PIN_WEIGHT).with_target_at(displayed_pose)
        return document.replace(pulled=pulled.name).with_chain(pulled), pulled
    root = find_root(document.skeleton, joint) if document.free_root else None
    kind = "place" if is_turned else "position"
    pulled = build_chain(displayed_pose, PULL_NAME, root, joint, kind, offset=offset, pull=document.pull_share)
    document = document.with_new_chain(pulled)
    pulled = document.chains[-1]
    return document.replace(pulled=pulled.name), pulled


def _leave_clip(document: Document, displayed_pose: Pose) -> Document:
    """Return the document without its clip. The displayed pose is the start."""
    if document.clip_name is None:
        return document
    return _place_pins(document, displayed_pose).replace(clip_name=None, plants_feet=False, start=displayed_pose)


def release_pull(document: Document, displayed_pose: Pose) -> Document:
    """Return the document with nothing pulled. A pin that was pulled holds where the joint is now."""
    pulled = find_pulled(document)
    document = document.replace(pulled=None)
    if pulled is None:
        return document
    if pulled.kind == "pin":
        pin = pulled.replace(offset=ORIGIN, weight=PIN_WEIGHT).with_target_at(displayed_pose)
        return document.with_chain(pin)
    return document.replace(chains=tuple(chain for chain in document.chains if chain is not pulled))


def settle_pull(document: Document, displayed_pose: Pose, *, is_reached: bool) -> Document:
    """Return the document with the target of a pull at its part.

    A part that was pulled beyond reach then rests, and a pinned one is pinned there. What is reached stays as it is.
    The head turns back to where the figure faces.
    """
    pulled, turned = find_pulled(document), _turn_gaze_back(document, displayed_pose)
    if pulled is not None and pulled.kind == "pin":
        return release_pull(turned, displayed_pose)
    if turned is not document:  # the part still moves
        return turned
    if pulled is None or is_reached:
        return document
    return document.with_chain(pulled.with_target_at(displayed_pose))


def _let_head_look(document: Document, displayed_pose: Pose) -> Document:
    """Return the document with the gaze at what is pulled.

    It follows arms and legs. A head that is pulled, or carried by what is pulled, does not look.
    """
    gaze, pulled = next((chain for chain in document.chains if chain.name == LOOK_NAME), None), find_pulled(document)
    if gaze is None or gaze.kind != "look" or pulled is None:
        return document
    looks = is_of_limb(document.rig, pulled.tip)
    if not looks:
        return document.with_chain(gaze.replace(enabled=False))
    eye = displayed_pose.world[gaze.tip].positions
    return document.with_chain(gaze.replace(enabled=True, position=clamp_gaze(document.start, eye, pulled.position)))


def _turn_gaze_back(document: Document, displayed_pose: Pose) -> Document:
    """Return the document with the gaze nearer to straight ahead. It ends there."""
    gaze = next((chain for chain in document.chains if chain.name == LOOK_NAME), None)
    if gaze is None or gaze.kind != "look" or not gaze.enabled:
        return document
    eye = displayed_pose.world[gaze.tip].positions
    way, ahead = np.array(gaze.position) - eye, find_gaze_axes(document.start)[0]
    distance = float(np.linalg.norm(way))
    turned = way + _GAZE_BACK_SHARE * (distance * ahead - way)
    if turned @ ahead > math.cos(_GAZE_END_RAD) * np.linalg.norm(turned):
        return document.with_chain(gaze.replace(enabled=False))
    return document.with_chain(gaze.replace(position=to_vector(eye + turned)))


def find_pulled(document: Document) -> TargetedChain | None:
    """Find the chain of the pulled part."""
    return next((chain for chain in document.chains if chain.name == document.pulled), None)


def find_pin(document: Document, joint: str) -> TargetedChain | None:
    """Find the pin of a joint."""
    return next((chain for chain in document.chains if chain.tip == joint and chain.kind == "pin"), None)


def pin_part(document: Document, joint: str, displayed_pose: Pose) -> Document:
    """Pin a joint of a whole body where it is. A pull of it ends."""
    pulled = find_pulled(document)
    if pulled is not None and pulled.tip == joint:
        document = release_pull(document, displayed_pose)
    pin, existing_pin = build_pin(displayed_pose, joint), find_pin(document, joint)
    if existing_pin is not None:
        return document.with_chain(pin.replace(name=existing_pin.name))
    return document.with_new_chain(pin)

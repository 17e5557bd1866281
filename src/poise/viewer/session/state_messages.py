"""Messages of the session: welcome, document state, solve answer."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal

import numpy as np

from poise import solvers
from poise.errors import UnsupportedError
from poise.io.registry import list_formats
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.plot.limit_outlines import build_local_outline
from poise.solvers.base.interface import Status
from poise.solvers.base.option_parsing import Parameter, describe_type, list_parameters, read_summary
from poise.viewer import scenes
from poise.viewer.document.actions import list_keys
from poise.viewer.document.document import AUTO, ChainTarget, Document
from poise.viewer.document.settings_actions import describe_anatomical_limits, write_limit
from poise.viewer.document.terrain import TERRAIN_CHOICES
from poise.viewer.document.timeline import Playhead, list_contacts
from poise.viewer.protocol import STATUS_NOTHING, STATUS_REFUSED
from poise.viewer.session.undo_history import History
from poise.viewer.session.uploads import MAX_UPLOAD_BYTES
from poise.viewer.view_solver import ViewOutcome, find_solver_refusals

_AUTO_TEXT = "two_bone for a limb of two bones, levenberg_marquardt for everything else"
_SAME_VALUE_TOLERANCE = (
    1e-6  # [rad, file units] difference up to which a joint counts as unmoved: the error of reached goals
)
_STATUS_NAMES = {STATUS_REFUSED: "refused", STATUS_NOTHING: "nothing"}


# --- welcome -------------------------------------------------------------------------------------------------------


def build_welcome(key: str, version: str) -> dict[str, Any]:
    """Build the welcome message with all choices. `key` lets the page come back."""
    auto: dict[str, Any] = {"name": AUTO, "title": AUTO, "text": _AUTO_TEXT, "goals": [], "options": []}
    return {
        "kind": "welcome",
        "key": key,
        "poise": version,
        "scenes": [scenes.describe_scene(name)._asdict() for name in scenes.names()],
        "solvers": [auto, *(_describe_solver(name) for name in solvers.names())],
        "terrains": [{"words": words, "title": title} for words, title in TERRAIN_CHOICES],
        "opens": sorted(suffix for suffix, module in list_formats().items() if hasattr(module, "read")),
        "most_bytes": MAX_UPLOAD_BYTES,
    }


def _describe_solver(name: str) -> dict[str, Any]:
    try:
        solver: Any = solvers.named(name)
    except UnsupportedError as error:  # a missing extra
        return {"name": name, "title": name, "text": str(error), "goals": [], "options": [], "missing": True}
    options = [_describe_option(parameter) for parameter in list_parameters(type(solver))]
    return {
        "name": name,
        "title": name,
        "text": read_summary(type(solver)),
        "goals": list(solver.handles.goals),
        "options": options,
    }


def _describe_option(parameter: Parameter) -> dict[str, Any]:
    kind, choices = _choose_widget(parameter.hint)
    return {
        "name": parameter.name,
        "type": kind,
        "choices": choices,
        "nullable": _accepts_none(parameter.hint),
        "default": _convert_to_json(parameter.default),
        "text": parameter.text,
        "takes": describe_type(parameter.hint),
    }


def _choose_widget(hint: Any) -> tuple[str, list[str] | None]:
    """Choose the page's input type and choices for a type."""
    kinds = {bool: "truth", int: "integer", float: "number"}
    parts = [part for part in _split_union(hint) if part is not type(None)]
    if len(parts) == 1 and parts[0] in kinds:
        return kinds[parts[0]], None
    if len(parts) == 1 and typing.get_origin(parts[0]) is Literal:
        return "choice", [str(choice) for choice in typing.get_args(parts[0])]
    return "text", None


def _split_union(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)


def _accepts_none(hint: Any) -> bool:
    return type(None) in _split_union(hint)


def _convert_to_json(value: Any) -> Any:
    """Convert a value to JSON. Unsupported types become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list | dict):
        items = typing.cast("Sequence[Any] | dict[str, Any]", value)
        parts = tuple(items.items()) if isinstance(items, dict) else items
        return ",".join(f"{p[0]}={p[1]}" if isinstance(p, tuple) else str(p) for p in parts)  # as in the input fields
    return str(value)


# --- state ---------------------------------------------------------------------------------------------------------


def build_state(document: Document, playhead: Playhead, history: History, version: int) -> dict[str, Any]:
    """Build the state message of the document."""
    undo, redo = history.labels
    return {
        "kind": "state", "version": version, "scene": document.scene, "name": document.name, "views": document.views,
        "solvers": [{"name": c.name, "options": {n: _convert_to_json(v) for n,
        v in c.options}} for c in document.solvers],
        "refused": find_solver_refusals(document), "mode": document.mode, "modes": document.list_modes(),
        "run": document.run,
        "from": document.origin,
        "tolerance": document.tolerance, "free_root": document.free_root,
        "chains": [describe_chain(document, chain) for chain in document.chains],
        "limits": _describe_limits(document), "anatomical": describe_anatomical_limits(document),
        "outlines": _compute_outlines(document),
        "clips": [
            {"name": clip.name, "seconds": clip.duration, "frames": len(clip), "fps": clip.fps}
            for clip in document.rig.clips
        ],
        "clip": document.clip, "duration": playhead.clip.duration if playhead.clip is not None else 0.0,
        "playing": playhead.playing, "speed": playhead.speed, "time": playhead.time,
        "keys": [{"joint": key.joint, "time": key.time} for key in list_keys(document)],
        "plant": document.plant, "terrain": document.terrain, "contacts": list_contacts(playhead.clip),
        "handles": [{"name": h.name, "position": h.position, "rotation": h.rotation} for h in document.handles],
        "controls": [dataclasses.asdict(control) for control in document.controls],
        "driven": document.driven, "undo": undo, "redo": redo,
    }  # fmt: skip


def describe_chain(document: Document, chain: ChainTarget) -> dict[str, Any]:
    """Describe a chain, with the joints from its root to its tip."""
    return {
        "id": chain.id, "root": chain.root, "tip": chain.tip, "kind": chain.kind, "enabled": chain.enabled,
        "weight": chain.weight, "ground": chain.ground, "position": chain.position, "rotation": chain.rotation,
        "direction": chain.direction, "axis": chain.axis, "pole": chain.pole,
        "joints": list(chain.list_joints(document.skeleton)),
    }  # fmt: skip


def _describe_limits(document: Document) -> dict[str, Any]:
    rows = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return {name: write_limit(limit) for name, limit in rows if limit is not None}


def _compute_outlines(document: Document) -> dict[str, list[list[list[float]]]]:
    """Compute the outlines of the active limits as lines. They bound the directions of each bone."""
    outlines: dict[str, list[list[list[float]]]] = {}
    for name, limit in zip(document.solver_skeleton.names, document.solver_skeleton.limits, strict=True):
        outline = build_local_outline(document.solver_start, name) if limit is not None else None
        if outline is not None:
            outlines[name] = [np.round(line, 5).tolist() for line in outline.lines]
    return outlines


# --- answer --------------------------------------------------------------------------------------------------------


def build_view_answer(
    outcome: ViewOutcome, errors: list[float] | None, at_limit: list[str], resting: list[str]
) -> dict[str, Any]:
    """Build the answer of one view. It has the error per iteration and the joints at their limits.

    `resting` are those at their limits in the start pose as well; they do not block a reached goal.
    """
    status = _STATUS_NAMES.get(outcome.status) or Status(outcome.status).name
    return {
        "status": status, "sentence": outcome.sentence, "solver": outcome.solver, "iterations": outcome.iterations,
        "microseconds": outcome.seconds * 1e6, "left": None if math.isnan(outcome.left) else outcome.left,
        "errors": errors, "note": outcome.note, "at_limit": at_limit,
        "resting": resting if outcome.status in (Status.reached, STATUS_NOTHING) else [],
        "left_out": [{"chain": chain, "reason": reason} for chain, reason in outcome.left_out],
    }  # fmt: skip


def find_joints_at_limit(pose: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints at an end of their limit."""
    at_limit: list[str] = []
    for name in joints:
        if pose.skeleton[name].limit is not None:
            outline = build_local_outline(pose, name)
            at_limit += [name] if outline is not None and outline.at_end else []
    return at_limit


def find_unmoved(pose: Pose, start: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints with the same values as in the start pose."""
    return [name for name in joints if _is_same(_read_values(pose, name), _read_values(start, name))]


def _read_values(pose: Pose, name: str) -> Floats:
    return pose.q[pose.skeleton.q_slice(name)]


def _is_same(values: Floats, others: Floats) -> bool:
    """Return whether two joints have equal values.

    A quaternion and its negative are one rotation.
    """
    if values.shape != others.shape:  # a freed root
        return False
    return bool(
        min(np.abs(values - others).max(initial=0.0), np.abs(values + others).max(initial=0.0)) < _SAME_VALUE_TOLERANCE
    )


def describe_joint(pose: Pose, joint: str) -> dict[str, Any]:
    """Describe a joint: its numbers in q and its position."""
    skeleton = pose.skeleton
    name = skeleton.names[skeleton.index(joint)]
    values = [] if skeleton[name].kind == 0 else pose.q[skeleton.q_slice(name)].tolist()
    return {"joint": name, "values": values, "position": pose.world[name].positions.tolist()}

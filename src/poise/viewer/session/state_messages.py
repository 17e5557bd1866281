"""Messages about the document: welcome and state."""

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
from poise.model.rig import Rig
from poise.plot.limit_outlines import build_local_outline, build_turn_outline
from poise.problem.goal_ranges import Within
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.option_parsing import Parameter, describe_type, list_parameters, read_summary
from poise.viewer import scenes
from poise.viewer.document.actions import (
    are_anatomical_limits_known,
    describe_anatomical_limits,
    list_keys,
    write_end,
    write_limit,
)
from poise.viewer.document.chains import TargetedChain
from poise.viewer.document.contact_intervals import list_bad_stretches, list_contacts
from poise.viewer.document.document import AUTO_SOLVER, Document
from poise.viewer.document.match_table import describe_retargeting
from poise.viewer.document.playhead import Playhead
from poise.viewer.document.terrain import TERRAIN_CHOICES
from poise.viewer.session.race import RaceClock
from poise.viewer.session.undo_history import History
from poise.viewer.session.uploads import MAX_UPLOAD_BYTES
from poise.viewer.view_solver import find_solver_refusals

_AUTO_TEXT = "two_bone for a limb of two bones, levenberg_marquardt for everything else"


# --- welcome -------------------------------------------------------------------------------------------------------


def build_welcome(key: str, version: str) -> dict[str, Any]:
    """Build the welcome message with all choices. `key` lets the page come back."""
    auto_solver: dict[str, Any] = {
        "name": AUTO_SOLVER,
        "title": AUTO_SOLVER,
        "text": _AUTO_TEXT,
        "goals": [],
        "options": [],
    }
    return {
        "kind": "welcome",
        "key": key,
        "poise": version,
        "scenes": [scenes.describe_scene(name)._asdict() for name in scenes.names()],
        "solvers": [auto_solver, *(_describe_solver(name) for name in solvers.names())],
        "terrains": [{"words": spec, "title": title} for spec, title in TERRAIN_CHOICES],
        "opens": sorted(suffix for suffix, module in list_formats().items() if hasattr(module, "read")),
        "most_bytes": MAX_UPLOAD_BYTES,
    }


def _describe_solver(name: str) -> dict[str, Any]:
    try:
        solver: Any = solvers.make_solver(name)
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
    widget, choices = _choose_widget(parameter.type_hint)
    return {
        "name": parameter.name,
        "type": widget,
        "choices": choices,
        "nullable": _accepts_none(parameter.type_hint),
        "default": _convert_to_json(parameter.default),
        "text": parameter.description,
        "takes": describe_type(parameter.type_hint),
    }


def _choose_widget(type_hint: Any) -> tuple[str, list[str] | None]:
    """Choose the page's input type and choices for a type."""
    widget_by_type = {bool: "truth", int: "integer", float: "number"}
    types = [part for part in _split_union(type_hint) if part is not type(None)]
    if len(types) == 1 and types[0] in widget_by_type:
        return widget_by_type[types[0]], None
    if len(types) == 1 and typing.get_origin(types[0]) is Literal:
        return "choice", [str(choice) for choice in typing.get_args(types[0])]
    return "text", None


def _split_union(type_hint: Any) -> tuple[Any, ...]:
    return typing.get_args(type_hint) if typing.get_origin(type_hint) in (typing.Union, UnionType) else (type_hint,)


def _accepts_none(type_hint: Any) -> bool:
    return type(None) in _split_union(type_hint)


def _convert_to_json(value: Any) -> Any:
    """Convert a value to JSON. Unsupported types become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list | dict):
        container = typing.cast("Sequence[Any] | dict[str, Any]", value)
        elements = tuple(container.items()) if isinstance(container, dict) else container
        # as in the input fields
        return ",".join(
            f"{element[0]}={element[1]}" if isinstance(element, tuple) else str(element) for element in elements
        )
    return str(value)


# --- state ---------------------------------------------------------------------------------------------------------


def build_state(
    document: Document, playhead: Playhead, race: RaceClock, history: History, document_version: int
) -> dict[str, Any]:
    """Build the state message of the document."""
    undo, redo = history.labels
    return {
        "kind": "state", "version": document_version, "scene": document.scene_name, "name": document.name,
        "views": document.view_count,
        "solvers": [
            {"name": choice.name, "options": {name: _convert_to_json(value) for name, value in choice.options}}
            for choice in document.solvers
        ],
        "refused": find_solver_refusals(document), "mode": document.limit_mode, "modes": document.list_limit_modes(),
        "run": document.pace, "race": {"playing": race.is_playing, "speed": race.speed},
        "from": document.solve_start,
        "tolerance": document.tolerance, "free_root": document.free_root,
        "scope": document.scope, "pulled": document.pulled,
        "chains": [describe_chain(document, chain) for chain in document.chains],
        "limits": _describe_limits(document), "anatomical": _describe_anatomical_limits(document),
        "outlines": get_or_compute(document.solver_start, "outlines", None, lambda: _compute_outlines(document)),
        "clips": get_or_compute(document.rig, "clips of the page", None, lambda: _describe_clips(document.rig)),
        "clip": document.clip_name, "duration": playhead.clip.duration if playhead.clip is not None else 0.0,
        "playing": playhead.is_playing, "speed": playhead.speed, "time": playhead.time,
        "keys": [{"joint": key.joint_name, "time": key.time} for key in list_keys(document)],
        "plant": document.plants_feet, "terrain": document.terrain_spec, "contacts": list_contacts(playhead.clip),
        "bad": list_bad_stretches(playhead.clip), "retargeting": describe_retargeting(document),
        "handles": [dataclasses.asdict(handle) for handle in document.handles],
        "controls": [dataclasses.asdict(control) for control in document.controls],
        "driven": document.is_driven, "idles": document.idles, "undo": undo, "redo": redo,
    }  # fmt: skip


def describe_chain(document: Document, chain: TargetedChain) -> dict[str, Any]:
    """Describe a chain, with the joints from its root to its tip."""
    return {
        "id": chain.name, "root": chain.root, "tip": chain.tip, "kind": chain.kind, "enabled": chain.enabled,
        "weight": chain.weight, "pull": chain.pull, "ground": chain.stays_on_ground, "position": chain.position,
        "rotation": chain.rotation,
        "direction": chain.direction, "axis": chain.axis, "pole": chain.pole, "offset": chain.offset,
        "joints": list(chain.list_joints(document.skeleton)),
        "others": list(chain.list_other_joints(document.skeleton)), "relative_to": chain.relative_to,
        "follow": chain.follow, "range": None if chain.within is None else describe_range(chain.within),
    }  # fmt: skip


def describe_range(within: Within) -> dict[str, Any]:
    """Describe a range for the page.

    It has its box in file units, null for infinite ends, and the outline of its turns, of size one.
    """
    box = [[write_end(low), write_end(high)] for low, high in within.intervals]
    outline = [] if within.turn is None else build_turn_outline(within.turn)
    return {"box": box, "axes": within.axes, "turns": [np.round(line, 5).tolist() for line in outline]}


def _describe_clips(rig: Rig) -> list[dict[str, Any]]:
    """Describe the clips of a rig."""
    return [{"name": clip.name, "seconds": clip.duration, "frames": len(clip), "fps": clip.fps} for clip in rig.clips]


def _describe_anatomical_limits(document: Document) -> dict[str, Any]:
    """Describe whether human limits are on. Nothing speaks against them before they are read."""
    if are_anatomical_limits_known(document.rig):
        return describe_anatomical_limits(document)
    return {"on": False, "why": None}


def _describe_limits(document: Document) -> dict[str, Any]:
    names_and_limits = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return {name: write_limit(limit) for name, limit in names_and_limits if limit is not None}


def _compute_outlines(document: Document) -> dict[str, list[list[list[float]]]]:
    """Compute the outlines of the active limits as lines. They bound the directions of each bone."""
    outlines: dict[str, list[list[list[float]]]] = {}
    for name, limit in zip(document.solver_skeleton.names, document.solver_skeleton.limits, strict=True):
        outline = build_local_outline(document.solver_start, name) if limit is not None else None
        if outline is not None:
            outlines[name] = [np.round(line, 5).tolist() for line in outline.lines]
    return outlines

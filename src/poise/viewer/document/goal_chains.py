"""Chains of the viewer from goals of the library."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from poise.errors import InputError, UnsupportedError
from poise.model.pose import Pose
from poise.problem.goals import GOAL_NAMES, Goal, LookAt, Pin, Place, Position
from poise.viewer.document.chains import ChainKind, TargetedChain, build_chain, to_quaternion, to_vector

_KINDS: dict[type, ChainKind] = {Position: "position", Place: "place", LookAt: "look", Pin: "pin"}

# Fields of goals that a chain keeps; any other must have its default.
_TIP_FIELDS = {"joint", "root", "weight", "offset", "relative_to", "follow", "within", "pull"}
_KEPT_FIELDS: dict[ChainKind, set[str]] = {
    "position": {*_TIP_FIELDS, "target"},
    "place": {*_TIP_FIELDS, "position", "rotation"},
    "look": {"joint", "target", "weight", "axis"},
    "pin": {"joint", "root", "weight", "pull"},
}


def build_goal_chains(start: Pose, goals: Goal | Sequence[Goal]) -> tuple[TargetedChain, ...]:
    """Build a chain for each goal, named after its joint.

    InputError for what is no goal and for batches of targets, UnsupportedError for goals and options without a chain.
    """
    goal_list: list[Any] = list(goals) if isinstance(goals, list | tuple) else [goals]
    chains: list[TargetedChain] = []
    for goal in goal_list:
        chain = _build_goal_chain(start, goal)
        count = sum(other.tip == chain.tip for other in chains)
        chains.append(chain.replace(name=f"{chain.name} {count + 1}") if count else chain)
    return tuple(chains)


def _build_goal_chain(start: Pose, goal: Any) -> TargetedChain:
    class_name = type(goal).__name__
    if class_name not in GOAL_NAMES:
        raise InputError(f"the goals of a view are goals such as poise.Position, not a {class_name}")
    kind = _KINDS.get(type(goal))
    if kind is None:
        kinds = ", ".join(goal_class.__name__ for goal_class in _KINDS)
        raise UnsupportedError(f"the viewer has chains for the goals {kinds}, and none for {class_name}")
    if goal.shape:
        raise InputError(
            f"a view has one target for each goal, and the {class_name} of {goal.joint!r} has a batch of them"
        )
    _check_fields(goal, kind)
    options = {
        name: getattr(goal, name)
        for name in ("weight", "relative_to", "follow", "within", "pull")
        if hasattr(goal, name)
    }
    if kind == "look":
        options["axis"] = to_vector(goal.axis)
    elif kind != "pin":
        options["offset"] = to_vector(goal.offset)
    if options.get("relative_to") is not None:
        options["relative_to"] = start.skeleton.names[start.skeleton.index(options["relative_to"])]
    chain = build_chain(start, goal.joint, getattr(goal, "root", None), goal.joint, kind, **options)
    if kind == "pin":
        return chain.replace(name=f"pin {chain.tip}")
    row = goal.rows()
    chain = chain.replace(name=chain.tip, position=to_vector(row[:3]))
    return chain.replace(rotation=to_quaternion(row[3:7])) if kind == "place" else chain


def _check_fields(goal: Any, kind: ChainKind) -> None:
    """Raise UnsupportedError for options without a place in chains."""
    for field in dataclasses.fields(goal):
        if field.name not in _KEPT_FIELDS[kind] and getattr(goal, field.name) != field.default:
            label = f"{type(goal).__name__} of {goal.joint!r}"
            raise UnsupportedError(f"the chains of a view have no {field.name}: leave it out of the {label}")

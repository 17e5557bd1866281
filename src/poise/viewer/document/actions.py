"""Actions of the page on a document, by name. Each is a function (document, arguments) -> document.

Each can be undone under its label. Missing or wrong arguments and unknown names raise a PoiseError. The page shows its
message, and the document stays unchanged.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from poise import solvers
from poise.errors import InputError, PoiseError, UnknownNameError, UnsupportedError
from poise.maths import rotations
from poise.maths.arrays import Floats, abbreviate
from poise.maths.euler import ORDERS
from poise.model.anatomy.joint_limits import LIMIT_SOURCE
from poise.model.limits import EulerBox, Limit, Range, SwingTwist, find_hinge_axis, unit_axis
from poise.model.loop_gaps import find_touched_loops, list_ring_rows
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind
from poise.problem.goal_interface import ORIGIN
from poise.problem.goals import Place
from poise.runtime.result_cache import get_or_compute, is_cached
from poise.solvers.base.option_parsing import list_parameters
from poise.solving.solve import solve
from poise.viewer.document.chains import CHAIN_KINDS, RELATIVE_KINDS, TargetedChain, build_chain, measure_tip
from poise.viewer.document.clip_keys import Key, build_key
from poise.viewer.document.document import AUTO_SOLVER, MAX_VIEWS, Document, SolverChoice
from poise.viewer.document.pulls import find_pin, pin_part, pull_part, restore_body, switch_scope
from poise.viewer.document.terrain import TERRAIN_CHOICES, build_document_terrain, build_ground_mesh
from poise.viewer.protocol import (
    read_bool,
    read_choice,
    read_number,
    read_optional_text,
    read_quaternion,
    read_text,
    read_vector,
)

# --- Actions on the settings of solving and on joint limits ----------------------------------------------------------


def choose_solver(document: Document, args: dict[str, Any]) -> Document:
    """Choose the solver of a view, with default options."""
    name = read_text(args, "name")
    if name != AUTO_SOLVER:
        solvers.make_solver(name)
    return _replace_choice(document, args, SolverChoice(name))


def set_option(document: Document, args: dict[str, Any]) -> Document:
    """Set an option of a view's solver. It is written as on the command line; null restores the default."""
    choice, name = document.solvers[_read_view(document, args)], read_text(args, "name")
    parameters_by_name = (
        {}
        if choice.name == AUTO_SOLVER
        else {parameter.name: parameter for parameter in list_parameters(type(solvers.make_solver(choice.name)))}
    )
    if name not in parameters_by_name:
        raise UnknownNameError(
            f"option of {choice.name}", name, tuple(parameters_by_name), plural=f"options of {choice.name}"
        )
    if args.get("value") is None:
        options = tuple(pair for pair in choice.options if pair[0] != name)
        return _replace_choice(document, args, SolverChoice(choice.name, options))
    value = args["value"]
    option_text = (
        str(value).lower() if isinstance(value, bool) else f"{value!r}" if isinstance(value, float) else str(value)
    )
    return _replace_choice(document, args, choice.with_option(name, parameters_by_name[name].read(option_text[:200])))


def _read_view(document: Document, args: dict[str, Any]) -> int:
    return _read_whole_number(args, "view", 0, len(document.solvers) - 1)


def _read_whole_number(args: dict[str, Any], name: str, low: int, high: int) -> int:
    value = read_number(args, name, low, high)
    if value != int(value):
        raise InputError(f"{name} is a whole number, not {value:g}")
    return int(value)


def _replace_choice(document: Document, args: dict[str, Any], choice: SolverChoice) -> Document:
    choices = list(document.solvers)
    choices[_read_view(document, args)] = choice
    return document.replace(solvers=tuple(choices))


def set_limit_mode(document: Document, args: dict[str, Any]) -> Document:
    """Set the limit mode: all limits, hinge axes only, or none. Raise InputError where it makes no difference."""
    value = read_choice(args, "value", ("limits", "hinge", "plain"))
    obstacle = document.list_limit_modes()[value]
    if obstacle is not None:
        raise InputError(obstacle)
    return document.replace(limit_mode=value)


def set_pace(document: Document, args: dict[str, Any]) -> Document:
    """Set the pace: live, iterate, single steps or race.

    Live solves to the end for each target, iterate does one iteration a frame, and a race shows the iterations of each
    solve. A race has no clip.
    """
    pace = read_choice(args, "value", ("live", "iterate", "step", "race"))
    if pace == "race" and len(document.character_positions) > 1:
        raise InputError("a race is of one character, and this scene has several")
    if pace == "race":
        document = choose_clip(document, {"name": None})
    return document.replace(pace=pace)


def set_solve_start(document: Document, args: dict[str, Any]) -> Document:
    """Set the initial pose of solves: displayed pose or start pose."""
    return document.replace(solve_start=read_choice(args, "value", ("last", "start")))


def set_tolerance(document: Document, args: dict[str, Any]) -> Document:
    """Set the tolerance [file units]. Null restores the library's own."""
    value = args.get("value")
    return document.replace(tolerance=None if value is None else read_number(args, "value", 1e-12, 1e6))


def switch_free_root(document: Document, args: dict[str, Any]) -> Document:
    """Switch the motion of the root."""
    return document.replace(free_root=read_bool(args, "on"))


def set_view_count(document: Document, args: dict[str, Any]) -> Document:
    """Set the number of views, one to six."""
    return document.with_view_count(_read_whole_number(args, "count", 1, MAX_VIEWS))


# --- Joint limits in the JSON form of the page -----------------------------------------------------------------------
#
# Angles are in radians; null is an open end.


_LIMIT_TYPES = ("range", "swing_twist", "euler")


def set_limit(document: Document, args: dict[str, Any]) -> Document:
    """Set or, with null, remove the limit of a joint. The start pose is moved inside."""
    joint = document.skeleton.names[document.skeleton.index(read_text(args, "joint"))]
    value = args.get("limit")
    new_limit = None if value is None else read_limit(value)
    old_limit = document.skeleton[joint].limit
    if new_limit is not None and old_limit is not None:
        # the page edits the ends only, not their softness
        new_limit = dataclasses.replace(new_limit, soft=old_limit.soft)
    return document.replace(skeleton=document.skeleton.with_limits({joint: new_limit}))


_ANATOMICAL_LIMITS = "anatomical limits"  # subject of the cache


def switch_anatomical_limits(document: Document, args: dict[str, Any]) -> Document:
    """Add or remove human limits on joints without own limits. Other limits stay."""
    if not read_bool(args, "on"):
        removed_limits = dict.fromkeys(_list_anatomical_joints(document))
        return document.replace(skeleton=document.skeleton.with_limits(removed_limits))
    obstacle = describe_anatomical_limits(document)["why"]
    if obstacle is not None:
        raise InputError(obstacle)
    return document.replace(skeleton=document.skeleton.with_limits(_find_missing_limits(document)), limit_mode="limits")


def describe_anatomical_limits(document: Document) -> dict[str, Any]:
    """Describe whether human limits are on, or not available."""
    if _list_anatomical_joints(document):
        return {"on": True, "why": None}
    anatomical_limits = find_anatomical_limits(document.rig)
    obstacle = (
        anatomical_limits
        if isinstance(anatomical_limits, str)
        else None
        if _find_missing_limits(document)
        else "every joint of the character has a limit"
    )
    return {"on": False, "why": obstacle}


def are_anatomical_limits_known(rig: Rig) -> bool:
    """Return whether the human limits of a rig are found. Reading many clips for them takes long."""
    return is_cached(rig, _ANATOMICAL_LIMITS, None)


def _list_anatomical_joints(document: Document) -> list[str]:
    names_and_limits = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return [name for name, limit in names_and_limits if limit is not None and limit.source == LIMIT_SOURCE]


def _find_missing_limits(document: Document) -> dict[str, Limit]:
    """Find human limits for joints without limits."""
    anatomical_limits = find_anatomical_limits(document.rig)
    if isinstance(anatomical_limits, str):
        return {}
    return {name: limit for name, limit in anatomical_limits.items() if document.skeleton[name].limit is None}


def find_anatomical_limits(rig: Rig) -> dict[str, Limit] | str:
    """Find the human limits of a rig, or the reason against them. The result is cached."""

    def find_limits() -> dict[str, Limit] | str:
        try:
            return rig.roles.limits()
        except PoiseError as error:
            return str(error)

    return get_or_compute(rig, _ANATOMICAL_LIMITS, None, find_limits)


def read_limit(content: Any) -> Limit:
    """Parse a limit from its JSON form."""
    if not isinstance(content, dict):
        raise InputError(f"a limit is an object with a type, not {abbreviate(content)}")
    args = cast("dict[str, Any]", content)
    limit_type = read_choice(args, "type", _LIMIT_TYPES)
    if limit_type == "range":
        low, high = _read_ends(args, "low", "high")
        return Range(low, high, axis=read_vector(args, "axis") if args.get("axis") is not None else None)
    if limit_type == "swing_twist":
        across = read_vector(args, "across") if args.get("across") is not None else None
        return SwingTwist(read_vector(args, "axis"), _read_swing(args), _read_pair(args.get("twist"), "twist"), across)
    order = read_choice(args, "order", ORDERS)
    ranges: dict[str, Any] = dict(zip(order.lower(), _read_pairs(args, "ranges", 3), strict=True))
    return EulerBox(order, **ranges)


def write_limit(limit: Limit) -> dict[str, Any]:
    """Format a limit as JSON. `read_limit` reads it; a swing adds its axes."""
    if isinstance(limit, Range):
        return {"type": "range", "low": write_end(limit.low), "high": write_end(limit.high), "axis": limit.axis}
    if isinstance(limit, SwingTwist):
        twist, across = [write_end(end) for end in limit.twist], limit.across
        return {
            "type": "swing_twist", "axis": limit.axis, "swing": limit.sides, "twist": twist, "across": across,
            "swing_axes": limit.swing_axes,
        }  # fmt: skip
    ranges = [[write_end(low), write_end(high)] for low, high in limit.ranges]
    return {"type": "euler", "order": limit.order, "ranges": ranges}


def write_end(end: float) -> float | None:
    """Format an end of a range as JSON. An infinite one is None."""
    return end if math.isfinite(end) else None


def _read_ends(args: dict[str, Any], low: str, high: str) -> tuple[float, float]:
    ends = (
        -math.inf if args.get(low) is None else read_number(args, low),
        math.inf if args.get(high) is None else read_number(args, high),
    )
    if ends[0] > ends[1]:
        raise InputError(f"the low end {ends[0]:g} is above the high end {ends[1]:g}")
    return ends


def _read_pair(value: Any, label: str) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004
        raise InputError(f"{label} has a low and a high end, not {abbreviate(value)}")
    low, high = cast("list[Any]", value)
    return _read_ends({"low": low, "high": high}, "low", "high")


def _read_pairs(args: dict[str, Any], name: str, count: int) -> list[tuple[float, float]]:
    value = args.get(name)
    if not isinstance(value, list) or len(cast("list[Any]", value)) != count:
        raise InputError(f"{name} are {count} pairs of a low and a high end, not {abbreviate(value)}")
    return [_read_pair(pair, name) for pair in cast("list[Any]", value)]


def _read_swing(args: dict[str, Any]) -> Any:
    """Parse one half-angle, or two pairs of sides."""
    if isinstance(args.get("swing"), list):
        first_sides, second_sides = _read_pairs(args, "swing", 2)
        return (first_sides, second_sides)
    return read_number(args, "swing", 0.0, math.pi)


# --- Move targets, poles and handles ---------------------------------------------------------------------------------


def move_target(document: Document, args: dict[str, Any]) -> Document:
    """Move or rotate the target of a chain. A target of a chain with `stays_on_ground` stays on the terrain."""
    chain = document.find_chain(read_text(args, "chain"))
    changes: dict[str, Any] = {}
    if "position" in args:
        changes["position"] = read_vector(args, "position")
    if "rotation" in args:
        changes["rotation"] = read_quaternion(args, "rotation")
    if "direction" in args:
        changes["direction"] = read_vector(args, "direction")
        if not any(changes["direction"]):
            raise InputError("direction has zero length")
    return document.with_chain(place_on_ground(document, chain.replace(**changes)))


def place_on_ground(document: Document, chain: TargetedChain) -> TargetedChain:
    """Place the target of a chain on the terrain. It keeps the height that the tip has above the floor at rest.

    Relative targets stay in the frame of their joint.
    """
    if not chain.stays_on_ground or document.terrain_spec is None or chain.relative_to is not None:
        return chain
    ground = build_document_terrain(document.rig, document.terrain_spec)
    rest_height = document.rig.rest.world[chain.tip].positions[ground.up_index]
    return chain.replace(position=ground.place_point(chain.position, float(rest_height) - ground.floor_height))


def set_pole(document: Document, args: dict[str, Any]) -> Document:
    """Set or, with null, remove the pole of a chain."""
    chain = document.find_chain(read_text(args, "chain"))
    if args.get("position") is None:
        return document.with_chain(chain.replace(pole=None))
    chain.find_bending_joint(document.skeleton)
    return document.with_chain(chain.replace(pole=read_vector(args, "position")))


def move_handle(document: Document, args: dict[str, Any]) -> Document:
    """Move a handle of a program."""
    name = read_text(args, "name")
    if name not in [handle.name for handle in document.handles]:
        raise UnknownNameError("handle", name, [handle.name for handle in document.handles])
    changes: dict[str, Any] = {"position": read_vector(args, "position")}
    if "rotation" in args:
        changes["rotation"] = read_quaternion(args, "rotation")
    handles = tuple(
        dataclasses.replace(handle, **changes) if handle.name == name else handle for handle in document.handles
    )
    return document.replace(handles=handles)


# --- Add, change and remove chains and pins --------------------------------------------------------------------------


def add_chain(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Add a chain from a root to a tip. A root of null means the limb's own; the target starts at the tip."""
    kind = read_choice({"kind": "position", **args}, "kind", CHAIN_KINDS)
    return _append_chain(document, displayed_pose, read_text(args, "tip"), read_optional_text(args, "root"), kind)


def _append_chain(
    document: Document, displayed_pose: Pose, tip: str, root: str | None, kind: Any, wanted_name: str | None = None
) -> Document:
    chain = build_chain(displayed_pose, wanted_name or tip, root, tip, kind)
    joints = chain.list_joints(document.skeleton)
    if all(document.skeleton[joint].kind == Kind.FIXED for joint in joints[:-1]):
        raise InputError(f"nothing above {chain.tip!r} can move; choose a joint further down the limb as its tip")
    return document.with_new_chain(chain)


def remove_chain(document: Document, args: dict[str, Any]) -> Document:
    """Remove a chain. Without the chain of a pulled part nothing is pulled."""
    removed_name = document.find_chain(read_text(args, "chain")).name
    pulled = None if document.pulled == removed_name else document.pulled
    return document.replace(
        pulled=pulled, chains=tuple(chain for chain in document.chains if chain.name != removed_name)
    )


def change_chain(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Change kind, root, weight or other settings of a chain."""
    chain = document.find_chain(read_text(args, "chain"))
    changes: dict[str, Any] = {}
    if "kind" in args:
        changes["kind"] = read_choice(args, "kind", CHAIN_KINDS)
    if "enabled" in args:
        changes["enabled"] = read_bool(args, "enabled")
    if "ground" in args:
        changes["stays_on_ground"] = read_bool(args, "ground")
    if "weight" in args:
        changes["weight"] = read_number(args, "weight", 1e-6, 1e6)
    if "pull" in args:
        changes["pull"] = read_number(args, "pull", 0.0, 1.0)
        if chain.name == document.pulled and chain.kind != "pin":  # the next part is pulled so, too
            document = document.replace(pull_share=changes["pull"])
    if "axis" in args:
        changes["axis"] = unit_axis(read_vector(args, "axis"))
    if "root" in args:
        changes["root"] = read_optional_text(args, "root")
        document.skeleton.chain(changes["root"], chain.tip)
    new_chain = _initialise_target(displayed_pose, chain, chain.replace(**changes))
    if "relative_to" in args:
        new_chain = _set_reference(displayed_pose, new_chain, read_optional_text(args, "relative_to"))
    if "follow" in args:
        new_chain = new_chain.replace(follow=read_bool(args, "follow") and new_chain.relative_to is not None)
    return document.with_chain(place_on_ground(document, new_chain))


def _set_reference(displayed_pose: Pose, chain: TargetedChain, relative_to: str | None) -> TargetedChain:
    """Give the target of a chain another frame. It stays where it is. None is the world."""
    if relative_to is None:
        return chain.with_reference(displayed_pose, None)
    joint = displayed_pose.skeleton.names[displayed_pose.skeleton.index(relative_to)]
    if chain.kind not in RELATIVE_KINDS:
        raise InputError(f"a chain that is relative has the kind {', '.join(RELATIVE_KINDS)}, not {chain.kind}")
    if joint == chain.tip:
        raise InputError(f"the target of {joint!r} is relative to the joint itself; choose another joint")
    return chain.with_reference(displayed_pose, joint)


def _initialise_target(displayed_pose: Pose, old_chain: TargetedChain, new_chain: TargetedChain) -> TargetedChain:
    """Initialise the target of a chain with a changed kind. A pin holds the joint at its current position."""
    if new_chain.kind == old_chain.kind:
        return new_chain
    if new_chain.kind not in RELATIVE_KINDS:
        new_chain = new_chain.with_reference(displayed_pose, None).replace(within=None, offset=ORIGIN)
    elif new_chain.within is not None and new_chain.kind != "place":
        new_chain = new_chain.replace(within=dataclasses.replace(new_chain.within, turn=None))
    position, rotation, direction = measure_tip(displayed_pose, new_chain)
    position = position if new_chain.kind == "pin" else new_chain.position
    return new_chain.replace(position=position, rotation=rotation, direction=direction)


def pin_joint(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Pin or unpin a joint at its current position. A pin that is off is switched on."""
    joint = document.skeleton.names[document.skeleton.index(read_text(args, "joint"))]
    existing_pin = find_pin(document, joint)
    if not read_bool(args, "on"):
        return document if existing_pin is None else remove_chain(document, {"chain": existing_pin.name})
    if document.scope == "body":
        return pin_part(document, joint, displayed_pose)
    if existing_pin is not None:
        return document.with_chain(existing_pin.replace(enabled=True).with_target_at(displayed_pose))
    return _append_chain(document, displayed_pose, joint, None, "pin", f"pin {joint}")


# --- Rotate bones by hand: in the start pose, or as clip keys --------------------------------------------------------


_MAX_TIME_S = 1e6  # [s] upper bound of key times
_KEY_WINDOW_S = 1e-3  # [s] tolerance when a key is looked up by its time


def rotate_joint(document: Document, args: dict[str, Any], displayed_pose: Pose) -> Document:
    """Set the rotation, position or value of a joint within its limit. Rotation and position are in the world.

    The pose becomes the start pose: targets of chains below move with their tips, pins stay. With a clip it becomes a
    key.
    """
    if document.is_driven:
        raise InputError("a program shows the poses: there is no bone to rotate")
    joint = document.skeleton.names[document.skeleton.index(read_text(args, "joint"))]
    q = displayed_pose.q.copy()
    q[displayed_pose.skeleton.q_slice(joint)] = _compute_joint_values(displayed_pose, joint, args)
    pose = displayed_pose.with_q(document.solver_skeleton.legal(q)[0])
    pose = _close_loops(displayed_pose, pose, joint)
    if document.clip_name is not None:
        return _add_key(document, args, joint, pose)
    chains = tuple(_move_target_with_tip(document, chain, joint, pose) for chain in document.chains)
    return document.replace(start=pose, chains=chains)


def _close_loops(displayed_pose: Pose, pose: Pose, joint: str) -> Pose:
    """Close the loops of a rotated joint. The others follow; it rotates as far as they let it."""
    skeleton = pose.skeleton
    loops = [skeleton.loops[i] for i in find_touched_loops(skeleton, [skeleton.index(joint)])]
    if not loops:
        return pose
    ring = {row for loop in loops for row in list_ring_rows(skeleton, loop)}
    root = next(name for name in (*skeleton.ancestors(joint), joint) if skeleton.index(name) in ring)
    moved = pose.world[joint]
    held = Place(joint, moved.positions, moved.rotations, root=root)
    return displayed_pose.with_q(solve(displayed_pose, held).pose.q)


def remove_key(document: Document, args: dict[str, Any]) -> Document:
    """Remove the key of a joint at a time. Raise InputError if there is none."""
    joint, time = read_text(args, "joint"), read_number(args, "time", 0.0, _MAX_TIME_S)
    removed_keys = [
        key for key in list_keys(document) if key.joint_name == joint and abs(key.time - time) <= _KEY_WINDOW_S
    ]
    if not removed_keys:
        raise InputError(f"{joint!r} has no key at {time:.2f} s")
    return document.replace(keys=tuple(key for key in document.keys if key not in removed_keys))


def list_keys(document: Document) -> list[Key]:
    """List the keys of the active clip."""
    return [key for key in document.keys if key.clip_name == document.clip_name]


def _add_key(document: Document, args: dict[str, Any], joint: str, pose: Pose) -> Document:
    if not read_bool({"key": False, **args}, "key"):
        raise InputError(
            "a clip plays: switch Key on to rotate bones in it, or choose no clip to change the start pose"
        )
    clip = document.rig.clip(str(document.clip_name))
    new_key = build_key(clip, joint, read_number(args, "time", 0.0, _MAX_TIME_S), pose)
    other_keys = (key for key in document.keys if key[:3] != new_key[:3])
    return document.replace(keys=(*other_keys, new_key))


def _move_target_with_tip(document: Document, chain: TargetedChain, joint: str, pose: Pose) -> TargetedChain:
    """Move the target of a chain to its moved tip. Pins and chains that the joint does not carry stay unchanged."""
    moves_tip = chain.tip == joint or joint in pose.skeleton.ancestors(chain.tip)
    return place_on_ground(document, chain.with_target_at(pose)) if moves_tip and chain.kind != "pin" else chain


def _compute_joint_values(displayed_pose: Pose, joint: str, args: dict[str, Any]) -> Any:
    """Compute the requested q values of a joint."""
    skeleton = displayed_pose.skeleton
    joint_kind, joint_q = skeleton[joint].kind, displayed_pose.q[skeleton.q_slice(joint)]
    if joint_kind == Kind.FIXED or skeleton[joint].coupling:
        raise InputError(f"{joint!r} is fixed or follows another joint: it cannot be rotated")
    if joint_kind == Kind.SLIDE or (joint_kind == Kind.HINGE and "value" in args):
        return read_number(args, "value")
    if joint_kind == Kind.BALL and "value" in args:
        axis = find_hinge_axis(skeleton[joint].limit)
        if axis is None:
            raise InputError(f"{joint!r} rotates about any axis: it has a rotation, not a value")
        return rotations.about(np.array(axis), read_number(args, "value"))
    rotation = _compute_local_rotation(
        displayed_pose, joint, joint_q[-4:] if joint_kind != Kind.HINGE else None, read_quaternion(args, "rotation")
    )
    if joint_kind == Kind.HINGE:
        angle = float(rotations.twist_angle(rotation, skeleton.axes[skeleton.index(joint)]))
        return joint_q[0] + math.remainder(angle - joint_q[0], 2 * math.pi)
    if joint_kind == Kind.BALL:
        return rotation
    position = (
        _compute_local_position(displayed_pose, joint, read_vector(args, "position"))
        if "position" in args
        else joint_q[:3]
    )
    return np.concatenate([position, rotation])


def _compute_local_rotation(
    displayed_pose: Pose, joint: str, motion_rotation: Floats | None, world_rotation: tuple[float, ...]
) -> Floats:
    """Compute the joint rotation for a rotation in the world.

    A rotation of the file behind the joint's own stays behind it.
    """
    skeleton, joint_index = displayed_pose.skeleton, displayed_pose.skeleton.index(joint)
    if motion_rotation is None:
        motion_rotation = rotations.about(
            skeleton.axes[joint_index], float(displayed_pose.q[skeleton.q_slice(joint)][0])
        )
    world_from_frame = _compute_frame_rotation(displayed_pose, joint_index)
    world_from_motion = rotations.multiply(world_from_frame, motion_rotation)
    file_rotation = rotations.multiply(
        rotations.inverse(world_from_motion), displayed_pose.world.rotations[joint_index]
    )
    new_world_from_motion = rotations.multiply(np.array(world_rotation), rotations.inverse(file_rotation))
    return rotations.normalise(rotations.multiply(rotations.inverse(world_from_frame), new_world_from_motion))


def _compute_frame_rotation(displayed_pose: Pose, joint_index: int) -> Floats:
    """Compute the world rotation of the frame before a joint's motion."""
    rest_rotation, parent = (
        displayed_pose.skeleton.A[joint_index, 3:],
        int(displayed_pose.skeleton.parents[joint_index]),
    )
    return rest_rotation if parent < 0 else rotations.multiply(displayed_pose.world.rotations[parent], rest_rotation)


def _compute_local_position(displayed_pose: Pose, joint: str, world_position: tuple[float, float, float]) -> Floats:
    """Compute the q position of a free joint for a world position."""
    joint_index = displayed_pose.skeleton.index(joint)
    joint_position = displayed_pose.q[displayed_pose.skeleton.q_slice(joint)][:3]
    displacement = np.array(world_position) - displayed_pose.world.positions[joint_index]
    return joint_position + rotations.rotate(
        rotations.inverse(_compute_frame_rotation(displayed_pose, joint_index)), displacement
    )


# --- Use the sliders, buttons and texts of a program -----------------------------------------------------------------


def use_control(document: Document, args: dict[str, Any]) -> Document:
    """Move a slider, press a button, or write a text."""
    name = read_text(args, "name")
    old_control = next((control for control in document.controls if control.name == name), None)
    if old_control is None:
        raise UnknownNameError("control", name, [control.name for control in document.controls])
    if old_control.kind == "slider":
        value: Any = read_number(args, "value", old_control.low, old_control.high)
    else:
        value = read_text(args, "value") if old_control.kind == "text" else int(old_control.value) + 1
    new_control = dataclasses.replace(old_control, value=value)
    return document.replace(
        controls=tuple(new_control if control.name == name else control for control in document.controls)
    )


# --- Choose clip, terrain and foot planting --------------------------------------------------------------------------


_MAX_TERRAIN_NUMBER = 1e4  # [m or degrees] largest number in a terrain specification of the page


def choose_clip(document: Document, args: dict[str, Any]) -> Document:
    """Play a clip with its chains switched off. The targets belong to another pose. Null: none."""
    name = read_optional_text(args, "name")
    if name is None:
        stopped = document.replace(clip_name=None, plants_feet=False)
        is_restored = document.scope == "body" and document.clip_name is not None
        return restore_body(stopped) if is_restored else stopped
    document.rig.clip(name)
    pace = "live" if document.pace == "race" else document.pace
    return document.replace(clip_name=name, pace=pace).with_chains_off()


def switch_planting(document: Document, args: dict[str, Any]) -> Document:
    """Switch foot planting for the clip on or off."""
    is_on = read_bool(args, "on")
    if is_on and document.clip_name is None:
        raise InputError("there is no clip whose feet could be planted: choose one first")
    roles = document.rig.roles if is_on else None
    if roles is not None and not (roles.legs or roles.apart):
        raise UnsupportedError(
            "this skeleton has no legs that can be told: name them in the sidecar's [humanoid] table"
        )
    return document.replace(plants_feet=is_on, terrain_spec=document.terrain_spec or ("flat" if is_on else None))


def choose_terrain(document: Document, args: dict[str, Any]) -> Document:
    """Choose a terrain, or none with null.

    The page may name shapes only; files are named when the viewer is started.
    """
    spec = read_optional_text(args, "words")
    if spec is not None and spec != document.terrain_spec:
        _check_terrain_spec(spec)
        build_ground_mesh(document.rig, spec, document.solver_start)  # raises for terrain that cannot be drawn
    new_document = document.replace(terrain_spec=spec, plants_feet=document.plants_feet and spec is not None)
    return new_document.replace(chains=tuple(place_on_ground(new_document, chain) for chain in new_document.chains))


def _check_terrain_spec(spec: str) -> None:
    """Raise InputError for anything but a known shape with numbers.

    A specification of the page never leads to a file.
    """
    shape_names = [choice_spec.partition(":")[0] for choice_spec, _ in TERRAIN_CHOICES]
    name, _, number_list = spec.replace("@", ",").partition(":")
    if name not in shape_names or (name == "hills" and spec != name):
        raise InputError(
            f"ground is one of {', '.join(shape_names)} with its numbers, not {spec!r}; files: --terrain FILE"
        )
    if any(abs(number) > _MAX_TERRAIN_NUMBER for number in map(float, filter(_is_number, number_list.split(",")))):
        raise InputError(
            f"the numbers of a ground are metres and degrees, at most {_MAX_TERRAIN_NUMBER:g}, not {spec!r}"
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# --- Table of actions ------------------------------------------------------------------------------------------------


class Action(NamedTuple):
    """A change of the document.

    label                 its name for undo
    apply_change          function for the change
    takes_displayed_pose  whether `apply_change` takes the displayed pose as well: new chains and pins begin there
    restarts_solve        whether the next solve starts from the start pose, which shows the effect of the change
    is_undoable           whether it is a step of undo
    """

    label: str
    apply_change: Callable[..., Document]
    takes_displayed_pose: bool = False
    restarts_solve: bool = False
    is_undoable: bool = True

    def apply(self, document: Document, args: dict[str, Any], displayed_pose: Pose | None = None) -> Document:
        """Apply the action and return the changed document.

        Raise PoiseError for wrong arguments. `displayed_pose` is the displayed pose, by default the start pose.
        """
        if not self.takes_displayed_pose:
            return self.apply_change(document, args)
        return self.apply_change(document, args, document.solver_start if displayed_pose is None else displayed_pose)


ACTIONS: dict[str, Action] = {
    "target": Action("move target", move_target),
    "pole": Action("move pole", set_pole),
    "control": Action("use control", use_control, is_undoable=False),
    "handle": Action("move handle", move_handle),
    "chain_add": Action("add chain", add_chain, takes_displayed_pose=True),
    "chain_remove": Action("remove chain", remove_chain),
    "chain_change": Action("change chain", change_chain, takes_displayed_pose=True),
    "pull": Action("pull", pull_part, takes_displayed_pose=True),
    "scope": Action("choose what a drag moves", switch_scope, takes_displayed_pose=True),
    "pin": Action("pin", pin_joint, takes_displayed_pose=True),
    "turn": Action("turn bone", rotate_joint, takes_displayed_pose=True),
    "unkey": Action("remove key", remove_key),
    "limit": Action("change limit", set_limit),
    "anatomical": Action("switch anatomical limits", switch_anatomical_limits, restarts_solve=True),
    "solver": Action("choose solver", choose_solver, restarts_solve=True),
    "option": Action("change option", set_option, restarts_solve=True),
    "mode": Action("switch limits", set_limit_mode, restarts_solve=True),
    "run": Action("change pace", set_pace),
    "from": Action("change where solving starts", set_solve_start),
    "tolerance": Action("change tolerance", set_tolerance),
    "free_root": Action("free the root", switch_free_root),
    "views": Action("change views", set_view_count, is_undoable=False),
    "clip": Action("choose clip", choose_clip),
    "plant": Action("plant feet", switch_planting),
    "terrain": Action("change terrain", choose_terrain),
}

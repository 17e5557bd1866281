"""The character: its legs, its up axis and its metre."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from poise.calls.argument_checks import check_choice
from poise.calls.argument_checks import check_names as names_of
from poise.errors import InputError, UnsupportedError, quote_value
from poise.ground.terrain.surface import HEIGHT
from poise.maths.arrays import Floats, check_real
from poise.maths.vectors import find_z_up_rotation
from poise.model.anatomy.rest_geometry import LEG_HEIGHT_SHARE
from poise.model.anatomy.roles import Roles
from poise.model.clip import Clip
from poise.model.joint_tree import FLAT_MESSAGE
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.rig_roles import find_roles
from poise.model.roles import Leg
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import MIN_CONFIDENCE, JointRoles
from poise.model.skeleton import Kind, Skeleton
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

Up = Literal["y", "z"]

_PARTS = ("UpperLeg", "LowerLeg", "Foot")

_STIFF_KINDS, _TURNING_KINDS = (Kind.HINGE, Kind.SLIDE), (Kind.BALL, Kind.FREE)
_MAX_FIGURES = 4  # kept with a rig or clip: those of few choices of legs

_CLEAR = 0.8  # the share of a direction that one axis has, for legs that say which way is up
_UNEVEN = 2.0  # so many times less even is the height of the lowest joint along an axis that is not up


@dataclass(frozen=True, eq=False)
class Figure:
    """The legs of a skeleton, and its measures.

    Parameters
    ----------
    skeleton
        The joints.
    legs
        The legs that are planted, from the hip down.
    up
        The file's up axis, "y" or "z".
    metre
        File units per metre of a figure that is 1.7 m tall: all that Poise says in metres counts in these.
    mover
        The joint that carries the whole figure: displacements are written to it.
    trunk
        The lowest joint that carries all the legs: a lean is written to it, or to one that carries arms, too.
    arms
        The arms, from the shoulder down; None: those that the joints of the skeleton show.
    """

    skeleton: Skeleton
    legs: tuple[Leg, ...]
    up: Up
    metre: float
    mover: str
    trunk: str
    arms: tuple[Leg, ...] | None = None

    @cached_property
    def is_robot(self) -> bool:
        """Whether its legs turn on hinges."""
        return any(_has_hinges(self.skeleton, leg) for leg in self.legs)

    @cached_property
    def turn(self) -> Floats:
        """Rotation (4,) from the file's axes to the ground's: z up."""
        return find_z_up_rotation(self.up)


def figure_of(
    clip: Clip | Pose,
    *,
    rig: Rig | None = None,
    legs: Sequence[str] | None = None,
    up: Up | None = None,
    metre: float | None = None,
) -> Figure:
    """Find the legs of a skeleton, its up axis and its metre.

    rig    whose roles say which joints are legs; the skeleton's own if None
    legs   names of the legs to plant (`rig.roles.legs`); all of them if None
    up     "y" or "z"; if None the file's word; else where the legs lead away from, over the clip or at rest
    metre  file units per metre; if None, the figure counts as 1.7 m tall, which its legs say: thigh and shin are 0.49
           of a person's height. A figure with a large head on short legs, or on four legs, is measured alike

    Feet of robots, whose legs turn on hinges, have no toes. No legs, legs that are not sure, a leg that does not turn,
    an unknown leg: one sentence that says what there is.
    """
    if metre is None and isinstance(rig, Rig) and _are_names(up, legs):
        # where the clip does not say what is up, its figure is that of all clips
        is_shared = clip.skeleton is rig.skeleton and (up or clip.skeleton.up in ("y", "z"))
        owner, key = (rig, (legs, up)) if is_shared else (clip, (weakref.ref(rig), legs, up))
        return get_or_compute(
            owner, "figure", key, lambda: freeze(_find_figure(clip, rig, legs, up, None)), _MAX_FIGURES
        )
    return _find_figure(clip, rig, legs, up, metre)


def _are_names(up: object, legs: object) -> bool:
    """Return whether a choice can be kept with its figure. Others are refused, or are lists."""
    names: tuple[object, ...] = legs if isinstance(legs, tuple) else ()
    return (legs is None or type(legs) is tuple) and all(isinstance(name, str | None) for name in (up, *names))


def _find_figure(
    clip: Clip | Pose, rig: Rig | None, legs: Sequence[str] | None, up: Up | None, metre: float | None
) -> Figure:
    skeleton = clip.skeleton
    roles = rig.roles if isinstance(rig, Rig) else find_roles(skeleton if rig is None else rig)
    chosen = _choose_legs(roles, legs)
    for leg in chosen:
        _check_joints(skeleton, leg)
        _check_sure(roles, leg)
    chosen = tuple(replace(leg, toes=None) if _has_hinges(skeleton, leg) else leg for leg in chosen)
    if metre is None:
        metre = get_or_compute(skeleton, "leg height", chosen, lambda: _height(skeleton, chosen)) / HEIGHT
    if not 0.0 < check_real(metre, "a metre") < np.inf:
        raise InputError(f"a metre must be a positive number of file units, not {metre}")
    if up is not None:
        check_choice(up, "up", ("y", "z"))
    moving = movers(skeleton, [leg.upper for leg in chosen])
    if not moving:
        raise UnsupportedError("no joint above the legs can move: the figure cannot be put on other ground")
    arms = find_arms(skeleton, roles)
    return Figure(skeleton, chosen, up or up_of_legs(clip, chosen), metre, moving[0], moving[-1], arms)


def find_arms(skeleton: Skeleton, roles: JointRoles) -> tuple[Leg, ...]:
    """Find the arms with confident roles and freely rotating joints."""
    arms: list[Leg] = []
    for side in SIDES:
        chain = [f"{side}{part}" for part in ("UpperArm", "LowerArm", "Hand")]
        names = [roles.joints[role] for role in chain if roles.confidence.get(role, 0.0) >= MIN_CONFIDENCE]
        if len([name for name in names if _get_kind(skeleton, name) == Kind.BALL]) == len(chain):
            arms.append(Leg(f"{side} arm", *names, toes=None))
    return tuple(arms)


def _choose_legs(roles: Roles, names: Sequence[str] | None) -> tuple[Leg, ...]:
    legs = (*roles.legs, *roles.apart)
    if not legs:
        flat = next((f" ({why})" for role, why in roles.left_out.items() if why == FLAT_MESSAGE or role == "legs"), "")
        raise UnsupportedError(
            f"this skeleton has no legs that can be told{flat}: name them in the sidecar's [humanoid] table, "
            'such as leftUpperLeg = "JOINT", leftLowerLeg and leftFoot'
        )
    if names is None:
        return legs
    known = {leg.name: leg for leg in legs}
    chosen = (names,) if isinstance(names, str) else names_of(names, f"legs, of {', '.join(known)},", str([*known]))
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise InputError(f"no leg {quote_value(unknown[0]) if unknown else repr('')}; legs: {', '.join(known)}")
    if len(set(chosen)) < len(chosen):
        raise InputError(f"a leg is named twice: {', '.join(chosen)}")
    return tuple(known[name] for name in chosen)


def _check_sure(roles: Roles, leg: Leg) -> None:
    """Refuse a leg with a doubtful role, as natural poses do. Fins and tails do not stand.

    Legs of animals on four legs or more have no roles; they are those that stand on the ground.
    """
    known = {role: joint for role, joint in roles.joints.items() if joint in (leg.upper, leg.lower, leg.foot)}
    least = min(known, key=lambda role: roles.confidence[role], default=None)
    if least is None or roles.confidence[least] >= MIN_CONFIDENCE:
        return
    table = ", ".join(
        f'{leg.name}{part} = "{joint}"' for part, joint in zip(_PARTS, (leg.upper, leg.lower, leg.foot), strict=True)
    )
    raise UnsupportedError(
        f"the {leg.name} leg is known with a confidence of {roles.confidence[least]:.1f} only ({known[least]!r} as "
        f"{least}: {roles.reasons[least]}), and {MIN_CONFIDENCE:g} is needed: if it is a leg, say so in the "
        "sidecar's [humanoid] "
        f"table, {table}"
    )


def _has_hinges(skeleton: Skeleton, leg: Leg) -> bool:
    """Return whether hip, knee or ankle is a hinge or slide."""
    return any(_get_kind(skeleton, name) in _STIFF_KINDS for name in (leg.upper, leg.lower, leg.foot))


def _get_kind(skeleton: Skeleton, name: str) -> int:
    return skeleton.joint_lists.kinds[skeleton.index(name)]


def _check_joints(skeleton: Skeleton, leg: Leg) -> None:
    if _has_hinges(skeleton, leg):
        return
    for name in (leg.upper, leg.lower, leg.foot, *([leg.toes] if leg.toes else [])):
        kind = _get_kind(skeleton, name)
        if kind not in _TURNING_KINDS:
            raise UnsupportedError(
                f"the {leg.name} leg's joint {name!r} is a {Kind(kind).name.lower()}: legs turn on balls, or as a "
                "robot's on hinges"
            )


def _height(skeleton: Skeleton, legs: tuple[Leg, ...]) -> float:
    """Compute the character's height [file units] from its legs at rest."""
    places = Pose(skeleton, skeleton.rest_q).world.positions
    bones = [[places[skeleton.index(name)] for name in (leg.upper, leg.lower, leg.foot)] for leg in legs]
    lengths = np.linalg.norm(np.diff(bones, axis=1), axis=-1).sum(axis=-1)
    if not lengths.min() > 0:
        raise UnsupportedError(f"the {legs[int(lengths.argmin())].name} leg has no length in the rest pose")
    return float(lengths.mean()) / LEG_HEIGHT_SHARE


def up_of_legs(clip: Clip | Pose, legs: tuple[Leg, ...]) -> Up:
    """Find the up axis: the file's, else from feet to hips.

    The direction to the hips is that in the clip, or in the rest pose. The rest pose counts where the clip says little,
    as where a figure sits or lies. The clip comes first, because in some BVH files only the motion of the root turns
    the figure upright. Where both are clear and differ, as where a figure lies for most of the clip, up is the rest
    pose's if the lowest joint then stays far more at one height.
    """
    skeleton = clip.skeleton
    if skeleton.up in ("y", "z"):
        return skeleton.up
    rest, poses = Pose(skeleton, skeleton.rest_q), clip.poses if isinstance(clip, Clip) else clip
    rises = [_rise(pose.world.positions, skeleton, legs) for pose in (poses, rest)]
    clear = [np.abs(rise).max() > _CLEAR * np.linalg.norm(rise) > 0.0 for rise in rises]
    ups: list[Up] = ["z" if abs(rise[2]) > abs(rise[1]) else "y" for rise in rises]
    if not clear[0]:
        return ups[1]
    if clear[1] and ups[0] != ups[1]:
        clips, rests = (_uneven(poses.world.positions, up) for up in ups)
        return ups[1] if clips > _UNEVEN * rests else ups[0]
    return ups[0]


def _uneven(points: Floats, up: Up) -> float:
    """Measure how much the height of the lowest joint changes. The joints are (..., n, 3), and this axis is up."""
    return float(np.std(points[..., {"y": 1, "z": 2}[up]].min(axis=-1)))


def _rise(points: Floats, skeleton: Skeleton, legs: tuple[Leg, ...]) -> Floats:
    """Sum the vectors (3,) from feet to hips over poses and legs."""
    hips = points[..., [skeleton.index(leg.upper) for leg in legs], :]
    feet = points[..., [skeleton.index(leg.foot) for leg in legs], :]
    return (hips - feet).reshape(-1, 3).sum(axis=0)


def movers(skeleton: Skeleton, joints: Sequence[str]) -> list[str]:
    """Return the movable joints above all given joints, from the top."""
    common = set.intersection(*(set(_ancestors(skeleton, joint)) for joint in joints))
    return [skeleton.names[i] for i in sorted(common) if skeleton.kinds[i] in {Kind.BALL, Kind.FREE}]


def _ancestors(skeleton: Skeleton, joint: str) -> list[int]:
    rows: list[int] = []
    row = int(skeleton.parents[skeleton.index(joint)])
    while row >= 0:
        rows.append(row)
        row = int(skeleton.parents[row])
    return rows

"""The same thing in other units, or standing elsewhere: skeletons, poses, clips, goals."""

from __future__ import annotations

import dataclasses
from functools import singledispatch

import numpy as np

import poise
from poise import Kind
from poise.maths import rotations
from poise.problem import goals as kinds_of_goals

QUARTER = rotations.about(np.array([1.0, 0.0, 0.0]), np.pi / 2)  # from y up to z up
_LENGTHS = ("target", "position", "offset")  # the fields of goals that are lengths, where their kind has them


@singledispatch
def in_units(thing, factor):
    """The same in other file units: every length times a factor."""
    changes = {name: np.multiply(getattr(thing, name), factor) for name in _LENGTHS if hasattr(thing, name)}
    return remade(thing, **changes)


@in_units.register
def _(goal: poise.Pin, _):
    return goal  # whose `position` says whether it stays


@in_units.register
def _(skeleton: poise.Skeleton, factor):
    A, B = skeleton.A.copy(), skeleton.B.copy()
    A[:, :3] *= factor
    B[:, :, 3] *= factor
    limits = [
        poise.Range(limit.low * factor, limit.high * factor) if limit is not None and kind == Kind.SLIDE else limit
        for limit, kind in zip(skeleton.limits, skeleton.kinds, strict=True)
    ]
    couplings = [
        coupling._replace(offset=coupling.offset * factor) if coupling and kind == Kind.SLIDE else coupling
        for coupling, kind in zip(skeleton.couplings, skeleton.kinds, strict=True)
    ]
    rest_q = np.where(lengths_in(skeleton), skeleton.rest_q * factor, skeleton.rest_q)
    return dataclasses.replace(skeleton, A=A, B=B, rest_q=rest_q, limits=tuple(limits), couplings=tuple(couplings))


@in_units.register
def _(pose: poise.Pose, factor):
    moved = None if pose.translations is None else pose.translations * factor
    q = np.where(lengths_in(pose.skeleton), pose.q * factor, pose.q)
    return poise.Pose(in_units(pose.skeleton, factor), q, moved, pose.scales)


@in_units.register
def _(clip: poise.Clip, factor):
    return poise.Clip(clip.times, in_units(clip.poses, factor), clip.name)


@in_units.register
def _(goal: poise.Balance, factor):
    over = [(name, np.multiply(point, factor)) for name, point in goal.over]
    masses = {name: (body.mass, tuple(np.multiply(body.centre, factor))) for name, body in goal.masses}
    return remade(goal, over=over, masses=masses)


@in_units.register
def _(goal: poise.Near, factor):
    return remade(goal, pose=in_units(goal.pose, factor))


def lengths_in(skeleton):
    """Which numbers of q are lengths (nq,): those of slides, and where free joints are."""
    found = np.zeros(skeleton.nq, dtype=bool)
    for start, kind in zip(skeleton.q_start, skeleton.kinds, strict=True):
        found[start : start + {Kind.SLIDE: 1, Kind.FREE: 3}.get(Kind(kind), 0)] = True
    return found


@singledispatch
def placed(thing, turn, shift):
    """The same turned about the origin of the world by a quaternion, then shifted."""
    changes = {}
    for name in ("target", "position"):
        if hasattr(thing, name):
            changes[name] = rotations.rotate(turn, np.asarray(getattr(thing, name))) + shift
    if hasattr(thing, "rotation") and not isinstance(thing, poise.Pin):
        changes["rotation"] = rotations.multiply(turn, thing.rotation)
    if hasattr(thing, "direction"):
        changes["direction"] = rotations.rotate(turn, thing.direction)
    return remade(thing, **changes)


@placed.register
def _(skeleton: poise.Skeleton, turn, shift):
    roots, A = skeleton.parents < 0, skeleton.A.copy()
    A[roots, :3] = rotations.rotate(turn, A[roots, :3]) + shift
    A[roots, 3:] = rotations.multiply(turn, A[roots, 3:])
    return dataclasses.replace(skeleton, A=A)


@placed.register
def _(pose: poise.Pose, turn, shift):
    roots, moved = pose.skeleton.parents < 0, pose.translations
    if moved is not None:
        moved = moved.copy()
        moved[..., roots, :] = rotations.rotate(turn, moved[..., roots, :]) + shift
    return poise.Pose(placed(pose.skeleton, turn, shift), pose.q, moved, pose.scales)


@placed.register
def _(clip: poise.Clip, turn, shift):
    return poise.Clip(clip.times, placed(clip.poses, turn, shift), clip.name)


@placed.register
def _(goal: poise.Pin, *_):
    return goal


@placed.register
def _(goal: poise.Balance, turn, _):
    return remade(goal, up=rotations.rotate(turn, np.array([0.0, 1.0, 0.0]) if goal.up is None else np.array(goal.up)))


@placed.register
def _(goal: poise.Near, turn, shift):
    return remade(goal, pose=placed(goal.pose, turn, shift))


def remade(goal, **changes):
    """A goal with some of its fields changed."""
    assert type(goal) in kinds_of_goals.GOAL_CLASSES
    return dataclasses.replace(goal, **changes) if changes else goal

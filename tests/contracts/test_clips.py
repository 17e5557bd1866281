"""Clips are their frames, whatever file they came from: hips moved by numbers or by translations, bones that grow."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Position
from poise.solvers.natural.free_limbs import find_free_parts
from tests.contracts.cases import SOLVERS
from tests.contracts.clips import MOTIONS, VERBS, reached_for, translated, walk
from tests.contracts.problems import BITS, same_bits

FAR = 7  # the frame whose target is out of reach
NAMES = [name for name in SOLVERS if name != "autodiff"]  # which compiles every frame anew
every_solver = pytest.mark.parametrize("name", NAMES)


def some(motion):
    """The first frames of a motion: a group of lanes and some."""
    clip = MOTIONS[motion]()
    return poise.Clip(clip.times[:13], clip.poses[:13], clip.name)


def goals_of(clip):
    """The goals that each clip is asked with: a hand, also of two bones alone; hand, foot and head together."""
    hand = reached_for(clip, FAR)
    yield (hand,)
    if hand.joint != "tool":
        yield (Position(hand.joint, hand.target, root="LeftArm"),)
        foot = clip.poses.world["LeftFoot"].positions + 0.1 * clip.poses.world["LeftFoot"].affine[..., 1]
        ahead = clip.poses.world["Head"].positions + np.array([0.5, 0.1, 2.0])
        yield hand, Position("LeftFoot", foot), poise.LookAt("Head", ahead)


def baked(clip, goals, name):
    """The clip solved, each frame alone; None where the solver refuses."""
    try:
        return poise.bake(clip, goals, solver=name, continuous=False)
    except poise.UnsupportedError:
        return None


def assert_else_the_same(made, clip):
    """Times, name, lengths and sizes, and every joint that did not move."""
    assert (made.name, made.skeleton) == (clip.name, clip.skeleton)
    still = np.ones(clip.skeleton.nq, dtype=bool)
    for joint in made.result.joints:
        still[clip.skeleton.q_slice(joint)] = False
    free = find_free_parts(made.result.problem) if made.result.natural else None
    if free is not None:  # limbs and a head without goals keep their direction in the world
        still[free.q_columns] = False
    np.testing.assert_array_equal(made.poses.q[:, still], clip.poses.q[:, still])
    for mine, given in zip(shape_of(made), shape_of(clip), strict=True):
        np.testing.assert_array_equal(mine, given)


def shape_of(clip):
    """What no solver changes."""
    return clip.times, clip.poses.translations, clip.poses.scales


@every_solver
@pytest.mark.parametrize("motion", MOTIONS)
def test_a_clip_is_its_frames(motion, name):
    """bake() and solve() over the poses give the bits of solving frame by frame; so do the frames backwards."""
    clip, taken = some(motion), 0
    for goals in goals_of(clip):
        if (made := baked(clip, goals, name)) is None:
            continue
        whole = made.result
        assert_else_the_same(made, clip)
        same_bits(poise.solve(clip.poses, goals, solver=name), whole)
        backwards = [goal.with_target(goal.rows()[::-1]) for goal in goals]
        np.testing.assert_array_equal(poise.solve(clip.poses[::-1], backwards, solver=name).q[::-1], whole.q)
        for i in range(len(clip)):  # a batch of one: a lone pose of a serial arm goes another way
            mine = [goal.with_target(goal.rows()[[i]]) for goal in goals]
            one = poise.solve(clip.poses[[i]], mine, solver=name)
            for part in BITS:
                np.testing.assert_array_equal(getattr(one, part)[0], getattr(whole, part)[i], err_msg=f"{part} of {i}")
            assert one.message(0) == whole.message(i)
        assert not whole.reached[FAR]
        assert whole.reached.mean() > 0.5
        taken += 1
    assert taken or (name == "two_bone" and motion in {"an arm", "nearly uniform scale"})


@every_solver
@pytest.mark.parametrize("motion", ["numbers", "translations", "lengths of two kinds"])
def test_one_target_for_all_frames(motion, name):
    clip = some(motion)
    goal = Position("LeftHand", clip.poses.world["LeftHand"].positions[3], root="LeftArm")
    whole = poise.bake(clip, goal, solver=name, continuous=False)
    for i in (0, 3, len(clip) - 1):
        np.testing.assert_array_equal(poise.solve(clip.poses[i], goal, solver=name).q, whole.poses.q[i])
    np.testing.assert_array_equal(whole.poses.q[3], clip.poses.q[3])


@every_solver
def test_hips_moved_by_numbers_or_by_translations(name):
    """The same motion as a BVH file and as a glTF file hold it: the same turns of the same joints."""
    for goals in goals_of(some("numbers")):
        if (numbers := baked(some("numbers"), goals, name)) is not None:
            other = baked(some("the same by translations"), goals, name)
            same_bits(other.result, numbers.result, ("iterations", "codes"))
            met = numbers.result.reached  # what is missed ends where no step helps any more, which is less exact
            np.testing.assert_allclose(other.poses.q[met], numbers.poses.q[met, 3:], atol=1e-9)
            np.testing.assert_allclose(other.result.errors, numbers.result.errors, atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_gives_the_same_bits_twice(verb):
    one, other = VERBS[verb](walk(".glb")), VERBS[verb](walk(".glb"))
    np.testing.assert_array_equal(other.poses.q, one.poses.q)
    np.testing.assert_array_equal(other.poses.local_positions, one.poses.local_positions)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_both(verb):
    one, other = VERBS[verb](walk()), VERBS[verb](translated())
    np.testing.assert_allclose(other.poses.world.positions, one.poses.world.positions, atol=1e-7)
    np.testing.assert_array_equal(other.times, one.times)

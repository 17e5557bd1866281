"""Problems that the contracts ask of every solver: rigs of every kind, goals of every kind, each with many targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

import poise
from poise import Kind, Place, Position, Range
from poise.io import samples
from poise.problem.goals import GOAL_CLASSES
from tests.contracts.cases import SOLVERS, chain, goal_for, limb, posed, requested, rest
from tests.contracts.moved_skeletons import in_units, placed
from tests.strategies import figure, generic_arm, rng_of
from tests.workload import is_drawn

ROWS = 19  # targets of a problem: two groups of lanes and some
FAR = (3, 11)  # those that are out of reach, where a goal has a place
BITS = ("q", "errors", "iterations", "codes")  # what of two results has to be the same
MEASURED = (
    "arm to places",
    "arm to turns",
    "arm to points",
    "hinges",
    "slides",
)  # a lone target of a serial arm is measured by the kernel that solved it


@dataclass(frozen=True, eq=False)
class Problem:
    """A start, and goals whose targets are a batch; tolerances are said, so that they can be in other units."""

    start: poise.Pose
    goals: tuple
    tolerance: float = 1e-4
    how: dict = field(default_factory=dict)

    def at(self, rows):
        """The goals with some of the targets: a list of rows, or a single one."""
        return tuple(goal.with_target(goal.rows()[rows]) if goal.width else goal for goal in self.goals)

    def targets(self, rows):
        """Those targets as a prepared problem takes them."""
        given = [goal.rows()[rows] for goal in self.goals if goal.width]
        return given if len(given) > 1 else given[0]

    def solved(self, name, rows, start=None, **more):
        """The result of a solver for some targets; None where it refuses."""
        how = {"tolerance": self.tolerance, "angle_tolerance": 1e-4} | self.how | more
        return requested(self.start if start is None else start, self.at(rows), name, **how)

    def prepared(self, name, **more):
        """The problem packed for a solver."""
        how = {"tolerance": self.tolerance, "angle_tolerance": 1e-4} | self.how | more
        return poise.prepare(self.start, self.at(0), solver=name, **how)

    def in_units(self, factor):
        """The same in other file units."""
        goals = tuple(in_units(goal, factor) for goal in self.goals)
        return Problem(in_units(self.start, factor), goals, self.tolerance * factor, self.how)

    def placed(self, turn, shift):
        """The same turned and shifted as a whole."""
        goals = tuple(placed(goal, turn, shift) for goal in self.goals)
        return Problem(placed(self.start, turn, shift), goals, self.tolerance, self.how)


@cache
def answer(problem, name):
    """The result of a solver for all targets of a problem; None where it refuses."""
    return PROBLEMS[problem].solved(name, slice(None))


def accepted(problem, name):
    """Whether a solver takes a problem, which is asked without solving anything."""
    return (
        requested(PROBLEMS[problem].start, PROBLEMS[problem].at(slice(0, 0)), name, **PROBLEMS[problem].how) is not None
    )


def same_bits(one, other, names=BITS):
    """Check that two results, or parts of one, are the same to the bit."""
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def legal_poses(skeleton, count, seed=1, share=0.8):
    """Legal configurations around the rest pose (count, nq)."""
    return np.array([posed(skeleton, seed + i, share).q for i in range(count)])


def _places(skeleton, tip, seed=1):
    """Where legal poses bring a joint: positions (ROWS, 3), those of FAR too far away, and rotations."""
    world = poise.Pose(skeleton, legal_poses(skeleton, ROWS, seed)).world[tip]
    positions, base = world.positions.copy(), rest(skeleton).world.positions[0]
    for row in FAR:
        positions[row] = base + 9.0 * (positions[row] - base + 0.1)
    return positions, world.rotations


def _to_the_tip(skeleton, start=None, tip="tip", **options):
    start = rest(skeleton) if start is None else start
    return Problem(start, (Position(tip, _places(skeleton, tip)[0], **options),))


def _arm(make):
    s = generic_arm()
    start = poise.Pose(s, np.array([0.1, -0.4, 0.3, 0.5, -0.2, 0.3]))
    return Problem(start, (make(*_places(s, "tool")),), 1e-6)


@cache
def _figure():
    """The bundled figure in the middle of a step."""
    return poise.load(samples.path("humanoid.bvh")).clips[0].poses[5]


def _around(pose, joint, by, seed):
    """Points around a joint (ROWS, 3), those of FAR far away."""
    points = pose.world[joint].positions + rng_of(seed).uniform(-by, by, size=(ROWS, 3))
    points[list(FAR)] += 50.0
    return points


def _foot_and_knee():
    start = _figure()
    knee = start.world["LeftLeg"].positions + rng_of(3).normal(size=(ROWS, 3))
    return Problem(start, (Position("LeftFoot", _around(start, "LeftFoot", 0.3, 2)), poise.Pole("LeftLeg", knee)))


def _hands():
    hands = (f"{side}Hand" for side in ("Left", "Right"))
    return tuple(Position(hand, _around(_figure(), hand, 0.2, 4), root="Spine") for hand in hands)


def _look(start):
    """The axis is named: where the whole rig is turned its rest pose does not show it."""
    return poise.LookAt("Head", _around(start, "Head", 2.0, 5), axis=(0, 0, 1))


def _hands_and_a_look():
    start = _figure()
    return Problem(start, (*_hands(), _look(start), poise.Pin("RightFoot")))


def _free_figure():
    s = figure(free=True)
    feet = poise.Pose(s, legal_poses(s, ROWS, share=0.3)).world
    goals = (
        Position("l_foot", feet["l_foot"].positions),
        Place("r_foot", feet["r_foot"].positions, feet["r_foot"].rotations),
        poise.Direction("head", rng_of(1).normal(size=(ROWS, 3)), axis=(0, 1, 0)),
        poise.Near(rest(s)),
    )
    return Problem(rest(s), goals, how={"free_root": True})


def _coupled():
    s = poise.Skeleton.build(
        ["palm", "a", "b", "c", "tip"], range(-1, 4), [1, 1, 1, 1, 0], offsets=[(0, 0, 0), *[(1, 0, 0)] * 4],
        axes=[(0, 1, 0), *[(0, 0, 1)] * 3, (0, 0, 0)], limits=[Range(-1, 1), Range(0, 1.5), None, None, None],
        couplings=[None, None, poise.Coupling(1, 0.7, 0.1), poise.Coupling(1, -0.4, 0.2), None],
    )  # fmt: skip
    return _to_the_tip(s)


def _followers():
    """A spine that parts into two fingers, each with a joint that follows one on the way to neither tip."""
    names = ["base", "spine", "left", "l_end", "l_tip", "right", "r_end", "r_tip", "lever", "wheel"]
    couplings = [None, None, poise.Coupling(8, -0.6, 0.3), *[None] * 3, poise.Coupling(9, 2.0, -0.2), *[None] * 3]
    s = poise.Skeleton.build(
        names, [-1, 0, 1, 2, 3, 1, 5, 6, 0, 0], [0, 3, 1, 1, 0, 1, 1, 0, 1, 1],
        offsets=[(0, 0, 0), (0, 1, 0), (-1, 1, 0), *[(0, 1, 0)] * 2, (1, 1, 0), *[(0, 1, 0)] * 2, *[(2, 0, 0)] * 2],
        axes=[(0, 0, 0)] * 2 + [(0, 0, 1), (1, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, 0)] + [(0, 1, 0)] * 2,
        limits=[*[None] * 8, Range(-1, 1), Range(-0.5, 0.75)], couplings=couplings,
    )  # fmt: skip
    return Problem(rest(s), tuple(Position(tip, _places(s, tip)[0], root="spine") for tip in ("l_tip", "r_tip")))


def _scaled(n, noise):
    """A start with lengths and sizes of its own, its scale uniform but for some noise."""
    s, rng = chain("balls", "none", n), rng_of(7)
    scales = rng.uniform(0.7, 1.5, size=(n + 1, 1)) * (1 + noise * rng.uniform(-1, 1, size=(n + 1, 3)))
    return _to_the_tip(s, poise.Pose(s, s.rest_q, s.A[:, :3] * 1.25, scales))


def _goal(kind):
    """A goal of one kind for a limb of two bones."""
    s = limb()
    goal = goal_for(kind, rest(s), posed(s, 3, 0.5))
    if not goal.width:
        return Problem(rest(s), (Position("lower", _places(s, "lower")[0]), goal))
    rows = goal.rows() + 0.1 * rng_of(2).normal(size=(ROWS, goal.width))
    return Problem(rest(s), (goal.with_target(goal.parse(rows)),))


def _all():
    yield "arm to places", _arm(lambda at, turns: Place("tool", at, turns))
    yield "arm to turns", _arm(lambda _, turns: poise.Orientation("tool", turns))
    yield "arm to points", _arm(lambda at, _: Position("tool", at, offset=(0.0, 0.125, 0.0)))
    yield "hinges", _to_the_tip(chain("hinges", "Range", 3))
    yield "slides", _to_the_tip(chain("slides", "Range", 3))
    yield "a knee that is a hinge", _to_the_tip(limb(Kind.HINGE, Range(-0.1, 2.0)), tip="hand")
    yield "two balls", _to_the_tip(chain("balls", "none", 2))
    yield "seven balls", _to_the_tip(chain("balls", "none", 7))
    yield "balls with an axis", _to_the_tip(chain("balls", "hinge", 3))
    yield "balls in cones", _to_the_tip(chain("balls", "SwingTwist", 3))
    yield "balls in boxes", _to_the_tip(chain("balls", "EulerBox", 3))
    yield "joints of every kind", _to_the_tip(chain("mixed", "every", 5))
    yield "coupled hinges", _coupled()
    yield "a hinge that follows one elsewhere", Problem(_followers().start, _followers().goals[:1])
    yield "fingers that follow hinges elsewhere", _followers()
    yield "a mirrored parent", _to_the_tip(chain("balls", "none", 2, scales=[[-2.5] * 3, [1] * 3, [0.5] * 3]))
    yield "lengths of a pose", _scaled(2, 0.0)
    yield "nearly uniform scale", _scaled(3, 4e-4)
    yield "a leg", Problem(_figure(), (Position("LeftFoot", _around(_figure(), "LeftFoot", 0.3, 2)),))
    yield "a leg and its side", _foot_and_knee()
    yield "two hands", Problem(_figure(), _hands())
    yield "two hands and a look", _hands_and_a_look()
    yield "a free figure", _free_figure()
    yield from ((kind.__name__, _goal(kind)) for kind in GOAL_CLASSES)


PROBLEMS = dict(_all())

FEW = ("arm to points", "slides", "two balls", "nearly uniform scale", "Aim", "Orientation")
PAIRS = [(problem, name) for name in SOLVERS for problem in PROBLEMS if name != "autodiff" or problem in FEW]
"""Problems and who is asked to solve them: JAX compiles every problem anew, for many seconds, and gets few."""
TRIED = [pair for pair in PAIRS if is_drawn("{} by {}".format(*pair), 3)]  # by this commit

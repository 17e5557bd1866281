"""The repr of every public value: at most 6 lines and 400 characters, on a terminal as in a notebook."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model.limits import LIMIT_CLASSES
from poise.problem.goals import GOAL_CLASSES

MOST_LINES, MOST_LETTERS = 6, 400
CLASSES = {name for name in dir(poise) if isinstance(getattr(poise, name), type)}
ERRORS = {name for name in CLASSES if issubclass(getattr(poise, name), Exception)}
ELSEWHERE = {"View", "Comparison"}  # a page that is open, and a run of minutes: each has its own test


def values():
    """A value of each public class, as large as they come here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rig, arm = poise.load(samples.path("humanoid.glb")), poise.load(samples.path("arm.urdf"))
    walk, rest, bones = rig.clips[0], rig.rest, rig.skeleton
    hand = poise.Position("LeftHand", np.zeros((500, 3)), root="LeftArm")
    planted = poise.plant_feet(walk, poise.Terrain.heightmap(samples.path("hills.npz")), rig=rig)
    roles = poise.find_roles(rig)
    turns = np.tile([1.0, 0, 0, 0], (500, 1))
    moved = poise.retarget(walk, rig, source=rig)
    return [
        moved, moved.match, moved.match["hips"], moved.report, poise.Retargeter(rig, rig),
        rig, arm, rig.skins[0], bones, bones["Hips"], bones["Hips"].kind, rest, walk.poses, rest.world,
        walk.poses.local, rest.world["Hips"], walk, walk.poses, *walk.tracks[:1], roles, *roles.legs[:1],
        poise.Effort(joints=tuple(range(2, 500))), planted, planted.report,
        planted.contacts, planted.soles, poise.Thresholds(), planted.terrain,
        poise.Grounder(walk, planted.terrain), poise.masses(rig)["Hips"],
        poise.Motor(2.5, 87.0, poise.SafetyController(k_velocity=10.0)), poise.SafetyController(),
        poise.Loop("Spine", "Hips", (0, 0, 1), rotation=(1, 0, 0, 0)),
        poise.Coupling(0, 2.0, 1.0), hand, poise.Place("LeftHand", np.zeros((500, 3)), turns),
        poise.Orientation("LeftHand", turns),
        poise.Direction("LeftHand", np.ones((500, 3))), poise.Aim("LeftHand", np.ones((500, 3))),
        poise.LookAt("Head", np.ones((500, 3))), poise.Pole("LeftForeArm", np.ones((500, 3)), tip="LeftHand"),
        poise.Pin("LeftFoot"), poise.Near(walk.poses), poise.Balance(masses=poise.masses(rig)),
        poise.Within(z=(-0.1, 0.1)),
        poise.Range.degrees(0, 150, axis=(1, 2, 3)), poise.SwingTwist.degrees((1, 2, 3), (45, 30), (-20, 20)),
        poise.EulerBox.degrees("YXZ", x=(-1, 1), y=(-60, 60), z=(0, 1), soft=0.3),
        *(poise.solvers.make_solver(name) for name in poise.solvers.names() if name != "autodiff"),
        poise.solve(rest, hand), poise.solve(rest, hand).status, poise.Status.stalled, poise.prepare(rest, hand),
        poise.Tracker(rest, poise.Position("LeftHand", [0, 1, 0])), poise.bake(walk, poise.LookAt("Head", [2, 1.6, 2])),
        poise.solve(rest, poise.Position("LeftHand", [0, 1, 0]), solver="ccd", trace=True).trace,
        poise.fit(bones, walk.poses.world.positions, fps=30), poise.Clip(walk.times, walk.poses, "walk"),
        poise.Markers(walk.poses.world.positions, bones.names, 30),
        poise.Converted((samples.path("humanoid.bvh"),) * 76, ("walk",) * 76, 76, 30.0, 0.1, 0.2, ("a line",) * 9, ()),
        poise.Finished(samples.path("humanoid.bvh"), None, poise.InputError("no")),
    ]  # fmt: skip


VALUES = values()


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_says_what_it_is_in_few_words(value):
    message = repr(value)
    assert message.count("\n") < MOST_LINES
    assert len(message) <= MOST_LETTERS
    assert type(value).__name__ in message
    assert " object at 0x" not in message


def test_every_public_class_is_checked():
    shown = {type(value).__name__ for value in VALUES}
    assert CLASSES - ERRORS - ELSEWHERE - shown <= {"Autodiff"}
    assert {kind.__name__ for kind in (*GOAL_CLASSES, *LIMIT_CLASSES)} <= shown

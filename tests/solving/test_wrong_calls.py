"""Forty wrong calls of Python that people make: each is answered by one sentence with the right call."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import poise
from poise.io import samples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    RIG = poise.load(samples.path("humanoid.glb"))
    ARM = poise.load(samples.path("arm.urdf"))
REST, BONES = RIG.rest, RIG.skeleton
HAND = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
BOTH = [HAND, poise.Position("RightHand", [-0.4, 1.2, 0.35], root="RightArm")]
TWO = HAND.with_target(np.zeros((2, 3)))

CALLS = {
    "two numbers": (lambda: poise.solve(REST, poise.Position("LeftHand", [0.4, 1.2])), "[0.4, 1.2, z]"),
    "two numbers, many": (lambda: poise.solve(REST, poise.Position("LeftHand", [[0.4, 1.2]])), "[0.4, 1.2, z]"),
    "two numbers, prepared": (lambda: poise.prepare(REST, poise.Position("LeftHand", [0, 1])), "[0, 1, z]"),
    "degrees": (
        lambda: BONES.with_limits({"LeftLeg": poise.Range(0, 150, axis=(1, 0, 0))}),
        "write Range.degrees(0, 150, axis=(1.0, 0.0, 0.0))",
    ),
    "degrees of a hinge": (
        lambda: ARM.skeleton.with_limits({"shoulder*": poise.Range(-90, 90)}), "write Range.degrees(-90, 90)"
    ),
    "degrees of a box": (
        lambda: BONES.with_limits({"Neck": poise.EulerBox("YXZ", y=(-60, 60))}),
        "write EulerBox.degrees('YXZ', y=(-60, 60))",
    ),
    "degrees of a swing": (lambda: poise.SwingTwist((1, 0, 0), (45, 30), (-20, 20)), "SwingTwist.degrees(...)"),
    "options by position": (lambda: poise.CCD(50), "write poise.CCD(iterations=50)"),
    "a solver by position": (lambda: poise.Anneal(poise.CCD()), "write poise.Anneal(solver=poise.CCD(...))"),
    "a name by position": (lambda: poise.Anneal("ccd"), "write poise.Anneal(solver='ccd')"),
    "iterations of solve": (lambda: poise.solve(REST, HAND, iterations=50), "solver=poise.CCD(iterations=...)"),
    "max_iter of solve": (lambda: poise.solve(REST, HAND, max_iter=50), "solver=poise.CCD(iterations=...)"),
    "damping of prepare": (
        lambda: poise.prepare(REST, HAND, damping=1.0), "prepare(..., solver=poise.LevenbergMarquardt(damping=...))"
    ),
    "an argument mistyped": (lambda: poise.solve(REST, HAND, tolerence=1e-3), "did you mean 'tolerance'"),
    "another word": (lambda: poise.solve(REST, HAND, tol=1e-3), "did you mean 'tolerance'"),
    "options of others": (lambda: poise.CCD(max_iterations=3), "did you mean 'iterations'"),
    "lambda": (lambda: poise.DampedLeastSquares(lambda_=3), "did you mean 'damping'"),
    "an argument of solve": (lambda: poise.CCD(tolerance=1e-3), "write solve(start, goals, tolerance=...)"),
    "seeds alone": (lambda: poise.solve(REST, HAND, seeds=5), 'write prefer="closest", seeds=5'),
    "prefer": (lambda: poise.solve(REST, HAND, prefer="nearest"), "'first' or 'closest' or 'all'"),
    "dls": (lambda: poise.solve(REST, HAND, solver="dls"), "did you mean 'damped_least_squares'"),
    "LM": (lambda: poise.solve(REST, HAND, solver="LM"), "did you mean 'levenberg_marquardt'"),
    "jt": (lambda: poise.solve(REST, HAND, solver="jt"), "did you mean 'jacobian_transpose'"),
    "a class": (lambda: poise.solve(REST, HAND, solver=poise.CCD), "such as poise.CCD(), not the class"),
    "a rig to start from": (lambda: poise.solve(RIG, HAND), "such as rig.rest, not a Rig"),
    "the wrong way round": (lambda: poise.solve(HAND, REST), "such as rig.rest, not a Position"),
    "a pair for a goal": (
        lambda: poise.solve(REST, ("LeftHand", [0.4, 1.2, 0.3])), "write poise.Position('LeftHand', [0.4, 1.2, 0.3])"
    ),
    "pairs for goals": (
        lambda: poise.solve(REST, [("LeftHand", [0, 1, 0])]), "write poise.Position('LeftHand', [0, 1, 0])"
    ),
    "a dict of targets": (lambda: poise.solve(REST, {"LeftHand": [0, 1, 0]}), "write poise.Position('LeftHand', [x"),
    "a name for a goal": (lambda: poise.solve(REST, "LeftHand"), "write poise.Position('LeftHand', [x, y, z])"),
    "one target for two": (lambda: poise.prepare(REST, BOTH)([0.4, 1.2, 0.3]), "give a list of 2 targets"),
    "a target left out": (lambda: poise.prepare(REST, BOTH)({"LeftHand": [0, 1, 0]}), "for 'RightHand'"),
    "a target too many": (lambda: poise.Tracker(REST, HAND)({"Head": [0, 1, 0]}), "no target for the joint 'Head'"),
    "another goal": (
        lambda: poise.prepare(REST, HAND)(poise.Orientation("LeftHand", [1, 0, 0, 0])), "or a Position of 'LeftHand'"
    ),
    "a joint mistyped": (lambda: poise.solve(REST, poise.Position("Left Hnd", [0, 0, 0])), "did you mean 'LeftHand'"),
    "a result to save": (lambda: poise.save(poise.solve(REST, HAND), "x.glb"), "such as result.pose, not a Result"),
    "a truth of many": (lambda: bool(poise.solve(REST, TWO)), "use result.reached.all() or .any()"),
    "a picture of many": (lambda: poise.solve(REST, TWO).plot(), "solve for one"),
    "a rig for a clip": (lambda: poise.plant_feet(RIG, poise.Terrain.flat()), "such as rig.clips[0], not a Rig"),
    "no sample": (lambda: poise.sample("human"), "did you mean 'humanoid"),
    "a negative step": (lambda: poise.Tracker(REST, HAND)([0, 1, 0], dt=-1), "dt is the time since the last frame"),
    "a step of the ground": (
        lambda: poise.Grounder(REST, poise.Terrain.flat())(REST, dt=-1), "dt is the time since the last frame"
    ),
    "axes of Euler angles": (lambda: REST.euler("XYX"), "known: XYZ"),
}  # fmt: skip


def test_there_are_forty():
    assert len(CALLS) >= 40


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_answered_by_one_sentence_with_the_right_one(name):
    call, right = CALLS[name]
    with pytest.raises(poise.PoiseError) as raised:
        call()
    message = str(raised.value)
    assert right in message
    assert "\n" not in message
    assert len(message) < 330


@pytest.mark.parametrize(
    ("name", "meant"),
    [("LM", "LevenbergMarquardt"), ("dls", "DampedLeastSquares"), ("solvr", "solve"), ("Positon", "Position"),
     ("read", "load")],
)  # fmt: skip
def test_names_that_people_type_are_suggested(name, meant):
    with pytest.raises(AttributeError, match=rf"did you mean .*poise\.{meant}\b"):
        getattr(poise, name)


def test_what_is_right_stays_right():
    plane = poise.Skeleton.build("abc", range(-1, 2), [1, 1, 0], offsets=[(1, 0, 0)] * 3, axes=[(0, 0, 1)] * 3)
    assert poise.solve(poise.Pose(plane, plane.rest_q), poise.Position("c", (2.0, 1.0))).reached
    assert ARM.skeleton.with_limits({"shoulder*": poise.Range(-12.5, 12.5)})
    assert poise.solve(REST, HAND, prefer="closest", seeds=2).reached


class TestTargetsOfSeveralGoals:
    @pytest.mark.parametrize("called", ["prepare", "Tracker"])
    def test_they_are_a_list_an_array_a_dict_or_the_goals(self, called):
        points = [[0.4, 1.2, 0.3], [-0.4, 1.2, 0.3]]
        forms = [
            points, np.array(points), tuple(map(np.array, points)),
            {"RightHand": points[1], "LeftHand": points[0]},
            [goal.with_target(point) for goal, point in zip(BOTH, points, strict=True)],
        ]  # fmt: skip
        found = [getattr(poise, called)(REST, BOTH)(form) for form in forms]
        assert all(result.reached for result in found)
        for result in found[1:]:
            np.testing.assert_array_equal(result.q, found[0].q)

    def test_a_tracker_takes_one_for_each_goal(self):
        with pytest.raises(poise.InputError, match="a tracker takes one target at a time"):
            poise.Tracker(REST, BOTH)([TWO.target, BOTH[1].target])

    def test_one_goal_takes_itself(self):
        ready = poise.prepare(REST, HAND)
        for form in (HAND, [HAND], {"LeftHand": HAND.target}):
            np.testing.assert_array_equal(ready(form).q, ready(HAND.target).q)


class TestResults:
    def test_statuses_of_a_batch_print_as_words(self):
        found = poise.solve(REST, HAND.with_target([[0.4, 1.2, 0.35], [9.0, 9.0, 9.0]]))
        assert str(found.status) == "[reached out_of_reach]"
        assert found.status[1] is poise.Status.OUT_OF_REACH
        assert (found.status == poise.Status.reached).tolist() == [True, False]
        assert type(found.status == 0) is np.ndarray
        assert found.status.max() == 1

    def test_the_error_of_one_goal_is_a_number(self):
        found = poise.solve(REST, HAND.with_target([9.0, 9.0, 9.0]))
        assert float(found.error) == found.errors[0] > 1
        turned = poise.solve(REST, poise.Orientation("LeftHand", [0, 1, 0, 0]))
        assert turned.error == turned.angle_errors[0]
        assert poise.solve(REST, BOTH).error == poise.solve(REST, BOTH).errors.max()
        assert poise.solve(REST, TWO).error.shape == (2,)

    def test_capitals_mean_the_same(self):
        assert [getattr(poise.Status, one.name.upper()) for one in poise.Status] == list(poise.Status)

    def test_a_result_draws_itself(self, tmp_path):
        poise.solve(REST, HAND, trace=True).plot(tmp_path / "solve.svg")
        assert (tmp_path / "solve.svg").stat().st_size > 1000


def test_euler_angles_are_those_of_the_rotations():
    turned = REST.replace({"LeftForeArm": poise.rotations.from_vector(np.radians([0.0, 30.0, 0.0]))})
    row = BONES.index("LeftForeArm")
    np.testing.assert_allclose(
        (turned.euler("XYZ", degrees=True) - REST.euler("XYZ", degrees=True))[row], [0, 30, 0], atol=1e-9
    )
    np.testing.assert_allclose(np.degrees(turned.euler()), turned.euler("XYZ", degrees=True))


@pytest.mark.parametrize("how", [{"prefer": "closest", "seeds": np.array(4)}, {"threads": np.array(1)}])
def test_a_whole_number_of_numpy_without_axes_counts(how):
    goal = poise.Position("tool", [0.3, 0.2, 0.5])
    plain = {name: value if isinstance(value, str) else int(value) for name, value in how.items()}
    np.testing.assert_array_equal(poise.solve(ARM.rest, goal, **how).q, poise.solve(ARM.rest, goal, **plain).q)

"""What people type by mistake: one sentence that says what to give instead, always an InputError."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import poise
from poise import CCD, InputError, Position, Range
from poise.io import samples
from poise.io.files import write_atomically
from poise.maths.arrays import check_finite

HUGE = 10**400
RIG = poise.load(samples.path("arm.urdf"))
GOAL = Position("tool", [0.35, 0.25, 0.45])


class TestSolve:
    @pytest.mark.parametrize("start", [RIG, None, RIG.rest.q, RIG.skeleton, "rig.glb"])
    @pytest.mark.parametrize("function", [poise.solve, poise.prepare])
    def test_the_start_is_a_pose(self, start, function):
        with pytest.raises(InputError, match=rf"give a Pose, such as .*, not a {type(start).__name__}"):
            function(start, GOAL)

    def test_the_rig_shows_its_rest(self):
        with pytest.raises(InputError, match=r"^give a Pose, such as rig\.rest, not a Rig$"):
            poise.solve(RIG, GOAL)

    @pytest.mark.parametrize("solver", [None, CCD, 3, object()])
    @pytest.mark.parametrize("function", [poise.solve, poise.prepare])
    def test_the_solver_is_a_name_or_a_value(self, solver, function):
        with pytest.raises(InputError, match="solver"):
            function(RIG.rest, GOAL, solver=solver)

    @pytest.mark.parametrize("tolerance", ["a", np.zeros(3), np.zeros(()), True, HUGE, 1j, [1e-3], math.nan, -1])
    @pytest.mark.parametrize("function", [poise.solve, poise.prepare])
    def test_the_tolerance_is_one_number(self, tolerance, function):
        with pytest.raises(InputError, match="tolerance"):
            function(RIG.rest, GOAL, tolerance=tolerance)

    @pytest.mark.parametrize("tolerance", ["a", np.zeros(3), True, math.nan, math.inf, -1e-9])
    @pytest.mark.parametrize("function", [poise.solve, poise.prepare])
    def test_the_angle_tolerance_is_one_finite_number(self, tolerance, function):
        with pytest.raises(InputError, match="angle_tolerance"):
            function(RIG.rest, GOAL, angle_tolerance=tolerance)

    @pytest.mark.parametrize("tolerance", [1, np.float32(1e-3), np.int64(1)])
    def test_numbers_of_numpy_are_numbers(self, tolerance):
        assert poise.solve(RIG.rest, GOAL, tolerance=tolerance).reached

    @pytest.mark.parametrize("goals", [None, 3, "tool", [None], [0.3, 0.2, 0.1]])
    @pytest.mark.parametrize("function", [poise.solve, poise.prepare])
    def test_goals_are_positions(self, goals, function):
        with pytest.raises(InputError, match=r"poise\.Position"):
            function(RIG.rest, goals)

    def test_prepare_takes_a_list_of_one_like_solve(self):
        reach = poise.prepare(RIG.rest, [GOAL])
        np.testing.assert_array_equal(reach(GOAL.target).pose.q, poise.solve(RIG.rest, [GOAL]).pose.q)


class TestPosition:
    @pytest.mark.parametrize("target", [[HUGE, 0, 0], [1e101, 0, 0], [[0, 0, 0], [0, -1e200, 0]], [1e300, 0]])
    def test_targets_beyond_any_length_are_refused(self, target):
        with pytest.raises(InputError, match="the target of 'tool'"):
            Position("tool", target)

    @pytest.mark.parametrize("far", [1e12, 1e100])
    def test_far_ones_are_solved(self, far):
        result = poise.solve(RIG.rest, Position("tool", [[far, 0, 0], [0, -far, far]]))
        assert (result.status == poise.Status.out_of_reach).all()
        assert np.isfinite(result.errors).all()

    @pytest.mark.parametrize("values", [[HUGE], [10**5000], ["a", 10**5000], np.array([1j]), [None]])
    def test_what_is_no_number_is_refused_with_a_short_sentence(self, values):
        with pytest.raises(InputError, match="the target") as caught:
            check_finite(values, "the target")
        assert len(str(caught.value)) < 200


class TestCCD:
    @pytest.mark.parametrize(
        ("option", "value"),
        [
            *[
                (name, value)
                for name in ("iterations", "restarts")
                for value in (-1, 1_000_001, 10**25, 1.5, "x", True)
            ],
            ("iterations", None),
            *[(name, value) for name in ("bend", "max_turn") for value in ("x", None, -1, HUGE, True, [1], math.nan)],
            *[(name, value) for name in ("order", "hinge") for value in ("x", None, 3, np.zeros(3))],
        ],
    )
    def test_mistakes_name_the_option(self, option, value):
        with pytest.raises(InputError, match=f"^{option} must be"):
            CCD(**{option: value})

    def test_numbers_of_numpy_are_numbers(self):
        given = CCD(iterations=np.int64(7), restarts=np.int32(2), bend=np.float32(0.25), max_turn=1)
        assert given == CCD(iterations=7, restarts=2, bend=0.25, max_turn=1.0)
        assert [type(value) for value in (given.iterations, given.restarts, given.bend)] == [int, int, float]
        assert CCD(iterations=1_000_000, restarts=1_000_000).iterations == 1_000_000


def test_a_number_too_long_to_be_printed_is_refused_like_others():
    for option in ("iterations", "restarts", "bend", "max_turn", "order", "hinge"):
        with pytest.raises(InputError, match=f"^{option} must be"):
            CCD(**{option: 10**5000})
    with pytest.raises(InputError, match="solver must be"):
        poise.solve(RIG.rest, GOAL, solver=10**5000)


class TestSave:
    def test_what_can_be_saved_is_reported(self, tmp_path):
        result = poise.solve(RIG.rest, GOAL)
        for thing, name in ((result, "Result"), (None, "None"), (RIG.skeleton, "Skeleton")):
            with pytest.raises(InputError, match=rf"a Rig, Clip or Pose, such as result\.pose, not .*{name}"):
                poise.save(thing, tmp_path / "x.json")
        with pytest.raises(InputError, match="like"):
            poise.save(result.pose, tmp_path / "x.json", like="arm.urdf")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_or_a_broken_name_is_a_file_error(self, tmp_path):
        (tmp_path / "x.json").mkdir()
        for name in ("x.json", "a\0b.json"):
            with pytest.raises(poise.FileError, match="cannot write|no file can have this name"):
                write_atomically(tmp_path / name, b"{}")
        assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


class TestValues:
    @pytest.mark.parametrize(("low", "high"), [("a", "b"), (0, "1"), (None, 1), (0, HUGE), (0, [1]), (False, True)])
    def test_ends_of_a_range_are_numbers(self, low, high):
        for make in (Range, Range.degrees):
            with pytest.raises(InputError, match="of a range must be"):
                make(low, high)

    def test_a_fraction_is_not_silently_rounded(self):
        with pytest.raises(InputError, match="of a range must be"):
            Range(0, Fraction(1, 3))

    @pytest.mark.parametrize("value", [[1, 2, 3], [[1], [2]], HUGE, "a"])
    def test_a_hinge_has_one_number(self, value):
        name = next(n for n in RIG.skeleton.names if RIG.skeleton[n].kind == poise.Kind.HINGE)
        with pytest.raises(InputError, match=f"the value of '{name}'"):
            RIG.rest.replace({name: value})

    def test_a_batch_of_values_goes_with_a_batch_of_poses(self):
        name = next(n for n in RIG.skeleton.names if RIG.skeleton[n].kind == poise.Kind.HINGE)
        poses = RIG.rest.with_q(np.tile(RIG.rest.q, (3, 1)))
        np.testing.assert_array_equal(
            poses.replace({name: [0.1, 0.2, 0.3]}).q[:, RIG.skeleton.q_slice(name)].ravel(), [0.1, 0.2, 0.3]
        )
        with pytest.raises(InputError, match="2 values.*3 poses|does not go with"):
            poses.replace({name: [0.1, 0.2]})

"""poise.compare(): what comes out, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise.comparison import compare as module
from poise.comparison import results
from poise.comparison.compare import compare
from poise.comparison.metrics import _rank_by_share as by_share
from poise.comparison.results import COLUMNS
from poise.comparison.runs import EFFORTS, QUICK, fit_exponent, format_effort, parse_effort, time_calls
from poise.io import samples
from tests.comparison.faulty_solvers import Homebody, Liar, Lost, Murky, Outlaw, Sleeper

ARM = poise.load(samples.path("arm.urdf"))
PLACE = poise.Place("tool", (0, 0, 0), (1, 0, 0, 0))
NAN = float("nan")
FEW = ("levenberg_marquardt", "ccd", "fabrik", "two_bone", "jacobian_transpose")


@pytest.fixture(scope="module")
def found():
    return compare(ARM.rest, PLACE, solvers=[*FEW, Liar(), Outlaw()], effort="quick", name="arm.urdf")


class TestJudge:
    """A solver that lies is caught, and shown with its true error."""

    def test_a_liar_is_shown_with_the_error_that_is_left(self, found):
        liar = found["liar"]
        at = ARM.rest.world["tool"].positions
        true = np.linalg.norm(found.task.main.rows[:, :3] - at, axis=1)
        assert liar.compute_solved_share(100.0) == 0.0
        assert liar.wrong_claims == 1.0
        np.testing.assert_allclose(np.sort(liar.compute_residuals(is_position=True)), np.sort(true), atol=1e-12)
        row = next(row for row in found.rows() if row["method"] == "liar")
        assert row["left"] == pytest.approx(np.median(true))
        assert row["wrong_claims"] == 100.0
        assert "liar says that it met 100 % of the targets and did not" in found.verdict
        assert found.best.name == "levenberg_marquardt"
        assert liar.ranks.solved > found.best.ranks.solved

    def test_it_is_caught_on_a_path_too(self):
        found = compare(ARM.rest, PLACE, solvers=["ccd", Liar()], targets="path", effort="quick")
        assert found["liar"].wrong_claims > 0.9  # the first frame is where the arm stands
        assert found["ccd"].wrong_claims == 0.0
        assert "liar says that it met" in found.verdict

    def test_claims_on_a_path_are_those_of_where_each_frame_began(self):
        found = compare(ARM.rest, PLACE, solvers=[Homebody()], targets="path", effort="quick")
        assert (
            found["homebody"].main.claims_reached.sum() == 2
        )  # the first frame is where the arm stands: it stays at rest

    def test_a_path_is_timed_from_where_each_frame_began(self, monkeypatch):
        observed = []
        monkeypatch.setattr(
            module, "time_calls", lambda requested, *more: observed.extend(requested) or time_calls(requested, *more)
        )
        for targets in ("path", "reachable"):
            compare(ARM.rest, PLACE, solvers=["ccd"], targets=targets, effort="quick")
        path, reachable = observed
        assert not np.array_equal(path.start_q[1], path.start_q[4])
        assert set(reachable.start_q) == {None}

    def test_a_trace_without_numbers_is_no_convergence(self):
        found = compare(ARM.rest, PLACE, solvers=[Murky()], effort="quick")
        assert found["murky"].convergence is None
        json.dumps(found.document(), allow_nan=False)

    def test_what_leaves_its_limits_solves_nothing(self, found):
        assert found["outlaw"].compute_solved_share(100.0) == 0.0
        assert found["outlaw"].ranks.solved > found.best.ranks.solved

    def test_a_part_of_the_targets_is_reported_as_one_and_ties_none(self):
        class Slow(Sleeper):
            def run(self, problem, targets, tolerance, request):
                super().run(problem, targets, tolerance, request)
                return poise.LevenbergMarquardt().run(problem, targets, tolerance, request)

        rows = np.array([[0.3, 0.2, 0.5], [9.0, 9.0, 9.0]]).repeat(10, axis=0)
        found = compare(
            ARM.rest, poise.Position("tool", rows), solvers=["levenberg_marquardt", Slow(0.06), Liar()], effort="quick"
        )
        part = len(found["sleeper"].main)
        assert 1 <= part < 20
        assert found["levenberg_marquardt"].ranks.solved < found["liar"].ranks.solved
        assert "targets" in str(found)
        assert next(row["targets"] for row in found.rows() if row["method"] == "sleeper") == part

    def test_a_small_part_of_the_targets_does_not_tie_others(self):
        class Run(list):
            target_count = 200

            def find_solved(self):
                return np.array(self)

        def method(good, count):
            return SimpleNamespace(main=Run([k < good for k in range(count)]))

        assert by_share([method(200, 200), method(60, 200), method(1, 1)]) == [1, 2, 1]
        assert by_share([method(200, 200), method(60, 200), method(80, 150)]) == [1, 3, 2]

    def test_methods_that_miss_frames_of_the_path_are_named(self):
        def method(name, main, path):
            return SimpleNamespace(
                name=name, compute_solved_share=lambda name="main": {"main": main, "path": path}[name]
            )

        missing = [method("a", 1.0, 0.9), method("b", 1.0, 1.0), method("weak", 0.5, 0.5), method("no path", 1.0, NAN)]
        sentence = "Jerk is not measured where frames of the path are missed: a solves 90 %."
        assert results._describe_path_misses(SimpleNamespace(compared=missing)) == sentence
        assert results._describe_path_misses(SimpleNamespace(compared=missing[1:])) == ""

    def test_no_method_solves_anything(self):
        found = compare(ARM.rest, poise.Position("tool", [[9, 9, 9], [8, 8, 8]]), solvers=["ccd"], effort="quick")
        assert found.verdict.startswith("No method solves any of 2 targets.")

    def test_the_errors_of_its_trace_are_not_believed(self, found):
        np.testing.assert_allclose(found["liar"].convergence.curves, 1.0)
        assert found["liar"].convergence.stalled_share == 1.0

    def test_limits_that_are_left_are_shown(self, found):
        assert found["outlaw"].violation == pytest.approx(0.01)
        assert found["outlaw"].violated == 1.0
        assert "Limits are left by outlaw in 100 %" in found.verdict
        assert found["ccd"].violation <= 1e-9

    def test_answers_without_numbers_are_no_answers(self):
        found = compare(ARM.rest, PLACE, solvers=[Lost(), Sleeper(0.001)], effort="quick")
        lost = found["lost"]
        assert "lost: InputError: q must be finite" in found.verdict
        assert lost.compute_solved_share(100.0) == 0.0
        assert math.isnan(lost.travel)
        assert json.dumps(lost.wrong_claims) == "0.0"


class TestWhatComesOut:
    def test_best_first_and_refusals_last_with_their_sentence(self, found):
        ranks = [method.ranks.overall for method in found.compared]
        assert ranks == sorted(ranks)
        assert ranks[0] == 1
        assert {method.name for method in found.refused} == {"fabrik", "two_bone"}
        assert found["fabrik"].refused == "fabrik solves Position and Pin goals, not Place"
        assert found.methods[-2:] == found.refused

    def test_what_is_not_installed_is_refused_and_not_ranked(self, monkeypatch):
        for name in ("poise.jax", "poise.jax.descent"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setitem(sys.modules, "jax", None)
        found = compare(ARM.rest, PLACE, solvers=["ccd", "autodiff"], effort="quick")
        assert found["autodiff"].refused == "automatic differentiation needs JAX: pip install 'poise[jax]'"
        assert [method.name for method in found.compared] == ["ccd"]

    def test_ranks_go_by_the_share_solved_and_then_by_time(self, found):
        for one in found.compared:
            for other in found.compared:
                if one.ranks.solved < other.ranks.solved:
                    assert one.ranks.overall < other.ranks.overall
                elif one.ranks.solved == other.ranks.solved:
                    assert (one.ranks.call < other.ranks.call) == (one.ranks.overall < other.ranks.overall)

    def test_every_column_has_a_figure_for_an_arm_to_places(self, found):
        row = found.rows()[0]
        missing = {column.key for column in COLUMNS if row[column.key] is None}
        assert missing == {"growth"}  # a quick comparison takes no chains of other lengths

    def test_the_document_is_plain_and_whole(self, found):
        document = json.loads(json.dumps(found.document(), allow_nan=False))
        assert [row["method"] for row in document["methods"]] == [method.name for method in found.methods]
        assert document["task"]["sets"]["reachable"]["targets"] == QUICK.reachable
        assert document["methods"][0]["convergence"]["median"][0] == 1.0

    def test_the_table_names_everybody_and_stays_within_its_width(self, found):
        text = str(found)
        assert all(method.name in text for method in found.methods)
        assert max(len(line) for line in text.splitlines() if "two_bone" not in line) <= 120

    def test_an_unknown_method_lists_those_that_were_compared(self, found):
        with pytest.raises(poise.UnknownNameError, match="ccd"):
            found["cdd"]

    def test_twice_gives_the_same_targets_answers_and_shares(self, found):
        again = compare(ARM.rest, PLACE, solvers=["ccd"], effort="quick")
        np.testing.assert_array_equal(again["ccd"].main.q, found["ccd"].main.q)
        np.testing.assert_array_equal(again.task.main.rows, found.task.main.rows)

    def test_growth_and_progress(self):
        reported = []
        effort = QUICK.__class__(**{**QUICK.__dict__, "joints": (2, 10, 30)})
        found = compare(
            ARM.rest, PLACE, solvers=["ccd", "two_bone"], effort=effort, progress=lambda *now: reported.append(now)
        )
        grown = found["ccd"].growth
        assert [one.joint_count for one in grown] == [2, 10, 30]
        assert all(one.call_us > 0 and one.batch_us > 0 for one in grown)
        assert math.isfinite(fit_exponent(grown))
        done, totals, stages = zip(*reported, strict=True)
        assert done == tuple(sorted(done))
        assert {done[-1]} == set(totals)
        assert "ccd, iterations" in stages

    def test_no_method_takes_the_task(self):
        found = compare(ARM.rest, PLACE, solvers=["fabrik"], effort="quick")
        assert found.compared == ()
        assert found.verdict == "No method takes this task."
        assert "fabrik solves" in str(found)
        with pytest.raises(poise.InputError, match="no method takes this task"):
            _ = found.best


class TestTargets:
    def test_given_ones_are_ranked_by(self):
        rows = ARM.rest.with_q(np.full(6, 0.3)).world["tool"].positions + 0.01 * np.arange(12)[:, None]
        found = compare(ARM.rest, poise.Position("tool", rows), solvers=["ccd"], effort="quick")
        assert found.task.main.name == "given"
        assert sorted(found.task.main.rows.tolist()) == rows.tolist()
        assert not np.array_equal(found.task.main.rows, rows)  # in a random order
        assert "reachable" not in found.task.sets

    def test_a_path_can_be_ranked_by(self):
        found = compare(ARM.rest, PLACE, solvers=["ccd"], targets="path", effort="quick")
        assert found.task.main.name == "path"
        assert found["ccd"].compute_solved_share() == found["ccd"].compute_solved_share(name="path")

    def test_an_orientation_has_no_distances(self):
        found = compare(ARM.rest, poise.Orientation("tool", (1, 0, 0, 0)), solvers=["ccd"], effort="quick")
        assert not found["ccd"].compute_residuals(is_position=True).size
        assert {"left", "stretched", "leaving_step"}.isdisjoint(column.key for column in found.columns)
        assert " m " not in str(found)

    def test_a_start_outside_its_limits_is_moved_inside(self):
        outside = ARM.rest.with_q(np.full(6, 99.0))
        found = compare(outside, PLACE, solvers=["ccd"], effort="quick")
        np.testing.assert_array_equal(found.task.start.q, ARM.skeleton.legal(outside.q)[0])
        assert "The start was outside the limits of" in found.verdict


class TestEffort:
    def test_the_defaults_are_those_of_normal(self):
        assert poise.Effort() == EFFORTS["normal"] == parse_effort("normal")
        assert str(poise.Effort(joints=[2, 3])) == "Effort(joints=(2, 3))"

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            ({"rounds": 0}, "rounds of an Effort must be 1 or more, not 0"),
            ({"path": 3}, "path of an Effort must be 4 or more, not 3"),
            ({"traced": -1}, "traced of an Effort must be a whole number from 0"),
            ({"timed": 1.5}, "timed of an Effort must be a whole number from 0"),
            ({"batches": (1, 0)}, "each of batches of an Effort must be 1 or more, not 0"),
            ({"joints": 5}, "joints of an Effort are several whole numbers"),
            ({"seconds": 0}, "seconds of an Effort must be a number above 0, not 0"),
        ],
    )
    def test_small_numbers_are_refused(self, numbers, message):
        with pytest.raises(poise.InputError) as caught:
            poise.Effort(**numbers)
        assert message in str(caught.value)

    def test_the_json_has_the_keys_of_the_first_version(self):
        numbers = format_effort(poise.Effort(reachable=3, path=5, extreme=2, joints=(), batches=(1,), rounds=7))
        assert numbers == {
            "sizes": [3, 5, 2], "joints": (), "batches": (1,), "rounds": 7, "timed": 20, "traced": 20, "seconds": 2.0,
        }  # fmt: skip


class TestMisuse:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"solvers": "ccd"},
                'solvers, or "all", are several values',
            ),
            ({"solvers": ["cdd"]}, "no solver 'cdd'; did you mean 'ccd'?"),
            ({"solvers": [poise.CCD(), poise.CCD()]}, "'ccd' is given twice"),
            ({"peers": "ikpy"}, "peers is a list of names"),
            ({"peers": ["ikpi"]}, "no peer 'ikpi'; did you mean 'ikpy'?"),
            ({"targets": "random"}, "targets is 'reachable', 'path' or 'given', not 'random'"),
            ({"solvers": [3]}, "solver must be a name, such as 'ccd', or a value"),
            ({"peers": 5}, 'peers, or "all", are several names'),
            ({"seed": -1}, "seed must be a whole number of 0 or more, not -1"),
            ({"seed": None}, "seed must be a whole number of 0 or more, not None"),
            ({"tolerance": -1}, "tolerance must be a finite length of 0 or more"),
            ({"tolerance": 0}, "a comparison needs tolerances above 0"),
            ({"clip": 3}, "clip is a poise.Clip such as rig.clips[0], not 3"),
            ({"effort": []}, "effort is one of 'quick', 'normal', 'full' or a poise.Effort, not []"),
            ({"effort": "slow"}, "effort is one of 'quick', 'normal', 'full' or a poise.Effort, not 'slow'"),
        ],
    )
    def test_it_is_reported_what_would_do(self, arguments, message):
        with pytest.raises(poise.PoiseError) as caught:
            compare(ARM.rest, PLACE, **{"solvers": ["ccd"], "effort": "quick"} | arguments)
        assert message in str(caught.value)

    def test_a_rig_is_no_start_and_no_targets_are_none(self):
        with pytest.raises(poise.InputError, match=r"give a Pose, such as rig\.rest, not a Rig"):
            compare(ARM, PLACE)
        with pytest.raises(poise.InputError, match="there is no target to compare methods on"):
            compare(ARM.rest, poise.Position("tool", np.zeros((0, 3))), solvers=["ccd"], effort="quick")

    def test_two_goals_or_other_ones_are_refused(self):
        with pytest.raises(poise.UnsupportedError, match="one Position, Orientation or Place goal, not for Pin"):
            compare(ARM.rest, poise.Pin("tool"))

    def test_a_batch_of_starts_is_refused(self):
        with pytest.raises(poise.InputError, match="a single pose"):
            compare(poise.Pose(ARM.skeleton, np.zeros((2, 6))), PLACE)

    def test_nothing_can_move(self):
        with pytest.raises(poise.InputError, match="no joint can move"):
            compare(ARM.rest, poise.Position(ARM.skeleton.names[0], (0, 0, 0)), solvers=["ccd"])

    def test_two_values_of_a_solver_are_distinguished(self):
        found = compare(ARM.rest, PLACE, solvers=[poise.CCD(), poise.CCD(order="tip-first")], effort="quick")
        assert {method.name for method in found.methods} == {"ccd", "ccd(order=tip-first)"}


def test_a_method_that_takes_part_in_some_rounds_has_times():
    effort = dataclasses.replace(QUICK, rounds=20, seconds=1.0)
    found = compare(ARM.rest, PLACE, solvers=["levenberg_marquardt", Sleeper(0.02)], effort=effort)["sleeper"]
    assert np.isnan(found.calls).any()
    assert found.call_times.min() > 20_000
    assert found.batch_times[1] > 20_000
    assert json.dumps(found.batch_times, allow_nan=False)

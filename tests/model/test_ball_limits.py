"""Limits of ball joints through the public functions: hard ones hold, soft ones cost, the answer says which joints."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise.io.sidecar import apply_sidecar
from poise.maths import rotations
from poise.model import limit_bounds
from tests.reference.slow_limits import violation
from tests.strategies import figure, random_q, rng_of, seeds, straight_chain

CONE = poise.SwingTwist.degrees((0, 1, 0), (45, 30), (-20, 20))
BOX = poise.EulerBox.degrees("ZXY", x=(-40, 30), y=(-20, 20), z=(-30, 50))
HINGE = poise.Range.degrees(-60, 60, axis=(0, 0, 1))
TIGHT = poise.SwingTwist.degrees((0, 1, 0), (10, 5), (-20, 20))


def chain(limit, n=20):
    return straight_chain(n, length=1 / n, limits=[limit] * n)


def rest_of(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def engine(start, goals, **how):
    return poise.solve(start, goals, solver="levenberg_marquardt", **how)


def legal_targets(skeleton, k, seed=0):
    """Where random legal poses (k, nq) put the tip; and the poses."""
    q = skeleton.legal(random_q(rng_of(seed), skeleton, k))[0]
    return poise.Pose(skeleton, q).world["tip"], q


@pytest.mark.parametrize("limit", [CONE, BOX, HINGE])
class TestByKernel:
    @given(seed=seeds)
    def test_it_clamps_as_the_arrays_do(self, limit, seed):
        s = chain(limit, 5)
        q = random_q(rng_of(seed), s, 3)
        legal_q, _ = s.legal(q)
        np.testing.assert_allclose(s.bounds.clamp_by_kernel(q), legal_q, rtol=0, atol=1e-9)
        assert s.bounds.clamp_by_kernel(legal_q).tobytes() == legal_q.tobytes()

    def test_what_is_within_the_tolerance_stays_bit_for_bit(self, limit):
        s = chain(limit, 5)
        legal_q, _ = s.legal(random_q(rng_of(5), s, 3))
        near_q = legal_q + 1e-11
        assert s.bounds.clamp_by_kernel(near_q).tobytes() == near_q.tobytes()


@pytest.mark.parametrize("limit", [CONE, BOX])
class TestHard:
    def test_targets_of_legal_poses_are_reached_and_the_limits_hold(self, limit):
        s = chain(limit)
        r = engine(rest_of(s), poise.Position("tip", legal_targets(s, 200)[0].positions), tolerance=1e-3)
        assert r.reached.all()
        assert r.violation <= 1e-9
        assert s.legal(r.q)[1] == ()

    def test_limits_hold_where_nothing_can_be_reached(self, limit):
        s = chain(limit, 5)
        targets = rng_of(1).normal(size=(40, 3))
        for goal in (poise.Position("tip", targets), poise.Place("tip", targets, (0, 0, 1, 0))):
            assert engine(rest_of(s), goal).violation <= 1e-9

    def test_a_legal_start_at_the_goal_comes_back(self, limit):
        s = chain(limit, 6)
        at, q = legal_targets(s, 1)
        r = engine(poise.Pose(s, q[0]), poise.Position("tip", at.positions[0]))
        assert r.iterations == 0
        np.testing.assert_array_equal(r.q, q[0])

    def test_a_start_outside_is_moved_inside_and_reported(self, limit):
        s = chain(limit, 3)
        q = s.rest_q.copy()
        q[4:8] = rotations.about(np.array([0.6, 0, 0.8]), 2.0)
        r = engine(poise.Pose(s, q), poise.Position("tip", (0.1, 0.9, 0.1)))
        assert r.moved_inside == ("j1",)
        assert r.violation <= 1e-9

    def test_closest_and_all_keep_it(self, limit):
        s = chain(limit, 4)
        at = legal_targets(s, 3)[0]
        closest = engine(rest_of(s), poise.Position("tip", at.positions), prefer="closest", seeds=8)
        assert closest.violation <= 1e-9
        every = engine(rest_of(s), poise.Position("tip", at.positions[0]), prefer="all", seeds=16)
        assert violation(s, every.solutions_q) <= 1e-9


class TestStatus:
    def test_a_limited_result_names_the_joints_and_their_ends(self):
        s = chain(TIGHT, 3)
        r = engine(rest_of(s), poise.Position("tip", (0.6, 0.4, 0)))
        assert r.status == poise.Status.limited
        assert "j0 at the edge of its cone, a swing of" in r.message()

    def test_a_box_names_its_angle(self):
        s = chain(poise.EulerBox.degrees("ZXY", x=(-10, 10), y=(-5, 5), z=(-5, 8)), 3)
        r = engine(rest_of(s), poise.Position("tip", (-0.6, 0.4, 0)))
        assert r.status == poise.Status.limited
        assert "its highest z angle, 8 deg" in r.message()

    def test_the_end_of_a_twist_is_named(self):
        s = chain(poise.SwingTwist.degrees((0, 1, 0), 0, (-20, 30)), 2)
        goal = poise.Orientation("tip", rotations.about(np.array([0.0, 1, 0]), 2.0), root="j0")
        r = engine(rest_of(s), goal)
        assert r.status == poise.Status.limited
        assert "its highest twist, 30 deg" in r.message()
        assert r.errors[0] == pytest.approx(2.0 - math.radians(60), abs=1e-6)

    def test_nothing_is_better_than_where_a_cone_stops(self):
        """One ball with a round cone: the nearest point of the cap is known."""
        s = straight_chain(1, limits=[poise.SwingTwist.degrees((0, 1, 0), 30)])
        r = engine(rest_of(s), poise.Position("tip", (math.sin(1.2), math.cos(1.2), 0)))
        at = r.pose.world["tip"].positions
        np.testing.assert_allclose(at, [math.sin(math.pi / 6), math.cos(math.pi / 6), 0], atol=1e-6)


class TestSoft:
    def test_goals_come_first(self):
        s = chain(poise.SwingTwist.degrees((0, 1, 0), (10, 5), (-20, 20), soft=1.0), 5)
        r = engine(rest_of(s), poise.Position("tip", (0.6, 0.4, 0)))
        assert r.reached
        assert r.violation == 0.0
        assert r.cost > 0.1

    def test_a_cheaper_pose_is_found(self):
        soft = poise.SwingTwist.degrees((0, 1, 0), (10, 5), (-20, 20), soft=1.0)
        s, free = chain(soft, 5), chain(None, 5)
        goal = poise.Position("tip", [(0.3, 0.9, 0), (0.6, 0.4, 0), (0.2, 0.2, 0.5)])
        with_limit, without = engine(rest_of(s), goal), engine(rest_of(free), goal)
        assert (with_limit.cost < s.bounds.compute_soft_cost(without.q)).all()

    def test_what_can_be_inside_ends_inside(self):
        s = chain(poise.EulerBox.degrees("XYZ", x=(-60, 60), y=(-60, 60), z=(-60, 60), soft=1.0), 6)
        start = poise.Pose(s, np.tile(rotations.about(np.array([0, 0, 1.0]), 1.5), 6))
        r = engine(start, poise.Position("tip", (0.4, 0.7, 0)))
        assert r.reached
        assert r.cost < 1e-6

    def test_the_cost_of_a_range_is_weight_times_excess_squared(self):
        s = straight_chain(2, kind=2, axes=[(0, 1, 0)] * 2, limits=[poise.Range(-1, 1, soft=3.0), poise.Range(0, 0)])
        r = engine(rest_of(s), poise.Position("tip", (0, 2 + 1.5, 0)))
        assert r.reached
        assert r.cost == pytest.approx(3 * 0.5**2, rel=1e-3)
        assert "soft limits cost 0.75" in str(r)

    def test_a_soft_hinge_of_a_ball_stays_a_hinge(self):
        s = chain(poise.Range.degrees(-5, 5, axis=(0, 0, 1), soft=1.0), 3)
        r = engine(rest_of(s), poise.Position("tip", (0.6, 0.4, 0.3)))
        assert r.errors[0] == pytest.approx(0.3, abs=1e-6)
        assert r.violation <= 1e-9
        assert r.cost > 0

    def test_a_batch_has_a_cost_each(self):
        s = chain(poise.SwingTwist((0, 1, 0), 0.1, soft=2.0), 3)
        r = engine(rest_of(s), poise.Position("tip", [(0.9, 0, 0), (0, 1, 0)]))
        assert r.cost.shape == (2,)
        assert r.cost[1] == 0.0 < r.cost[0]

    def test_without_soft_limits_it_is_zero_and_not_mentioned(self):
        r = engine(rest_of(chain(CONE, 3)), poise.Position("tip", (0.2, 0.9, 0)))
        assert r.cost == 0.0
        assert "soft" not in str(r)

    def test_solvers_that_cannot_refuse_with_a_sentence(self):
        s = straight_chain(2, kind=1, axes=[(0, 0, 1)] * 2, limits=[poise.Range(-1, 1, soft=1.0)] * 2)
        with pytest.raises(poise.UnsupportedError, match="'j0' has a soft Range"):
            poise.solve(rest_of(s), poise.Position("tip", (1, 1, 0)), solver="ccd")


class TestSkeleton:
    def test_degrees_has_the_defaults_of_radians(self):
        assert poise.SwingTwist.degrees((0, 1, 0)) == poise.SwingTwist((0, 1, 0))

    @pytest.mark.parametrize("limit", [CONE, BOX])
    def test_hinges_take_ranges_only(self, limit):
        with pytest.raises(poise.InputError, match="is a hinge.*Range"):
            straight_chain(1, kind=1, axes=[(0, 0, 1)], limits=[limit])

    def test_what_is_no_limit_is_refused(self):
        with pytest.raises(poise.InputError, match="SwingTwist"):
            straight_chain(1).with_limits({"j0": (-1, 1)})

    @given(seeds)
    @settings(max_examples=20)
    def test_legal_ends_legal_and_leaves_legal_alone(self, seed):
        s = figure().with_limits({"hip": BOX, "spine": CONE, "head": HINGE, "l_leg": BOX, "r_leg": CONE})
        q = random_q(rng_of(seed), s, 5)
        once, names = s.legal(q)
        assert "spine" in names
        assert violation(s, once) <= 1e-9
        np.testing.assert_array_equal(s.legal(once)[0], once)


LIMITS = {
    "j0": poise.SwingTwist((0, 1, 0.2), ((-0.1, 0.7), (-1 / 3, math.pi)), (-2, math.inf), (1, 0, 0), soft=0.25),
    "j1": poise.EulerBox("ZXY", x=(-math.inf, 1 / 7), z=(-0.1, 3.0)),
    "j2": poise.Range(-1, 2, (0, 0, 1), soft=2.0),
}


class TestFiles:
    def test_glb_keeps_them_bit_for_bit(self, tmp_path):
        s = straight_chain(3).with_limits(LIMITS)
        poise.save(rest_of(s), tmp_path / "a.glb")
        back = poise.load(tmp_path / "a.glb").skeleton
        for name, limit in LIMITS.items():
            assert back[name].limit == limit
            assert back[name].limit.source == "extras"

    @pytest.mark.parametrize(
        ("text", "limit"),
        [
            ("axis=[0,1,0]\nswing_deg=45", poise.SwingTwist.degrees((0, 1, 0), 45)),
            (
                "axis=[0,1,0]\nswing_deg=[[-10,45],30]\ntwist_deg=[-20,20]\nacross=[1,0,0]\nsoft=0.5",
                poise.SwingTwist.degrees((0, 1, 0), ((-10, 45), 30), (-20, 20), (1, 0, 0), soft=0.5),
            ),
            ("axis=[0,1,0]\ntwist=[-1,1]", poise.SwingTwist((0, 1, 0), twist=(-1, 1))),
            ('order="XZY"\nx_deg=[0,90]\nz=[-1,2]', poise.EulerBox("XZY", x=(0, math.pi / 2), z=(-1, 2))),
            ("axis=[0,1,0]\nrange_deg=[0,90]\nsoft=3", poise.Range.degrees(0, 90, (0, 1, 0), soft=3)),
        ],
    )
    def test_sidecars_say_them(self, tmp_path, text, limit):
        path = tmp_path / "rig.ik.toml"
        path.write_text(f"[joints.j1]\n{text}\n")
        found = apply_sidecar(straight_chain(3), path)["j1"].limit
        assert found == limit
        assert found.source == "sidecar"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("swing_deg=45", "needs the axis"),
            ("axis=[0,1,0]\nswing=[1,2,3]", "half-angle"),
            ("axis=[0,1,0]\nswing='x'", "number"),
            (f"axis=[0,1,0]\nswing_deg={'9' * 400}", "too large"),
            ("axis=[0,1,0]\nswing=1\nswing_deg=45", "swing or swing_deg, not both"),
            ("axis=[0,1,0]\nswing=1\nrange=[0,1]", "'range' does not go with 'axis', 'swing'"),
            ("axis=[0,1,0]\nswing=1\ntwist=3", "two numbers"),
            ('order="XYX"', "unknown rotation order"),
            ("order=3", "unknown rotation order"),
            ("axis=[0,1,0]\nrange_deg=[50,-150]", "low 50 deg is not at or below high -150 deg"),
            ('order="XYZ"\nx_deg=[3,1]', r"empty range: low 0.05\d+ rad \(3 deg\)"),
            ('order="XYZ"\naxis=[0,1,0]', "'axis' does not go with 'order'"),
            ("axis=[0,1,0]\nsoft=-1", "soft"),
            ("axis=[0,1,0]\ncone=3", "unknown key 'cone'"),
        ],
    )
    def test_sidecar_errors_name_file_place_and_reason(self, tmp_path, text, message):
        path = tmp_path / "rig.ik.toml"
        path.write_text(f"[joints.j1]\n{text}\n")
        with pytest.raises(poise.FileError, match=rf"(?s)rig.ik.toml.*'j1'.*{message}"):
            apply_sidecar(straight_chain(3), path)

    def test_info_shows_them(self, tmp_path):
        from typer.testing import CliRunner

        from poise.cli import app

        poise.save(rest_of(straight_chain(3).with_limits(LIMITS)), tmp_path / "a.glb")
        text = CliRunner().invoke(app, ["info", str(tmp_path / "a.glb")]).output
        assert "ZXY Z -5.73..171.9 deg X up to 8.185 deg Y free" in text
        assert "twist from -114.6 deg soft 0.25" in text
        reported = json.loads(CliRunner().invoke(app, ["info", "--json", str(tmp_path / "a.glb")]).output)
        limit = next(joint["limit"] for joint in reported["joints"] if joint["name"] == "j0")
        assert limit["kind"] == "SwingTwist"
        assert limit["soft"] == 0.25


@given(seed=seeds)
@settings(max_examples=20)
def test_a_pose_alone_is_moved_inside_as_in_a_batch(seed):
    rng = rng_of(seed)
    skeleton = straight_chain(8, length=1, limits=[CONE, BOX, HINGE, TIGHT, None, BOX, CONE, BOX])
    q = random_q(rng, skeleton, 12)
    q[::2] = skeleton.legal(q[::2])[0]
    batch, names = skeleton.legal(q)
    alone = [skeleton.legal(row) for row in q]
    np.testing.assert_array_equal(batch, [row for row, _ in alone])
    assert set(names) == {name for _, changed in alone for name in changed}


def test_boxes_that_hold_already_are_not_clamped(monkeypatch):
    skeleton = straight_chain(6, length=1, limits=[BOX] * 6)
    q = skeleton.legal(random_q(rng_of(3), skeleton, 1)[0])[0]
    monkeypatch.setattr(limit_bounds, "_clamp_euler_box", lambda *_: 1 / 0)
    np.testing.assert_array_equal(skeleton.legal(q)[0], q)

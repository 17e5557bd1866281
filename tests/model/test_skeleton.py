from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest
from hypothesis import given

import poise
from poise.model.joints import make_unique_names
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

FIXED, HINGE, SLIDE, BALL, FREE = poise.Kind


@pytest.fixture
def body():
    """A figure with a spine, two arms with hands and twist bones, and a head."""
    names = ["hips", "spine", "head", "eye", "arm.L", "twist.L", "elbow.L", "hand.L", "finger.L", "arm.R", "elbow.R"]
    parents = [-1, 0, 1, 2, 1, 4, 4, 6, 7, 1, 9]
    return poise.Skeleton.build(names, parents, [FREE, *[BALL] * 10], offsets=np.ones((11, 3)))


def test_q_layout():
    s = poise.Skeleton.build("abcde", [-1, 0, 1, 2, 3], [FIXED, HINGE, SLIDE, BALL, FREE], axes=np.ones((5, 3)))
    assert (s.nq, s.nv) == (13, 11)
    assert s.q_start.tolist() == [0, 0, 1, 2, 6]
    np.testing.assert_array_equal(s.rest_q, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    assert s.q_slice("d") == slice(2, 6)


def test_a_mimic_of_a_mimic_is_composed():
    couplings = [None, poise.Coupling(2, 2.0, 1.0), poise.Coupling(0, -3.0, 0.5)]
    s = poise.Skeleton.build("abc", [-1, 0, 1], [HINGE] * 3, axes=np.ones((3, 3)), couplings=couplings)
    assert s.couplings == (None, (0, -6.0, 2.0), (0, -3.0, 0.5))
    assert (s.nq, s.nv) == (1, 1)
    np.testing.assert_array_equal(s.coupling_rows, [[1, 0], [-6, 2], [-3, 0.5]])


@pytest.mark.parametrize("leaders", [[1, 0], [0, 0], [1, 1]])
def test_coupling_cycles_are_refused(leaders):
    couplings = [poise.Coupling(leader, 1.0, 0.0) for leader in leaders]
    with pytest.raises(poise.InputError, match="cycle"):
        poise.Skeleton.build("ab", [-1, 0], [HINGE] * 2, axes=np.ones((2, 3)), couplings=couplings)


@pytest.mark.parametrize(
    ("parents", "kinds", "message"),
    [([0], [BALL], "parents come first"), ([-2], [BALL], "parents come first"), ([-1], [9], "kinds are")],
)
def test_bad_trees_are_refused(parents, kinds, message):
    with pytest.raises(poise.InputError, match=message):
        poise.Skeleton.build("a", parents, kinds)


def test_a_hinge_without_axis_is_refused():
    with pytest.raises(poise.InputError, match="'a'.*axis"):
        poise.Skeleton.build("a", [-1], [HINGE])


def test_names_are_made_unique_and_stable():
    assert make_unique_names(["Spine", "Spine", "Spine_1", "Spine", "x"]) == (
        "Spine",
        "Spine_2",
        "Spine_1",
        "Spine_3",
        "x",
    )


def test_an_unknown_name_lists_what_exists(body):
    with pytest.raises(
        poise.UnknownNameError, match=r"no joint 'hand_l'; did you mean 'hand\.L'\? joints: hips, spine"
    ):
        body["hand_l"]
    with pytest.raises(poise.UnknownNameError):
        body.index(3)


def test_joint_view(body):
    joint = body["elbow.L"]
    assert (joint.name, joint.parent, joint.children, joint.kind) == ("elbow.L", "arm.L", ("hand.L",), BALL)
    assert "elbow.L" in body
    assert "knee" not in body


class TestChain:
    def test_root_to_parent_of_tip(self, body):
        assert body.chain("spine", "hand.L") == ("spine", "arm.L", "elbow.L")

    def test_default_stops_below_the_joint_that_leads_on_to_other_limbs(self, body):
        assert body.chain(None, "hand.L") == ("arm.L", "elbow.L")
        assert body.chain(None, "finger.L") == ("arm.L", "elbow.L", "hand.L")

    def test_twist_bones_are_no_limbs(self, body):
        assert "arm.L" in body.chain(None, "hand.L")

    def test_a_free_root_stays_out_unless_named(self):
        s = poise.Skeleton.build("abc", [-1, 0, 1], [FREE, BALL, BALL])
        assert s.chain(None, "c") == ("b",)
        assert s.chain("a", "c") == ("a", "b")

    def test_a_root_that_is_not_above(self, body):
        with pytest.raises(poise.InputError, match=r"'arm.R' is not above 'hand.L'; above it are: hips, spine, arm.L"):
            body.chain("arm.R", "hand.L")
        with pytest.raises(poise.InputError, match="both"):
            body.chain("hand.L", "hand.L")

    def test_a_chain_of_thousands_needs_no_recursion(self):
        s = straight_chain(5000)
        assert len(s.chain(None, "tip")) == 5000


class TestLimited:
    def test_by_name_and_glob(self, body):
        limit = poise.Range(0, 1, axis=(1, 0, 0))
        s = body.with_limits({"elbow.*": limit})
        assert [name for name, row in zip(s.names, s.limits, strict=True) if row] == ["elbow.L", "elbow.R"]
        assert s.with_limits({"elbow.L": None})["elbow.L"].limit is None
        with pytest.raises(poise.UnknownNameError):
            body.with_limits({"knee*": limit})

    def test_the_kind_decides_what_a_range_needs(self, body):
        with pytest.raises(poise.InputError, match="needs axis"):
            body.with_limits({"spine": poise.Range(0, 1)})
        s = straight_chain(2, kind=HINGE, axes=[(0, 0, 1)] * 2)
        with pytest.raises(poise.InputError, match="has its axis already"):
            s.with_limits({"j0": poise.Range(0, 1, axis=(1, 0, 0))})
        with pytest.raises(poise.InputError, match="fixed"):
            s.with_limits({"tip": poise.Range(0, 1)})
        with pytest.raises(poise.InputError, match="must be a poise.Range"):
            s.with_limits({"j0": (0, 1)})

    def test_rest_moves_inside(self):
        s = straight_chain(2, kind=HINGE, axes=[(0, 0, 1)] * 2).with_limits({"j0": poise.Range(0.5, 1)})
        np.testing.assert_array_equal(s.rest_q, [0.5, 0])

    def test_a_coupled_range_bounds_its_leader(self):
        s = poise.Skeleton.build(
            "ab", [-1, 0], [HINGE] * 2, axes=np.ones((2, 3)), couplings=[None, poise.Coupling(0, -2.0, 1.0)],
            limits=[poise.Range(-9, 9), poise.Range(-3, 5)],
        )  # fmt: skip
        np.testing.assert_array_equal(s.value_ranges, [[-2, 2]])
        with pytest.raises(poise.InputError, match="'b' and 'a' leave no legal value"):
            s.with_limits({"a": poise.Range(3, 4)})

    def test_a_coupling_that_moves_nothing_bounds_nothing(self):
        s = poise.Skeleton.build(
            "ab", [-1, 0], [HINGE] * 2, axes=np.ones((2, 3)), couplings=[None, poise.Coupling(0, -5e-324, 0.0)],
            limits=[None, poise.Range(-3, 5)],
        )  # fmt: skip
        np.testing.assert_array_equal(s.value_ranges, [[-np.inf, np.inf]])
        with pytest.raises(poise.InputError, match="'b' and 'a' leave no legal value"):
            s.with_limits({"b": poise.Range(1, 2)})


class TestLegal:
    @given(seeds)
    def test_legal_q_is_returned_bit_for_bit(self, seed):
        rng = rng_of(seed)
        s = random_skeleton(rng)
        limits = {n: poise.Range(-3, 3, axis=(0, 1, 0) if s[n].kind >= BALL else None) for n in s.names if s[n].kind}
        s = s.with_limits(limits)
        legal, _ = s.legal(random_q(rng, s, 4))
        again, moved = s.legal(legal)
        np.testing.assert_array_equal(legal, again)
        assert moved == ()

    def test_it_names_what_moved(self, body):
        s = body.with_limits({"elbow.L": poise.Range.degrees(0, 90, axis=(0, 0, 1))})
        q = poise.Pose(s, s.rest_q).replace({"elbow.L": [math.cos(1), 0, 0, math.sin(1)]}).q  # 2 rad, beyond 90 deg
        legal, moved = s.legal(q)
        assert moved == ("elbow.L",)
        np.testing.assert_allclose(legal[s.q_slice("elbow.L")], [0.5**0.5, 0, 0, 0.5**0.5], atol=1e-15)

    def test_a_ball_off_its_hinge_axis_comes_back_to_it(self, body):
        s = body.with_limits({"elbow.L": poise.Range(-1, 1, axis=(0, 0, 1))})
        q = poise.Pose(s, s.rest_q).replace({"elbow.L": [1, 0.3, 0, 0.2]}).q
        legal, moved = s.legal(q)
        w, x, y, z = legal[s.q_slice("elbow.L")]
        assert (x, y) == (0, 0)
        assert math.atan2(z, w) == pytest.approx(math.atan2(0.2, 1))
        assert moved == ("elbow.L",)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_both_signs_of_a_quaternion_are_the_same_rotation(self, body, sign):
        s = body.with_limits({"elbow.L": poise.Range(-1, 1, axis=(0, 0, 1))})
        q = s.rest_q.copy()
        q[s.q_slice("elbow.L")] *= sign
        assert s.legal(q)[1] == ()


def test_skeletons_compare_by_value_and_pickle_without_their_source(body):
    s = dataclasses.replace(body, source=object())
    other = pickle.loads(pickle.dumps(s))  # noqa: S301
    assert other == s == body
    assert other.source is None
    assert hash(other) == hash(s)
    assert s != s.with_limits({"spine": poise.Range(0, 1, axis=(1, 0, 0))})
    with pytest.raises(ValueError, match="read-only"):
        other.A[0, 0] = 1


def test_what_is_worked_out_of_limits_cannot_be_changed(body):
    """It is worked out once, and solvers read it."""
    s = body.with_limits({"spine": poise.Range(0, 1, axis=(1, 0, 0)), "elbow.L": poise.SwingTwist((0, 1, 0), 0.5)})
    for array in (s.value_ranges, *s.ball_hinges[1:], *s.ball_limits[1:]):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offsets": np.ones(3)}, r"offsets of 2 joints need the shape \(2, 3\)"),
        ({"rotations": np.ones((3, 4))}, "rotations of 2 joints"),
        ({"couplings": [None, poise.Coupling(7, 1, 0)]}, "'b' is coupled to row 7"),
        ({"couplings": [None, poise.Coupling(-2, 1, 0)]}, "'b' is coupled to row -2"),
        ({"kinds": [BALL, HINGE], "couplings": [None, poise.Coupling(0, 1, 0)]}, "both must be hinges or slides"),
        (
            {"couplings": [None, poise.Coupling(0, 0, 0)], "limits": [None, poise.Range(2, 3)]},
            "'b' is fixed at 0, outside its range",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused(options, message):
    options = {"kinds": [HINGE, HINGE], "axes": np.ones((2, 3))} | options
    with pytest.raises(poise.InputError, match=message):
        poise.Skeleton.build("ab", [-1, 0], **options)


def test_rotations_are_made_unit():
    s = poise.Skeleton.build("ab", [-1, 0], [BALL, BALL], rotations=[[2, 0, 0, 0], [0.6, 0, 0.8, 0]])
    np.testing.assert_array_equal(s.A[:, 3:], [[1, 0, 0, 0], [0.6, 0, 0.8, 0]])

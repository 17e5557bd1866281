"""The contract of limits: what holds for every limit in the folder."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Kind, Pose
from poise.cli.info import describe_limit as in_words
from poise.io.sidecar import apply_sidecar, format_sidecar
from poise.model import limits
from poise.model.limit_bounds import pack_limit
from poise.plot.limit_outlines import build_local_outline
from poise.solvers.base import interface as handles
from poise.solvers.base.option_parsing import list_parameters
from tests.contracts.cases import LIMITS, limb, posed, rest
from tests.model.test_rotation_limits import inside
from tests.strategies import random_q, rng_of

SLACK = 1e-9  # hard limits hold to this


def bound(limit):
    """A limb whose middle joint has this limit: a hinge for a Range without an axis, else a ball."""
    plain = isinstance(limit, poise.Range) and limit.axis is None
    return limb(Kind.HINGE if plain else Kind.BALL, limit)


def again(limit, **changes):
    """The limit once more from its own arguments, some of them changed."""
    return type(limit)(**({p.name: getattr(limit, p.name) for p in list_parameters(type(limit))} | changes))


def some_q(skeleton, k=300):
    """Configurations (k, nq), most of them outside the limit."""
    return random_q(rng_of(4), skeleton, k)


@pytest.mark.parametrize("kind", limits.LIMIT_CLASSES, ids=lambda kind: kind.__name__)
class TestKinds:
    def test_it_has_an_example_here(self, kind):
        assert any(type(limit) is kind for limit in LIMITS.values()), f"add a {kind.__name__} to LIMITS"

    def test_it_is_found_where_people_look(self, kind):
        assert kind.__name__ in handles.LIMIT_NAMES

    def test_what_it_takes_is_written_down(self, kind):
        for parameter in list_parameters(kind):
            assert parameter.name in kind.__doc__, f"the docstring of {kind.__name__}: {parameter.name}"


@pytest.mark.parametrize("name", LIMITS)
class TestExamples:
    def test_it_is_a_value(self, name):
        limit = LIMITS[name]
        assert again(limit) == limit
        assert hash(again(limit)) == hash(limit)
        assert again(limit, source="file") == limit
        assert again(limit, soft=2.0) != limit
        for bad in (-1.0, np.nan, np.inf):
            with pytest.raises(poise.InputError, match="soft"):
                again(limit, soft=bad)

    def test_it_is_for_joints_that_it_can_bound(self, name):
        limit = LIMITS[name]
        with pytest.raises(poise.InputError, match="tip"):
            poise.Skeleton.build(["root", "tip"], [-1, 0], [3, 0]).with_limits({"tip": limit})
        wrong = Kind.BALL if bound(limit).kinds[1] == Kind.HINGE else Kind.HINGE
        with pytest.raises(poise.InputError, match="lower"):
            limb(wrong).with_limits({"lower": limit})

    def test_the_nearest_legal_pose_is_legal(self, name):
        """It stays as it is, bit for bit, and its joint alone has moved; what was legal has not moved at all."""
        s = bound(LIMITS[name])
        q = some_q(s)
        near, moved = s.legal(q)
        assert moved == ("lower",)
        np.testing.assert_array_equal(s.legal(near)[0], near)
        assert s.legal(near)[1] == ()
        was = (near == q).all(axis=-1)
        assert 0 < was.sum() < len(q) or name == "hinge"  # a random rotation is never one about the hinge
        np.testing.assert_array_equal(s.legal(q[was])[0], q[was])
        others = np.delete(np.arange(s.nq), np.arange(s.nq)[s.q_slice("lower")])
        np.testing.assert_array_equal(near[:, others], q[:, others])

    @pytest.mark.long
    def test_kernels_and_arrays_agree(self, name):
        """What solvers keep is what `legal` says: the nearest rotation by the kernel is the one by the arrays."""
        if not pack_limit(LIMITS[name])[0]:
            return  # a range: one number, clipped by both
        s = bound(LIMITS[name])
        q, columns = some_q(s), s.q_slice("lower")
        by_arrays, by_kernel = s.legal(q)[0][:, columns], inside(LIMITS[name], q[:, columns])
        by_kernel *= np.sign((by_arrays * by_kernel).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(by_kernel, by_arrays, atol=1e-7)

    def test_every_solver_that_keeps_it_ends_inside(self, name):
        s = bound(LIMITS[name])
        goal = poise.Position("hand", posed(s, 5).world["hand"].positions)
        for solver in ("levenberg_marquardt", "damped_least_squares", "ccd", "fabrik"):
            result = poise.solve(rest(s), goal, solver=solver)
            assert result.violation <= SLACK
            assert s.legal(result.pose.q)[1] == ()

    def test_a_start_outside_is_moved_inside_and_named(self, name):
        s = bound(LIMITS[name])
        outside = next(q for q in some_q(s) if s.legal(q)[1])
        result = poise.solve(Pose(s, outside), poise.Position("hand", (0.5, 0.5, 0.5)))
        assert result.moved_inside == ("lower",)
        assert result.violation <= SLACK

    def test_as_a_wish_it_costs_by_its_excess(self, name):
        """Nothing where it is legal; with twice the weight, twice the cost; and it forbids nothing."""
        soft = bound(again(LIMITS[name], soft=2.0))
        heavy = bound(again(LIMITS[name], soft=4.0))
        q = some_q(soft)
        if isinstance(LIMITS[name], poise.Range) and LIMITS[name].axis is not None:
            q = soft.legal(q)[0]  # its axis is kept in any case
        assert soft.legal(q)[1] == ()
        cost = soft.bounds.compute_soft_cost(q)
        assert (cost > 0.0).any()
        np.testing.assert_allclose(heavy.bounds.compute_soft_cost(q), 2.0 * cost)
        np.testing.assert_allclose(soft.bounds.compute_soft_cost(bound(LIMITS[name]).legal(q)[0]), 0.0, atol=1e-15)

    def test_saved_and_loaded_it_bounds_the_same(self, name, tmp_path):
        """In glTF extras, and in the sidecar; perhaps as a more general limit."""
        s = bound(LIMITS[name])
        q = some_q(s)
        near = s.legal(q)[0]
        poise.save(rest(s), tmp_path / "limb.glb")
        found = poise.load(tmp_path / "limb.glb").skeleton
        (tmp_path / "limb.ik.toml").write_text(format_sidecar(s))
        for other in (found, apply_sidecar(limb(s.kinds[1]), tmp_path / "limb.ik.toml")):
            columns = other.q_slice("lower")
            mine = np.tile(other.rest_q, (len(q), 1))
            mine[:, columns] = q[:, s.q_slice("lower")]
            np.testing.assert_allclose(other.legal(mine)[0][:, columns], near[:, s.q_slice("lower")], atol=1e-9)

    def test_it_is_reported_and_drawn(self, name):
        s = bound(LIMITS[name])
        assert any(sign.isdigit() for sign in in_words(s.limits[1], Kind(s.kinds[1])))
        outline = build_local_outline(rest(s), "lower")
        assert outline.lines
        assert all(np.isfinite(line).all() for line in outline.lines)

"""poise.jax and the solver autodiff: the same numbers as Pose, finite gradients, limits kept."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

import poise
import poise.jax
from poise import Aim, Autodiff, Direction, LookAt, Orientation, Place, Position, Range
from poise.problem.problem import Problem
from tests.strategies import figure, generic_arm, random_q, random_skeleton, rng_of, seeds, straight_chain

pytestmark = pytest.mark.long

EPS = 1e-6


@pytest.fixture(autouse=True)
def bits64():
    with jax.enable_x64(True):
        yield


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def assert_same_frames(skeleton, q, pose):
    found = jax.jit(poise.jax.forward(skeleton, pose=pose if pose.shape == () else None))(q)
    world = pose.world
    size = 1 + np.abs(world.positions).max()
    np.testing.assert_allclose(found.affine, world.affine, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(found.positions, world.positions, rtol=0, atol=1e-12 * size)
    return found


class TestForward:
    @given(seeds)
    @settings(max_examples=2)  # every skeleton is compiled anew
    def test_it_is_that_of_a_pose(self, seed):
        rng = rng_of(seed)
        s = random_skeleton(rng, 6)
        q = random_q(rng, s, 3)
        found = assert_same_frames(s, q, poise.Pose(s, q))
        same = np.abs((np.asarray(found.rotations) * poise.Pose(s, q).world.rotations).sum(axis=-1))
        np.testing.assert_allclose(same, 1, atol=1e-12)

    @pytest.mark.parametrize("name", ["urdf/panda.urdf", "glb/knight_kaykit.glb"])
    def test_of_real_rigs(self, data, name):
        s = poise.load(data / name).skeleton
        q = random_q(rng_of(1), s)
        assert_same_frames(s, q, poise.Pose(s, q))

    def test_translations_and_scales_of_a_pose(self):
        rng = rng_of(3)
        s = random_skeleton(rng, 6)
        pose = poise.Pose(s, random_q(rng, s), rng.normal(size=(6, 3)), rng.uniform(0.5, 2, size=(6, 1)) * np.ones(3))
        assert_same_frames(s, pose.q, pose)

    def test_chosen_joints_in_the_order_requested(self):
        s = figure()
        found = poise.jax.forward(s, ["head", "hip"])(s.rest_q)
        np.testing.assert_allclose(found.positions, rest(s).world.positions[[3, 0]], atol=1e-15)
        alone = jax.eval_shape(poise.jax.forward(s, "head"), s.rest_q)
        assert alone.positions.shape == (1, 3)

    def test_quaternions_are_normalised_inside(self):
        s = straight_chain(2)
        q = rng_of(0).normal(size=s.nq)
        place = poise.jax.forward(s)
        np.testing.assert_allclose(place(2 * q).positions, place(q).positions, atol=1e-15)
        assert np.isfinite(place(0 * q).positions).all()

    def test_precision_is_that_of_q(self):
        s = straight_chain(2)
        for dtype in (np.float32, np.float64):
            found = jax.eval_shape(poise.jax.forward(s), s.rest_q.astype(dtype))
            assert {part.dtype for part in found} == {np.dtype(dtype)}

    def test_bad_arguments(self):
        s = straight_chain(2)
        with pytest.raises(poise.InputError, match="q has 8 numbers"):
            poise.jax.forward(s)(np.zeros(7))
        with pytest.raises(poise.InputError, match="v has 6 numbers"):
            poise.jax.retract(s)(s.rest_q, np.zeros(7))
        with pytest.raises(poise.UnknownNameError):
            poise.jax.forward(s, "elbow")
        with pytest.raises(poise.InputError, match="same skeleton"):
            poise.jax.forward(s, pose=rest(straight_chain(3)))


class TestGradients:
    @given(seeds)
    @settings(max_examples=2)
    def test_through_retract_they_are_the_jacobian(self, seed):
        rng = rng_of(seed)
        s = random_skeleton(rng, 7)
        q = random_q(rng, s)
        move, place = poise.jax.retract(s), poise.jax.forward(s, "j6")
        found = jax.jit(jax.jacfwd(lambda v: place(move(q, v)).positions[0]))(jnp.zeros(s.nv))
        expected = poise.Pose(s, q).jacobian("j6")[:3]
        np.testing.assert_allclose(found, expected, atol=1e-11 * (1 + np.abs(expected).max(initial=0)))

    def test_by_finite_differences_in_q(self):
        rng = rng_of(5)
        s = random_skeleton(rng, 6)
        q = random_q(rng, s)

        place = poise.jax.forward(s)
        found = jax.jit(jax.grad(lambda q: (place(q).affine ** 3).sum()))(q)
        steps = np.eye(s.nq) * EPS
        after, before = ((poise.Pose(s, q + sign * steps).world.affine ** 3).sum(axis=(1, 2, 3)) for sign in (1, -1))
        expected = (after - before) / (2 * EPS)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(found).max())

    def test_finite_at_no_turn_and_at_half_a_turn(self):
        s = straight_chain(2)
        move, place = poise.jax.retract(s), poise.jax.forward(s, "tip")

        def first(v):
            return jax.jacrev(lambda v: place(move(s.rest_q, v)).positions)(v)

        v = np.outer([0.0, 1e-9, math.pi, 2 * math.pi], np.eye(s.nv)[2])
        for found in jax.jit(jax.vmap(lambda v: (first(v), jax.jacfwd(first)(v))))(v):
            assert np.isfinite(found).all(axis=tuple(range(1, found.ndim))).tolist() == [True] * 4

    def test_compiled_and_vectorised(self):
        s = straight_chain(2)
        q = random_q(rng_of(2), s, 3)
        place = poise.jax.forward(s)
        grad = jax.jit(jax.grad(lambda q: place(q).positions.sum()))
        found = jax.jit(jax.vmap(grad))(q)
        np.testing.assert_allclose(found[1], grad(q[1]), atol=1e-12)


class TestResidual:
    def test_it_is_zero_at_the_goal_with_finite_gradients(self):
        s = straight_chain(3)
        at = rest(s).world["tip"]
        goals = [
            Place("tip", at.positions, at.rotations),
            Direction("j1", [0, 0, 1]),
            Aim("j2", rest(s).world["j2"].positions, axis=(0, 1, 0)),
        ]
        left = poise.jax.residual(rest(s), goals)
        assert np.abs(left(s.rest_q)).max() < 1e-15
        assert np.isfinite(jax.jit(jax.jacrev(left))(s.rest_q)).all()

    def test_its_length_is_that_of_the_errors(self):
        rng = rng_of(4)
        s = straight_chain(4)
        goals = [
            Position("tip", [1, 2, 0.5], offset=(0.1, 0.2, 0.3), weight=2.0),
            Orientation("j2", [0.5, 0.5, 0.5, -0.5]),
            Aim("j3", [3, 1, 2], axis=(1, 2, 0), offset=(0.3, 0, 0)),
            LookAt("j1", [0, 1, -3], axis=(0, 0, 1), over=["j0", "j1"]),
        ]
        q = random_q(rng, s)
        problem = Problem(rest(s), goals)
        distance, *angles = problem.compute_errors(q[None], problem.build_targets(goals, 1))[0]
        lengths = np.linalg.norm(np.reshape(poise.jax.residual(rest(s), goals)(q), (-1, 3)), axis=1)
        assert lengths == pytest.approx(
            [2 * distance / problem.plan.kernel_unit_in_base, *(2 * np.sin(np.array(angles) / 2))]
        )

    def test_opposite_directions_and_half_turns(self):
        s = straight_chain(2)
        goals = [Direction("tip", [0, 0, -1]), Orientation("tip", [0, 1, 0, 0]), Aim("tip", [0, 2, -9])]
        left = poise.jax.residual(rest(s), goals)
        assert np.linalg.norm(np.reshape(left(s.rest_q), (-1, 3)), axis=1) == pytest.approx(2)
        assert np.isfinite(jax.jit(jax.jacrev(left))(s.rest_q)).all()

    def test_targets_as_arguments(self):
        s = straight_chain(2)
        goal = Position("tip", np.zeros((5, 3)))
        left = poise.jax.residual(rest(s), goal)
        found = left(s.rest_q, np.ones((5, 3)) * [[1], [2], [3], [4], [5]])
        np.testing.assert_allclose(found[2] - found[1], np.ones(3) / Problem(rest(s), (goal,)).plan.kernel_unit_in_base)
        with pytest.raises(poise.InputError, match="give targets"):
            left(s.rest_q)
        with pytest.raises(poise.InputError, match="targets have 3 numbers"):
            left(s.rest_q, np.ones(4))

    def test_a_pole_is_refused(self):
        s = straight_chain(2)
        with pytest.raises(poise.UnsupportedError, match="no residual for Pole"):
            poise.jax.residual(rest(s), [Position("tip", [0, 1, 0]), poise.Pole("j1", [1, 0, 0])])


@pytest.mark.parametrize("method", ["levenberg_marquardt", "lbfgs"])
class TestSolver:
    def test_a_character_reaches(self, method):
        s = straight_chain(6)
        targets = rng_of(0).uniform(-2.5, 2.5, size=(40, 3))
        result = poise.solve(rest(s), Position("tip", targets), solver=Autodiff(method=method))
        assert result.reached.all()

    def test_a_straight_chain_bends(self, method):
        result = poise.solve(rest(straight_chain(5)), Position("tip", [0, 2, 0]), solver=Autodiff(method=method))
        assert result.reached

    def test_ranges_hold(self, method):
        s = generic_arm(1.2)
        q = rng_of(1).uniform(-1.2, 1.2, size=(30, 6))
        at = poise.Pose(s, q).world["tool"]
        goal = Position("tool", at.positions)
        result = poise.solve(rest(s), goal, solver=Autodiff(method=method), tolerance=1e-4)
        assert result.violation <= 0
        assert result.reached.mean() > 0.9

    def test_several_goals_move_a_free_root(self, method):
        s = figure()
        goals = [Position("head", [0.5, 1.4, 0.3]), Position("l_foot", [0.4, 0.2, 0]), Direction("chest", [0, 1, 1])]
        result = poise.solve(rest(s), goals, free_root=True, solver=Autodiff(method=method))
        assert result.reached
        assert result.violation <= 1e-9

    def test_a_ray_from_beside_the_joint_aims_while_the_chain_reaches(self, method):
        s = straight_chain(6)
        at = poise.Pose(s, random_q(rng_of(8), s, 20)).world
        eye = at["j5"].affine @ [0.3, 0, 0, 1]
        goals = [
            Position("j5", at["j5"].positions),
            Aim("j5", eye + 2 * at["j5"].affine[:, :, 1], axis=(0, 1, 0), offset=(0.3, 0, 0)),
        ]
        result = poise.solve(rest(s), goals, solver=Autodiff(method=method))
        assert result.reached.mean() > 0.9

    def test_what_moves_together(self, method):
        couplings = [None, None, poise.Coupling(1, 0.5, 0.1), None]
        s = poise.Skeleton.build(
            "abcd", range(-1, 3), [1, 1, 1, 0], axes=[(0, 0, 1)] * 4, offsets=[(1, 0, 0)] * 4, couplings=couplings,
            limits=[Range(-3, 3), Range(-2, 2), None, None],
        )  # fmt: skip
        target = poise.Pose(s, [0.4, -0.8]).world["d"].positions
        assert poise.solve(rest(s), Position("d", target), solver=Autodiff(method=method)).reached

    def test_it_keeps_the_error_and_q_of_every_iteration(self, method):
        s = straight_chain(6)
        goal, solver = Position("tip", [2, 1, 3]), Autodiff(method=method)
        result = poise.solve(rest(s), goal, solver=solver, trace=True)
        assert len(result.trace.errors) == result.iterations + 1
        for error, q in zip(result.trace.errors, result.trace.q, strict=True):
            tip = poise.Pose(s, q).world["tip"].positions
            assert error == pytest.approx(np.linalg.norm(tip - [2, 1, 3]), abs=1e-9)
        np.testing.assert_array_equal(result.pose.q, poise.solve(rest(s), goal, solver=solver).pose.q)


def test_jax_keeps_its_configuration():
    code = "import poise.jax, jax.numpy as jnp; import poise; print(jnp.ones(1).dtype)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["float32"]


def test_without_jax_the_sentence_says_what_to_install():
    code = """
import json, sys
sys.modules["jax"] = None
import poise
pose = poise.Pose(poise.Skeleton.build("ab", [-1, 0], [3, 0], offsets=[(0, 0, 0), (0, 1, 0)]), [1, 0, 0, 0])
found = []
try:
    poise.solve(pose, poise.Position("b", [1, 0, 0]), solver="autodiff")
except poise.UnsupportedError as error:
    found.append(str(error))
try:
    import poise.jax
except poise.UnsupportedError as error:
    found.append(str(error))
print(json.dumps(found))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == ["automatic differentiation needs JAX: pip install 'poise[jax]'"] * 2


@pytest.mark.parametrize(
    "options", [{"method": "adam"}, {"iterations": -1}, {"restarts": 1.5}, {"damping": 0}, {"damping": np.inf}]
)
def test_bad_options(options):
    with pytest.raises(poise.InputError):
        Autodiff(**options)


def test_seconds_leave_out_what_jax_compiles():
    pose, target = rest(straight_chain(3)), [0.5, 1.0, 0.5]
    poise.solve(pose, Position("tip", target), solver="autodiff")
    spent = []

    def recompile(*_):
        began = time.perf_counter()
        jax.jit(lambda x: jnp.linalg.svd(x + began))(jnp.eye(3))
        spent.append(time.perf_counter() - began)

    began = time.perf_counter()
    result = poise.solve(pose, Position("tip", target), solver="autodiff", progress=recompile)
    assert result.seconds < time.perf_counter() - began - 0.5 * sum(spent)

"""Trees in one kernel call: it converts targets, solves and measures, with the bits of the steps one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Within, rotations
from poise.kernels import layout, tree_targets
from poise.problem.problem import Problem
from poise.problem.tree_packing import pack_tree_tables
from poise.solvers.base.interface import MeasuredOutput
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from tests.contracts.trees import near_q, some_limits
from tests.kernels.kernel_entries import entered
from tests.solving.test_measuring_kernels import check_equal
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

COUNT = 70  # targets: more than one call solves for
FEW = 9


def random_start(rng):
    """A legal start, some with translations of its own."""
    skeleton = random_skeleton(rng, 8)
    skeleton = some_limits(rng, skeleton, skeleton.rest_q)
    q = skeleton.legal(random_q(rng, skeleton))[0]
    translations = rng.normal(size=(8, 3)) if rng.random() < 0.5 else None
    return poise.Pose(skeleton, q, translations)


def random_goals(rng, start):
    """Two goals with batches of targets from poses near the start; some are relative, some far away."""
    poses = start.with_q(near_q(rng, start.skeleton, np.tile(start.q, (COUNT, 1)), 0.6))
    first, second = map(str, rng.choice(start.skeleton.names, 2, replace=False))
    world = poses.world[first]
    far = rng.choice([1.0, 1.0, 1.0, 4.0], (COUNT, 1))
    goals = [poise.Place(first, world.positions * far, world.rotations)]
    if rng.random() < 0.5:
        base = poses.world[second]
        points = np.linalg.solve(base.affine[..., :3], (world.positions - base.positions)[..., None])[..., 0]
        turns = rotations.multiply(rotations.inverse(base.rotations), world.rotations)
        return [poise.Place(first, points, turns, relative_to=second)]
    return [*goals, poise.Position(second, poses.world[second].positions)]


def take(goals, rows):
    """The targets of some rows, as a prepared call takes them."""
    targets = [goal.rows()[rows].copy() for goal in goals]
    return targets if len(goals) > 1 else targets[0]


@pytest.mark.long
@given(seeds)
@settings(max_examples=60)
def test_a_target_has_the_bits_of_a_large_batch(seed):
    rng = rng_of(seed)
    start = random_start(rng)
    goals = random_goals(rng, start)
    options = {"solver": LevenbergMarquardt(restarts=6)}
    call = poise.prepare(start, [goal.with_target(goal.rows()[0]) for goal in goals], **options)
    batch = poise.solve(start, goals, **options)
    check_equal(call(take(goals, slice(FEW))), batch[:FEW])
    for i in range(FEW):
        check_equal(call(take(goals, i)), batch[i])


def test_measured_errors_are_those_of_forward_kinematics():
    start = poise.load(poise.sample("humanoid.glb")).rest
    goals = [poise.Position(name, start.world[name].positions + 0.02) for name in ("LeftHand", "RightFoot")]
    call = poise.prepare(start, goals, natural=False)
    targets = np.concatenate([goal.target for goal in goals])[None]
    output = call.single.bind(call.problem).solve(targets)
    assert type(output) is MeasuredOutput
    errors = call.problem.convert_error_parts(output.q, targets, output.error_parts)
    assert errors.tobytes() == call.problem.compute_errors(output.q, targets).tobytes()


@pytest.mark.parametrize("count", [1, FEW])
def test_targets_beyond_a_free_chain_are_left_to_its_straight_line(count):
    start = poise.Pose(chain := straight_chain(5), chain.rest_q)
    rows = rng_of(3).normal(size=(count, 3))
    rows[-1] = 20.0, 5.0, 1.0
    call = poise.prepare(start, poise.Position("j4", rows[0]), solver="levenberg_marquardt")
    result = call(rows)
    assert result.status[-1] == poise.Status.out_of_reach
    line = poise.solve(start, poise.Position("j4", rows[-1]), solver="fabrik")
    np.testing.assert_allclose(result.q[-1], line.q, atol=1e-12)
    many = poise.solve(start, poise.Position("j4", np.resize(rows, (COUNT, 3))), solver="levenberg_marquardt")
    assert many.q[:count].tobytes() == result.q.tobytes()


def test_kernels_read_the_tables_in_the_order_of_their_packing():
    skeleton = random_skeleton(rng_of(2), 8)
    start = poise.Pose(skeleton, skeleton.rest_q)
    within = Within(z=(-0.1, 0.2))
    goal = poise.Place(skeleton.names[-1], [1, 0, 0], [1, 0, 0, 0], relative_to=skeleton.names[3], within=within)
    problem = Problem(start, (goal,))
    tables, positions, *_ = pack_tree_tables(problem)
    read = entered(tree_targets.read_tables)(tables, positions)
    wanted = {
        "target_terms": problem.plan.target_columns, "turning_hinges": problem.unwrapped_hinges,
        "map_table": problem.world_measures.table.constants, "map_measures": problem.world_measures.measure_rows,
        "translation_scales": problem.plan.coordinate_map.translation_scales,
    }  # fmt: skip
    assert len(read) == len(layout.TreeTables._fields)
    for name, values in wanted.items():
        assert np.array_equal(getattr(read, name), values), name

"""Serial arms: batches, the one-call kernel behind prepare(), streams, threads, traces and what may be given."""

from __future__ import annotations

import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.transform import Rotation

import poise
from poise import Direction, InputError, LevenbergMarquardt, Orientation, Place, Position, Range, Status
from tests.strategies import figure, generic_arm, rng_of, seeds, straight_chain

ARM = generic_arm()
START = poise.Pose(ARM, np.array([0.1, -0.4, 0.3, 0.5, -0.2, 0.3]))


def places(count, seed=0, skeleton=ARM, most=2.5):
    """Places (count, 7) of the tool in random poses."""
    q = rng_of(seed).uniform(-most, most, size=(count, skeleton.nq))
    at = poise.Pose(skeleton, q).world["tool"]
    return np.concatenate([at.positions, at.rotations], axis=-1)


def matrices(rows):
    m = np.tile(np.eye(4), (*rows.shape[:-1], 1, 1))
    m[..., :3, :3] = Rotation.from_quat(np.roll(rows[..., 3:], -1, axis=-1)).as_matrix()
    m[..., :3, 3] = rows[..., :3]
    return m


def goal_of(rows):
    return Place("tool", rows[..., :3], rows[..., 3:])


def same(a, b):
    for name in ("q", "errors", "codes", "iterations"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.message() == b.message()


class TestBatches:
    def test_an_empty_batch(self):
        for rows in (np.zeros((0, 7)), np.zeros((3, 0, 7))):
            for result in (
                poise.solve(START, goal_of(rows)),
                poise.prepare(START, goal_of(rows))(rows),
                poise.solve(START, goal_of(rows), prefer="closest"),
            ):
                assert result.q.shape == (*rows.shape[:-1], 6)
                assert result.errors.shape == (*rows.shape[:-1], 2)
                assert "0 of 0 reached" in str(result)


class TestPrepared:
    @settings(max_examples=25)
    @given(seed=seeds)
    def test_it_gives_the_bits_of_solve(self, seed):
        (row,) = places(1, seed)
        if seed % 5 == 0:
            row[:3] *= 2
        for goal in (goal_of(row), Position("tool", row[:3]), Orientation("tool", row[3:])):
            want = poise.solve(poise.Pose(ARM, START.q), goal)
            reach = poise.prepare(START, goal)
            given = goal.rows()
            read_only = given.copy()
            read_only.setflags(write=False)
            strided = np.repeat(given, 2)[::2]
            for target in (given, read_only, strided, given.tolist(), given.astype(object)):
                same(reach(target), want)
            same(reach(given, start=START.q), want)
            same(reach(given, start=START.q.tolist()), want)
        same(poise.prepare(START, goal_of(row))((row[:3], row[3:])), poise.solve(START, goal_of(row)))

    def test_the_short_way_serves_any_start_unless_a_joint_above_keeps_still(self):
        (row,) = places(1)
        assert poise.prepare(START, goal_of(row)).has_fast_path
        assert not poise.prepare(START, Position("tool", row[:3], root=ARM.names[1])).has_fast_path

    def test_matrices_are_the_same_targets(self):
        rows = places(50)
        reach = poise.prepare(START, goal_of(rows[0]), tolerance=1e-9, angle_tolerance=1e-9)
        turn = poise.prepare(START, Orientation("tool", rows[0, 3:]), angle_tolerance=1e-9)
        for row, m in zip(rows, matrices(rows), strict=True):
            want = reach(row)
            for target in (m, m[:3], np.asfortranarray(m)):
                np.testing.assert_allclose(reach(target).q, want.q, atol=1e-5)
                np.testing.assert_allclose(reach(target).goals[0].rows(), want.goals[0].rows(), atol=1e-12)
            np.testing.assert_allclose(turn(m[:3, :3]).q, turn(row[3:]).q, atol=1e-5)

    def test_leading_axes_are_a_batch_also_of_one(self):
        rows = places(4)
        reach, turn = poise.prepare(START, goal_of(rows[0])), poise.prepare(START, Orientation("tool", rows[0, 3:]))
        for size in (1, 4):
            assert reach(rows[:size]).shape == turn(rows[:size, 3:]).shape == (size,)
            assert reach(matrices(rows[:size])).shape == (size,)
        assert reach(rows[None]).shape == (1, 4)
        for prepared, shape in ((reach, (16,)), (reach, (2, 8)), (reach, (4, 3)), (turn, (9,)), (turn, (2, 2))):
            with pytest.raises(InputError, match="shape"):
                prepared(np.resize(np.eye(4), shape))

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            (np.full(7, np.nan), "finite"),
            (np.full(7, np.inf), "finite"),
            (np.array([0, 0, 0, 0.0, 0, 0, 0]), "zero length"),
            (np.diag([1.0, 1, -1, 1]), "mirrored"),
            (np.diag([1.0, 1, 1.001, 1]), "orthogonal"),
            (np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]), "last row"),
            (np.array([1e101, 0, 0, 1, 0, 0, 0]), "beyond"),
            (np.zeros(6), "shape"),
            (np.array(5.0), "shape"),
            ("here", "numbers"),
            (None, "must be numbers, not None"),
        ],
    )
    def test_bad_targets_are_one_clear_error(self, target, words):
        row = places(1)[0]
        reach = poise.prepare(START, goal_of(row))
        same(reach(row), poise.solve(START, goal_of(row)))
        with pytest.raises(InputError, match=words):
            reach(target)
        with pytest.raises(InputError):
            reach(np.array([target, target]) if target is not None else [target])
        with pytest.raises(InputError, match="axis more|finite|zero|mirrored|orthogonal|last row|beyond|numbers|shape"):
            list(reach.stream(np.array([target] * 3)))

    def test_bad_tuples(self):
        reach = poise.prepare(START, goal_of(places(1)[0]))
        for target in (([0, 0, np.nan], [1, 0, 0, 0]), ([0, 0, 0], [0, 0, 0, 0]), ([0, 0, 0], np.diag([1, 1, -1]))):
            with pytest.raises(InputError):
                reach(target)

    @pytest.mark.parametrize("size", [1e-170, 1e-161, 1e-30, 3.0, 1e90])
    def test_quaternions_of_any_length_are_scaled_to_one(self, size):
        row = places(1)[0]
        scaled = row * np.array([1, 1, 1, *[size] * 4])
        reach = poise.prepare(START, goal_of(row))
        assert reach(scaled).reached
        np.testing.assert_allclose(reach(scaled).q, reach(row).q, atol=1e-9)
        np.testing.assert_allclose(reach(-scaled * np.array([-1, -1, -1, 1, 1, 1, 1])).q, reach(row).q, atol=1e-9)

    @pytest.mark.parametrize("start", [START, "q", np.zeros(5), np.zeros((2, 6)), np.full(6, np.nan), 3.0])
    def test_a_start_is_one_configuration(self, start):
        row = places(1)[0]
        reach = poise.prepare(START, goal_of(row))
        for target in (row, row[None], row.tolist()):
            with pytest.raises(InputError):
                reach(target, start=start)

    def test_another_start_is_that_of_another_solve(self):
        rng, row = rng_of(8), places(1)[0]
        for root in (None, "j2"):  # with a root, joints above it stand elsewhere too
            goal = Position("tool", row[:3], root=root)
            reach = poise.prepare(START, goal)
            for q in rng.uniform(-2.5, 2.5, size=(20, 6)):
                want = poise.solve(poise.Pose(ARM, q), goal)
                same(reach(row[:3], start=q), want)
                same(reach(row[:3].tolist(), start=q), want)

    def test_joints_moved_inside_are_those_of_the_start(self):
        outside, row = poise.Pose(ARM, np.array([4.0, 0, 0, 0, 0, 0])), places(1)[0]
        reach = poise.prepare(outside, goal_of(row))
        assert reach(row).moved_inside == ("j0",)
        assert reach(row, start=START.q).moved_inside == ()
        assert poise.prepare(START, goal_of(row))(row, start=outside.q).moved_inside == ("j0",)

    def test_a_start_outside_by_a_rounding(self):
        q = START.q.copy()
        q[0] = 2.8 + 5e-10
        pose = poise.Pose(ARM, q)
        at = pose.world["tool"]
        result = poise.solve(pose, Place("tool", at.positions, at.rotations))
        assert result.reached
        np.testing.assert_array_equal(result.q, q)
        assert poise.solve(pose, goal_of(places(1)[0])).violation <= 1e-9

    def test_a_target_at_the_edge_of_the_world(self):
        assert poise.solve(START, Position("tool", [1e100, 0, 0])).status is Status.out_of_reach

    def test_what_the_caller_does_to_the_target_afterwards_does_not_matter(self):
        row = places(1)[0]
        target, reach = row.copy(), poise.prepare(START, goal_of(row))
        result = reach(target)
        target[:] = 7.0
        same(result, reach(row))
        np.testing.assert_array_equal(result.goals[0].rows(), row)

    def test_large_tolerances(self):
        """Another start may be there at once: that is an answer too."""
        for row in places(50):
            result = poise.solve(START, Position("tool", row[:3]), tolerance=0.3)
            assert result.reached
            assert result.errors[0] <= 0.3

    def test_no_iterations_only_judge(self):
        result = poise.solve(START, goal_of(places(1)[0]), solver=LevenbergMarquardt(iterations=0))
        np.testing.assert_array_equal(result.q, START.q)
        assert result.iterations == 0

    def test_results_can_be_read_by_many_threads_and_pickled(self):
        goal = goal_of(places(1)[0])
        reach = poise.prepare(START, goal)
        for _ in range(50):
            result, got = reach(goal.rows()), []
            readers = [threading.Thread(target=lambda r=result, g=got: g.append(r.errors)) for _ in range(4)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            assert len(got) == 4
        again = pickle.loads(pickle.dumps(reach(goal.rows())))  # noqa: S301  (our own bytes)
        np.testing.assert_array_equal(again.q, result.q)
        assert pickle.loads(pickle.dumps(START)).q.tobytes() == START.q.tobytes()  # noqa: S301

    def test_slides_ranges_and_scaled_bases(self):
        """Gains, half-open ranges, a base that is turned, scaled and mirrored."""
        for factor in (1.0, 0.01, -3.0):
            s = poise.Skeleton.build(
                ["base", "a", "b", "c", "d", "tool"], range(-1, 5), [0, 1, 2, 1, 1, 0],
                offsets=[(1, 2, 3), *[(0.3, 0.1, 0.2)] * 5], rotations=[(0.5, 0.1, -0.7, 0.2), *[(1, 0, 0, 0)] * 5],
                axes=[(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)],
                scales=[[factor] * 3, *[[1.0] * 3] * 5],
                limits=[None, Range(-np.inf, 1), Range(-0.1, 0.3), Range(-1, np.inf), None, None],
            )  # fmt: skip
            q = rng_of(3).uniform((-2, -0.1, -1, -2), (1, 0.3, 2, 2), size=(60, 4))
            goal = Position("tool", poise.Pose(s, q).world["tool"].positions)
            result = poise.solve(poise.Pose(s, s.rest_q), goal)
            assert result.reached.all()
            assert result.violation <= 1e-12
            for row in goal.rows()[:20]:
                one = poise.solve(poise.Pose(s, s.rest_q), goal.with_target(row))
                assert one.reached
                assert one.violation <= 1e-12


class TestStreams:
    def test_chunks_are_one_solve(self, tmp_path):
        rows = places(1000)
        np.save(tmp_path / "rows.npy", rows)
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        reach = poise.prepare(START, goal_of(rows[0]))
        want = reach(rows)
        for targets in (mapped, (rows[i : i + 130] for i in range(0, 1000, 130)), matrices(rows)):
            calls = []
            parts = list(reach.stream(targets, chunk=300, progress=lambda *call, calls=calls: calls.append(call)))
            done, totals, _ = zip(*calls, strict=True)
            assert done == tuple(np.cumsum([len(part) for part in parts]))
            assert totals == ((1000,) * len(parts) if hasattr(targets, "shape") else done)
            assert all(len(part) <= 300 for part in parts)
            q = np.concatenate([part.q for part in parts])
            if targets.__class__ is np.ndarray:
                np.testing.assert_array_equal(np.concatenate([part.reached for part in parts]), want.reached)
            else:
                np.testing.assert_array_equal(q, want.q)
        assert list(reach.stream(np.zeros((0, 7)))) == list(reach.stream([])) == []

    @pytest.mark.parametrize("chunk", [1, 2, 100])
    def test_single_targets_are_no_stream(self, chunk):
        row = places(1)[0]
        for goal, targets in (
            (goal_of(row), row),
            (goal_of(row), [row, row]),
            (goal_of(row), [matrices(row)]),
            (Position("tool", row[:3]), row[:3]),
            (Position("tool", row[:3]), [row[:3].tolist()]),
            (Orientation("tool", row[3:]), [matrices(row)[:3, :3]]),
            (goal_of(row), 5),
        ):
            with pytest.raises(InputError):
                list(poise.prepare(START, goal).stream(targets, chunk=chunk))
        with pytest.raises(InputError, match="chunk"):
            list(poise.prepare(START, goal_of(row)).stream(row[None], chunk=0))

    def test_memory_stays_flat(self):
        reach = poise.prepare(START, Position("tool", [0.3, 0.3, 0.3]))
        block = places(10_000)[:, :3]
        list(reach.stream([block]))
        tracemalloc.start()
        done = sum(int(part.reached.sum()) for part in reach.stream((block for _ in range(20)), chunk=10_000))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert done > 195_000
        assert peak < 20e6  # all answers together are 200,000 x (6 + 1 + ...) x 8 bytes: several times as much


@pytest.mark.parametrize("prefer", ["first", "closest", "all"])
@pytest.mark.parametrize("trace", [False, True])
def test_progress_adds_up_to_the_number_of_targets(prefer, trace):
    chain = straight_chain(4)
    sheared = poise.Pose(chain, chain.rest_q, scales=1 + 1e-4 * rng_of(0).uniform(size=(5, 3)))
    several = poise.Pose(
        chain, np.tile(chain.rest_q, (3, 1)), scales=np.array([1.0, 2, 3])[:, None, None] * np.ones((5, 3))
    )
    foot = figure()
    solved = [
        (START, Position("tool", [0.3, 0.3, 0.3]), "auto"),
        (START, goal_of(places(7)), "auto"),
        (START, goal_of(places(9000)), "auto"),
        (sheared, Position("tip", [1, 1, 1]), "auto"),
        (sheared, Position("tip", [1, 1, 1]), "levenberg_marquardt"),
        (several, Position("tip", [1, 1, 1]), "levenberg_marquardt"),
        (poise.Pose(foot, foot.rest_q), Direction("hip", (0, 1, 0), root="hip"), "auto"),
    ]
    for start, goal, solver in solved:
        shape = np.broadcast_shapes(start.shape, goal.shape)
        count = int(np.prod(shape))
        if (count > 1 and (trace or prefer == "all")) or (solver == "auto" and start is sheared and prefer != "first"):
            continue
        if count > 1000 and prefer == "closest":
            continue
        done = []
        poise.solve(
            start, goal, solver=solver, prefer=prefer, trace=trace, progress=lambda *call, done=done: done.append(call)
        )
        counts, totals, _ = zip(*done, strict=True)
        assert min(np.diff((0, *counts))) > 0
        assert counts[-1] == count
        assert set(totals) == {count}


class TestTrace:
    @pytest.mark.parametrize("target", [(0.2, 0.3, 0.4), (3, 3, 3), (0.0, 0.0, 0.1)])
    def test_rows_are_what_was_tried(self, target):
        for skeleton, tip in ((ARM, "tool"), (figure(), "l_foot")):
            start = poise.Pose(skeleton, skeleton.rest_q)
            for options in ({}, {"iterations": 2, "restarts": 1}):
                goal, solver = Position(tip, target), LevenbergMarquardt(**options)
                result = poise.solve(start, goal, solver=solver, trace=True, tolerance=1e-8)
                errors, q = result.trace
                assert len(errors) == len(q) > result.iterations
                np.testing.assert_array_equal(q[0], start.q)
                tips = poise.Pose(skeleton, q).world[tip].positions
                np.testing.assert_allclose(errors, np.linalg.norm(tips - goal.target, axis=1), atol=1e-9)
                assert errors.min() == pytest.approx(result.errors[0], abs=1e-9)
                rows = np.flatnonzero((q == result.q).all(axis=1))
                assert errors[rows].min() <= errors.min() + 1e-9
                assert skeleton.legal(q)[1] == ()

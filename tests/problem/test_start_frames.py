"""Starts of a batch with different fixed joints: one plan serves them, with the bits of each start alone."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.extend import Kind
from poise.problem.exporter_noise import LENGTH_ERROR_BY_NOISE
from poise.problem.problem import Problem
from poise.solvers import fabrik
from poise.solvers.base import thread_parts
from poise.solvers.base.thread_parts import solve_in_parts
from tests.strategies import rng_of

TIPS = {"LeftHand": "LeftArm", "RightHand": "RightArm", "LeftFoot": "LeftUpLeg"}


def make_starts(name, count=6):
    """Make poses of a sample with all joints turned, and targets near its limbs."""
    rig, rng = poise.load(poise.sample(name)), rng_of(7)
    poses = rig.clips[0].poses[np.arange(count) * 3 % 31]
    starts = poses.with_q(rig.skeleton.legal(poses.q + rng.normal(0, 0.05, poses.q.shape))[0])
    goals = [
        poise.Position(tip, starts.world[tip].positions + rng.normal(0, 0.03, (count, 3)), root=root)
        for tip, root in TIPS.items()
    ]
    return starts, goals


@pytest.mark.parametrize("name", ["humanoid.glb", "humanoid.bvh"])
@pytest.mark.parametrize(
    "options",
    [
        {"natural": True},
        {"natural": False},
        {"solver": "jacobian_transpose"},
        {"solver": "damped_least_squares"},
        {"solver": "fabrik"},
        {"natural": False, "prefer": "closest"},
    ],
    ids=str,
)
def test_a_batch_has_the_bits_of_its_starts(name, options):
    starts, goals = make_starts(name)
    batch = poise.solve(starts, goals, **options)
    for i in range(len(starts.q)):
        alone = poise.solve(starts[i], [goal.with_target(goal.target[i]) for goal in goals], **options)
        assert (alone.q == batch.q[i]).all()
        assert alone.reached == batch.reached[i]
        assert alone.status == batch.status[i]


def test_one_plan_serves_all_starts():
    starts, goals = make_starts("humanoid.glb")
    problem = Problem(starts, tuple(goals))
    assert problem.group_starts() is None
    assert len(problem.plan.frames) == len(starts.q)
    for i in range(len(starts.q)):
        alone = Problem(starts[i], tuple(goals)).plan
        assert (problem.plan.frames[i] == alone.frames[0]).all()
        assert (problem.plan.effectors == alone.effectors).all()
        assert problem.plan.kernel_unit_in_base == alone.kernel_unit_in_base
        for reach, alone_reach in zip(problem.plan.term_reaches, alone.term_reaches, strict=True):
            assert (reach.min_distance, reach.max_distance) == (alone_reach.min_distance, alone_reach.max_distance)
            assert (reach.origin[i] == alone_reach.origin).all()


def test_selected_starts_have_their_own_frames():
    starts, goals = make_starts("humanoid.bvh")
    problem = Problem(starts, tuple(goals))
    rows = np.array([4, 1, 1])
    assert (problem.select_rows(rows).plan.frames == problem.plan.frames[rows]).all()
    mask = np.arange(len(starts.q)) % 2 == 0
    assert (problem.select_rows(mask).plan.frames == problem.plan.frames[mask]).all()
    assert len(problem.select_rows(np.array([2, 2])).plan.frames) == 1  # equal starts share a frame again
    assert len(problem.select_rows(np.array([], dtype=np.int64)).start.q) == 0
    assert problem.select_rows(3).plan.frames.shape[0] == 1


SOLVERS = [
    "levenberg_marquardt", "auto", "ccd", "fabrik", "jacobian_transpose", "damped_least_squares", "pseudo_inverse",
    "anneal",
]  # fmt: skip


class TestOwnBones:
    """Starts with bones, scales and fixed joints of their own: each has the bits that it has alone."""

    def check(self, starts, goals, *, is_shared, solver="levenberg_marquardt"):
        problem = Problem(starts, tuple(goals))
        assert (problem.group_starts() is None) == is_shared
        batch = poise.solve(starts, goals, solver=solver)
        for i in range(len(starts.q)):
            alone = poise.solve(starts[i], [goal.with_target(goal.target[i]) for goal in goals], solver=solver)
            assert (alone.q == batch.q[i]).all()
            assert alone.reached == batch.reached[i]
            assert alone.status == batch.status[i]
            assert alone.message() == batch[i].message()

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_scales_rounded_by_an_exporter(self, solver):
        starts, goals = make_starts("humanoid.glb")
        scales = 1.0 + rng_of(3).uniform(-1e-6, 1e-6, (*starts.shape, len(starts.skeleton), 3))
        noisy = poise.Pose(starts.skeleton, starts.q, translations=starts.translations, scales=scales)
        self.check(noisy, goals[:1] if solver in ("ccd", "auto", "anneal") else goals, is_shared=True, solver=solver)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_bones_of_their_own_lengths(self, solver):
        starts, goals = make_starts("humanoid.glb")
        translations = np.array(starts.translations)
        translations[:, starts.skeleton.index("LeftForeArm")] *= rng_of(4).uniform(0.9, 1.1, (*starts.shape, 1))
        own = poise.Pose(starts.skeleton, starts.q, translations=translations)
        self.check(own, goals[:1] if solver in ("ccd", "auto", "anneal") else goals, is_shared=True, solver=solver)

    def test_scales_of_their_own(self):
        """The scale of a shoulder is that of the arm below it: effectors differ."""
        starts, goals = make_starts("humanoid.glb")
        scales = np.ones((*starts.shape, len(starts.skeleton), 3))
        scales[:, starts.skeleton.index("LeftShoulder")] += rng_of(3).uniform(0, 0.1, (*starts.shape, 1))
        own = poise.Pose(starts.skeleton, starts.q, translations=starts.translations, scales=scales)
        self.check(own, goals, is_shared=False)

    def test_a_fixed_joint_among_the_moving_ones(self):
        """The spine stands between the hips, which move, and a shoulder that does not."""
        starts, _ = make_starts("humanoid.bvh")
        targets = starts.world["LeftHand"].positions + 0.02
        skeleton = starts.skeleton
        goals = [
            poise.Position("LeftHand", targets, root="LeftForeArm"),
            poise.Position("LeftArm", starts.world["LeftArm"].positions + 0.01, root="Spine"),
        ]
        problem = Problem(starts, tuple(goals))
        moving = set(problem.joints)
        fixed = [name for name in ("LeftArm", "LeftShoulder") if name not in moving and skeleton.index(name)]
        assert fixed
        self.check(starts, goals, is_shared=False)


class TestExporterNoise:
    """Values that an exporter rounded count as those before rounding; answers are measured with the values there."""

    def make_noisy(self, size):
        starts, goals = make_starts("humanoid.glb")
        rng, shape = rng_of(5), (*starts.shape, len(starts.skeleton), 3)
        noisy = poise.Pose(
            starts.skeleton,
            starts.q,
            translations=starts.translations * (1.0 + rng.choice([-size, size], shape)),
            scales=1.0 + rng.choice([-size, size], shape),
        )
        return noisy, goals

    @pytest.mark.parametrize("solver", ["levenberg_marquardt", "fabrik", "ccd"])
    def test_exact_starts_beside_rounded_ones_have_their_own_bits(self, solver):
        """A target just beyond reach shows which error of lengths a plan allows."""
        starts, goals = self.make_noisy(1e-6)
        exact_starts, _ = make_starts("humanoid.glb")
        translations, scales = np.array(starts.translations), np.array(starts.scales)
        translations[::2], scales[::2] = exact_starts.translations[::2], 1.0
        mixed = poise.Pose(starts.skeleton, starts.q, translations=translations, scales=scales)
        problem = Problem(mixed, tuple(goals[:1]))
        assert problem.plan_start.has_noise.tolist() == [False, True] * 3
        shoulder = mixed.world["LeftArm"].positions
        reach = problem.select_rows(0).plan.max_reach
        far = poise.Position("LeftHand", shoulder + 1.0005 * reach * np.array([0.6, 0.8, 0.0]), root="LeftArm")
        batch = poise.solve(mixed, far, solver=solver)
        for i in range(len(mixed.q)):
            alone = poise.solve(mixed[i], far.with_target(far.target[i]), solver=solver)
            assert (alone.q == batch.q[i]).all()
            assert alone.status == batch.status[i]

    def test_small_tolerances_are_kept(self):
        starts, goals = self.make_noisy(1e-6)
        exact_starts = poise.Pose(starts.skeleton, starts.q, translations=make_starts("humanoid.glb")[0].translations)
        exact = poise.solve(exact_starts, goals, natural=False, tolerance=1e-9)
        result = poise.solve(starts, goals, natural=False, tolerance=1e-9)
        assert result.reached.any()
        assert (result.reached == exact.reached).all()
        for goal in goals:
            misses = np.linalg.norm(result.pose.world[goal.joint].positions - goal.target, axis=1)
            assert misses[result.reached].max() <= 1e-9 * (1 + 1e-6)

    @pytest.mark.parametrize(("size", "is_noise"), [(1e-6, True), (1e-3, False)])
    def test_only_rounding_counts(self, size, is_noise):
        starts, goals = self.make_noisy(size)
        problem = Problem(starts, tuple(goals))
        assert (problem.plan_start.has_noise == is_noise).all()
        assert (problem.plan.length_error == LENGTH_ERROR_BY_NOISE) == is_noise

    def test_a_start_without_noise_is_the_plans_start(self):
        starts, goals = make_starts("humanoid.bvh")
        problem = Problem(starts, tuple(goals))
        assert problem.plan_start.pose is starts
        assert problem.plan.length_error == 0.0

    def test_the_root_far_away_is_no_bone(self):
        """Its distance says nothing of the lengths of bones."""
        starts, goals = make_starts("humanoid.glb")
        translations = np.array(starts.translations)
        translations[:, 0] += 1e6
        translations[:, starts.skeleton.index("LeftForeArm")] *= 1.01
        moved = poise.Pose(starts.skeleton, starts.q, translations=translations)
        cleaned = Problem(moved, tuple(goals)).plan_start.pose
        assert (cleaned.translations == translations).all()

    def test_scales_above_far_joints_are_kept(self):
        """A millionth of a long way is no rounding of a limb."""
        starts, goals = self.make_noisy(1e-6)
        translations = np.array(starts.translations)
        translations[:, 1] += 1e6
        moved = poise.Pose(starts.skeleton, starts.q, translations=translations, scales=np.array(starts.scales))
        cleaned = Problem(moved, tuple(goals)).plan_start.pose
        assert cleaned.scales is None or (cleaned.scales == starts.scales).all()

    def test_a_limb_below_a_far_root_has_its_own_reach(self):
        """The root of a chain is far away, and its bone is much longer than at rest."""
        skeleton = poise.Skeleton.build(
            ["root", "tip"],
            [-1, 0],
            [Kind.BALL, Kind.BALL],
            offsets=np.array([[26029.0, 30244.0, 51969.0], [0.0, 0.0, 0.0]]),
        )
        translations = np.array([[26029.1, 30244.1, 51969.1], [-0.5, -0.1, 0.7]])
        start = poise.Pose(skeleton, skeleton.rest_q, translations=translations)
        assert not Problem(start, (poise.Position("tip", [0.0, 0.0, 0.0]),)).plan_start.has_noise.any()


@pytest.mark.parametrize("solver", ["ccd", "fabrik", "levenberg_marquardt", "jacobian_transpose"])
def test_threads_take_the_frames_of_their_starts(solver, monkeypatch):
    """The first joint is at another place in each start."""
    monkeypatch.setattr(thread_parts, "MIN_THREADED_WORK_S", 0.0)
    monkeypatch.setattr(thread_parts, "_MIN_PART_WORK_S", 1e-9)
    rest, rng, count = poise.load(poise.sample("humanoid.bvh")).rest, rng_of(9), 90
    translations = np.tile(rest.local_positions, (count, 1, 1))
    translations[:, rest.skeleton.index("LeftArm")] *= rng.uniform(0.5, 1.5, (count, 1))
    starts = poise.Pose(rest.skeleton, np.tile(rest.q, (count, 1)), translations=translations)
    targets = rest.world["LeftHand"].positions + rng.normal(0, 0.05, (count, 3))
    goal = poise.Position("LeftHand", targets, root="LeftArm")
    batch = poise.solve(starts, goal, solver=solver, natural=False, threads=3)
    assert batch.reached.sum() > count / 4
    for i in range(0, count, 7):
        alone = poise.solve(starts[i], goal.with_target(targets[i]), solver=solver, natural=False)
        assert (alone.q == batch.q[i]).all()
    assert len(batch.status) == count


def test_threads_sweep_over_trees_with_the_same_bits(monkeypatch):
    """Two hands by fabrik: each target has its start, its frames and its counts."""
    monkeypatch.setattr(thread_parts, "MIN_THREADED_WORK_S", 0.0)
    monkeypatch.setattr(thread_parts, "_MIN_PART_WORK_S", 1e-9)
    parts = []
    monkeypatch.setattr(
        fabrik,
        "solve_in_parts",
        lambda count, threads, *rest: parts.append(threads) or solve_in_parts(count, threads, *rest),
    )
    starts, goals = make_starts("humanoid.bvh", 90)
    one, several = (poise.solve(starts, goals[:2], solver="fabrik", threads=threads) for threads in (1, 3))
    assert parts == [1, 3]
    assert (one.q == several.q).all()
    assert (one.iterations == several.iterations).all()
    assert one.reached.any()


@pytest.mark.parametrize("root", [None, "shoulder"])
def test_starts_of_a_serial_arm_have_the_bits_of_each_alone(root):
    rest, rng = poise.load(poise.sample("arm")).rest, rng_of(11)
    translations = np.tile(rest.local_positions, (6, 1, 1))
    translations[:, rest.skeleton.index(root or "base_turn")] += rng.uniform(-0.1, 0.1, (6, 3))
    starts = poise.Pose(rest.skeleton, np.tile(rest.q, (6, 1)), translations=translations)
    targets = rest.world["tool"].positions + rng.normal(0, 0.2, (6, 3))
    goal = poise.Position("tool", targets, root=root)
    batch = poise.solve(starts, goal)
    for i in range(6):
        alone = poise.solve(starts[i], goal.with_target(targets[i]))
        assert (alone.q == batch.q[i]).all()
        assert alone.iterations == batch.iterations[i]
        assert alone.status == batch.status[i]

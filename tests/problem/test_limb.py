"""A posed limb as numbers: the kernels' rows are those of the formulas over arrays (limb_oracle.py), however posed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise import Place, Pole, Position, Range, UnsupportedError
from poise.kernels import planar_two_bone, two_bone
from poise.problem.problem import Problem
from poise.problem.two_bone_limb import LimbOptions, pack_limb
from tests.kernels.kernel_entries import entered
from tests.problem.limb_oracle import limb_rows, plane_rows
from tests.strategies import random_q, rng_of, seeds, unit_quaternions

NAMES = ("world", "first", "between", "middle", "below", "tip", "toe")
RANGES = {"range": Range(-0.7, 1.9), "low": Range(0.3, np.inf), "wide": Range(-4.0, 4.0)}
MIDDLES = ("ball", "hinge", "free", "range", "low", "wide", "limited hinge")
PLAIN = LimbOptions(None, False, "turn", "nearest")


def unit(v):
    return v / np.linalg.norm(v)


def limb(rng, middle="ball", first=3, above=4, offsets=None, scales=True):
    """Seven joints in a row of which the second and the fourth bend the limb of the sixth."""
    kind = {"ball": 3, "hinge": 1, "limited hinge": 1, "free": 4}.get(middle, 3)
    skeleton = poise.Skeleton.build(
        NAMES, range(-1, 6), [above, first, 0, kind, 0, 3, 0],
        offsets=rng.normal(size=(7, 3)) if offsets is None else offsets,
        rotations=unit_quaternions(rng, 7), axes=[unit(v) for v in rng.normal(size=(7, 3))],
        scales=rng.choice([-1.0, 0.5, 1.0, 2.0], size=(7, 1)) * np.ones(3) if scales else None,
    )  # fmt: skip
    if middle == "limited hinge":
        return skeleton.with_limits({"middle": RANGES["range"]})
    if middle in RANGES:
        bounds = RANGES[middle]
        return skeleton.with_limits({"middle": Range(bounds.low, bounds.high, axis=unit(rng.normal(size=3)))})
    return skeleton


def posed(rng, skeleton, *shape, own="plain"):
    """A random legal pose, or a batch, that has translations and scales of its own or not."""
    q = skeleton.legal(random_q(rng, skeleton, *shape))[0]
    full = (*shape, len(skeleton), 3)
    translations = rng.normal(size=full) if own in ("moved", "both", "askew") else None
    scales = (
        rng.choice([-1.0, 0.25, 1.0, 3.0], size=(*full[:-1], 1)) * np.ones(3) if own in ("scaled", "both") else None
    )
    if own == "askew":  # as exporters write them: not quite uniform
        scales = rng.uniform(0.5, 2.0, size=(*full[:-1], 1)) * (1.0 + rng.uniform(-1e-5, 1e-5, size=full))
    return poise.Pose(skeleton, q, translations, scales)


def problem_of(pose, goal=None, *more):
    return Problem(pose, (goal or Position("tip", (0.0, 0.0, 0.0), root="first"), *more))


def assert_rows(got, want, names):
    """Rows (k, n) that are the same to rounding; `names` reads one as a NamedTuple."""
    for a, b in zip(map(names, got), map(names, want), strict=True):
        size2 = float(a.longest2) or 1.0
        # Where the tip hardly gets nearer by bending, the angle at which it is nearest is known less well.
        slack = 2e-14 * max(1.0, size2 * a.sine2_gain) * max(1.0, float(np.linalg.norm(a.hip)) / size2**0.5)
        for field, x, y in zip(a._fields, a, b, strict=True):
            unit_of = {"sine2_gain": 1.0 / size2, "longest2": size2, "shortest2": size2}.get(field, 1.0)
            if field in ("hip", "thigh", "shin", "tip", "circle_centre", "circle_cos", "circle_sin", "reach"):
                unit_of = size2**0.5
            if field == "sine2_gain":
                slack *= max(1.0, size2 * a.sine2_gain)
            np.testing.assert_allclose(
                np.divide(x, unit_of), np.divide(y, unit_of), atol=slack, rtol=slack, err_msg=field
            )


def assert_same(problem, options=PLAIN):
    found = pack_limb(problem, options)
    if found.plan.limb.is_planar:
        want = plane_rows(problem, found.plan.limb, options.branch)
        assert_rows(found.limb_rows, want, lambda row: entered(planar_two_bone.read_plane)(row[None], 0))
    else:
        want = limb_rows(problem, found.plan.limb, options.bend, options.branch)
        assert_rows(found.limb_rows, want, entered(two_bone.read_limb))
    return found


class TestRows:
    @pytest.mark.long
    @given(
        seeds, st.sampled_from(MIDDLES), st.sampled_from((3, 4)), st.sampled_from((0, 1, 2, 3, 4)),
        st.sampled_from(((), (1,), (3,))), st.sampled_from(("plain", "moved", "scaled", "both", "askew")),
        st.booleans(), st.sampled_from(("turn", "thigh", "both", "axis")),
        st.sampled_from(("nearest", "positive", "negative")),
    )  # fmt: skip
    def test_limbs_of_any_kind_in_any_pose(self, seed, middle, first, above, shape, own, tip, bend, branch):
        rng = rng_of(seed)
        pose = posed(rng, limb(rng, middle, first, above, scales=own != "askew"), *shape, own=own)
        found = assert_same(problem_of(pose), LimbOptions(None, tip, bend, branch))
        assert len(found.limb_rows) == len(found.start_q) == (shape or (1,))[0]

    @given(seeds, st.sampled_from(MIDDLES), st.booleans())
    def test_a_limb_at_the_root_of_the_skeleton_and_a_place(self, seed, middle, batch):
        rng = rng_of(seed)
        whole = limb(rng, middle)
        at_root = whole.with_limits({name: None for name in NAMES if name != "middle"})
        sub = poise.Skeleton.build(
            NAMES[1:], range(-1, 5), at_root.kinds[1:], offsets=at_root.A[1:, :3], rotations=at_root.A[1:, 3:],
            axes=[axis if np.any(axis) else (1, 0, 0) for axis in at_root.axes[1:]],
        ).with_limits({"middle": whole.limits[3]})  # fmt: skip
        pose = posed(rng, sub, *((2,) if batch else ()))
        assert_same(problem_of(pose, Place("tip", (0, 0, 0), (1, 0, 0, 0), root="first")))

    @given(seeds, st.sampled_from(("both", "plain", "askew")), st.sampled_from(("hinge", "range")), st.booleans())
    def test_planar_arms(self, seed, own, kind, batch):
        rng = rng_of(seed)
        pose = posed(rng, arm(rng, kind), *((3,) if batch else ()), own=own)
        assert assert_same(problem_of(pose)).plan.limb.is_planar

    @given(seeds, st.sampled_from(("straight", "nearly", "no shin", "no thigh", "nothing", "folded")))
    def test_limbs_that_show_no_plane(self, seed, shape):
        rng = rng_of(seed)
        offsets = straight_limb(rng, shape)
        s = poise.Skeleton.build(NAMES, range(-1, 6), [4, 3, 0, 3, 0, 3, 0], offsets=offsets)
        turned = random_q(rng, s) if shape in ("straight", "nearly", "folded") else s.rest_q
        problem = problem_of(poise.Pose(s, np.where(np.arange(s.nq) < 7, turned, s.rest_q)))
        found = pack_limb(problem, PLAIN)
        got, want = (row.copy() for row in (found.limb_rows, limb_rows(problem, found.plan.limb, "turn", "nearest")))
        assert entered(two_bone.read_limb)(got[0]).has_free_axis == 1.0
        if shape == "folded":  # half a turn from straight, to one side or to the other
            for row in (got, want):
                row[:, 32], row[:, 36], row[:, 41] = np.abs(row[:, 32]), 1.0, np.abs(row[:, 41])
        assert_rows(got, want, entered(two_bone.read_limb))

    @pytest.mark.parametrize("flat", [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (2.0, 3.0, 0.0)])
    def test_a_tip_whose_scale_flattens_space_still_has_a_rotation(self, flat):
        rng = rng_of(3)
        skeleton = limb(rng, scales=False)
        scales = np.ones((7, 3))
        scales[5] = flat
        pose = poise.Pose(skeleton, posed(rng, skeleton).q, None, scales)
        found = assert_same(problem_of(pose), PLAIN._replace(keep_tip=True))
        assert np.linalg.norm(entered(two_bone.read_limb)(found.limb_rows[0]).tip_rotation) == pytest.approx(
            1.0, abs=1e-14
        )

    @given(seeds, st.sampled_from(MIDDLES), st.booleans())
    def test_alone_and_in_a_batch_a_pose_gives_the_same_bits(self, seed, middle, tip):
        rng = rng_of(seed)
        skeleton = limb(rng, middle, scales=False)
        poses = posed(rng, skeleton, 5, own="askew")
        scales = np.array(poses.scales)
        scales[[0, 3]] = 1.0
        poses = poise.Pose(skeleton, poses.q, poses.translations, scales)
        options = LimbOptions(None, tip, "both", "nearest")
        together = pack_limb(problem_of(poses), options)
        for i in range(5):
            alone = pack_limb(problem_of(poses[i]), options)
            assert alone.limb_rows.tobytes() == together.limb_rows[i].tobytes()
            assert alone.start_q.tobytes() == together.start_q[i].tobytes()


def straight_limb(rng, shape):
    """Offsets (7, 3) of a limb whose bones are in one line or have no length."""
    sizes = rng.permutation([0.0, 2.0, 5.0]) + rng.integers(9, size=3) / 8  # sums are exact: what is nothing stays so
    way = sizes * rng.choice([-1.0, 1.0], size=3)
    thigh, shin = way, way * rng.choice([0.25, 0.5, 1.0, 2.0])
    if shape == "nearly":
        shin = shin + 3e-4 * unit(rng.normal(size=3)) * np.linalg.norm(shin)
    thigh = np.zeros(3) if shape in ("no thigh", "nothing") else thigh
    shin = {"no shin": np.zeros(3), "nothing": np.zeros(3), "folded": -shin}.get(shape, shin)
    return [(1, 2, 0.5), (0.5, 0, 1), (0, 0, 0), thigh, (0, 0, 0), shin, (0, 0, 1)]


def arm(rng, kind="hinge", slant=0.0):
    """Two parallel hinges, or balls that ranges make such."""
    axis, turns = unit(rng.normal(size=3)), unit_quaternions(rng, 7)
    turns[2:5] = (1, 0, 0, 0)
    other = unit(axis + slant * rng.normal(size=3)) * rng.choice([-1.0, 1.0])
    kinds = [4, 1, 0, 1, 0, 3, 0] if kind == "hinge" else [4, 3, 0, 3, 0, 3, 0]
    skeleton = poise.Skeleton.build(
        NAMES, range(-1, 6), kinds, offsets=rng.normal(size=(7, 3)), rotations=turns,
        axes=[axis, axis, axis, other, axis, axis, axis],
    )  # fmt: skip
    if kind == "hinge":
        return skeleton.with_limits({"first": Range(-3.0, 1.0)})
    return skeleton.with_limits({"first": Range(-2.0, 1.0, axis=axis), "middle": Range(-1.0, 2.0, axis=other)})


class TestPlan:
    def test_what_no_pose_changes_is_found_once_for_all_poses_and_targets(self):
        rng = rng_of(5)
        skeleton = limb(rng)
        found = pack_limb(problem_of(posed(rng, skeleton)), PLAIN)
        again = pack_limb(problem_of(posed(rng, skeleton, 3), Position("tip", (1, 2, 3), root="first")), PLAIN)
        assert again.plan is found.plan
        moved = pack_limb(problem_of(posed(rng, skeleton, own="moved")), PLAIN)
        assert moved.plan is not found.plan
        assert pack_limb(problem_of(posed(rng, skeleton)), PLAIN._replace(bend="both")).plan is not found.plan

    def test_a_pole_is_found_on_either_side(self):
        rng = rng_of(6)
        pose = posed(rng, limb(rng))
        tip, pole = Position("tip", (0, 0, 0), root="first"), Pole("middle", (1, 1, 1), root="first", tip="tip")
        assert pack_limb(problem_of(pose, tip), PLAIN).plan.pole_column == -1
        assert pack_limb(problem_of(pose, tip, pole), PLAIN).plan.pole_column == 3
        assert pack_limb(problem_of(pose, pole, tip), PLAIN).plan.pole_column == 0

    @pytest.mark.parametrize(
        ("goal", "options", "words"),
        [
            (Position("tip", (0, 0, 0), offset=(1, 0, 0)), PLAIN, "'tip' has an offset"),
            (Position("below", (0, 0, 0), root="world"), PLAIN, "has 3: world, first, middle"),
            (Position("tip", (0, 0, 0)), PLAIN._replace(mid="world"), "cannot bend 'world'"),
        ],
    )
    def test_refusals_are_raised_each_time_in_the_same_words(self, goal, options, words):
        rng = rng_of(7)
        skeleton = limb(rng, above=3)
        message = set()
        for _ in range(3):
            with pytest.raises(UnsupportedError) as refusal:
                pack_limb(problem_of(posed(rng, skeleton), goal), options)
            message.add(str(refusal.value))
        assert len(message) == 1
        assert words in message.pop()

    def test_what_one_pose_is_refused_another_is_not(self):
        rng = rng_of(8)
        skeleton = limb(rng, scales=False)
        pose = posed(rng, skeleton)
        flat = problem_of(poise.Pose(skeleton, pose.q, None, np.zeros((7, 3))))
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="zero"):
                pack_limb(flat, PLAIN)
            assert len(pack_limb(problem_of(pose), PLAIN).limb_rows) == 1
            assert len(pack_limb(problem_of(posed(rng, skeleton, own="scaled")), PLAIN).limb_rows) == 1

    @pytest.mark.parametrize("shape", [(), (3,)])
    def test_axes_that_are_not_parallel_are_refused_each_time(self, shape):
        rng = rng_of(9)
        problem = problem_of(posed(rng, arm(rng, slant=0.1), *shape))
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="parallel axes where both joints are hinges; 'first' and 'mid"):
                pack_limb(problem, PLAIN)

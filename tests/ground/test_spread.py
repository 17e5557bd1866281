"""Spread: what pops is spread over the frames around it, by the least that pelvis and feet must move for that."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import Terrain, kernels
from poise.ground import stages
from poise.ground.contact.cyclic import Repeats
from poise.ground.figure.motion import FOOT
from poise.ground.figure.steps import steps_of
from poise.ground.legs.keep import over_bounds, sunk
from poise.ground.legs.legs import places_of
from poise.ground.spread import spread as spreading
from poise.ground.spread.spread import spread
from poise.ground.spread.strip import second_differences
from poise.io import samples
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.ground.motions import load

SAMPLES = Path(samples.__file__).parent
OWN, MOVES = kernels.ground.spread.OWN, kernels.ground.spread.OWN + 1
WEIGHTS = np.array([0.01, 0.02])


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def problem(rng, frames=9, legs=2, tight=1.0):
    """A problem that is linear in all moves, some of which are not free."""
    shape, many = (frames, legs, 4), 1 + OWN * legs
    free = rng.random((frames, many)) < 0.7
    return kernels.ground.spread.Linear(
        changes=rng.normal(0.0, 3.0, (*shape, 3)),
        bounds=tight * rng.uniform(0.5, 2.0, shape),
        counts=np.arange(frames) % 5 != 4,
        slopes=rng.normal(0.0, 1.0, (*shape, 3, MOVES)),
        walls=rng.normal(-2.0, 2.0, shape),
        wall_slopes=rng.normal(0.0, 1.0, (*shape, MOVES)),
        made=rng.normal(0.0, 0.5, frames * many),
        free=free.ravel(),
        weights=WEIGHTS,
    )


def counted(linear):
    """The same, whose changes of step are not known at its ends."""
    linear.counts[[0, -1]] = False
    return linear


def moves_of(linear, x):
    """Which moves (F, L, 6) belong to each leg: that of the pelvis, and its own."""
    frames, legs = linear.walls.shape[:2]
    rows = x.reshape(frames, 1 + OWN * legs)
    own = rows[:, 1:].reshape(frames, legs, OWN)
    return np.concatenate([np.repeat(rows[:, None, :1], legs, axis=1), own], axis=2)


def cost(linear, x):
    """What is to be least, written down once more."""
    moves = moves_of(linear, x)
    places = np.einsum("flpck,flk->flpc", linear.slopes, moves)
    changes = linear.changes + second_differences(places)
    over = np.maximum(np.linalg.norm(changes, axis=-1) - linear.bounds, 0.0)[linear.counts]
    walls = np.maximum(linear.walls + np.einsum("flpk,flk->flp", linear.wall_slopes, moves), 0.0)
    made = (linear.made + x).reshape(len(linear.counts), -1)
    kinds = (over, 1.0), (walls, 1.0), (made, WEIGHTS[0]), (np.diff(made, 2, axis=0), WEIGHTS[1])
    return 0.5 * sum(weight * float((kind**2).sum()) for kind, weight in kinds)


def least(linear, damping=0.0, rounds=50):
    x = np.full(linear.free.size, np.nan)
    work = np.full(kernels.ground.spread.compute_work_size(len(x), linear.walls.shape[1]), np.nan)
    kernels.ground.spread.least(*linear, damping, rounds, x, work)
    return x


class TestLeast:
    @pytest.mark.parametrize(("frames", "legs"), [(9, 2), (12, 1), (8, 4), (3, 6)])
    def test_nothing_near_costs_less(self, rng, frames, legs):
        linear = counted(problem(rng, frames, legs))
        x = least(linear)
        now = cost(linear, x)
        assert now < 0.9 * cost(linear, np.zeros_like(x))
        for way in np.eye(len(x))[linear.free]:
            slope = (cost(linear, x + 1e-5 * way) - cost(linear, x - 1e-5 * way)) / 2e-5
            assert abs(slope) < 1e-3 * (1.0 + now)

    def test_what_is_not_free_does_not_move(self, rng):
        linear = counted(problem(rng))
        x = least(linear)
        assert (x[~linear.free] == 0.0).all()
        assert (x[linear.free] != 0.0).all()

    def test_within_all_bounds_only_moves_that_were_made_are_taken_back(self, rng):
        linear = counted(problem(rng, tight=1e6))._replace(walls=np.full((9, 2, 4), -1e6))
        linear = linear._replace(free=np.ones_like(linear.free))
        np.testing.assert_allclose(least(linear), -linear.made, atol=1e-9)
        still = linear._replace(made=np.zeros_like(linear.made))
        assert (least(still) == 0.0).all()

    def test_damping_makes_moves_smaller(self, rng):
        linear = counted(problem(rng))
        sizes = [np.linalg.norm(least(linear, damping)) for damping in (0.0, 1.0, 100.0)]
        assert sizes[0] > sizes[1] > sizes[2] > 0.0

    def test_the_same_bits_each_time(self, rng):
        linear = counted(problem(rng))
        np.testing.assert_array_equal(least(linear), least(linear))


def spread_of(monkeypatch, clip, rig, terrain=None, **options):
    """What was first spread of a clip that is put on a terrain, or locked: before, after, and the repeats."""
    calls = []

    def watched(locked, deeper, repeats):
        calls.append((locked, spread(locked, deeper, repeats), repeats))
        return calls[-1][1]

    monkeypatch.setattr(stages, "spread", watched)
    if terrain is None:
        poise.lock_feet(clip, rig=rig)
    else:
        poise.plant_feet(clip, terrain, rig=rig, **options)
    return calls[0]


def walk_up(data):
    """A walk and stairs on its way."""
    rig, clip = clip_of(data, "cmu_12_01_walk")
    hips = clip.poses.world.positions[:, 0]
    return rig, clip, Terrain.stairs(0.15, 0.3, direction=(hips[-1] - hips[0]) * [1.0, 0.0, 1.0])


def left(locked, repeats):
    """By how much (F, L, 4) changes of step are over their bounds in the frames of the clip [mm]."""
    return over_bounds(locked.motion, locked.turned, locked.bounds(repeats, 1.0))[repeats.middle]


@pytest.fixture
def steps(monkeypatch):
    """The sample walk on stairs."""
    rig = load(SAMPLES / "humanoid.glb")
    return spread_of(monkeypatch, rig.clips[0], rig, Terrain.stairs(0.15, 0.3))


class TestSpread:
    def test_nothing_pops_any_more(self, steps):
        before, after, repeats = steps
        assert left(before, repeats).max() > 10.0
        assert left(after, repeats).max() == 0.0

    def test_feet_that_stand_stay_and_frames_that_are_far_away(self, steps):
        before, after, repeats = steps
        flat = before.standing & ~before.feet.free
        np.testing.assert_allclose(after.turned.ankles[flat], before.turned.ankles[flat], atol=1e-9)
        np.testing.assert_allclose(after.turned.turns[flat][:, 2:], before.turned.turns[flat][:, 2:], atol=1e-12)
        pops = over_bounds(before.motion, before.turned, before.bounds(repeats)).any(axis=(1, 2))
        away = np.abs(np.arange(len(pops))[:, None] - np.flatnonzero(pops)).min(axis=1) * before.motion.step
        far = away > 0.31
        assert far.any()
        for name in ("up", "turns", "ankles"):
            np.testing.assert_array_equal(getattr(after.turned, name)[far], getattr(before.turned, name)[far])

    def test_balls_that_stand_stay_while_their_heels_move(self, steps):
        before, after, _ = steps
        free = before.standing & before.feet.free
        balls = [
            locked.turned.ankles + rotations.rotate(
                rotations.multiply(locked.turned.turns[:, :, FOOT], locked.motion.turns[:, :, FOOT]), locked.soles.ball
            )
            for locked in (before, after)
        ]  # fmt: skip
        assert free.any()
        np.testing.assert_allclose(balls[1][free], balls[0][free], atol=1e-9)

    def test_no_sole_gets_deeper_and_no_bone_longer(self, steps):
        before, after, _ = steps
        deep = [sunk(locked, locked.turned) for locked in (before, after)]
        assert (deep[1] <= np.maximum(deep[0], 0.004) + 0.001).all()
        places = [places_of(locked.motion, locked.turned)[:, :, :3] for locked in (before, after)]
        bones = [np.linalg.norm(np.diff(place, axis=2), axis=-1) for place in places]
        np.testing.assert_allclose(bones[1], bones[0], atol=1e-9)

    def test_what_does_not_pop_is_left_alone(self, data, monkeypatch):
        rig, clip = clip_of(data, "walk_mass")
        before, after, repeats = spread_of(monkeypatch, clip, rig)
        assert not left(before, repeats).any()
        assert after is before

    @pytest.mark.parametrize("name", ["fox walks", "knight runs"])
    def test_a_loop_stays_one(self, data, monkeypatch, name):
        rig, clip = clip_of(data, name)
        before, after, repeats = spread_of(monkeypatch, clip, rig)
        assert repeats.around > 0
        assert left(before, repeats).max() > 10.0
        assert left(after, repeats).max() == 0.0
        ways = after.turned.ankles - before.turned.ankles
        assert np.abs(ways).max() > 0.005
        near = slice(repeats.middle.start - 5, repeats.middle.stop + 5)  # at the ends of all feet have no way on
        np.testing.assert_allclose(ways[near], ways[repeats.middle][repeats.rows][near], atol=1e-9)

    @pytest.mark.parametrize("fps", [24.0, 60.0, 120.0])
    def test_at_any_rate(self, data, monkeypatch, fps):
        rig, clip, stairs = walk_up(data)
        before, after, repeats = spread_of(monkeypatch, clip.resample(fps), rig, stairs)
        assert left(before, repeats).max() > 10.0
        assert left(after, repeats).sum() <= 0.5 * left(before, repeats).sum()  # stances that end sooner do the rest

    def test_not_above_180_frames_a_second(self, data, monkeypatch):
        """Changes of step are looked at over two frames there: those in between would shake."""
        rig, clip, stairs = walk_up(data)
        before, after, repeats = spread_of(monkeypatch, clip.resample(240.0), rig, stairs)
        assert left(before, repeats).max() > 10.0
        assert after is before

    def test_strips_that_stayed_as_they_were_are_not_worked_out_again(self, steps, monkeypatch):
        before, after, repeats = steps
        found = []
        monkeypatch.setattr(spreading, "_settled", found.append)
        again = spread(before, np.zeros(before.standing.shape), repeats)
        np.testing.assert_array_equal(again.turned.ankles, after.turned.ankles)
        assert not found
        once_more = before._replace(footing=dataclasses.replace(before.footing))  # for another clip
        assert spread(once_more, np.zeros(before.standing.shape), repeats) is once_more
        assert found

    @pytest.mark.parametrize("frames", [1, 2, 3, 4])
    def test_clips_of_few_frames(self, steps, frames):
        before, _, repeats = steps
        pop = int(np.flatnonzero(left(before, repeats).any(axis=(1, 2)))[0])
        rows = np.arange(pop - 1, pop - 1 + frames)
        part = before.part(rows)._replace(room=0.01)
        after = spread(part, np.zeros(part.standing.shape), Repeats(frames))
        assert np.isfinite(after.turned.ankles).all()
        assert (after is part) == (frames < 3)

    def test_nothing_moves_across_a_cut(self, data, monkeypatch):
        rig, clip, stairs = walk_up(data)
        part = clip.resample(60.0).poses
        q = np.concatenate([part.q[20:100], part.q[120:200]])
        before, after, repeats = spread_of(monkeypatch, poise.Clip.at_rate(part.with_q(q), 60.0), rig, stairs)
        shots = steps_of(before.motion).first
        assert len(np.unique(shots)) > 1
        moved = np.abs(after.turned.ankles - before.turned.ankles).max(axis=(1, 2)) > 0.0
        pops = over_bounds(before.motion, before.turned, before.bounds(repeats)).any(axis=(1, 2))
        assert set(shots[moved]) <= set(shots[pops])

    def test_legs_that_may_be_longer_are_as_long_as_they_were(self, monkeypatch):
        rig = load(SAMPLES / "humanoid.glb")
        before, after, _ = spread_of(monkeypatch, rig.clips[0], rig, Terrain.stairs(0.15, 0.3), stretch=0.03)
        assert after is not before
        np.testing.assert_array_equal(after.turned.lengths, before.turned.lengths)
        places = [places_of(locked.motion, locked.turned)[:, :, :3] for locked in (before, after)]
        bones = [np.linalg.norm(np.diff(place, axis=2), axis=-1) for place in places]
        np.testing.assert_allclose(bones[1], bones[0], atol=1e-9)

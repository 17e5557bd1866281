"""The live version on steps: a foot is over an edge in time, stands on the step that bears it, and nothing jumps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from poise import Clip, Grounder, Pose, Terrain
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, motion_of
from poise.ground.report.measures import paths_of
from poise.kernels import springs
from poise.kernels.ground import grounder_feet, grounder_walk
from poise.kernels.vec_quat import Quat, Vec
from poise.maths import rotations
from tests.ground.clips import clip_of
from tests.kernels.kernel_entries import entered

RATE = 60.0
NEAR = 6  # frames: 0.1 s
DEEP, DEPTHS = 0.03, 0.04  # [m], and the share of frames in which a swinging foot may be as deep
STEP = 0.15  # [m]


def climbed(clip, aside):
    """The clip at 60 frames a second on stairs, moved by so many metres, and what is shown."""
    live = Grounder(clip, Terrain.stairs(STEP, 0.30))
    moved = clip.poses.q.copy()
    moved[:, [0, 2]] += aside * live.figure.metre
    source = Clip(clip.times, Pose(clip.skeleton, moved)).resample(RATE)
    shown = [live(pose, 1.0 / RATE).q for pose in source.poses]
    return live, source, Clip(source.times, Pose(clip.skeleton, np.array(shown)))


def changes(clip, figure):
    """(F - 2, L) second differences of the ankles [m/frame^2]."""
    return np.linalg.norm(np.diff(motion_of(clip, figure).places[:, :, ANKLE], 2, axis=0), axis=-1)


@pytest.mark.parametrize("aside", np.arange(0.0, 0.3, 0.05))
@pytest.mark.parametrize("name", ["cmu_12_01_walk", "walk_mass"])
def test_feet_climb_without_a_jump(data, name, aside):
    _, clip = clip_of(data, name)
    live, source, shown = climbed(clip, aside)
    own, now = (changes(each, live.figure) for each in (source, shown))
    near = np.array([own[max(i - NEAR, 0) : i + NEAR + 1].max(axis=0) for i in range(len(own))])
    assert (now - near).max() < 0.030
    heights = paths_of(motion_of(shown, live.figure), live.gait.soles, Footing(live.terrain, live.figure)).heights
    deep = (heights[:, :, :2] < -DEEP) & ~live_stands(live, source)
    assert deep.any(axis=(1, 2)).mean() < DEPTHS


def live_stands(live, source):
    """(F, L, 1) which feet are locked in each frame."""
    live.reset()
    locked = []
    for pose in source.poses:
        live(pose, 1.0 / RATE)
        locked.append(live.locked)
    return np.array(locked)[..., None]


@pytest.mark.parametrize("x", [-0.3, -1e-4, 0.0, 0.02, 0.3])
@pytest.mark.parametrize("v", [-2.0, 0.0, 1.0])
def test_a_jump_is_eased_away_by_a_spring_whose_push_is_bounded(x, v):
    rate, most, dt = 40.0, 30.0, 1.0 / 120.0
    eased, damped = entered(springs.step_bounded_spring), entered(springs.step_spring)
    for _ in range(200):
        left, moves = eased(x, v, rate, most, dt)
        assert abs(2.0 * (left - x - v * dt)) <= most * dt * dt * (1.0 + 1e-9)
        free = damped(x, v, rate, dt)
        in_time = x * v >= 0.0 or 0.5 * v * v / abs(x) < 0.8 * most  # else it is slowed down already
        if in_time and abs(2.0 * (free[0] - x - v * dt)) < most * dt * dt:
            assert (left, moves) == free
        x, v = left, moves
    assert abs(x) < 1e-3
    assert eased(0.3, -1.0, rate, most, 0.0) == (0.3, -1.0)


@pytest.mark.parametrize("rate", [60.0, 120.0])
@pytest.mark.parametrize("jump", [-1.0, 0.15, 0.3])
def test_a_jump_that_was_fast_on_its_way_stops_at_zero(jump, rate):
    x, v, farthest = jump, 0.0, 0.0
    for _ in range(int(2 * rate)):
        x, v = entered(springs.step_bounded_spring)(x, v, 40.0, 30.0, 1.0 / rate)
        farthest = max(farthest, -x / jump)
    assert farthest < 0.02  # bounded alone, a jump of 1 m goes 0.4 beyond
    assert abs(x) < 1e-3


def ground_of(heel, ball):
    """Two level steps under heel and ball, and something elsewhere."""
    ground = np.zeros((grounder_walk.SAMPLES, 5))
    ground[:, 0] = [0.0, 0.2, 0.25, 0.4, 0.5, 0.6]
    ground[:, 2] = [heel, ball, 9.0, 9.0, 9.0, 9.0]
    return ground


@pytest.mark.parametrize(
    ("mode", "heel", "ball", "expected"),
    [
        (0, 0.0, STEP, (STEP, STEP)),  # up: the ball bears, the heel hangs over the edge
        (0, STEP, 0.0, (STEP, STEP)),  # down: the heel bears
        (0, 0.0, 0.02, (0.0, 0.02)),  # no step
        (1, 0.0, STEP, (0.0, 0.0)),  # it stands by its heel: its toes reach under the next step
        (2, 0.0, STEP, (STEP, STEP)),
        (2, STEP, 0.0, (0.0, 0.0)),
    ],
)
def test_a_foot_between_two_steps_is_on_the_one_that_bears_it(mode, heel, ball, expected):
    ground, s = ground_of(heel, ball), np.zeros(grounder_walk.STATE)
    s[grounder_walk.MODE] = mode
    s[grounder_walk.LOCK + 2] = (heel, heel, ball)[mode]
    entered(grounder_feet.level_step)(s, ground, False)
    assert tuple(ground[:2, 2]) == pytest.approx(expected)
    assert (ground[2:, 2] == 9.0).all()


def test_a_foot_that_stands_stays_at_the_height_of_its_lock():
    ground, s = ground_of(0.0, 0.0), np.zeros(grounder_walk.STATE)
    s[grounder_walk.MODE], s[grounder_walk.LOCK + 2] = 1, STEP  # it was put on a step that its ball stood on
    entered(grounder_feet.level_step)(s, ground, False)
    assert tuple(ground[:2, 2]) == pytest.approx((STEP, STEP))
    ground = ground_of(0.0, 0.0)
    entered(grounder_feet.level_step)(s, ground, True)
    assert tuple(ground[:2, 2]) == (0.0, 0.0)


def level_foot():
    """Marks of a foot whose heel is below the ankle and whose ball is 0.2 m in front of it."""
    marks = np.zeros(grounder_walk.MARKS)
    marks[grounder_walk.HEEL : grounder_walk.HEEL + 3] = 0.0, 0.0, -0.1
    marks[grounder_walk.BALL : grounder_walk.BALL + 3] = 0.2, 0.0, -0.1
    return marks


def test_a_foot_that_a_step_has_overtaken_is_not_turned_out_of_it_at_once():
    level, ankle = Quat(1.0, 0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.04)  # heel and ball at -0.06
    out, turn = entered(grounder_feet.raise_free_end)(level_foot(), ankle, level, 1, ground_of(0.0, 0.0))
    assert out == ankle  # both are as deep: they come out together, by the spring of the lock
    assert turn == level
    higher, turn = entered(grounder_feet.raise_free_end)(level_foot(), ankle, level, 1, ground_of(0.0, 0.05))
    assert turn != level  # the ball is 50 mm deeper than the heel
    assert higher != ankle
    ball = np.add(higher, rotations.rotate(np.array(turn), np.array([0.2, 0.0, -0.1])))
    assert ball[2] == pytest.approx(-0.01, abs=0.005)


@pytest.mark.parametrize(("over", "depth", "left"), [(0.02, 0.0, 0.02), (-0.02, 0.0, 0.0), (-0.02, 0.03, -0.02),
                                                     (-0.05, 0.0, -0.05)])  # fmt: skip
def test_a_lock_on_the_ground_eases_what_it_is_above_it_or_was_overtaken_by(over, depth, left):
    s, ground = np.zeros(grounder_walk.STATE), ground_of(0.0, 0.0)
    s[grounder_walk.DEPTH] = depth
    entered(grounder_feet.lock_point)(s, Vec(0.1, 0.2, over), -1.5, ground, 1)
    assert tuple(s[grounder_walk.LOCK : grounder_walk.LOCK + 3]) == (0.1, 0.2, 0.0)
    assert tuple(s[grounder_walk.OFFSET : grounder_walk.OFFSET + 3]) == (0.0, 0.0, left)
    assert s[grounder_walk.OFFSET_MOVES + 2] == -1.5


@pytest.mark.parametrize("pitch", [-1.5, -0.5, 0.0, 0.5, 1.5])
def test_a_foot_on_its_heel_has_the_ball_where_it_comes_down(pitch):
    x, _, z = entered(grounder_walk.lay_down)(Vec(0.2 * math.cos(pitch), 0.0, 0.2 * math.sin(pitch)))
    assert x == pytest.approx(0.2 if pitch >= 0.0 else 0.2 * math.cos(pitch))
    assert z == pytest.approx(0.2 * math.sin(pitch))
    assert np.isfinite(entered(grounder_walk.lay_down)(Vec(0.0, 0.0, 0.0))).all()


def test_the_samples_ahead_end_where_the_horizon_does():
    s = np.zeros(grounder_walk.STATE)
    s[grounder_walk.HORIZON] = 0.12
    times = [entered(grounder_walk.compute_time_ahead)(s, i) for i in range(grounder_walk.AHEAD)]
    assert times == pytest.approx([0.02, 0.06, 0.12])


@pytest.mark.parametrize(("fast", "longer"), [(1.0, 1.0), (1.2, 1.0), (1.0, 1.2)])
@pytest.mark.parametrize("name", ["walk_mass", "run_mass"])
def test_hips_on_level_ground_are_drawn_down_by_5_mm_a_frame_at_most(data, name, fast, longer):
    """A leg that gets short while its heel is locked drew the pelvis down at 2 m/s, or a spring that ran ahead did."""
    clip = clip_of(data, name)[1]
    q = clip.poses.q.copy()
    q[:, [0, 2]] *= longer  # the way: locked feet are left behind
    source = Clip(clip.times / fast, clip.poses.with_q(q)).resample(RATE)
    live = Grounder(clip, Terrain.flat())
    shown = Clip(source.times, Pose(clip.skeleton, np.array([live(pose, 1.0 / RATE).q for pose in source.poses])))
    before, after = (motion_of(each, live.figure).places[:, :, HIP, 2].mean(axis=1) for each in (source, shown))
    beyond = np.abs(np.diff(after)) - np.abs(np.diff(before))
    assert beyond[NEAR:].max() <= 0.005  # m; the first frames come to rest

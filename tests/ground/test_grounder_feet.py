"""The live version's feet: which way they tilt, when they come to stand, and what holds them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise import Grounder, Terrain
from poise.ground.contact.contacts import Thresholds
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import motion_of
from poise.ground.report.measures import paths_of
from poise.io import samples
from poise.kernels.ground import grounder as grounder_kernel
from poise.kernels.ground import grounder_feet, grounder_walk
from poise.kernels.vec_quat import Vec
from poise.maths import rotations
from tests.ground.test_grounder import ON, SECOND, at, grounder, soles_over
from tests.kernels.kernel_entries import entered

TIP = np.array([0.1, 0.03, 0.0])  # [m] of toes, from their joint


@pytest.mark.parametrize("direction", [(1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0.6, 0, -0.8)])
def test_feet_lie_on_a_slope_of_any_direction(direction):
    live = grounder(Terrain.slope(15, direction=direction))
    for _ in range(60):
        last = live(at(), SECOND)
    assert np.abs(soles_over(live, last)[:, :2]).max() < 1e-6


@pytest.mark.parametrize(("x", "y"), [(0.3, 0.0), (0.0, 0.3), (-0.2, 0.4), (0.1, -0.5), (0.0, 0.0)])
def test_the_tilt_of_a_slope_turns_up_to_its_normal(x, y):
    """Slopes are rises along x and y: the ground's normal leans the other way."""
    normal = np.array([-x, -y, 1.0]) / np.sqrt(1 + x * x + y * y)
    up = np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(
        rotations.rotate(np.array(entered(grounder_feet.make_tilt)(x, y, 1.0)), up), normal, atol=1e-12
    )
    steep = rotations.rotate(np.array(entered(grounder_feet.make_tilt)(10 * x, 10 * y, 0.2)), up)
    assert np.arccos(np.clip(steep[2], -1, 1)) <= 0.2 + 1e-9


def ball_contacts(path):
    """Whether both balls stand, frame by frame, where the whole figure moves along a path (F, 2): x and up [m]."""
    live = grounder(thresholds=Thresholds(floor=1e3))  # where it hovers, the ground is not taken to be higher
    found = []
    for x, up in path:
        live(at(x=x, y=up), SECOND)
        found.append(bool(live.contacts[:, 1].all()))
    return found


def test_a_foot_that_is_slow_but_not_low_does_not_come_to_stand():
    """2.6 cm up: lower than where a ball stops to stand, higher than where it begins to."""
    fall = [(0.0, 0.026 + 0.02 * max(12 - i, 0)) for i in range(20)]
    found = ball_contacts([*fall, *[(0.0, 0.015)] * 5])
    assert not any(found[:20])
    assert found[-1]


def test_a_foot_that_is_low_but_not_slow_does_not_come_to_stand():
    """0.45 m/s: slower than where a foot stops to stand, faster than where it begins to."""
    speeds = [1.0] * 20 + [0.45] * 20 + [0.0] * 15
    found = ball_contacts([(x, 0.0) for x in np.cumsum(speeds) / 60])
    assert not any(found[10:40])
    assert found[-1]


def test_a_foot_whose_lock_broke_turns_as_it_is_animated():
    """Heel and ball stand, but nothing holds them until they have left the ground."""
    live = grounder()
    for i in range(60):
        live(at(x=0.005 * i), SECOND, contacts=ON)
    assert not live.locked.any()
    turned = at(x=0.3).replace({"LeftFoot": (np.cos(0.15), 0.0, np.sin(0.15), 0.0)})
    for _ in range(60):
        shown = live(turned, SECOND, contacts=ON)
    assert not live.locked.any()
    np.testing.assert_allclose(shown.world["LeftFoot"].rotations, turned.world["LeftFoot"].rotations, atol=1e-3)


def test_hips_that_only_turn_are_lowered_by_a_translation():
    """A ball says nothing of where it is; the pose that is shown does, beside its rotations."""
    rest = poise.load(samples.path("humanoid.glb")).rest
    assert rest.translations is None
    live = Grounder(rest, Terrain.slope(15, direction=(1, 0, 0)))
    for _ in range(60):
        shown = live(rest, SECOND)
    assert live.pelvis < 0.0
    motion = motion_of(
        poise.Clip(np.zeros(1), poise.Pose(rest.skeleton, shown.q[None], shown.translations[None])), live.figure
    )
    heights = paths_of(motion, live.gait.soles, Footing(live.terrain, live.figure)).heights[0]
    assert np.abs(heights[:, :2]).max() < 1e-6


def test_a_foot_rises_as_its_ankle_does():
    state, frame = np.zeros(grounder_walk.STATE), np.zeros(grounder_walk.FRAME)
    state[grounder_walk.ANKLE : grounder_walk.ANKLE + 3] = 1.0, 2.0, 0.30
    frame[grounder_walk.PLACES + 6 : grounder_walk.PLACES + 9] = 1.2, 2.4, 0.28
    assert entered(grounder_walk.measure_rise)(state, frame, 0.02) == pytest.approx(-1.0)
    assert entered(grounder_walk.measure_rise)(state, frame, 0.0) == 0.0


@pytest.mark.parametrize(("mode", "fresh", "expected"), [(1.0, False, 1.5), (1.0, True, 1.0), (0.0, False, 1.5)])
def test_a_point_of_the_sole_is_where_a_free_foot_would_have_it_also_while_it_stands(mode, fresh, expected):
    """Else what a foot is aimed at jumped as it is let go, by what it was turned while it stood."""
    state, frame = np.zeros(grounder_walk.STATE), np.zeros(grounder_walk.FRAME)
    state[grounder_walk.MODE] = mode
    state[[grounder_walk.OUT, grounder_walk.ANKLE]] = 5.0, 4.5  # shown, and animated, in the last frame
    state[grounder_walk.OUT_TURN] = 1.0
    frame[grounder_walk.SOLE] = 1.0
    assert entered(grounder_walk.place_free_point)(state, frame, 0, fresh).x == expected


def test_the_axis_across_each_foot_has_length_one():
    marks = grounder()._live.marks
    across = marks[:, grounder_walk.ACROSS : grounder_walk.ACROSS + 3]
    np.testing.assert_allclose(np.linalg.norm(across, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(("x", "y"), [(0.3, 0.4), (0.3, 0.0), (0.3, -0.4)])
def test_toes_are_bent_until_their_tip_is_on_the_slope(x, y):
    turn = toes_turned(np.zeros(grounder_walk.STATE), slope=(x, y), fresh=True)
    tip = rotations.rotate(turn, TIP)
    assert tip[2] == pytest.approx(x * tip[0] + y * tip[1], abs=1e-12)
    assert tip[2] > 0.0


def test_toes_bend_no_farther_than_they_may():
    turn = toes_turned(np.zeros(grounder_walk.STATE), lower=0.2, most=1.0, fresh=True)
    tip = rotations.rotate(turn, TIP)
    assert math.atan2(tip[2], tip[0]) == pytest.approx(1.0)


def test_tips_of_toes_are_pushed_by_a_bounded_acceleration():
    """They jumped by 38 mm in a frame, where the ground under them came or went."""
    state, tips = np.zeros(grounder_walk.STATE), []
    for i in range(60):
        turn = toes_turned(state, lower=0.08 if 10 <= i < 35 else -1.0, most=1.2, fresh=i == 0)
        tips.append(rotations.rotate(turn, TIP))
    changes = np.linalg.norm(np.diff(tips, 2, axis=0), axis=1)
    assert 0.005 < changes.max() < 1.05 * grounder_feet.DOWN / 3600.0 + 0.1 * 0.2**2  # and what the curve adds
    assert tips[30][2] == pytest.approx(0.08)
    np.testing.assert_allclose(tips[-1], TIP, atol=1e-9)


def toes_turned(state, slope=(0.0, 0.0), lower=0.0, most=math.pi, *, fresh=False):
    """The rotation of toes whose joint is at the origin, `lower` below the ground [m]."""
    frame, marks = np.zeros(grounder_walk.FRAME), np.zeros(grounder_walk.MARKS)
    frame[[grounder_walk.TILT, grounder_walk.TURNS + 12, grounder_walk.NEW_TURN]] = 1.0
    marks[grounder_walk.TIP : grounder_walk.TIP + 3], marks[grounder_walk.BALL] = TIP, 0.1
    marks[grounder_walk.ACROSS + 1], marks[grounder_walk.MOST_BEND] = -1.0, most
    state[grounder_walk.TIP_GROUND + 2 : grounder_walk.TIP_GROUND + 5] = lower, *slope
    joint = Vec(0.0, 0.0, 0.0)
    return np.array(entered(grounder_kernel.turn_toes)(state, frame, marks, joint, 1.0 / 60.0, fresh))


@pytest.mark.parametrize("terrain", [
    Terrain.stairs(0.15, 0.30), Terrain.stairs(-0.2, 0.4, direction=(0.6, 0, -0.8), start=0.1),
    Terrain.stairs(17.0, 29.0, up="z", unit=100.0, direction=(0, 1, 0)),
    Terrain.stairs(0.1, 0.3).scale_by(1.7).lift_by(-0.3),
])  # fmt: skip
def test_the_kernel_knows_stairs_as_the_terrain_does(terrain):
    live = grounder(terrain)
    assert live._live.known
    scale = live._live.settings[grounder_walk.TERRAIN_SCALE]
    points = np.random.default_rng(5).uniform(-3.0, 3.0, (50, grounder_walk.SAMPLES, 3)) * scale
    expected, ground = terrain.sample(points), np.zeros((grounder_walk.SAMPLES, 5))
    for requested, heights in zip(points, expected.heights, strict=True):
        nothing = np.zeros((grounder_walk.SAMPLES, 3))
        entered(grounder_kernel.write_ground)(requested, nothing[:, 0].copy(), nothing, live._live.settings, ground)
        np.testing.assert_allclose(ground[:, 2], heights / scale, atol=1e-9)
        assert (ground[:, 3:] == 0.0).all()


def test_stairs_are_the_same_as_terrain_or_as_function():
    """What a figure shows on stairs, which the kernel knows, and on ground that is asked for in Python."""
    stairs = Terrain.stairs(0.15, 0.30, direction=(1, 0, 0), start=0.1)
    requested = Terrain.function(lambda x, _z: 0.15 * (np.floor((x - 0.1) / 0.30) + 1.0), step=1e-9, unit=None)
    known, found = (
        [live(at(x=0.021 * i, y=0.05 * abs(np.sin(0.2 * i))), SECOND).q for i in range(60)]
        for live in (grounder(stairs), grounder(requested))
    )
    np.testing.assert_allclose(known, found, atol=1e-6)

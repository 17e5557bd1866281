"""The live version: its states one by one, its springs, its kernel, and how near it comes to whole clips."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import poise
from poise import Clip, Grounder, InputError, Pose, Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.figure import figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, KNEE, motion_of
from poise.ground.report.measures import measures_of, paths_of
from poise.io import samples
from poise.kernels import springs
from poise.kernels.ground import grounder_walk
from poise.maths import rotations
from tests.conftest import ROOT
from tests.ground.clips import clip_of, ground_of
from tests.kernels.kernel_entries import entered

SECOND = 1 / 60
ON, OFF = [[True, True]] * 2, [[False, False]] * 2
FLAT = Terrain.flat()


@cache
def figure():
    return poise.load(samples.path("humanoid.bvh")).rest


@cache
def walk():
    return poise.load(samples.path("humanoid.glb")).clips[0]


@cache
def metre():
    return figure_of(figure()).metre


def at(x=0.0, y=0.0, z=0.0):
    """The standing figure, moved [m]."""
    q = figure().q.copy()
    q[:3] += np.array([x, y, z]) * metre()
    return figure().with_q(q)


def grounder(terrain=FLAT, **options):
    return Grounder(figure(), terrain, **options)


def shown(live, poses, seconds=SECOND, **options):
    """The configurations (F, nq) that are shown for poses one after the other."""
    return np.array([live(pose, seconds, **options).q for pose in poses])


def clip_shown(live, clip):
    """A whole clip, frame by frame, and the contacts and locks of every frame."""
    steps, poses, contacts, locked = np.diff(clip.times, prepend=clip.times[0]), [], [], []
    for i, step in enumerate(steps):
        poses.append(live(clip.poses[i], step))
        contacts.append(live.contacts)
        locked.append(live.locked)
    moved = None if poses[0].translations is None else np.array([pose.translations for pose in poses])
    result = Pose(clip.skeleton, np.array([pose.q for pose in poses]), moved)
    return Clip(clip.times, result), np.array(contacts), np.array(locked)


def ankles(live, q):
    """(F, L, 3) of configurations of the figure [m], z up."""
    return motion_of(Clip(np.arange(len(q)) * SECOND, Pose(figure().skeleton, q)), live.figure).places[:, :, ANKLE]


def soles_over(live, pose):
    """(L, 3) heights of heel, ball and tip over the ground [m]."""
    motion = motion_of(Clip(np.zeros(1), Pose(pose.skeleton, pose.q[None])), live.figure)
    return paths_of(motion, live.gait.soles, Footing(live.terrain, live.figure)).heights[0]


# --- springs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [2, 7])
def test_a_spring_does_not_depend_on_the_frame_rate(parts):
    x, v = 0.3, -2.0
    for _ in range(parts):
        x, v = entered(springs.step_spring)(x, v, 30.0, 0.1 / parts)
    np.testing.assert_allclose((x, v), entered(springs.step_spring)(0.3, -2.0, 30.0, 0.1), atol=1e-14)


def test_half_of_an_offset_is_gone_after_the_half_life():
    assert entered(springs.step_spring)(1.0, 0.0, springs.HALF_LIFE_FACTOR / 0.05, 0.05)[0] == pytest.approx(
        0.5, abs=1e-12
    )


def test_a_spring_hangs_behind_a_steady_goal_by_what_is_reported():
    x, v = 0.0, 0.0
    for i in range(500):
        x, v = entered(springs.follow_target)(x, v, 0.02 * i, 0.02 * (i + 1), 20.0, 0.01)
    assert 10.0 - x == pytest.approx(2 * 2.0 / 20.0)
    assert v == pytest.approx(2.0)


def test_turns_and_ways_are_inverse():
    turned_by, way_between = entered(springs.exp_rotation), entered(springs.log_rotation)
    a, way = turned_by(springs.Vec(0.3, -2.0, 0.5)), springs.Vec(-1.0, 0.7, 2.0)
    b = entered(springs.multiply)(turned_by(way), a)
    np.testing.assert_allclose(way_between(a, b), way, atol=1e-12)
    np.testing.assert_allclose(way_between(a, springs.Quat(*(-x for x in b))), way, atol=1e-12)
    np.testing.assert_allclose(way_between(a, a), 0, atol=1e-15)


# --- states ------------------------------------------------------------------------------------------------------


def test_what_stands_already_is_left_alone():
    live = grounder()
    assert np.abs(shown(live, [at()] * 5) - at().q).max() < 1e-9
    assert live.contacts.all()
    assert live.locked.all()


def test_lands_and_is_locked():
    live = grounder()
    fall = [at(y=0.3 * (1 - t) ** 2) for t in np.linspace(0, 1, 30)]
    locked = []
    for pose in [*fall, *[at()] * 20]:
        last = live(pose, SECOND)
        locked.append(live.locked.all())
    assert not any(locked[:10])
    assert locked[-1]
    assert locked == sorted(locked)
    assert np.abs(soles_over(live, last)[:, :2]).max() < 1e-3


def test_a_locked_foot_does_not_move():
    live = grounder()
    q = shown(live, [at(x=0.002 * i) for i in range(40)])  # 0.12 m/s: it stands and is dragged along
    assert live.locked.all()
    assert np.abs(np.diff(ankles(live, q), axis=0)).max() < 1e-9
    assert live.offsets[:, 0] == pytest.approx(-0.078 * metre(), abs=1e-6)


def test_slides_beyond_the_farthest_and_is_let_go_without_a_jump():
    live = grounder()
    path, locked = [], []
    for i in range(120):
        path.append(live(at(x=0.005 * i), SECOND, contacts=ON).q)
        locked.append(live.locked.all())
    assert locked.index(False) == 31  # 0.155 m
    assert not any(locked[31:])  # as long as the contact lasts
    steps = np.linalg.norm(np.diff(ankles(live, np.array(path)), axis=0), axis=-1)
    assert steps[:30].max() < 1e-4  # the leg gets long: its ankle gives by hundredths of a millimetre for its knee
    # It begins with the speed that was shown, none, and gets faster by no more than this: a spring alone would by 190.
    push = 32.0  # [m/s^2]
    assert steps[30] == pytest.approx(0.5 * push * SECOND**2, abs=1e-6)
    assert np.abs(np.diff(steps, axis=0)).max() <= push * SECOND**2 * (1.0 + 1e-9)
    spring = (
        0.155 * springs.HALF_LIFE_FACTOR / 0.05 / np.e * SECOND
    )  # the fastest that a spring is which starts at rest
    assert 0.4 * spring < steps.max() < spring + 0.005
    assert steps[-1] == pytest.approx(0.005, abs=1e-4)
    live(at(x=0.6), SECOND, contacts=OFF)
    live(at(x=0.6), SECOND, contacts=ON)
    assert live.locked.all()


def test_stands_on_a_slope():
    live = grounder(Terrain.slope(20))
    for _ in range(60):
        last = live(at(), SECOND)
    assert np.abs(soles_over(live, last)[:, :2]).max() < 1e-6
    assert soles_over(live, last)[:, 2].min() > -1e-6
    assert live.pelvis < 0.0


@pytest.mark.parametrize("degrees", [10.0, 60.0])
def test_feet_tilt_as_far_as_they_may(degrees):
    live = grounder(Terrain.slope(degrees, direction=(1, 0, 0)), steepest=np.radians(30.0), farthest=0.5)
    pose = live(at(), SECOND)
    turns = pose.world["LeftFoot"].rotations
    tilt = 2 * np.arccos(abs((turns * at().world["LeftFoot"].rotations).sum()))
    assert np.degrees(tilt) == pytest.approx(min(degrees, 30.0), abs=0.5)


def test_never_lands():
    live = grounder()
    poses = [at(x=0.05 * i, y=0.5) for i in range(30)]
    q = shown(live, poses)
    assert not live.contacts.any()
    assert np.abs(q - [pose.q for pose in poses]).max() < 1e-9


def test_the_first_frame_is_on_the_ground_at_once():
    live = grounder(Terrain.flat(0.4))
    assert live(at(), SECOND).q[1] == pytest.approx(at(y=0.4).q[1])
    assert np.abs(soles_over(live, live(at(), SECOND))[:, :2]).max() < 1e-9


def test_no_time_passes():
    live = grounder(Terrain.slope(10))
    first = shown(live, [at(x=0.004 * i) for i in range(20)])[-1]
    again = live(at(x=0.004 * 19), 0.0)
    assert np.abs(again.q - first).max() < 1e-9


def test_a_long_pause_begins_again():
    live = grounder()
    shown(live, [at(x=0.002 * i) for i in range(20)])
    assert np.abs(live.offsets).max() > 0.01
    assert np.array_equal(live(at(x=0.1), 10.0).q, grounder()(at(x=0.1), 0.0).q)


def test_a_figure_that_is_put_elsewhere_does_not_fly_there():
    live = grounder()
    shown(live, [at(x=0.002 * i) for i in range(20)])
    assert np.array_equal(live(at(x=5.0), SECOND).q, grounder()(at(x=5.0), 0.0).q)


def test_after_reset_a_frame_is_a_first_one():
    live = grounder(Terrain.slope(12))
    before = shown(live, walked(12))
    live.reset()
    assert np.array_equal(shown(live, walked(12)), before)


def walked(frames):
    return [at(x=0.01 * i, y=0.05 * abs(np.sin(0.3 * i))) for i in range(frames)]


def test_given_contacts_count():
    live = grounder()
    live(at(), SECOND, contacts=[[True, False], [False, False]])
    assert live.contacts.tolist() == [[True, False], [False, False]]
    assert live.locked.tolist() == [True, False]


def test_the_heel_lifts_about_a_locked_ball():
    live, pose = grounder(), at()
    ground = []
    for i in range(20):
        bent = pose.replace({"LeftFoot": (np.cos(0.02 * i), np.sin(0.02 * i), 0.0, 0.0)})
        contacts = [[i < 5, True], [True, True]]
        last = live(bent, SECOND, contacts=contacts)
        motion = motion_of(Clip(np.zeros(1), Pose(last.skeleton, last.q[None])), live.figure)
        ground.append(live.gait.soles.points(motion)[0, 0])
    balls = np.array(ground)[:, 1]
    assert np.abs(np.diff(balls, axis=0)).max() < 5e-3  # a straight leg whose heel rises at once gives for its knee
    assert ground[-1][0, 2] > 0.02


def test_a_swinging_foot_is_lifted_out_of_the_ground():
    live = grounder(Terrain.stairs(0.15, 0.5, direction=(1, 0, 0)))
    depth = []
    for i in range(60):
        pose = live(at(x=0.02 * i, y=0.06), SECOND, contacts=OFF)
        depth.append(-soles_over(live, pose)[:, :2].min())
    assert max(depth) < 1e-2


def test_a_foot_climbs_a_step_before_it_is_there():
    live = grounder(Terrain.stairs(0.15, 0.5, direction=(1, 0, 0)))
    q = shown(live, [at(x=0.02 * i, y=0.06) for i in range(60)], contacts=OFF)
    climb = np.diff(ankles(live, q)[..., 2], axis=0)
    assert climb.sum(axis=0).min() > 0.25
    assert climb.max() < 0.035  # of 0.15


def test_a_foot_that_comes_to_stand_turning_does_not_turn_on():
    live, turned = grounder(), []
    for i in range(40):
        angle = 0.01 * min(i, 30)
        q = at().q.copy()
        q[3:7] = np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0
        pose = live(figure().with_q(q), SECOND, contacts=ON if i >= 20 else OFF)
        turned.append(pose.world["LeftFoot"].rotations[2])
    assert turned[19] - turned[18] == pytest.approx(0.005, abs=1e-4)
    assert np.abs(np.array(turned[20:]) - turned[20]).max() < 1e-4


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [-0.1, float("nan"), float("inf")])
def test_time_is_a_time(seconds):
    with pytest.raises(InputError, match="0 or more seconds"):
        grounder()(at(), seconds)


def test_a_number_is_requested_where_something_else_is_given():
    with pytest.raises(InputError, match="dt must be a number"):
        grounder()(at(), "soon")
    with pytest.raises(InputError, match="blend_half_life must be"):
        grounder(blend_half_life=-1.0)
    with pytest.raises(InputError, match="level must be finite"):
        grounder(level=float("nan"))
    with pytest.raises(InputError, match=r"terrain is a poise.Terrain, such as Terrain.flat\(\), not 0.3"):
        grounder(0.3)
    with pytest.raises(InputError, match=r"thresholds are a poise.Thresholds, not 3"):
        grounder(thresholds=3)
    with pytest.raises(InputError, match="takes a Pose"):
        grounder()(at().q, SECOND)
    with pytest.raises(InputError, match="a single Pose"):
        Grounder(walk().poses, FLAT)


def test_a_reference_without_frames_is_refused():
    with pytest.raises(InputError, match="no frames"):
        Grounder(Clip(np.zeros(0), Pose(figure().skeleton, np.zeros((0, figure().skeleton.nq)))), FLAT)


@pytest.mark.parametrize("shape", [(0,), (2, 3)])
def test_a_crowd_may_be_empty_or_stand_in_rows(shape):
    live = grounder()
    poses = Pose(figure().skeleton, np.broadcast_to(at().q, (*shape, len(at().q))))
    np.testing.assert_allclose(live(poses, SECOND, contacts=ON).q, poses.q, atol=1e-9)
    assert live.contacts.shape == (*shape, 2, 2)
    beside = np.broadcast_to(walk().poses.translations[0], (*shape, len(walk().skeleton), 3))
    moved = Pose(walk().skeleton, np.broadcast_to(walk().poses.q[0], (*shape, walk().skeleton.nq)), beside)
    assert Grounder(walk(), FLAT)(moved, SECOND).translations.shape == beside.shape


def test_a_pose_of_another_figure_is_refused():
    with pytest.raises(InputError, match="another skeleton"):
        grounder()(walk().poses[0], SECOND)


@pytest.mark.parametrize("contacts", [[True, False, True], [[True, True]] * 3])
def test_contacts_of_other_legs_are_refused(contacts):
    with pytest.raises(InputError, match="contacts"):
        grounder()(at(), SECOND, contacts=contacts)


def test_the_number_of_characters_stays():
    live = grounder()
    live(at(), SECOND)
    with pytest.raises(InputError, match=r"reset\(\)"):
        live(Pose(figure().skeleton, np.tile(at().q, (3, 1))), SECOND)


def test_after_a_terrain_that_fails_it_begins_again():
    fails = []
    ground = Terrain.function(lambda x, _z: np.full(x.shape, np.nan if fails else 0.0))
    live = grounder(ground)
    live(at(), SECOND)
    fails.append(True)
    with pytest.raises(InputError, match="terrain function"):
        live(at(x=0.002), SECOND)
    fails.clear()
    assert np.array_equal(live(at(x=0.004), SECOND).q, grounder(ground)(at(x=0.004), SECOND).q)


# --- the kernel --------------------------------------------------------------------------------------------------


def test_a_crowd_is_each_alone():
    poses, k = walk().poses, len(walk()) // 2
    crowd, alone = Grounder(walk(), Terrain.noise(0.05)), [Grounder(walk(), Terrain.noise(0.05)) for _ in range(2)]
    for i in range(k):
        both = crowd(poses[[i, i + k]], 1 / 30)
        for j, live in enumerate(alone):
            assert np.array_equal(both.q[j], live(poses[i + j * k], 1 / 30).q)
            assert np.array_equal(crowd.contacts[j], live.contacts)
    assert crowd.offsets.shape == (2, 2, 3)
    assert crowd.pelvis.shape == (2,)


def test_a_plane_is_the_same_as_terrain_or_as_function():
    tilted = Terrain.function(lambda _x, z: 0.2 * z, unit=None)
    plane = Terrain.slope(float(np.degrees(np.arctan(0.2))))
    a, b = (clip_shown(Grounder(walk(), ground), walk())[0] for ground in (plane, tilted))
    assert np.abs(a.poses.q - b.poses.q).max() < 1e-6


def test_level_ground_of_any_kind_leaves_straight_legs_straight():
    level = Terrain.function(lambda x, _z: np.zeros(x.shape), unit=None)
    a, b = (clip_shown(Grounder(walk(), ground), walk())[0] for ground in (FLAT, level))
    assert np.abs(a.poses.q - b.poses.q).max() < 1e-9


def test_one_that_another_version_has_pickled_is_refused():
    live = grounder()
    state = live.__getstate__()
    state["_state"] = state["_state"][..., :-1].copy()
    with pytest.raises(InputError, match="pickled by another version of Poise"):
        Grounder.__new__(Grounder).__setstate__(state)


@pytest.mark.parametrize("scale", [None, (1.0, 1.0, 1.0), (-1.2, -1.2, -1.2), (1.0, 1.1, 0.8), (0.1, 0.1, 3.0)])
def test_legs_are_where_forward_kinematics_says(scale):
    poses = walk().poses[[7]]
    if scale is not None:
        scales = np.ones((1, len(poses.skeleton), 3))
        scales[0, poses.skeleton.index("Hips")] = scale
        poses = Pose(poses.skeleton, poses.q, poses.translations, scales)
    live = Grounder(walk(), FLAT)
    live(poses, SECOND)
    motion, k = motion_of(Clip(np.zeros(1), poses), live.figure), grounder_walk
    frame = live._frames[0]
    np.testing.assert_allclose(frame[:, : k.TURNS].reshape(2, 4, 3), motion.places[0, :, :4], atol=1e-12)
    turns = frame[:, k.TURNS : k.SOLE].reshape(2, 4, 4)
    same = np.abs((turns * motion.turns[0]).sum(axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=1e-12)


SHORT = """
import json, numpy as np, poise
from poise.io import samples
clip = poise.load(samples.path("humanoid.glb")).clips[0]
live = poise.Grounder(clip, poise.Terrain.slope(12))
print(json.dumps([live(clip.poses[i], 1 / 30).q.tolist() for i in range(20)]))
"""


@pytest.mark.long
def test_compiled_and_uncompiled_agree():
    plain = subprocess.run(
        [sys.executable, "-c", SHORT],
        env=os.environ | {"POISE_KERNELS": "plain"}, check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    live = Grounder(walk(), Terrain.slope(12))
    compiled = [live(walk().poses[i], 1 / 30).q for i in range(20)]
    np.testing.assert_allclose(compiled, json.loads(plain.stdout), atol=1e-9)


# --- whole clips -------------------------------------------------------------------------------------------------


def test_sixty_frames_a_second_show_what_a_hundred_and_twenty_do(data):
    _, clip = clip_of(data, "walk_mass")
    fine, coarse = clip, Clip(clip.times[::2], clip.poses[::2])
    live = [Grounder(clip, ground_of("slope", "y")) for _ in range(2)]
    results = [clip_shown(g, c)[0] for g, c in zip(live, (fine, coarse), strict=True)]
    a, b = (motion_of(result, live[0].figure).places[:, :, ANKLE] for result in results)
    off = np.linalg.norm(a[::2] - b, axis=-1)
    assert np.median(off) < 0.005
    assert off.max() < 0.04


# Bounds on the distances of ankles and hips from those of plant_feet [cm of a 1.7 m figure],
# half of the time, 95 % of it, and ever, after the first tenth of a second: as measured and a tenth more, rounded up to
# millimetres. A plan sinks the pelvis 0.2 s before a leg is too short, and after, and where a knee would pop:
# so far are the hips of the run off. Kinds of machines round differently: over noise its hips are 0.6 or 1.0 cm off
# half of the time.
NEAR = {
    ("cmu_12_01_walk", "flat"): ((1.2, 3.8, 5.5), (1.2, 3.0, 3.7)),
    ("cmu_12_01_walk", "slope"): ((1.5, 5.3, 6.5), (2.5, 5.1, 5.9)),
    ("cmu_12_01_walk", "noise"): ((1.0, 3.5, 5.4), (0.91, 3.4, 4.3)),
    ("walk_mass", "flat"): ((2.1, 4.0, 4.6), (1.6, 3.2, 3.2)),
    ("walk_mass", "slope"): ((2.8, 7.9, 10.7), (2.9, 7.3, 7.5)),
    ("walk_mass", "noise"): ((2.0, 4.4, 5.7), (1.9, 3.3, 3.4)),
    ("run_mass", "flat"): ((1.6, 4.5, 5.5), (0.5, 0.7, 0.7)),
    ("run_mass", "slope"): ((3.8, 14.3, 16.9), (2.5, 7.7, 8.4)),
    ("run_mass", "noise"): ((2.1, 3.8, 4.8), (1.1, 1.6, 1.8)),
}

SKATES = {
    ("run_mass", "flat"): 2.0,
    ("cmu_12_01_walk", "slope"): 2.0,
    ("walk_mass", "slope"): 2.0,
    ("run_mass", "slope"): 11.0,
    ("run_mass", "noise"): 2.0,
}


@cache
def lived(folder, name, kind):
    """A clip lived through and planted as a whole, and how its feet stand."""
    _, clip = clip_of(folder, name)
    live = Grounder(clip, ground_of(kind, "y"))
    result, contacts, locked = clip_shown(live, clip)
    motion = motion_of(result, live.figure)
    stood = Contacts(
        tuple(leg.name for leg in live.figure.legs), clip.times, *np.moveaxis(contacts & locked[..., None], -1, 0)
    )
    paths = paths_of(motion, live.gait.soles, Footing(live.terrain, live.figure))
    own = paths_of(motion_of(clip, live.figure), live.gait.soles, Footing(Terrain.flat(), live.figure))
    tips = [-1000.0 * (each.heights[..., 2].min() - level) for each, level in ((paths, 0.0), (own, live.gait.level))]
    paths.heights[..., 2] = np.maximum(paths.heights[..., 2], 0.0)
    return clip, live, result, motion, measures_of(paths, stood, motion), tips


@pytest.mark.parametrize(("name", "kind"), NEAR)
def test_near_to_the_planting_of_the_whole_clip(data, name, kind):
    clip, live, _, motion, _, _ = lived(data, name, kind)
    whole = motion_of(poise.plant_feet(clip, live.terrain), live.figure)
    late = clip.times > 0.1
    for place, bounds in zip((ANKLE, HIP), NEAR[name, kind], strict=True):
        off = 100 * np.linalg.norm((motion.places - whole.places)[late, :, place], axis=-1)
        assert (np.percentile(off, (50, 95, 100)) <= bounds).all()


@pytest.mark.parametrize(("name", "kind"), NEAR)
def test_feet_stand_out_of_the_ground_and_nothing_jumps(data, name, kind):
    clip, _, result, _, measures, (tip, own_tip) = lived(data, name, kind)
    # Where a leg is too short for a moment the pelvis does not drop for it, and an ankle gives up to 2 cm for its knee.
    assert measures.skate < SKATES.get((name, kind), 1.0)  # cm/s
    assert measures.slip < (20.0 if kind == "slope" else 5.0)  # mm
    deep = 12.0 if kind == "noise" else 6.0  # mm
    assert measures.penetration < deep
    # Toes bend no farther than toes do, by a bounded push: where the clip has its tips in its own floor, less deep.
    assert tip < max(deep, own_tip)
    assert measures.backward.max() < 1e-6  # degrees
    after, before = (np.linalg.norm(np.diff(c.poses.world.positions[2:], axis=0), axis=-1) for c in (result, clip))
    usual = np.maximum(before.max(axis=0), 0.2 * before.max())
    assert (after.max(axis=0) < 2.0 * usual).all()


def test_a_run_up_stairs_does_not_turn_its_knees_over(data):
    """Legs fold as far as legs do. Where an ankle came past its hip, a knee leapt by 60 cm."""
    clip = clip_of(data, "run_mass")[1]
    live = Grounder(clip, Terrain.stairs(0.15, 0.3, direction=poise.travel_direction(clip)))
    times = np.arange(0.0, clip.duration, 1.0 / 60.0)
    clip = Clip(times, clip.at(times))
    before, after = (motion_of(each, live.figure).places for each in (clip, clip_shown(live, clip)[0]))
    own, shown = (np.linalg.norm(np.diff(places[:, :, KNEE], 2, axis=0), axis=-1).max() for places in (before, after))
    assert shown < own + 0.1
    chord = np.linalg.norm(after[:, :, ANKLE] - after[:, :, HIP], axis=-1).min()
    leg = np.linalg.norm(np.diff(after[0, 0, [HIP, KNEE, ANKLE]], axis=0), axis=-1).sum()
    assert chord > 0.29 * leg


@pytest.mark.parametrize("degrees", [90.0, 130.0])
def test_a_foot_that_is_animated_above_its_hip_stays_there(degrees):
    """A kick: only ground that rises folds a leg farther than it is animated."""
    live, thigh = grounder(), figure().skeleton.q_slice("LeftUpLeg")
    upper = figure().world["LeftUpLeg"].rotations
    for i in range(80):
        turn = rotations.about(np.array([1.0, 0.0, 0.0]), -np.radians(degrees) * np.sin(np.pi * i / 79) ** 2)
        q = figure().q.copy()
        local = rotations.multiply(rotations.inverse(upper), rotations.multiply(turn, upper))
        q[thigh] = rotations.multiply(q[thigh], local)
        pose = figure().with_q(q)
        shown = live(pose, SECOND)
        for joint in ("Hips", "LeftFoot"):
            off = shown.world[joint].positions - pose.world[joint].positions
            assert np.linalg.norm(off) < 0.03 * metre()  # 0.55 for a leg that folds to its hip

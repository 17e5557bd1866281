"""Strides that fit stairs: no step climbs two treads, feet stand as still as before, and nothing else changes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from poise import Clip, InputError, Pose, Terrain, UnsupportedError, lock_feet, plant_feet
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, motion_of
from poise.ground.legs.body import Lean
from poise.ground.legs.write_back import leaning_poses, moved_poses
from poise.ground.report.jumps import jumps_of
from poise.ground.report.measures import slip
from poise.ground.report.verdict import STEPS
from poise.ground.strides.footfalls import BodyWay, Footfalls, pairs_of
from poise.ground.strides.search import count_treads, overhang
from poise.ground.strides.strided import course_of
from poise.maths import rotations
from poise.maths.vectors import UP, normalise
from tests.ground.clips import clip_of
from tests.ground.motions import two_legs

pytestmark = pytest.mark.long

RISE, GOING = 0.15, 0.30
NAMES = ("cmu_12_01_walk", "walk_mass", "knight walks", "man walks")
CALM = ("cmu_12_01_walk", "walk_mass", "knight walks")


def ways_of(clip, figure):
    """Where a clip goes, or its feet point, and to the left of that: along the axes of its file."""
    hips = motion_of(clip, figure).places[:, :, HIP].mean(axis=1)
    way = hips[-1] - hips[0]
    if np.hypot(*way[:2]) < 0.5:
        places = motion_of(clip, figure).places
        way = (places[:, :, 3] - places[:, :, HIP]).mean(axis=(0, 1))
    turn = rotations.inverse(figure.turn)
    return tuple(rotations.rotate(turn, np.array(v)) for v in ((way[0], way[1], 0.0), (-way[1], way[0], 0.0)))


def stairs_for(clip, figure, sign=1.0, turned=0.0, going=GOING):
    """Stairs along the way of a clip, or turned away from it [deg]."""
    ahead, left = (way / np.linalg.norm(way) for way in ways_of(clip, figure))
    direction = sign * (np.cos(np.radians(turned)) * ahead + np.sin(np.radians(turned)) * left)
    return Terrain.stairs(RISE, going, direction=direction, up=figure.up)


@cache
def planted_on(data, name, sign=1.0, stride="fit", turned=0.0):
    rig, clip = clip_of(data, name)
    figure = figure_of(clip, rig=rig)
    return plant_feet(clip, stairs_for(clip, figure, sign, turned), rig=rig, stride=stride)


def most_treads(planted):
    """The most treads that a step past the other foot climbs, by the heights of the plants."""
    order = np.argsort(planted.plants.stances.start, kind="stable")
    before = pairs_of(planted.plants.stances.leg[order], planted.figure, np.zeros(len(order), int))[:, 0]
    height = planted.plants.ball[order, 2]
    climbs = np.abs(height - height[before])[before >= 0] / RISE
    assert len(climbs)
    return np.rint(climbs.max())


def hips_of(clip, figure):
    return motion_of(clip, figure).places[:, :, HIP].mean(axis=1)


class TestSteps:
    @pytest.mark.parametrize("sign", [1.0, -1.0], ids=["up", "down"])
    @pytest.mark.parametrize("name", NAMES)
    def test_no_step_climbs_two_treads(self, data, name, sign):
        assert most_treads(planted_on(data, name, sign, "keep")) >= 2
        planted = planted_on(data, name, sign)
        assert most_treads(planted) <= 1
        assert planted.notes[0].startswith("strides fitted to the treads: of ")

    @pytest.mark.parametrize("turned", [20.0, 45.0])
    def test_stairs_across_the_way(self, data, turned):
        assert most_treads(planted_on(data, "cmu_12_01_walk", 1.0, "keep", turned)) >= 2
        assert most_treads(planted_on(data, "cmu_12_01_walk", 1.0, "fit", turned)) <= 1

    @pytest.mark.parametrize("sign", [1.0, -1.0], ids=["up", "down"])
    @pytest.mark.parametrize("name", CALM)
    def test_it_stands_as_it_should(self, data, name, sign):
        planted = planted_on(data, name, sign)
        # Down stairs a leg that was long behind is bent by 47 degrees more, where 35 are good.
        assert {worse.measure for worse in planted.report.worse} <= {"bend"}, planted.report.worse
        motions = motion_of(planted.source, planted.figure), motion_of(planted, planted.figure)
        jumps = jumps_of(motions, room=STEPS.step)
        assert (jumps.after <= jumps.bound + 1.0).all()  # nor does it pop next to the clip as it came

    @pytest.mark.parametrize("name", ["cmu_12_01_walk", "walk_mass"])
    def test_feet_of_the_strides_stand_as_still_as_those_of_the_clip(self, data, name):
        kept, fitted = (planted_on(data, name, 1.0, stride).report for stride in ("keep", "fit"))
        both = [np.stack([report.contacts.heel, report.contacts.ball], axis=2) for report in (kept, fitted)]
        held = both[0] & both[1]  # stances end sooner on the one or the other where a leg is too short
        assert held.sum() > 0.8 * max(one.sum() for one in both)
        assert slip(fitted.paths[0], held) <= slip(kept.paths[0], held) + 0.1

    def test_a_foot_stands_where_it_did_when_the_body_is_over_it(self, data):
        planted = planted_on(data, "cmu_12_01_walk")
        old, new = (motion_of(clip, planted.figure).places for clip in (planted.source, planted.travelled))
        assert np.linalg.norm(new - old, axis=-1).max() > 1.0
        for leg, start, end in zip(*planted.plants.stances[:3], strict=True):
            if start > 0 and end < len(planted):
                middle = (start + end - 1) // 2
                from_hips = [each[middle, leg, ANKLE] - each[middle, :, HIP].mean(axis=0) for each in (old, new)]
                np.testing.assert_allclose(from_hips[1], from_hips[0], atol=0.03)

    def test_a_curve(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        figure = figure_of(clip, rig=rig)
        curve = curved(clip, figure, 0.5 * np.pi)
        stairs = stairs_for(clip, figure, turned=-45.0)
        results = {stride: plant_feet(curve, stairs, rig=rig, stride=stride) for stride in ("keep", "fit")}
        assert most_treads(results["keep"]) >= 2
        assert most_treads(results["fit"]) <= 1
        clips = results["fit"].source, results["fit"].travelled
        old, new = (normalise(np.diff(hips_of(each, figure)[::60] * [1.0, 1.0, 0.0], axis=0)) for each in clips)
        assert np.linalg.norm(np.cross(old, new), axis=1).max() < 0.1  # it still heads where it did


def curved(clip: Clip, figure: Figure, angle: float) -> Clip:
    """A straight walk, bent by an angle [rad] to its left, its feet locked."""
    hips = hips_of(clip, figure)
    ahead = (hips[-1] - hips[0]) * [1.0, 1.0, 0.0]
    length = np.linalg.norm(ahead)
    ahead = ahead / length
    left = np.cross(UP, ahead)
    theta = angle * ((hips - hips[0]) @ ahead) / length
    radius = length / angle
    places = hips[0] + radius * (np.sin(theta)[:, None] * ahead + (1.0 - np.cos(theta))[:, None] * left)
    places[:, 2] = hips[:, 2]
    lean = Lean(rotations.about(np.broadcast_to(UP, hips.shape), theta), hips, np.zeros_like(hips))
    poses = leaning_poses(clip.poses, figure, lean, np.zeros_like(hips))
    locked = lock_feet(Clip(clip.times, moved_poses(poses, figure, places - hips), clip.name))
    return Clip(locked.times, locked.poses, clip.name)


class TestOtherGround:
    def test_flat_ground_before_the_stairs_and_maps(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        figure = figure_of(clip, rig=rig)
        ahead = ways_of(clip, figure)[0]
        ahead = ahead / np.linalg.norm(ahead)
        start = rotations.rotate(rotations.inverse(figure.turn), hips_of(clip, figure)[0]) @ ahead

        def height(x, z):
            return RISE * np.clip(np.floor((x * ahead[0] + z * ahead[2] - start - 2.4) / GOING) + 1.0, 0.0, 4.0)

        post = np.linspace(-4.0, 4.0, 161)
        grid = Terrain.heightmap(height(*np.meshgrid(post, post)), size=(8.0, 8.0), up="y", unit=figure.metre)
        for ground in (Terrain.function(height, up="y", unit=figure.metre), grid):
            assert most_treads(plant_feet(clip, ground, rig=rig)) >= 2
            planted = plant_feet(clip, ground, rig=rig, stride="fit")
            assert most_treads(planted) <= 1
            old, new = (hips_of(each, figure) for each in (planted.source, planted.travelled))
            went = [np.linalg.norm((each[-1] - each[-100])[:2]) for each in (old, new)]
            assert went[1] < 0.75 * went[0]
            assert np.abs(np.diff(new - old, n=2, axis=0)).max() < 1e-4  # and slows down smoothly

    @pytest.mark.parametrize("name", ["cmu_12_01_walk", "knight walks"])
    @pytest.mark.parametrize("ground", ["flat", "slope"])
    def test_without_treads_nothing_changes(self, data, name, ground):
        rig, clip = clip_of(data, name)
        up = figure_of(clip, rig=rig).up
        terrain = Terrain.flat(up=up) if ground == "flat" else Terrain.slope(20, up=up)
        kept, fitted = (plant_feet(clip, terrain, rig=rig, stride=stride) for stride in ("keep", "fit"))
        np.testing.assert_array_equal(kept.poses.q, fitted.poses.q)
        assert fitted.notes == ("strides are as they were: no step of the clip climbs two treads", *kept.notes)

    def test_treads_that_nothing_fits(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        stairs = stairs_for(clip, figure_of(clip, rig=rig), going=0.06)
        kept, fitted = (plant_feet(clip, stairs, rig=rig, stride=stride) for stride in ("keep", "fit"))
        np.testing.assert_array_equal(kept.poses.q, fitted.poses.q)
        assert fitted.notes[0] == "strides are as they were: none down to 0.2 of their length fits the treads"
        assert fitted.notes[-1] == "steps that climb two treads or more all the same: 7 of 7"

    def test_strides_that_help_no_step_are_not_taken(self, data):
        rig, clip = clip_of(data, "knight runs")
        stairs = stairs_for(clip, figure_of(clip, rig=rig))
        kept, fitted = (plant_feet(clip, stairs, rig=rig, stride=stride) for stride in ("keep", "fit"))
        np.testing.assert_array_equal(kept.poses.q, fitted.poses.q)
        assert "strides are as they were: none down to 0.2 of their length fits the treads" in fitted.notes

    def test_one_leg(self, data):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        stairs = stairs_for(clip, figure_of(clip, rig=rig))
        fitted = plant_feet(clip, stairs, rig=rig, stride="fit", legs=["left"])
        height = fitted.plants.ball[:, 2]
        assert np.abs(np.rint(np.diff(height) / RISE)).max() <= 2
        assert "strides fitted to the treads: of 3 steps 3 shorter" in fitted.notes[0]

    @pytest.mark.parametrize("frames", [1, 2, 3])
    def test_clips_of_few_frames(self, data, frames):
        rig, clip = clip_of(data, "cmu_12_01_walk")
        few = Clip(clip.times[:frames], Pose(clip.skeleton, clip.poses.q[:frames]), "few")
        fitted = plant_feet(few, stairs_for(clip, figure_of(clip, rig=rig)), rig=rig, stride="fit")
        assert np.isfinite(fitted.poses.q).all()


class TestLoops:
    @pytest.mark.parametrize("name", ["knight walks", "fox walks"])
    def test_a_clip_in_place_starts_where_it_did(self, data, name):
        planted = planted_on(data, name)
        assert planted.velocity is not None
        start = [motion_of(clip, planted.figure).places[0, :, HIP] for clip in (planted.source, planted.travelled)]
        np.testing.assert_allclose(start[1], start[0], atol=1e-9)
        assert len(planted.source) == len(planted.travelled) == len(planted)

    def test_one_that_is_kept_there_has_no_strides_to_fit(self, data):
        rig, clip = clip_of(data, "knight walks")
        stairs = stairs_for(clip, figure_of(clip, rig=rig))
        with pytest.raises(UnsupportedError, match="walks in place and is kept there, where no stride can be fitted"):
            plant_feet(clip, stairs, rig=rig, stride="fit", in_place="keep")


def test_another_word_is_refused(data):
    rig, clip = clip_of(data, "walk_mass")
    with pytest.raises(InputError, match="stride must be 'keep' or 'fit', not 'short'"):
        plant_feet(clip, Terrain.flat(), rig=rig, stride="short")  # type: ignore[arg-type]


class TestTreads:
    @pytest.fixture
    def stairs(self):
        return Footing(Terrain.stairs(RISE, GOING, direction=(1.0, 0.0, 0.0), up="z"), two_legs())

    def test_they_are_counted_up_and_down_and_across(self, stairs):
        start = np.array([0.2, 0.0, 0.0])  # risers are at 0.15 and every 0.3 m
        ends = np.array([[0.4, 0.0, 0.0], [0.5, 0.0, 0.0], [1.1, 0.5, 0.0], [-0.4, 0.2, 0.0], [0.2, 2.0, 0.0]])
        np.testing.assert_array_equal(count_treads(stairs, np.broadcast_to(start, ends.shape), ends), [0, 1, 3, -2, 0])

    def test_slopes_and_kerbs_of_4_cm_have_none(self):
        ends = np.array([[1.0, 0.0, 0.0]])
        for terrain in (Terrain.slope(40, direction=(1.0, 0.0, 0.0), up="z"),
                        Terrain.stairs(0.04, GOING, direction=(1.0, 0.0, 0.0), up="z")):  # fmt: skip
            assert count_treads(Footing(terrain, two_legs()), np.zeros((1, 3)), ends) == 0

    def test_a_map_makes_ramps_of_them(self):
        post = np.arange(0.0, 2.01, 0.08)
        height = RISE * np.floor(np.meshgrid(post, post)[0] / 0.4)
        footing = Footing(Terrain.heightmap(height, size=(2.0, 2.0), origin=(1.0, 1.0, 0.0), up="z"), two_legs())
        start, end = np.array([[0.2, 1.0, 0.0]]), np.array([[1.4, 1.0, 0.0]])
        assert count_treads(footing, start, end) == 3

    def test_a_sole_is_best_off_between_risers(self, stairs):
        heel = np.array([[x, 0.0, 0.0] for x in np.arange(0.0, 0.3, 0.01)])
        ahead = np.broadcast_to([1.0, 0.0, 0.0], heel.shape)
        worst = overhang(stairs, heel, heel + 0.2 * ahead, ahead)
        best = heel[worst.argmin(), 0]
        assert 0.15 <= best <= 0.25  # on the tread from 0.15 to 0.45, before the next riser
        assert worst[5] >= 2.5  # over an edge
        assert worst.min() < 0.5


class TestCourse:
    def test_means_between_footfalls_are_the_shares_and_it_is_smooth(self):
        pad, frames = 100, 501
        arcs = 0.013 * (np.arange(frames + 2 * pad) - pad)
        way = BodyWay(arcs[:, None] * [1.0, 0.0, 0.0], arcs, pad)
        middle, shares = np.array([-20.0, 60.0, 130.0, 180.5, 260.0, 420.0]), np.array([1.0, 1.0, 0.4, 0.5, 0.3, 1.0])
        course = course_of(way, footfalls_at(middle), shares, anchor=0)
        assert not course.moved[pad].any()
        knots = np.sort(np.append(middle, 0.0))
        gone = np.diff(way.at(knots, way.places + course.moved)[:, 0]) / np.diff(way.at(knots, way.places)[:, 0])
        np.testing.assert_allclose(gone, shares, atol=2e-3)
        assert course.shares.min() > 0.0
        assert np.abs(np.diff(course.shares)).max() < 0.05

    def test_equal_shares_are_steady(self):
        arcs = 0.013 * (np.arange(601) - 100)
        way = BodyWay(arcs[:, None] * [0.6, 0.8, 0.0], arcs, 100)
        course = course_of(way, footfalls_at(np.array([30.0, 80.0, 300.0])), np.full(3, 0.45), anchor=0)
        np.testing.assert_allclose(course.shares, 0.45, atol=1e-12)


def footfalls_at(middle):
    """Footfalls of which only the middles matter."""
    count = len(middle)
    nought, points = np.zeros(count, int), np.zeros((count, 3))
    return Footfalls(nought, nought, nought, middle, points, points, points, points)


def test_pairs_are_of_front_and_of_hind_feet_and_end_at_a_cut(data):
    rig, clip = clip_of(data, "fox walks")
    figure = figure_of(clip, rig=rig)
    names = [leg.name for leg in figure.legs]
    turns = [names.index(name) for name in ("front left", "hind left", "front right", "hind right", "front left")]
    pairs = pairs_of(np.array(turns), figure, np.zeros(5, int))
    np.testing.assert_array_equal(pairs, [[-1, -1], [-1, -1], [0, -1], [1, -1], [2, 0]])
    cut = pairs_of(np.array(turns), figure, np.array([0, 0, 0, 9, 9]))
    np.testing.assert_array_equal(cut[3:], -1)

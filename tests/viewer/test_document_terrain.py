"""The ground under a rig, in the rig's own units and axes."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.ground.plant import Planted
from poise.io import samples
from poise.viewer.document.contact_intervals import list_bad_stretches
from poise.viewer.document.terrain import (
    TERRAIN_CHOICES,
    build_document_terrain,
    build_ground_mesh,
    find_up_axis,
    measure_height,
    measure_pose_size,
    plant_clip,
)
from tests.strategies import straight_chain
from tests.viewer.action_cases import rig
from tests.viewer.test_terrain_mesh import mesh_of


@pytest.fixture(scope="module", params=["humanoid.glb", "arm.urdf", "humanoid.bvh"])
def any_rig(request):
    return poise.load(samples.path(request.param))


@pytest.mark.parametrize("words", [words for words, _ in TERRAIN_CHOICES])
def test_what_is_offered_can_be_stood_on_by_any_rig(any_rig, words):
    land = build_document_terrain(any_rig, words)
    point = tuple(float(x) for x in any_rig.rest.world.positions[-1])
    on = np.array(land.place_point(point, 0.0))
    np.testing.assert_allclose(land.terrain.heights(on), on[land.up_index], atol=1e-6 * land.character_height)
    above = np.array(land.place_point(point, 0.25 * land.character_height))
    np.testing.assert_allclose(
        above - on, 0.25 * land.character_height * np.eye(3)[land.up_index], atol=1e-9 * land.character_height
    )
    others = [axis for axis in range(3) if axis != land.up_index]
    np.testing.assert_array_equal(on[others], np.array(point)[others])


def test_a_titles_words_are_unique():
    assert (
        len({words for words, _ in TERRAIN_CHOICES})
        == len({title for _, title in TERRAIN_CHOICES})
        == len(TERRAIN_CHOICES)
    )


def test_it_is_as_large_as_the_figure():
    """Steps of 15 cm for a figure in metres; in centimetres a hundred times that."""
    small = rig()
    large = poise.Skeleton.build(
        small.skeleton.names, small.skeleton.parents, small.skeleton.kinds,
        offsets=small.skeleton.A[:, :3] * 100, rotations=small.skeleton.A[:, 3:], up="y",
    )  # fmt: skip
    big = poise.Rig(large, poise.Pose(large, large.rest_q))
    assert measure_height(big) == pytest.approx(100 * measure_height(small), rel=1e-6)
    points = np.linspace(0, 1, 50)[:, None] * np.array([0.0, 0.0, 3.0])
    heights = build_document_terrain(small, "stairs:0.15,0.30").terrain.heights(points)
    np.testing.assert_allclose(
        build_document_terrain(big, "stairs:0.15,0.30").terrain.heights(points * 100), heights * 100, atol=1e-3
    )


def test_its_mesh_reaches_some_heights_of_the_figure_around_it():
    """In metres or in centimetres: the page shows as much ground around either."""
    for size in (1.0, 100.0):
        skeleton = straight_chain(5, length=0.4 * size)
        bones = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))
        points, _, _ = mesh_of(build_ground_mesh(bones, "flat", bones.rest))
        assert 2 * 4 < np.ptp(points[:, 0]) / measure_height(bones) < 2 * 9


def test_the_figure_stands_on_its_floor_at_rest():
    land = build_document_terrain(rig(), "flat")
    assert land.floor_height == rig().rest.world.positions[:, 1].min()
    assert (land.up_index, find_up_axis(rig())) == (1, "y")
    assert 1.4 < land.character_height < 2.0


def test_up_is_the_files_word():
    assert find_up_axis(poise.load(samples.path("arm.urdf"))) == "z"
    skeleton = straight_chain(3)
    assert find_up_axis(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))) == "y"


def test_without_legs_the_extent_counts():
    skeleton = straight_chain(5, length=2.0)
    bones = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))
    assert measure_height(bones) == measure_pose_size(bones.rest) == 10.0
    point = poise.Skeleton.build(["a"], [-1], [3])
    assert measure_pose_size(poise.Pose(point, point.rest_q)) == 1.0


@pytest.mark.parametrize("words", ["", "hils", "slope:", "stairs:1", "no_such_file.glb", "noise:a,b"])
def test_words_that_name_no_ground(words):
    with pytest.raises(poise.PoiseError) as caught:
        build_document_terrain(rig(), words)
    assert "\n" not in str(caught.value)


def test_a_planted_clip_stands_on_the_ground():
    walk = plant_clip(rig(), rig().clip("walk"), "slope:10")
    assert isinstance(walk, Planted)
    assert len(walk) == len(rig().clip("walk"))


def test_the_timeline_gets_every_bad_stretch_at_its_time():
    walk = plant_clip(rig(), rig().clip("walk"), "stairs:0.3,0.2")
    told = list_bad_stretches(walk)
    assert [each["text"] for each in told] == [str(each) for each in walk.report.stretches]
    for each in told:
        assert each["from"] == walk.contacts.times[each["frame"]]
        assert each["from"] <= each["to"] <= walk.duration
    assert list_bad_stretches(plant_clip(rig(), rig().clip("walk"), "flat")) == []
    assert list_bad_stretches(rig().clip("walk")) is None


def test_what_has_no_feet_is_not_planted():
    arm = poise.load(samples.path("arm.urdf"))
    poses = poise.Pose(arm.skeleton, np.repeat(arm.pose.q[None], 3, axis=0))
    with pytest.raises(poise.PoiseError):
        plant_clip(arm, poise.Clip(np.arange(3) / 30, poses, "still"), "flat")

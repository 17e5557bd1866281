"""All tracks of a clip are sampled at once; each gives what it gives alone, bit for bit."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import poise
from poise import Channel, KeyedClip, Kind, Skeleton
from poise.maths import rotations
from poise.model import track_sampling
from poise.model.clip import Clip
from tests.strategies import rng_of, unit_quaternions
from tests.timeouts import lines_run

BODY = Skeleton.build(
    ["root", "hinge", "spine", "slide", "head", "hand", "loose"],
    [-1, 0, 1, 2, 2, 4, 4],
    [Kind.FREE, Kind.HINGE, Kind.BALL, Kind.SLIDE, Kind.BALL, Kind.BALL, Kind.FREE],
    axes=[[0, 0, 1]] * 7,
    offsets=rng_of(1).normal(size=(7, 3)),
    rotations=unit_quaternions(rng_of(2), 7),
    scales=rng_of(3).uniform(0.5, 2.0, size=(7, 3)),
)
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
TURNING = (0, 2, 4, 5, 6)


def make_track(rng, joint, path, interpolation, times):
    parts = (3,) if interpolation == "CUBICSPLINE" else ()
    values = rng.normal(size=(len(times), *parts, WIDTHS[path]))
    return Channel(joint, path, interpolation, times, values)


def sample_one_by_one(skeleton, tracks, t):
    """Sample track after track, as the definition says: q, translations, scales."""
    shape = (*np.shape(t), len(skeleton), 3)
    q = np.broadcast_to(skeleton.rest_q, (*np.shape(t), skeleton.nq)).copy()
    scales = np.broadcast_to(np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2), shape).copy()
    translations = np.broadcast_to(skeleton.A[:, :3], shape).copy()
    has_translations = has_scales = False
    for track in tracks:
        values, start = track.at(t), skeleton.q_slice(skeleton.names[track.joint]).start
        is_free = skeleton.kinds[track.joint] == Kind.FREE
        to_rest = rotations.inverse(skeleton.A[track.joint, 3:])
        if track.path == "rotation":
            start += 3 * is_free
            q[..., start : start + 4] = rotations.multiply(np.broadcast_to(to_rest, values.shape), values)
        elif track.path == "scale":
            scales[..., track.joint, :], has_scales = values, True
        elif is_free:
            q[..., start : start + 3] = rotations.rotate(to_rest, values - skeleton.A[track.joint, :3])
        else:
            translations[..., track.joint, :], has_translations = values, True
    return poise.Pose(skeleton, q, translations if has_translations else None, scales if has_scales else None)


def assert_same_bits(pose, expected):
    for name in ("q", "translations", "scales"):
        ours, theirs = getattr(pose, name), getattr(expected, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            assert not ours.flags.writeable
            assert ours.shape == theirs.shape
            assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes(), name


def make_mixed_tracks(rng, key_counts=(1, 2, 3, 17)):
    """Tracks of every path and interpolation, with times of their own or shared, and keys at equal times."""
    shared = np.array([0.0, 0.25, 0.25, 1.0, 2.5])
    tracks = []
    for joint, path, interpolation in itertools.product(range(len(BODY)), WIDTHS, INTERPOLATIONS):
        if rng.uniform() < 0.4 and (path != "rotation" or joint in TURNING):
            own_times = np.sort(rng.uniform(-0.5, 3.0, size=rng.choice(key_counts)))
            times = shared if rng.uniform() < 0.5 else own_times
            tracks.append(make_track(rng, joint, path, interpolation, times))
    return tracks  # of some properties several: the last one counts


@pytest.mark.parametrize("seed", range(12))
def test_a_clip_has_the_bits_of_its_tracks(seed):
    rng = rng_of(seed)
    clip = KeyedClip(BODY, make_mixed_tracks(rng))
    for t in (rng.uniform(-1.0, 3.5, size=(3, 5)), rng.uniform(-1.0, 3.5, size=41), np.array(0.7), np.zeros(0)):
        assert_same_bits(clip.at(t), sample_one_by_one(BODY, clip.tracks, t))
    assert_same_bits(clip.poses, sample_one_by_one(BODY, clip.tracks, clip.times))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("path", WIDTHS)
def test_one_key_holds_at_all_times(path, interpolation):
    track = make_track(rng_of(5), 4, path, interpolation, np.array([1.0]))
    clip = KeyedClip(BODY, [track])
    poses = clip.at([-1.0, 1.0, 4.0])
    assert_same_bits(poses, sample_one_by_one(BODY, [track], np.array([-1.0, 1.0, 4.0])))
    np.testing.assert_allclose(poses.local_positions - clip.poses.local_positions, 0.0, atol=1e-15)
    np.testing.assert_allclose(poses.q - clip.poses.q, 0.0, atol=1e-15)
    assert clip.poses.shape == (1,)


def test_no_track_is_the_rest_pose():
    clip = KeyedClip(BODY, ())
    assert clip.poses.shape == (0,)
    assert_same_bits(clip.at([0.0, 1.0]), poise.Pose(BODY, np.tile(BODY.rest_q, (2, 1))))


def test_times_before_and_after_poses_have_the_same_bits():
    """The table that `at` keeps, and the one that `poses` makes, are the same."""
    tracks = make_mixed_tracks(rng_of(6))
    first, second = KeyedClip(BODY, tracks), KeyedClip(BODY, tracks)
    first.at(0.5)
    assert_same_bits(first.poses, second.poses)
    assert_same_bits(second.at(0.5), first.at(0.5))
    assert_same_bits(second.at([0.5])[0], first.at(0.5))


def test_blocks_have_the_bits_of_the_whole(monkeypatch):
    tracks, t = make_mixed_tracks(rng_of(7)), np.linspace(-1.0, 4.0, 200)
    whole = KeyedClip(BODY, tracks).at(t)
    monkeypatch.setattr(track_sampling, "_MAX_BLOCK_VALUES", 16)
    assert_same_bits(KeyedClip(BODY, tracks).at(t), whole)


@pytest.mark.parametrize(
    ("values", "reason"),
    [(np.zeros((3, 4)), "a quaternion of zero length"), (np.full((3, 4), 1e308), "must be finite")],
)
def test_a_spline_without_a_rotation_is_refused(values, reason):
    """The values of the keys are rotations; those between are not."""
    values = np.stack([values, np.array([[1, 0, 0, 0], [-1, 0, 0, 0], [1, 0, 0, 0]]), values], axis=1)
    clip = KeyedClip(BODY, [Channel(4, "rotation", "CUBICSPLINE", [0.0, 1.0, 1e9], values)])
    with pytest.raises(poise.InputError, match=reason), np.errstate(all="ignore"):
        clip.at([0.5, 5e8])


def test_a_spline_of_scales_too_large_is_refused():
    values = np.stack([np.full((2, 3), 1e308), np.ones((2, 3)), np.full((2, 3), 1e308)], axis=1)
    clip = KeyedClip(BODY, [Channel(4, "scale", "CUBICSPLINE", [0.0, 1e9], values)])
    with pytest.raises(poise.InputError, match="scales must be finite"), np.errstate(all="ignore"):
        clip.at(5e8)


def test_more_tracks_and_frames_take_few_more_lines():
    """Python runs per array, not per track, joint or frame."""

    def make_clip(joint_count, key_count):
        skeleton = Skeleton.build(
            [f"joint_{i}" for i in range(joint_count)], [i - 1 for i in range(joint_count)], [Kind.BALL] * joint_count
        )
        times = np.linspace(0.0, 3.0, key_count)
        rng = rng_of(8)
        return KeyedClip(
            skeleton,
            [make_track(rng, i, path, "LINEAR", times) for i in range(joint_count) for path in ("rotation", "scale")],
        )

    few, many = make_clip(4, 10), make_clip(40, 100)
    few_lines, many_lines = (lines_run(lambda c=clip: c.poses) for clip in (few, many))
    assert many_lines - few_lines < 30 * 72  # 72 more tracks; one by one each takes a hundred lines


def test_a_huge_clip_needs_little_more_than_its_poses():
    count, times = 40, np.arange(5000.0)
    skeleton = Skeleton.build([f"joint_{i}" for i in range(count)], [i - 1 for i in range(count)], [Kind.BALL] * count)
    clip = KeyedClip(skeleton, [make_track(rng_of(i), i, "rotation", "LINEAR", times) for i in range(count)])
    assert len(clip.times) == 5000
    tracemalloc.start()
    poses = clip.poses
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 5 * poses.q.nbytes  # the keys once more, q, checks of q


@pytest.mark.parametrize("shape", [(), (1,), (3, 4)])
def test_a_blend_has_the_bits_of_each_joint_alone(shape):
    rng = rng_of(9)
    a, b = (poise.Pose(BODY, rng.normal(size=(*shape, BODY.nq))) for _ in range(2))
    weight = rng.uniform(size=shape)
    blended = a.blend(b, weight)
    for joint in TURNING:
        columns = slice(BODY.q_slice(BODY.names[joint]).stop - 4, BODY.q_slice(BODY.names[joint]).stop)
        expected = rotations.slerp(a.q[..., columns], b.q[..., columns], weight)
        np.testing.assert_allclose(blended.q[..., columns], expected, rtol=0.0, atol=1e-15)


def test_frames_between_poses_are_those_of_single_times():
    rng = rng_of(10)
    clip = Clip(np.arange(300.0), poise.Pose(BODY, rng.normal(size=(300, BODY.nq))))
    t = rng.uniform(-1.0, 301.0, size=500)
    many = clip.at(t)
    for i in (0, 17, 499):
        assert many.q[i].tobytes() == clip.at(t[i]).q.tobytes()

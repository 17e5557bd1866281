"""Human limits read of clips the rotations of their joints, and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise import Channel, KeyedClip, Kind, Skeleton
from poise.model.anatomy import joint_limits
from poise.model.anatomy.joint_limits import read_clip_rotations
from poise.model.clip import Clip
from poise.model.limit_bounds import clamp_rotations, pack_limit
from tests.model.test_humanoid import load
from tests.strategies import rng_of, unit_quaternions

BODY = Skeleton.build(
    ["root", "spine", "hinge", "head", "hat"],
    [-1, 0, 1, 1, 3],
    [Kind.FREE, Kind.BALL, Kind.HINGE, Kind.BALL, Kind.FREE],
    axes=[[0, 0, 1]] * 5,
    rotations=unit_quaternions(rng_of(1), 5),
)
ROWS = [3, 0, 4]  # the head, then two free joints; the spine is left out
COLUMNS = {0: slice(3, 7), 3: slice(12, 16), 4: slice(19, 23)}


def make_clips(rng, lengths):
    """Keyed clips and others in turn. A keyed clip has no track for the hat, and times that only the scale has."""
    clips = []
    for i, length in enumerate(lengths):
        if i % 2:
            clips.append(Clip(np.arange(float(length)), poise.Pose(BODY, rng.normal(size=(length, BODY.nq)))))
            continue
        times, other = np.sort(rng.uniform(0.0, 9.0, size=(2, length)), axis=1)
        tracks = [Channel(row, "rotation", "LINEAR", times, unit_quaternions(rng, length)) for row in (0, 1, 3)]
        tracks.append(Channel(1, "scale", "STEP", other, np.ones((length, 3))))
        clips.append(KeyedClip(BODY, tracks))
    return clips


def test_rotations_are_those_of_all_poses():
    clips = make_clips(rng_of(2), [5, 6, 7, 1, 1])
    read = read_clip_rotations(BODY, clips, ROWS)
    q = np.concatenate([clip.poses.q for clip in clips])
    assert sorted(read) == sorted(ROWS)
    for row in ROWS:
        assert read[row].tobytes() == np.ascontiguousarray(q[:, COLUMNS[row]]).tobytes(), row


def test_without_clips_or_frames_there_are_none():
    empty = [KeyedClip(BODY, ()), Clip(np.zeros(0), poise.Pose(BODY, np.zeros((0, BODY.nq))))]
    for clips in ([], empty):
        assert {row: read.shape for row, read in read_clip_rotations(BODY, clips, ROWS).items()} == dict.fromkeys(
            ROWS, (0, 4)
        )


def test_frames_of_long_clips_are_read_evenly(monkeypatch):
    monkeypatch.setattr(joint_limits, "_MAX_FRAMES", 30)
    clips = make_clips(rng_of(3), [40, 200, 1, 59])
    whole = np.concatenate([clip.poses.q for clip in clips])[:, COLUMNS[3]]
    read = read_clip_rotations(BODY, clips, ROWS)[3]
    frames = [int(np.flatnonzero((whole == one).all(axis=1))[0]) for one in read]
    assert len(frames) == 30
    assert frames[0] == 0
    assert frames[-1] == len(whole) - 1
    assert (
        9 <= np.diff(frames).min() <= np.diff(frames).max() <= 13
    )  # 299 / 29; a keyed clip has equal frames at its ends


@pytest.mark.filterwarnings("ignore::poise.PoiseWarning")
def test_limits_of_people_sample_rotations_only(data, monkeypatch):
    """Poses of a clip are computed at its first use; limits need them not."""
    rig = load(data, "glb/knight_kaykit.glb")
    monkeypatch.setattr(KeyedClip, "poses", property(lambda clip: pytest.fail(f"{clip} was sampled")))
    assert len(rig.roles.limits()) > 10


@pytest.mark.parametrize("degenerate", [False, True])
def test_many_rotations_are_clamped_like_each_alone(degenerate):
    """Of many those inside are found first."""
    rng = rng_of(4)
    swing = ((-0.6, 0.9), (0.0, 0.5) if degenerate else (-0.2, 0.5))
    row = pack_limit(poise.SwingTwist((0, 1, 0), swing, (-0.8, 0.3)))
    small = poise.rotations.from_vector(rng.normal(scale=0.4, size=(400, 3)))
    q = np.concatenate([small, -small, unit_quaternions(rng, 200), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]])
    clamped = clamp_rotations(row, q)
    assert 100 < (clamped == q).all(axis=1).sum() < 900 or degenerate
    alone = np.array([clamp_rotations(row, one) for one in q])
    assert clamped.tobytes() == alone.tobytes()
    assert clamp_rotations(row, q.reshape(17, 59, 4)).tobytes() == alone.tobytes()
    inside = np.tile(poise.rotations.from_vector([0.0, math.radians(5.0), 0.0]), (300, 1))
    assert clamp_rotations(row, inside).tobytes() == inside.tobytes()

"""Tracks and keyed clips refuse what no joint can do, in one sentence."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import poise
from poise import Channel, KeyedClip, Kind, Skeleton

BODY = Skeleton.build(
    ["root", "ball", "hinge", "slide", "fixed", "last"],
    [-1, 0, 1, 2, 3, 4],
    [Kind.FREE, Kind.BALL, Kind.HINGE, Kind.SLIDE, Kind.FIXED, Kind.BALL],
    axes=[[0, 0, 1]] * 6,
)
TIMES = np.array([0.0, 1.0])
TURNS = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
MOVES = np.ones((2, 3))


def track(joint=1, path="rotation", how="LINEAR", times=TIMES, values=TURNS):
    return Channel(joint, path, how, times, values)


WRONG = {
    "row -1": (lambda: track(-1), "is its row in the skeleton"),
    "a name": (lambda: track("ball"), "such as skeleton.index('ball'), not 'ball'"),
    "a truth value": (lambda: track(True), "is its row"),
    "a float": (lambda: track(1.0), "is its row"),
    "an array": (lambda: track(np.array([1, 2])), "is its row"),
    "an unknown path": (lambda: track(path="rotatoin"), "the path of a Channel must be 'translation'"),
    "no path": (lambda: track(path=None), "the path of a Channel must be"),
    "a list for a path": (lambda: track(path=["rotation"]), "the path of a Channel must be"),
    "an unknown interpolation": (lambda: track(how="linear"), "must be 'LINEAR' or 'STEP' or 'CUBICSPLINE'"),
    "too few values": (lambda: track(values=TURNS[:1]), "need values of shape (2, 4); theirs is (1, 4)"),
    "three numbers for a turn": (lambda: track(values=MOVES), "need values of shape (2, 4); theirs is (2, 3)"),
    "four numbers for a move": (lambda: track(path="translation"), "need values of shape (2, 3); theirs is (2, 4)"),
    "a spline without tangents": (lambda: track(how="CUBICSPLINE"), "need values of shape (2, 3, 4)"),
    "no times": (lambda: track(times=[], values=np.zeros((0, 4))), "one or more in a row"),
    "a single time": (lambda: track(times=1.0), "one or more in a row"),
    "times that go back": (lambda: track(times=[1.0, 0.0]), "must not decrease"),
    "NaN among times": (lambda: track(times=[0.0, np.nan]), "must be finite"),
    "NaN among values": (lambda: track(values=TURNS * np.nan), "must be finite"),
    "a turn of zero length": (lambda: track(values=TURNS * 0.0), "zero length"),
    "a replaced row": (lambda: track()._replace(joint=-3), "is its row"),
    "a row too many": (lambda: KeyedClip(BODY, (track(6),)), "moves row 6; the skeleton has 6 joints, rows 0 to 5"),
    "a turn of a hinge": (lambda: KeyedClip(BODY, (track(2),)), "'hinge' is a hinge joint"),
    "a turn of a slide": (lambda: KeyedClip(BODY, (track(3),)), "'slide' is a slide joint"),
    "a turn of a fixed joint": (lambda: KeyedClip(BODY, (track(4),)), "'fixed' is a fixed joint"),
    "one track alone": (lambda: KeyedClip(BODY, track()), "each track of a clip must be a poise.Channel"),
    "tuples": (lambda: KeyedClip(BODY, [(1, 2)]), "each track of a clip must be a poise.Channel, not (1, 2)"),
    "no tracks": (lambda: KeyedClip(BODY, None), "the tracks of a clip are several"),
    "no skeleton": (lambda: KeyedClip(None, ()), "must be a Skeleton, such as rig.skeleton, not None"),
    "a number for a name": (lambda: KeyedClip(BODY, (), 5), "the name of a clip must be a text, not 5"),
    "a time of a track": (lambda: track().at("a"), "the times must be numbers"),
}


def _played(make):
    """What is made, and where it is a track a clip of it."""
    made = make()
    return KeyedClip(BODY, (made,)) if isinstance(made, Channel) else made


@pytest.mark.parametrize("case", WRONG)
def test_what_no_joint_can_do_is_refused(case):
    make, reason = WRONG[case]
    with pytest.raises(poise.InputError) as error:
        _played(make)
    assert reason in str(error.value)


def test_every_path_moves_its_own_joint_only():
    tracks = [track(5), track(0), track(3, "translation", values=MOVES), track(4, "scale", values=2.0 * MOVES)]
    pose = KeyedClip(BODY, tracks).at(1.0)
    expected = BODY.rest_q.copy()
    for name in ("root", "last"):
        expected[BODY.q_slice(name)][-4:] = TURNS[1]
    np.testing.assert_array_equal(pose.q, expected)
    np.testing.assert_array_equal(pose.translations, [[0, 0, 0]] * 3 + [[1, 1, 1]] + [[0, 0, 0]] * 2)
    np.testing.assert_array_equal(pose.scales, [[1, 1, 1]] * 4 + [[2, 2, 2], [1, 1, 1]])


def test_lists_do_and_the_track_keeps_copies():
    own = TURNS.copy()
    given = [Channel(1, "rotation", "LINEAR", TIMES.tolist(), own.tolist()), track(values=own)]
    made = KeyedClip(BODY, given).tracks
    own[:] = 9.0
    pickled = pickle.loads(pickle.dumps(made[1]))  # noqa: S301  (our own)
    for one in [*made, copy.deepcopy(made[1]), pickled, made[1]._replace(joint=5)]:
        np.testing.assert_array_equal(one.values, TURNS)
    assert not any(one.values.flags.writeable for one in made)
    assert made[1]._replace(joint=5).joint == 5


def test_arrays_that_are_read_only_are_kept_as_they_are():
    own = TURNS.copy()
    own.setflags(write=False)
    assert track(values=own).values is own
    assert KeyedClip(BODY, [track(values=own)]).tracks[0].values is own

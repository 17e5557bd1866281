"""Natural poses at the edge of reach: collar bones join smoothly, keep to their range, and return."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.kernels import posture_trunk
from poise.kernels.vec_quat import Vec, from_axis_angle, norm, rotate, sub
from poise.maths import rotations
from poise.maths.vectors import normalise
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

FIGURE = poise.load(samples.path("humanoid.glb"))
FREE = FIGURE.skeleton.with_limits(dict.fromkeys(FIGURE.skeleton.names))
RESTS = {"limits": FIGURE.rest, "no limits": Pose(FREE, FIGURE.rest.q)}
ARM = ("RightShoulder", "RightArm", "RightForeArm", "RightHand")
FRAMES = 240
UP, FORWARD, OUT = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([-1.0, 0.0, 0.0])
DIRECTIONS = {
    "ahead": FORWARD, "up": UP, "down": -UP, "across": FORWARD - 0.5 * OUT, "ahead and out": FORWARD + 0.5 * OUT,
}  # fmt: skip


def find_arm(rest: Pose) -> tuple[np.ndarray, float]:
    """The shoulder, and the length of the arm."""
    _, shoulder, elbow, hand = (np.asarray(rest.world[name].positions) for name in ARM)
    return shoulder, float(np.linalg.norm(elbow - shoulder) + np.linalg.norm(hand - elbow))


def make_path(rest: Pose, direction: np.ndarray, nearest: float = 0.7, farthest: float = 1.15) -> np.ndarray:
    """Places (FRAMES, 3) of a hand that goes out and back."""
    shoulder, length = find_arm(rest)
    middle, half = (nearest + farthest) / 2, (farthest - nearest) / 2
    distances = middle - half * np.cos(np.linspace(0, 2 * np.pi, FRAMES))
    return shoulder + np.outer(length * distances, normalise(direction))


def measure_turns(poses: Pose, joint: str = ARM[0]) -> np.ndarray:
    """How far (k,) a ball is turned from rest [deg]."""
    own = poses.skeleton.q_slice(joint)
    turn = rotations.multiply(rotations.inverse(poses.skeleton.rest_q[own]), poses.q[:, own])
    return np.degrees(2 * np.arctan2(np.linalg.norm(turn[:, 1:], axis=-1), np.abs(turn[:, 0])))


def track(rest: Pose, path: np.ndarray, **options: object) -> Pose:
    tracker = poise.Tracker(rest, poise.Position(ARM[-1], path[0]), **options)
    return Pose(rest.skeleton, np.array([tracker(place, dt=1 / 60).pose.q for place in path]))


def follow(rest: Pose, path: np.ndarray) -> Pose:
    pose, found = rest, []
    for place in path:
        pose = poise.solve(pose, poise.Position(ARM[-1], place)).pose
        found.append(pose.q)
    return Pose(rest.skeleton, np.array(found))


def bake(rest: Pose, path: np.ndarray) -> Pose:
    still = poise.Clip.at_rate(Pose(rest.skeleton, np.tile(rest.q, (len(path), 1))), 60, "still")
    return poise.bake(still, poise.Position(ARM[-1], path)).poses


@pytest.mark.parametrize("how", [track, follow, bake])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rest", RESTS.values(), ids=RESTS)
def test_a_hand_that_goes_out_of_reach_and_back_does_not_pop(rest, direction, how):
    path = make_path(rest, DIRECTIONS[direction])
    poses = how(rest, path)
    steps = [
        1000 * np.linalg.norm(np.diff(poses.world[joint].positions, 2, axis=0), axis=-1)[3:].max() for joint in ARM[2:]
    ]
    assert max(steps) < 6.0  # mm a frame
    turns, shoulder_and_length = measure_turns(poses), find_arm(rest)
    reach = np.linalg.norm(path - shoulder_and_length[0], axis=-1) / shoulder_and_length[1]
    assert turns[reach < 0.85].max() < 1e-4
    assert turns[reach < 0.95].max() < 15.0
    assert (9.0 if direction == "down" else 20.0) < turns.max() < 35.0
    np.testing.assert_allclose(turns[::-1], turns, atol=0.5)  # it comes back as it went


def test_the_pose_does_not_depend_on_the_way():
    path = make_path(RESTS["no limits"], DIRECTIONS["ahead"], farthest=1.1)
    alone = poise.solve(RESTS["no limits"], poise.Position(ARM[-1], path)).pose
    tracked = track(RESTS["no limits"], path)
    own = alone.skeleton.q_slice(ARM[0])
    np.testing.assert_allclose(tracked.q[:, own], alone.q[:, own], atol=1e-9)


def test_batches_give_the_bits_of_single_calls():
    rest = RESTS["no limits"]
    path = make_path(rest, DIRECTIONS["across"])[::10]
    goal = poise.Position(ARM[-1], path)
    together = poise.solve(rest, goal)
    prepared = poise.prepare(rest, poise.Position(ARM[-1], path[0]))
    for place, q in zip(path, together.q, strict=True):
        np.testing.assert_array_equal(poise.solve(rest, poise.Position(ARM[-1], place)).q, q)
        np.testing.assert_array_equal(prepared(place).q, q)


def shorten_forearm(share: float = 0.6, skeleton: Skeleton = FREE) -> Pose:
    """A figure whose arms fold no further than a part of their length."""
    offsets = np.array(skeleton.A)
    offsets[skeleton.index(ARM[3]), :3] *= share
    return Pose(dataclasses.replace(skeleton, A=offsets), FIGURE.rest.q)


def measure_fold(rest: Pose) -> float:
    """How near to its shoulder the hand of a folded arm is."""
    _, shoulder, elbow, hand = (np.asarray(rest.world[name].positions) for name in ARM)
    return abs(float(np.linalg.norm(elbow - shoulder) - np.linalg.norm(hand - elbow)))


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("way", DIRECTIONS)
def test_a_hand_nearer_than_the_arm_folds_takes_the_least_turn(way, share):
    """By the triangle of collar bone, target and folded arm; in closed form, for single and prepared calls."""
    rest = shorten_forearm()
    collar, shoulder, *_ = (np.asarray(rest.world[name].positions) for name in ARM)
    place = shoulder + share * measure_fold(rest) * normalise(DIRECTIONS[way])
    result = poise.solve(rest, poise.Position(ARM[-1], place))
    assert result.reached
    assert result.iterations == 1
    bone, distance = np.linalg.norm(shoulder - collar), np.linalg.norm(place - collar)
    cosine = (bone**2 + distance**2 - measure_fold(rest) ** 2) / (2 * bone * distance)
    aim = (shoulder - collar) @ (place - collar) / (bone * distance)
    want = np.degrees(np.arccos(cosine) - np.arccos(aim))
    np.testing.assert_allclose(measure_turns(Pose(rest.skeleton, result.q[None])), want, atol=1e-3)
    prepared = poise.prepare(rest, poise.Position(ARM[-1], place))
    np.testing.assert_array_equal(prepared(place).q, result.q)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("along", [0.0, 1e-9, 0.3, 1.0, 1.0 + 1e-9])
def test_a_hand_on_the_line_of_the_collar_bone_has_a_finite_pose(along, scale):
    """From the joint of the collar bone, where no turn helps, to the shoulder, where any axis does."""
    rest = shorten_forearm(0.3)
    skeleton = dataclasses.replace(rest.skeleton, A=np.hstack([rest.skeleton.A[:, :3] * scale, rest.skeleton.A[:, 3:]]))
    rest = Pose(skeleton, rest.q * np.where(np.arange(len(rest.q)) < 3, scale, 1.0))
    collar, shoulder, *_ = (np.asarray(rest.world[name].positions) for name in ARM)
    result = poise.solve(rest, poise.Position(ARM[-1], collar + along * (shoulder - collar)))
    assert np.isfinite(result.q).all()
    if along == 1.0:
        assert result.reached


@pytest.mark.parametrize("share", [1.0, 0.9, 0.6])
def test_with_limits_of_the_elbow_a_collar_bone_comes_back_too(share):
    """The arm folds to the end of the elbow's range."""
    rest = shorten_forearm(share, FIGURE.skeleton)
    _, length = find_arm(rest)
    path = make_path(rest, FORWARD, nearest=0.05, farthest=0.7) + 0.02 * length * OUT
    turns = measure_turns(follow(rest, path))
    assert turns.max() > 5.0
    assert turns[FRAMES // 2] < 0.1


@pytest.mark.parametrize("how", [track, follow])
def test_a_collar_bone_comes_back_from_a_hand_at_the_shoulder(how):
    rest = shorten_forearm()
    shoulder, length = find_arm(rest)
    fold = measure_fold(rest) / length
    aside = 0.5 * fold * length * OUT  # an arm that passes through its shoulder turns over
    path = make_path(rest, FORWARD, nearest=0.2 * fold, farthest=0.6) + aside
    turns = measure_turns(how(rest, path))
    apart = np.linalg.norm(path - shoulder, axis=-1) / length
    assert turns[apart > 1.001 * fold].max() < 1e-4
    assert 5.0 < turns.max() < 40.0
    assert np.abs(np.diff(turns)).max() < 2.0


@pytest.mark.long
@pytest.mark.parametrize("way", ["ahead", "down", "across"])
@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("limited", [False, True])
def test_what_a_bake_spreads_hardly_turns_collar_bones(limited, share, way):
    """A hand goes through the shoulder, where elbows leap."""
    rest = shorten_forearm(share, FIGURE.skeleton if limited else FREE)
    shoulder, length = find_arm(rest)
    path = make_path(rest, DIRECTIONS[way], nearest=-0.6, farthest=0.6)[::2]
    path += 0.3 * measure_fold(rest) * OUT
    alone = poise.solve(rest, poise.Position(ARM[-1], path)).pose
    own, turns = measure_turns(alone), measure_turns(bake(rest, path))
    assert (turns <= own + 15.1).all()
    apart = np.linalg.norm(path - shoulder, axis=-1) / length
    assert own[apart > 0.7].max(initial=0.0) < 1e-4


@pytest.mark.parametrize("rest", RESTS.values(), ids=RESTS)
def test_what_needs_more_than_the_range_is_held_back(rest):
    shoulder, length = find_arm(rest)
    goal = poise.Position(ARM[-1], shoulder + 1.22 * length * FORWARD)
    result = poise.solve(rest, goal)
    assert not result.reached
    assert result.status == poise.Status.held_back
    assert "natural=" in result.message()
    assert measure_turns(Pose(rest.skeleton, result.q[None]))[0] <= 35.0
    assert poise.solve(rest, goal, natural=False).reached
    chest = poise.solve(rest, poise.Position(ARM[-1], shoulder + 1.22 * length * FORWARD, root="Spine"))
    assert chest.reached


def test_a_collar_bone_that_was_posed_stays_so():
    """Of an arm that is bent: the frame of a clip with a shrug."""
    rest = RESTS["no limits"]
    shoulder, length = find_arm(rest)
    q = poise.solve(rest, poise.Position(ARM[-1], shoulder + 0.6 * length * FORWARD)).q.copy()
    own = rest.skeleton.q_slice(ARM[0])
    q[own] = rotations.multiply(q[own], rotations.about(np.array([0.0, 0.0, 1.0]), np.radians(12.0)))
    start = Pose(rest.skeleton, q)
    hand = np.asarray(start.world[ARM[-1]].positions) + np.array([0.01, 0.02, 0.0])
    np.testing.assert_array_equal(poise.solve(start, poise.Position(ARM[-1], hand)).q[own], q[own])


class TestShorterReach:
    @given(st.floats(1e-6, 0.3), st.floats(0.0, 2.0))
    def test_it_is_between_what_is_asked_and_what_the_collar_bone_can(self, capacity, reach):
        left = posture_trunk.shorten_reach(reach, capacity)
        assert left <= reach
        assert left <= 1.0
        if reach <= 1.0 + capacity:
            assert reach - left <= capacity + 1e-12

    @given(st.floats(0.01, 0.3), st.floats(0.0, 1.5))
    def test_its_slope_is_continuous(self, capacity, reach):
        step = 1e-7
        slopes = [
            (posture_trunk.shorten_reach(at + step, capacity) - posture_trunk.shorten_reach(at, capacity)) / step
            for at in (reach, reach + 1e-4)
        ]
        assert -1e-6 <= slopes[0] <= 1.0 + 1e-6
        assert abs(slopes[1] - slopes[0]) < 1e-4 * 2.0 / capacity + 1e-6

    @given(st.floats(1e-3, 0.1), st.floats(0.0, 1.0))
    def test_a_hand_stops_softly(self, slack, excess):
        behind = posture_trunk.stop_reach(excess, slack)
        assert max(excess - slack, 0.0) - 1e-12 <= behind <= excess


class TestTwistOfTheTrunk:
    @given(*[st.floats(-1.0, 1.0)] * 5, st.floats(0.2, 1.0))
    def test_a_twist_brings_the_shoulder_nearer_and_no_further_than_needed(self, x, z, a, b, c, reach):
        shoulder, target, up = Vec(x, 0.4, z), Vec(2 * a, 0.4 + c, 2 * b), Vec(0.0, 1.0, 0.0)
        twist, pelvis = posture_trunk.find_twist(shoulder, target, Vec(0.0, 0.0, 1.0), up, reach)
        assert 0.0 <= pelvis <= posture_trunk.MAX_PELVIS_TWIST_RAD
        assert abs(twist) <= posture_trunk.MAX_TWIST_RAD + pelvis
        before = norm(sub(target, shoulder))
        after = norm(sub(target, rotate(from_axis_angle(up, twist), shoulder)))
        assert after <= before + 1e-9 or -c > posture_trunk.NO_BOW_REACHES * reach  # a bow brings it there
        assert twist == 0.0 or after >= reach - 1e-6

    @pytest.mark.parametrize("rest", RESTS.values(), ids=RESTS)
    def test_a_figure_twists_before_it_bends_to_the_side(self, rest):
        feet = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
        shoulder, length = find_arm(rest)
        behind = poise.Position(ARM[-1], shoulder + length * normalise(0.4 * OUT - FORWARD) * 1.1)
        result = poise.solve(rest, [*feet, behind], free_root=True)
        assert result.reached
        chest = rest.skeleton.names[rest.skeleton.parents[rest.skeleton.index(ARM[0])]]
        turn = rotations.multiply(result.pose.world[chest].rotations, rotations.inverse(rest.world[chest].rotations))
        left, up = rotations.rotate(turn, -OUT), rotations.rotate(turn, UP)
        twist, bend = np.degrees(np.arctan2(-left[2], left[0])), np.degrees(np.arcsin(abs(left[1])))
        assert abs(twist) > 20
        assert abs(twist) > bend
        assert up[1] > 0.9

"""A figure that moves by itself: small, smooth, on its feet, and only where it may."""

from __future__ import annotations

import time

import numpy as np
import pytest

from poise.viewer import scenes
from poise.viewer.document.actions import ACTIONS
from poise.viewer.idle_motion import IdleMotion, can_idle
from poise.viewer.session import commands
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.session_thread import SessionThread

FEET = ("LeftFoot", "RightFoot", "LeftToe", "RightToe")
FPS = 20


@pytest.fixture(scope="module")
def document():
    return scenes.build_scene("figure")


def move(document, pose, seconds):
    """Poses of the motion, FPS a second."""
    motion = IdleMotion(document, pose)
    return [pose.with_q(motion.compute_q(k / FPS)) for k in range(int(seconds * FPS))]


def pull(document, joint, way, offset=(0.0, 0.0, 0.0)):
    """The document after a part was pulled and let go, and its pose."""
    state = PoseState(document)
    at = document.solver_start.world[joint].positions + way
    for phase in ("start", "end"):
        given = {"joint": joint, "offset": list(offset), "position": at.tolist(), "phase": phase}
        document = ACTIONS["pull"].apply(document, given, state.build_view_pose(0))
        state.set_document(document)
        state.compute_frame()
    return document, state.build_view_pose(0)


def read(poses, joint):
    return np.array([pose.world[joint].positions for pose in poses])


def test_it_sways_on_its_feet_without_a_jump(document):
    poses = move(document, document.solver_start, 20)
    for foot in FEET:
        np.testing.assert_allclose(read(poses, foot), read(poses[:1], foot).repeat(len(poses), 0), atol=1e-3)
    hips = read(poses, "Hips")
    assert 0.02 < np.ptp(hips[:, 0]) < 0.1
    assert np.ptp(read(poses, "Head"), axis=0).max() < 0.1
    world = np.array([pose.world.positions for pose in poses])
    np.testing.assert_allclose(world[0], document.solver_start.world.positions, atol=1e-9)
    assert np.abs(np.diff(world, axis=0)).max() * FPS < 0.15  # [m/s]
    assert np.abs(np.diff(world, n=2, axis=0)).max() * FPS**2 < 0.5  # [m/s2]


def test_it_is_a_function_of_time(document):
    (first, other) = (IdleMotion(document, document.solver_start) for _ in range(2))
    times = np.linspace(0.0, 9.0, 7)
    forwards = [first.compute_q(t) for t in times]
    backwards = [other.compute_q(t) for t in times[::-1]][::-1]
    np.testing.assert_array_equal(forwards, backwards)


def test_a_hand_that_is_held_stays(document):
    pulled, pose = pull(document, "LeftHand", np.array([0.05, 0.3, 0.2]))
    assert can_idle(pulled)
    hands = read(move(pulled, pose, 10), "LeftHand")
    np.testing.assert_allclose(hands, hands[:1].repeat(len(hands), 0), atol=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"idles": False},
        {"scope": "limbs"},
        {"is_driven": True},
        {"view_count": 2},
        {"pace": "step"},
        {"free_root": False, "scope": "chains"},
    ],
)
def test_it_stands_still_elsewhere(document, change):
    assert can_idle(document)
    assert not can_idle(document.replace(**change))


def test_it_stands_still_while_its_trunk_is_held(document):
    pulled, _ = pull(document, "Chest", np.array([0.0, -0.1, 0.05]))
    assert not can_idle(pulled)


class TestState:
    """When it begins and ends."""

    @pytest.fixture
    def state(self, document):
        state = PoseState(document)
        state.compute_frame()
        state.build_answer()
        return state

    def wait(self, state, frames=3):
        for _ in range(frames):
            time.sleep(state.compute_pause(can_send=True) or 0.0)
            assert state.is_due()
            state.compute_frame()
        return state.displayed_q[0][0].copy()

    def test_nothing_moves_unless_the_page_lets_it(self, state):
        assert not state.is_due()
        assert state.compute_pause(can_send=True) is None
        state.let_idle(is_on=True)
        start = state.displayed_q[0][0].copy()
        assert np.abs(self.wait(state) - start).max() > 1e-6
        assert not state.is_answer_due()  # sentence and curve are those of the solve before
        state.let_idle(is_on=False)
        assert not state.is_due()

    def test_it_goes_on_where_it_was(self, state):
        state.let_idle(is_on=True)
        before = self.wait(state, 10)
        state.let_idle(is_on=False)
        state.let_idle(is_on=True)
        motion = state._idle.motion
        assert np.abs(self.wait(state, 1) - before).max() < 5e-3
        assert state._idle.motion is motion

    def test_a_pull_ends_it_and_begins_where_it_is_seen(self, state, document):
        state.let_idle(is_on=True)
        self.wait(state, 10)
        shown = state.build_view_pose(0)
        given = {"joint": "LeftHand", "offset": [0, 0, 0], "position": [0.4, 1.2, 0.3], "phase": "start"}
        state.set_document(ACTIONS["pull"].apply(document, given, shown))
        assert not state.is_idling
        np.testing.assert_array_equal(state.build_view_pose(0).q, shown.q)
        state.compute_frame()
        for foot in FEET[:2]:
            np.testing.assert_allclose(
                state.build_view_pose(0).world[foot].positions, shown.world[foot].positions, atol=1e-3
            )

    def test_the_command_is_heard(self, document):
        session = SessionThread(document)
        session.pose_state.compute_frame()
        commands.COMMANDS["idle"](session, {"on": True})
        assert session.pose_state.is_idling
        commands.COMMANDS["idle"](session, {"on": False})
        assert not session.pose_state.is_idling
        assert session.history.labels == (None, None)

"""Bones that are turned by hand: the start pose within limits, targets that come along, and keys of a clip."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import InputError
from poise.io import samples
from poise.maths import rotations
from poise.model.clip import KeyedClip
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.clip_keys import FADE_S, apply_keys, list_frame_times
from poise.viewer.document.document import build_document
from poise.viewer.session.downloads import build_download
from tests.viewer.action_cases import everything, rig
from tests.viewer.watcher import watched

TURN = rotations.normalise([0.9, 0.1, 0.3, 0.2])


def turned(document, joint, shown=None, **args):
    return ACTIONS["turn"].apply(document, {"joint": joint, **args}, shown)


def angle(a, b):
    """Between rotations [rad]."""
    return np.linalg.norm(rotations.as_vector(rotations.multiply(rotations.inverse(a), b)), axis=-1)


@pytest.fixture(scope="module")
def robot():
    return build_document(poise.load(samples.path("arm.urdf")))


class TestStartPose:
    @pytest.mark.parametrize("joint", ["Hips", "Spine", "RightArm", "RightForeArm", "Head"])
    def test_a_bone_has_the_rotation_that_was_requested(self, joint):
        document = build_document(rig(), pose=everything().start).replace(
            skeleton=rig().skeleton.with_limits({joint: None})
        )
        after = turned(document, joint, rotation=TURN.tolist())
        assert angle(after.solver_start.world[joint].rotations, TURN) < 1e-9
        below = [name for name in rig().skeleton.names if joint in rig().skeleton.ancestors(name)]
        others = [i for i, name in enumerate(rig().skeleton.names) if name not in below and name != joint]
        np.testing.assert_allclose(
            after.solver_start.world.positions[others], document.solver_start.world.positions[others], atol=1e-9
        )

    def test_limits_are_kept(self):
        document = build_document(rig(), scope="limbs")
        joint, limit = "LeftForeArm", poise.Range(-0.2, 0.3, axis=(0, 1, 0))
        document = document.replace(skeleton=document.skeleton.with_limits({joint: limit}))
        for wanted in (TURN, rotations.about(np.array([0.0, 1.0, 0.0]), 2.0)):
            pose = turned(document, joint, rotation=wanted.tolist()).start
            assert pose.skeleton.legal(pose.q)[1] == ()
            own = pose.q[pose.skeleton.q_slice(joint)]
            assert -0.2 - 1e-9 <= rotations.twist_angle(own, np.array([0.0, 1.0, 0.0])) <= 0.3 + 1e-9
        own = turned(document, joint, value=2.0).start.q[document.skeleton.q_slice(joint)]
        assert rotations.twist_angle(own, np.array([0.0, 1.0, 0.0])) == pytest.approx(0.3)

    def test_hinges_take_values_and_rotations_of_the_world(self, robot):
        skeleton = robot.skeleton
        joint = next(name for name in skeleton.names if skeleton[name].kind == poise.Kind.HINGE)
        low, high = skeleton[joint].limit.low, skeleton[joint].limit.high
        value = 0.3 * low + 0.7 * high
        after = turned(robot, joint, value=value)
        assert after.solver_start.q[skeleton.q_slice(joint)][0] == pytest.approx(value)
        again = turned(robot, joint, rotation=after.solver_start.world[joint].rotations.tolist())
        assert again.solver_start.q[skeleton.q_slice(joint)][0] == pytest.approx(value)
        assert turned(robot, joint, value=high + 9).solver_start.q[skeleton.q_slice(joint)][0] == pytest.approx(high)

    def test_a_free_root_is_moved_and_turned(self):
        document = build_document(poise.load(samples.path("humanoid.bvh")), scope="limbs").replace(
            clip_name=None
        )  # which else plays
        root = document.skeleton.names[0]
        assert document.skeleton[root].kind == poise.Kind.FREE
        after = turned(document, root, rotation=TURN.tolist(), position=[1, 2, 3]).solver_start.world[root]
        np.testing.assert_allclose(after.positions, [1, 2, 3], atol=1e-9)
        assert angle(after.rotations, TURN) < 1e-9

    def test_targets_below_come_along_and_pins_hold(self):
        document = ACTIONS["pin"].apply(build_document(rig(), scope="limbs"), {"joint": "RightFoot", "on": True})
        after = turned(document, "Hips", rotation=rotations.about(np.array([0.0, 0.0, 1.0]), 0.2).tolist())
        for chain in after.chains:
            if chain.kind == "pin":
                assert chain == document.find_chain(chain.name)
            elif chain.kind != "look":
                np.testing.assert_allclose(chain.position, after.solver_start.world[chain.tip].positions, atol=1e-9)

    def test_it_moves_nothing_else_live(self):
        with watched(build_document(rig(), scope="limbs")) as page:
            page.until(lambda page: page.frame)
            before = page.studio.pose_state.displayed_q[0][0].copy()
            for serial, phase in enumerate(("start", "move", "move", "end"), 1):
                turn = rotations.about(np.array([0.0, 0.0, 1.0]), 0.1 * serial)
                page.send("turn", joint="LeftArm", rotation=turn.tolist(), phase=phase, serial=serial)
            page.answered(4)
            columns = rig().skeleton.q_slice("LeftArm")
            after = page.studio.pose_state.displayed_q[0][0].copy()
            assert np.abs(after[columns] - before[columns]).max() > 0.01
            after[columns] = before[columns]
            np.testing.assert_allclose(after, before, atol=1e-6)
            page.until(lambda page: page.state["undo"] == "turn bone")
            page.send("undo")
            page.until(lambda page: page.state["undo"] is None and page.state["redo"] == "turn bone")
            np.testing.assert_array_equal(page.studio.pose_state.displayed_q[0][0], before)

    @pytest.mark.parametrize(
        ("joint", "args", "words"),
        [
            ("LeftArm", {"value": 1.0}, "has a rotation, not a value"),
            ("LeftArm", {"rotation": [0, 0, 0, 0]}, "zero length"),
            ("unattended", {"value": 1.0}, "unattended"),
        ],
    )
    def test_what_cannot_be_is_a_sentence(self, joint, args, words):
        with pytest.raises(poise.PoiseError, match=words):
            turned(build_document(rig(), scope="limbs"), joint, **args)

    def test_a_program_is_not_disturbed(self):
        with pytest.raises(InputError, match="a program shows"):
            turned(everything().replace(is_driven=True), "LeftArm", rotation=TURN.tolist())


def keyed(document, joint, time, rotation):
    """The document with a key at a time of its clip."""
    shown = apply_keys(document.rig.clip(document.clip_name), document.keys).at(time).on(document.solver_skeleton)
    return turned(document, joint, shown, rotation=np.asarray(rotation).tolist(), key=True, time=time)


class TestKeys:
    @pytest.fixture(params=["humanoid.glb", "humanoid.bvh"])
    def document(self, request):
        loaded = poise.load(samples.path(request.param))
        free = loaded.skeleton.with_limits(dict.fromkeys(loaded.skeleton.names))
        return build_document(loaded, clip_name=loaded.clips[0].name, chains=()).replace(skeleton=free)

    def test_without_key_a_clip_is_left_alone(self, document):
        with pytest.raises(InputError, match="switch Key on"):
            turned(document, "Spine", rotation=TURN.tolist())

    def test_the_pose_at_the_key_is_the_one_that_was_made(self, document):
        clip = document.rig.clip(document.clip_name)
        time = float(list_frame_times(clip)[len(list_frame_times(clip)) // 2])
        after = keyed(document, "Spine", time, TURN)
        made = apply_keys(clip, after.keys)
        assert angle(made.at(time).world["Spine"].rotations, TURN) < 1e-6
        far = made.times[np.abs(made.times - time) > FADE_S + 1e-6]
        np.testing.assert_allclose(made.at(far).q, clip.at(far).q, atol=1e-12)
        columns = [
            i for i in range(clip.skeleton.nq) if i not in range(clip.skeleton.nq)[clip.skeleton.q_slice("Spine")]
        ]
        np.testing.assert_allclose(made.poses.q[:, columns], clip.at(made.times).q[:, columns], atol=1e-12)

    def test_nothing_jumps(self, document):
        clip = document.rig.clip(document.clip_name)
        made = apply_keys(clip, keyed(document, "Spine", 0.5, TURN).keys)
        columns = clip.skeleton.q_slice("Spine")
        whole = angle(clip.at(0.5).world["Spine"].rotations, TURN)
        steps = angle(made.poses.q[1:, columns], made.poses.q[:-1, columns])
        own = angle(clip.at(made.times[1:]).q[:, columns], clip.at(made.times[:-1]).q[:, columns])
        most = 1.5 / FADE_S * np.diff(made.times).max()  # the steepest of a smooth step
        assert (steps - own).max() < most * whole * 1.1

    @pytest.mark.parametrize("apart", [0.1, 0.3, 0.45])
    def test_neighbours_keep_their_poses(self, document, apart):
        clip = document.rig.clip(document.clip_name)
        times = [float(list_frame_times(clip)[np.abs(list_frame_times(clip) - t).argmin()]) for t in (0.3, 0.3 + apart)]
        other = rotations.normalise([0.8, -0.4, 0.1, 0.0])
        for order in ((0, 1), (1, 0), (0, 1, 0)):
            after = document
            for i in order:
                after = keyed(after, "Spine", times[i], (TURN, other)[i])
            made = apply_keys(clip, after.keys)
            assert len(after.keys) == 2
            assert angle(made.at(times[0]).world["Spine"].rotations, TURN) < 1e-6
            assert angle(made.at(times[1]).world["Spine"].rotations, other) < 1e-6

    def test_beyond_two_keys_that_are_near_each_other_a_clip_goes_on_as_it_was(self, document):
        clip = document.rig.clip(document.clip_name)
        made = apply_keys(clip, keyed(keyed(document, "Spine", 0.3, TURN), "Spine", 0.5, TURN).keys)
        far = made.times[(made.times < 0.3 - FADE_S - 0.05) | (made.times > 0.5 + FADE_S + 0.05)]
        assert len(far) > 2
        np.testing.assert_allclose(made.at(far).q, clip.at(far).q, atol=1e-12)

    def test_a_key_is_taken_away(self, document):
        after = keyed(document, "Spine", 0.5, TURN)
        time = after.keys[0].time
        assert ACTIONS["unkey"].apply(after, {"joint": "Spine", "time": time}).keys == ()
        with pytest.raises(InputError, match="no key at 0.10"):
            ACTIONS["unkey"].apply(after, {"joint": "Spine", "time": 0.1})

    def test_a_clip_without_keys_is_itself(self, document):
        clip = document.rig.clip(document.clip_name)
        assert apply_keys(clip, ()) is clip

    def test_what_is_keyed_is_saved(self, document, tmp_path):
        clip = document.rig.clip(document.clip_name)
        made = apply_keys(clip, keyed(document, "Spine", 0.5, TURN).keys)
        wanted = "bvh" if not isinstance(clip, KeyedClip) else "glb"
        name, _, data = build_download(document, document.start, made, wanted)
        (tmp_path / name).write_bytes(data)
        again = poise.load(tmp_path / name)
        time = float(made.times[np.abs(made.times - 0.5).argmin()])
        found = again.clips[-1].at(time).world["Spine"].rotations
        assert angle(found, TURN) < 1e-3

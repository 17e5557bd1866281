"""Forward kinematics without kernels is that of the kernels, and is used only where it was asked for."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model import numpy_kinematics
from poise.model.limits import Range
from poise.model.skeleton import Coupling, Kind, Skeleton
from tests.timeouts import PROCESS


def all_kinds():
    """Every kind of joint, turned, scaled, mirrored and coupled."""
    rng = np.random.default_rng(5)
    kinds = [Kind.FREE, Kind.HINGE, Kind.SLIDE, Kind.BALL, Kind.FIXED, Kind.HINGE, Kind.HINGE]
    turns = rng.normal(size=(7, 4))
    return Skeleton.build(
        [f"j{i}" for i in range(7)], [-1, 0, 1, 2, 3, 4, 5], kinds, offsets=rng.normal(size=(7, 3)),
        rotations=turns / np.linalg.norm(turns, axis=1, keepdims=True), axes=rng.normal(size=(7, 3)),
        scales=[(1, 1, 1), (2, 2, 2), (1, 1, 1), (-1, 1, 1), (1, 1, 1), (1, 1, 1), (0.5, 0.5, 0.5)],
        couplings=[None, None, None, None, None, None, Coupling(1, 0.5, 0.1)],
        limits=[None, Range(-3.0, 3.0), Range(-1.0, 1.0), None, None, None, None],
    )  # fmt: skip


def poses():
    rng = np.random.default_rng(6)
    skeleton = all_kinds()
    q = skeleton.rest_q + 0.3 * rng.normal(size=(5, skeleton.nq))
    for name in ("j0", "j3"):
        turn = slice(skeleton.q_slice(name).stop - 4, skeleton.q_slice(name).stop)
        q[:, turn] /= np.linalg.norm(q[:, turn], axis=1, keepdims=True)
    given = (rng.normal(size=(5, 7, 3)), 0.5 + rng.random((5, 7, 3)))
    yield "given", poise.Pose(skeleton, q, *given)
    yield "kinds", poise.Pose(skeleton, q)
    for file in ("humanoid.glb", "humanoid.bvh", "arm.urdf"):
        rig = poise.load(samples.path(file))
        yield file, rig.pose
        for clip in rig.clips:
            yield f"clip of {file}", clip.at(0.4)


POSES = dict(poses())


def fresh(pose):
    """The same pose, which remembers nothing."""
    return poise.Pose(pose.skeleton, pose.q, pose.translations, pose.scales)


@pytest.mark.parametrize("name", POSES)
def test_it_says_what_the_kernels_say(name, monkeypatch):
    wanted = fresh(POSES[name])
    reported = (wanted.world.affine, wanted.world.rotations, wanted.local_positions, wanted.local_rotations)
    with numpy_kinematics.defer_kernels():
        monkeypatch.setattr(
            numpy_kinematics,
            "compute_local_transforms",
            observed := Observed(numpy_kinematics.compute_local_transforms),
        )
        found = fresh(POSES[name])
        got = (found.world.affine, found.world.rotations, found.local_positions, found.local_rotations)
        joint = wanted.skeleton.names[-1]
        np.testing.assert_allclose(found.world_of(joint).affine, wanted.world[joint].affine, atol=1e-12)
    assert observed.count == 1
    for a, b in zip(got, reported, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12 * max(1.0, np.abs(b).max()))


class Observed:
    """Counts calls."""

    def __init__(self, function):
        self.function, self.count = function, 0

    def __call__(self, *args):
        self.count += 1
        return self.function(*args)


def test_it_counts_only_inside_for_few_poses_and_until_kernels_are_there():
    assert not numpy_kinematics.can_skip_kernels(1)
    with numpy_kinematics.defer_kernels():
        assert numpy_kinematics.can_skip_kernels(1)
        assert not numpy_kinematics.can_skip_kernels(1000)
        inside = []
        started, go = threading.Event(), threading.Event()
        working = threading.Thread(
            target=numpy_kinematics.compile_kernels,
            args=(lambda: (inside.append(numpy_kinematics.can_skip_kernels(1)), started.set(), go.wait(10)),),
        )
        working.start()
        started.wait(10)
        assert inside == [False]  # who compiles uses the kernels
        assert numpy_kinematics.can_skip_kernels(1)  # others do without
        go.set()
        working.join()
        assert not numpy_kinematics.can_skip_kernels(1)
    assert not numpy_kinematics.are_kernels_pending()


@pytest.mark.long
def test_the_first_picture_of_the_viewer_loads_no_kernel():
    code = """
import sys
from poise.model import numpy_kinematics
from poise.viewer import scenes
from poise.viewer.session.session_thread import SessionThread
from poise.viewer.session.state_messages import build_state, build_welcome
from poise.viewer.rig_message import build_rig_message
with numpy_kinematics.defer_kernels():
    for name in scenes.names():
        document = scenes.build_scene(name)
        studio = SessionThread(document)
        build_rig_message(document.rig, document.character_positions)
        studio.pose_state.pack_start_pose(), studio.pose_state.build_still_frame(), build_welcome("k", "1")
        build_state(document, studio.pose_state.playhead, studio.pose_state.race, studio.history, 1)
    print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PROCESS, check=False)
    assert done.stdout == "False\n", done.stderr

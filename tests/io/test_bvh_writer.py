"""BVH for skeletons from other formats: a new hierarchy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poise
from poise.conversion.rig_edits import rename_joints
from poise.errors import PoiseWarning, UnsupportedError
from poise.io.formats import bvh
from poise.maths import euler, rotations
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from tests.io.test_bvh import SMALL, saved


def bare(skeleton, **changes):
    """The same joints as another format would give them: no BVH document."""
    given = {
        "offsets": skeleton.A[:, :3], "rotations": skeleton.A[:, 3:], "axes": skeleton.axes,
        "rest_q": skeleton.rest_q, "euler": skeleton.euler,
    }  # fmt: skip
    return Skeleton.build(skeleton.names, skeleton.parents, skeleton.kinds, **(given | changes))


@pytest.mark.parametrize("name", ["jumping_jacks_cmu1", "run_mass", "bvhio_example"])
def test_joints_offsets_orders_and_motion_survive_another_format(data, name, tmp_path):
    rig = bvh.read(data / "bvh" / f"{name}.bvh")
    clip = Clip(rig.clips[0].times, Pose(bare(rig.skeleton), rig.clips[0].poses.q), name)
    again = saved(clip, tmp_path)
    assert again.skeleton == rig.skeleton
    ours, theirs = again.clips[0].poses.world.affine, rig.clips[0].poses.world.affine
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    np.testing.assert_allclose(again.clips[0].times, rig.clips[0].times, rtol=1e-12)


def test_hinges_slides_and_rest_rotations_become_channels(tmp_path):
    turn = rotations.about(np.array([1.0, 0, 0]), -0.5 * np.pi)
    skeleton = Skeleton.build(
        ["base", "hinge", "slide", "tool"], [-1, 0, 1, 2], [Kind.FIXED, Kind.HINGE, Kind.SLIDE, Kind.FIXED],
        offsets=[[0, 0, 1], [0, 0, 2], [1, 0, 0], [0, 3, 0]], rotations=[turn, rotations.IDENTITY, turn, turn],
        axes=[[0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]],
    )  # fmt: skip
    q = np.array([[0.0, 0.0], [0.3, 0.5], [-2.0, 1.0]])
    poses = Pose(skeleton, q)
    again = saved(poses, tmp_path)
    assert again.skeleton.names == ("base", "hinge", "slide", "tool", "tool_end")
    assert [Kind(kind) for kind in again.skeleton.kinds[:4]] == [Kind.FREE, Kind.BALL, Kind.FREE, Kind.BALL]
    np.testing.assert_allclose(again.clips[0].poses.world.affine[:, :4], poses.world.affine, atol=1e-11)


def test_uniform_scale_above_goes_into_the_offsets(tmp_path):
    turn = rotations.about(np.array([1.0, 0, 0]), -0.5 * np.pi)
    skeleton = Skeleton.build(
        ["Armature", "Hips", "Leg"], [-1, 0, 1], [Kind.FIXED, Kind.BALL, Kind.BALL],
        offsets=[[0, 0, 0], [0, 0, 90], [10, 0, 0]], rotations=[turn, turn, rotations.IDENTITY],
        scales=[[0.01] * 3, [1] * 3, [1] * 3],
    )  # fmt: skip
    poses = Pose(skeleton, np.tile(np.concatenate([turn, turn]), (2, 1)))
    again = saved(poses, tmp_path)
    np.testing.assert_allclose(again.clips[0].poses.world.positions[:, :3], poses.world.positions, atol=1e-12)
    assert again.skeleton.index("Leg") == 2
    np.testing.assert_allclose(again.skeleton.A[2, :3], [0.1, 0, 0])
    squashed = Pose(skeleton, poses.q, scales=[[1, 1, 1], [1, 2, 1], [1, 1, 1]])
    with pytest.raises(UnsupportedError, match="differs by axis; these joints have it: Hips"):
        saved(squashed, tmp_path)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize(("noise", "fits"), [(1e-5, True), (0.9e-3, True), (1.1e-3, False)])
def test_scale_that_differs_by_noise_counts_as_uniform_whatever_its_size(tmp_path, size, noise, fits):
    skeleton = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])
    scales = size * np.array([[1.0, 1.0 + noise, 1.0], [1.0, 1.0, 1.0]])
    poses = Pose(skeleton, skeleton.rest_q[None], scales=scales[None])
    if fits:
        again = saved(poses, tmp_path).clips[0].poses
        np.testing.assert_allclose(again.world["b"].positions[0], [0, size, 0], rtol=2e-3)
    else:
        with pytest.raises(UnsupportedError, match="differs by axis; these joints have it: a"):
            saved(poses, tmp_path)


def test_joints_that_change_their_distance_get_positions(tmp_path):
    skeleton = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])
    translations = [[[0, 0, 0], [0, 1, 0]], [[2, 0, 0], [0, 1.5, 0]]]
    poses = Pose(skeleton, np.tile(skeleton.rest_q, (2, 1)), translations=translations)
    again = saved(poses, tmp_path)
    assert again.skeleton.kinds[1] == Kind.FREE
    np.testing.assert_allclose(
        again.clips[0].poses.world.positions[:, :2], [[[0, 0, 0], [0, 1, 0]], [[2, 0, 0], [2, 1.5, 0]]]
    )


def test_several_roots_are_refused(tmp_path):
    two = Skeleton.build(["a", "b"], [-1, -1], [Kind.BALL, Kind.BALL])
    with pytest.raises(UnsupportedError, match="has 2: a, b"):
        saved(Pose(two, two.rest_q), tmp_path)


class TestNames:
    """Names of other formats become words, with a note; those of a BVH file stay."""

    ODD = (
        "Left Arm", "a\nb", "a\r\nb", "a b", "a_b", " end ", "a{b}", "", "\t", "tip\u00a0x", "x\x1b[2J", "rig:Hips",
    )  # fmt: skip
    PLAIN = (
        "Left_Arm", "a_b_1", "a_b_2", "a_b_3", "a_b", "end", "a_b_", "joint", "joint_1", "tip_x", "x_[2J", "rig:Hips",
    )  # fmt: skip

    def odd(self) -> Pose:
        count = len(self.ODD)
        skeleton = Skeleton.build(self.ODD, [-1, *range(count - 1)], [Kind.BALL] * count)
        return Pose(skeleton, skeleton.rest_q)

    def test_a_new_hierarchy_has_words(self, tmp_path):
        path = tmp_path / "a.bvh"
        with pytest.warns(PoiseWarning, match="joints are renamed: Left Arm -> Left_Arm, "):
            poise.save(self.odd(), path)
        assert poise.load(path).skeleton.names[:-1] == self.PLAIN
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line.split()[1:] for line in lines if "JOINT" in line] == [[name] for name in self.PLAIN[1:]]

    def test_convert_says_so_and_finds_the_joints_again(self, tmp_path):
        pose = self.odd()
        clip = Clip.at_rate(Pose(pose.skeleton, np.tile(pose.q, (2, 1))), 30.0, "still")
        done = poise.convert(Rig(pose.skeleton, pose, (clip,)), tmp_path / "a.bvh")
        assert [note for note in done.notes if "a\\nb -> a_b_1" in note]
        assert (done.lost, done.off) == ((), 0.0)

    def test_names_of_joints_that_are_not_written_stay_unsaid(self, tmp_path):
        s = Skeleton.build(["mesh node", "hips"], [-1, -1], [Kind.FIXED, Kind.BALL])
        done = poise.convert(Rig(s, Pose(s, s.rest_q)), tmp_path / "a.bvh")
        assert not [note for note in done.notes if "renamed" in note]

    @pytest.mark.parametrize("more", [{}, {"scale": 2.0}, {"fps": 10.0}, {"root": "Hips"}])
    def test_a_bvh_file_keeps_its_names(self, tmp_path, more):
        text = SMALL.replace("Knee", "Left Knee 1")
        if "root" in more:
            text = text.replace(
                "MOTION", text[text.index("ROOT") : text.index("MOTION")].replace("Hips", "Prop") + "MOTION"
            )
            text = text.replace("50 60\n", "50 60 " + "0 " * 9 + "\n").replace("80 95\n", "80 95 " + "0 " * 9 + "\n")
        (tmp_path / "a.bvh").write_text(text, encoding="utf-8")
        done = poise.convert(tmp_path / "a.bvh", tmp_path / "b.bvh", **more)
        assert "Left Knee 1" in bvh.read(tmp_path / "b.bvh").skeleton
        assert not [note for note in done.notes if "renamed" in note]

    def test_everything_that_names_joints_follows(self):
        s = poise.load(poise.sample("humanoid.glb"))
        names = tuple(f"my_{name}" for name in s.skeleton.names)
        new = rename_joints(s, names)
        assert new.skeleton.names == names
        assert {role: f"my_{joint}" for role, joint in s.humanoid.items()} == new.humanoid
        assert new.skeleton.chains == {k: (f"my_{a}", f"my_{b}") for k, (a, b) in s.skeleton.chains.items()}
        assert [skin.joints for skin in new.skins] == [tuple(f"my_{name}" for name in skin.joints) for skin in s.skins]
        ours, theirs = (rig.clips[0].at(0.3).world.positions for rig in (new, s))
        assert np.array_equal(ours, theirs)

    def test_closed_loops_and_motors_follow(self):
        loop, motor = poise.Loop("b c", "a"), poise.Motor(1.0)
        s = Skeleton.build(["a", "b c"], [-1, 0], [Kind.BALL] * 2, loops=(loop,), motors={"b c": motor})
        new = rename_joints(Rig(s, Pose(s, s.rest_q)), ("a", "b_c")).skeleton
        assert [(one.joints, one.name) for one in new.loops] == [(("b_c", "a"), "b_c-a")]
        assert new.motors == {"b_c": motor}


# --- what the reader would refuse --------------------------------------------------------------------


def chain(n, length=1.0, name="j"):
    offsets = np.zeros((n, 3))
    offsets[1:, 1] = length
    return Skeleton.build([f"{name}{i}" for i in range(n)], range(-1, n - 1), [Kind.BALL] * n, offsets=offsets)


@pytest.mark.long
def test_as_many_joints_as_are_read_and_no_more(tmp_path):
    most = chain(9_999)  # and an End Site
    assert len(saved(Pose(most, most.rest_q), tmp_path).skeleton) == 10_000
    more = chain(10_000)
    with pytest.raises(UnsupportedError, match="10,001 joints, End Sites included, are too many"):
        saved(Pose(more, more.rest_q), tmp_path)


def test_numbers_names_and_times_that_are_not_read_are_not_written(tmp_path):
    small = chain(2)
    far = Pose(small, np.tile(small.rest_q, (1, 1)), translations=[[[2e100, 0, 0], [0, 1, 0]]])
    close = Clip(np.array([0, 1e-7]), Pose(small, np.tile(small.rest_q, (2, 1))))
    long, exact = chain(1, name="é" * 500), chain(1, name="j" * 999)
    for thing, match in (
        (Pose(chain(2, 2e100), small.rest_q), "an offset here is beyond 1e"),
        (far, "a position here is beyond 1e"),
        (close, "frames 1e-07 s apart"),
        (Clip(close.times * 1e14, close.poses), r"frames 1e\+07 s apart"),
        (Pose(long, long.rest_q), "is too long"),
    ):
        (tmp_path / "saved.bvh").unlink(missing_ok=True)
        with pytest.raises(UnsupportedError, match=match):
            saved(thing, tmp_path)
        assert not (tmp_path / "saved.bvh").exists()
    assert saved(Pose(exact, exact.rest_q), tmp_path).skeleton.names[0] == exact.names[0]
    assert len(saved(Clip(close.times * 10, close.poses), tmp_path).clips[0]) == 2


def test_a_kept_document_gets_no_such_numbers_either(tmp_path):
    small = chain(2)
    rig = saved(Pose(small, small.rest_q), tmp_path)
    q = rig.pose.q.copy()
    q[0] = 2e100
    with pytest.raises(UnsupportedError, match="a position here is beyond 1e"):
        saved(Pose(rig.skeleton, q), tmp_path)
    with pytest.raises(UnsupportedError, match="frames 1e-07 s apart"):
        saved(Clip(np.array([0, 1e-7]), Pose(rig.skeleton, np.stack([q * 0 + rig.pose.q] * 2))), tmp_path)


# --- random skeletons --------------------------------------------------------------------------------


@st.composite
def motions(draw):
    """A random skeleton as from another format, and a few frames of it."""
    n = draw(st.integers(1, 7))
    parents = [-1] + [draw(st.integers(0, i - 1)) for i in range(1, n)]
    kinds = [draw(st.sampled_from([Kind.FREE, Kind.BALL]))]
    kinds += [draw(st.sampled_from([Kind.BALL, Kind.HINGE, Kind.SLIDE, Kind.FIXED, Kind.FREE])) for _ in range(1, n)]
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    turns = [rotations.normalise(rng.normal(size=4)) if kind == Kind.HINGE else rotations.IDENTITY for kind in kinds]
    skeleton = Skeleton.build(
        [f"joint_{i}" for i in range(n)], parents, kinds, offsets=rng.normal(size=(n, 3)), rotations=turns,
        axes=rng.normal(size=(n, 3)), euler=[draw(st.sampled_from((*euler.ORDERS, ""))) for _ in range(n)],
    )  # fmt: skip
    frames = draw(st.integers(1, 4))
    q = rng.normal(size=(frames, skeleton.nq)) * draw(st.sampled_from([0.01, 1.0, 50.0]))
    for i in np.flatnonzero(skeleton.kinds >= Kind.BALL):
        start = skeleton.q_start[i] + (3 if skeleton.kinds[i] == Kind.FREE else 0)
        q[:, start : start + 4] = rotations.normalise(q[:, start : start + 4])
    return Pose(skeleton, q)


@pytest.mark.long
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(motions())
def test_random_motion_comes_back(tmp_path, poses):
    again = saved(poses, tmp_path)
    world = again.clips[0].poses.world
    size = 1.0 + np.abs(poses.world.positions).max()
    for name, order in zip(poses.skeleton.names, poses.skeleton.euler, strict=True):
        ours, theirs = world[name].affine, poses.world[name].affine
        np.testing.assert_allclose(ours[..., :3], theirs[..., :3], atol=1e-10)
        np.testing.assert_allclose(ours[..., 3], theirs[..., 3], atol=1e-10 * size)
        assert again.skeleton.euler[again.skeleton.index(name)] == (order or "ZXY")
    third = saved(again.clips[0].poses, tmp_path)
    np.testing.assert_array_equal(third.clips[0].poses.q, again.clips[0].poses.q)

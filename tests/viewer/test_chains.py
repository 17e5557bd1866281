"""Chains: which limbs are offered, where their targets begin, and what goals they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.problem.goals import Direction, LookAt, Place, Pole, Position
from poise.viewer.document.chains import CHAIN_KINDS, TargetedChain, build_chain, build_default_chains
from poise.viewer.document.document import build_document
from tests.strategies import figure, generic_arm, random_q, random_skeleton, rng_of, straight_chain


@pytest.fixture(scope="module")
def humanoid():
    return poise.load(samples.path("humanoid.glb"))


def rig_of(skeleton):
    return poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))


def offered(rig):
    return [(chain.name, chain.root, chain.tip, chain.kind) for chain in build_default_chains(rig, rig.pose)]


class TestOffered:
    def test_those_of_the_sidecar(self, humanoid):
        assert offered(humanoid)[0] == ("left_arm", "LeftArm", "LeftHand", "position")

    def test_else_arms_and_legs(self, humanoid, tmp_path):
        (tmp_path / "bare.glb").write_bytes(samples.path("humanoid.glb").read_bytes())
        assert offered(poise.load(tmp_path / "bare.glb")) == [
            ("left hand", "LeftArm", "LeftHand", "position"),
            ("right hand", "RightArm", "RightHand", "position"),
            ("left foot", "LeftUpLeg", "LeftFoot", "position"),
            ("right foot", "RightUpLeg", "RightFoot", "position"),
        ]

    def test_a_robot_arm_is_brought_to_places(self):
        ((_, root, tip, kind),) = offered(rig_of(generic_arm()))
        assert (root, tip, kind) == ("j0", "tool", "place")

    def test_a_group_of_an_srdf_is_brought_to_places(self, tmp_path):
        (tmp_path / "arm.urdf").write_bytes(samples.path("arm.urdf").read_bytes())
        (tmp_path / "arm.srdf").write_text(
            '<robot name="arm"><group name="manipulator"><chain base_link="base" tip_link="tool"/></group></robot>'
        )
        rig = poise.load(tmp_path / "arm.urdf")
        ((name, _, tip, kind),) = offered(rig)
        assert (name, kind) == ("manipulator", "place")
        assert rig.skeleton.index(tip) == rig.skeleton.index("tool")

    def test_a_rope_gets_its_last_joints(self):
        ((_, root, tip, kind),) = offered(rig_of(straight_chain(30)))
        assert (root, tip, kind) == ("j18", "tip", "position")

    def test_what_cannot_move_has_none(self):
        assert offered(rig_of(poise.Skeleton.build(["a", "b"], [-1, 0], [0, 0]))) == []
        assert offered(rig_of(poise.Skeleton.build(["a"], [-1], [3]))) == []

    @pytest.mark.parametrize("seed", range(20))
    def test_any_skeleton_gets_chains_that_can_be_solved_or_none(self, seed):
        rng = rng_of(seed)
        skeleton = random_skeleton(rng, 12, scale=False)
        document = build_document(poise.Rig(skeleton, poise.Pose(skeleton, random_q(rng, skeleton))))
        assert len(document.chains) <= 4
        for chain in document.chains:
            assert chain.list_joints(skeleton)[-1] == chain.tip
            assert chain.build_goals(skeleton)


class TestTargets:
    @pytest.mark.parametrize("kind", CHAIN_KINDS)
    def test_they_begin_where_the_pose_has_the_tip(self, humanoid, kind):
        pose = humanoid.pose.replace({"LeftArm": [0.8, 0.0, 0.6, 0.0]})
        chain = build_chain(pose, "hand", "LeftArm", "LeftHand", kind, axis=(0.0, 1.0, 0.0))
        at = pose.world["LeftHand"]
        np.testing.assert_array_equal(chain.position, at.positions)
        np.testing.assert_array_equal(chain.rotation, at.rotations)
        np.testing.assert_allclose(chain.direction, rotations.rotate(at.rotations, np.array([0.0, 1.0, 0.0])))
        assert all(type(number) is float for number in (*chain.position, *chain.rotation, *chain.direction))

    def test_mistakes_are_sentences(self, humanoid):
        with pytest.raises(poise.UnknownNameError, match="LeftHand"):
            build_chain(humanoid.pose, "hand", None, "LeftHnad")
        with pytest.raises(poise.PoiseError):
            build_chain(humanoid.pose, "hand", "RightArm", "LeftHand")
        with pytest.raises(poise.InputError, match="kind is one of position, place"):
            build_chain(humanoid.pose, "hand", None, "LeftHand", "point")

    def test_a_tip_may_be_named_by_another_of_its_names(self):
        rig = poise.load(samples.path("arm.urdf"))
        chain = build_chain(rig.pose, "tool", None, "flange_tool")
        assert chain.tip in rig.skeleton.names


class TestGoals:
    CHAIN = TargetedChain(
        name="leg", root="l_leg", tip="l_foot", weight=2.0, position=(1.0, 2.0, 3.0), rotation=(0.0, 1.0, 0.0, 0.0),
        direction=(0.0, 2.0, 0.0), axis=(1.0, 0.0, 0.0),
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("kind", "types"),
        [
            ("position", [Position]), ("place", [Place]), ("pin", [Place]), ("direction", [Position, Direction]),
            ("look", [LookAt]),
        ],
    )  # fmt: skip
    def test_of_each_kind(self, kind, types):
        goals = self.CHAIN.replace(kind=kind).build_goals(figure())
        assert [type(goal) for goal in goals] == types
        assert all(goal.joint == "l_foot" and goal.weight == 2.0 for goal in goals)
        np.testing.assert_array_equal(goals[0].rows()[:3], (1, 2, 3))
        if kind != "look":
            assert all(goal.root == "l_leg" for goal in goals)

    def test_a_pole_is_one_more(self):
        goals = self.CHAIN.replace(pole=(0.0, 0.0, 1.0)).build_goals(figure())
        assert [type(goal) for goal in goals] == [Position, Pole]
        assert (goals[1].joint, goals[1].tip) == ("l_knee", "l_foot")
        assert self.CHAIN.replace(kind="look", pole=(0.0, 0.0, 1.0)).build_goals(figure())[0].joint == "l_foot"

    def test_a_pole_needs_something_that_bends(self):
        with pytest.raises(poise.InputError, match="two joints or more"):
            self.CHAIN.replace(root="l_knee", pole=(0.0, 0.0, 1.0)).build_goals(figure())

    def test_the_shape_is_the_same_wherever_the_targets_are(self):
        moved = self.CHAIN.replace(position=(9.0, 9.0, 9.0), rotation=(1.0, 0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
        assert moved.without_target == self.CHAIN.without_target
        assert (
            moved.replace(pole=(1.0, 2.0, 3.0)).without_target
            == self.CHAIN.replace(pole=(3.0, 2.0, 1.0)).without_target
        )
        for other in (
            self.CHAIN.replace(pole=(1.0, 2.0, 3.0)), self.CHAIN.replace(weight=3.0), self.CHAIN.replace(kind="place"),
            self.CHAIN.replace(root="hip"), self.CHAIN.replace(enabled=False), self.CHAIN.replace(axis=(0.0, 1.0, 0.0)),
        ):  # fmt: skip
            assert other.without_target != self.CHAIN.without_target

    def test_joints_from_root_to_tip(self):
        assert self.CHAIN.list_joints(figure()) == ("l_leg", "l_knee", "l_foot")

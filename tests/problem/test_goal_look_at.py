"""LookAt: an aim whose turn is shared by several joints."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import InputError, LookAt, Pin, Pose, Position, Range, UnknownNameError
from poise.io import samples
from tests.kernels.tree_cases import WIDTH, arm, lanes_after
from tests.reference.kernel_tree import AIM, BALL, random_u
from tests.strategies import rng_of, straight_chain

FIGURE = poise.load(samples.path("humanoid.bvh")).rest
HEAD = FIGURE.world["Head"].positions
OVER = ("Chest", "Neck", "Head")


def turned(result, names):
    """By how much each ball is turned from the start [rad]."""
    out = []
    for name in names:
        q = result.q[..., result.problem.skeleton.q_slice(name)][..., -4:]
        out.append(2 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0])))
    return np.array(out)


def missed_by(pose, goal):
    world = pose.world[goal.joint]
    way = goal.target - world.positions
    axis = world.affine[..., :3] @ goal.axis
    return np.arctan2(np.linalg.norm(np.cross(axis, way)), axis @ way)


@pytest.mark.parametrize("way", [(1, 0, 1.5), (1, 0.5, 1.5), (0, 1, 1.2), (-0.5, -0.5, 1), (0.15, 0.1, 0.2)])
@pytest.mark.parametrize("shares", [(1, 2, 3), (1, 1, 1), (5, 2, 1), (0.1, 0.1, 1)])
def test_the_turned_angles_stand_in_the_proportion_of_the_shares(way, shares):
    """Also where the spine carries the head about, sideways, up and down, far and near."""
    goal = LookAt("Head", HEAD + way, over=dict(zip(OVER, shares, strict=True)))
    result = poise.solve(FIGURE, goal)
    assert result.reached
    assert missed_by(result.pose, goal) <= 1e-4
    angles = turned(result, OVER)
    np.testing.assert_allclose(angles / angles.sum(), np.array(shares) / sum(shares), rtol=0.02)


def test_names_alone_rise_to_the_head():
    goal = LookAt("Head", HEAD + np.array([1, 0, 1]), over=OVER)
    assert goal.over == (("Chest", 1.0), ("Neck", 2.0), ("Head", 3.0))
    angles = turned(poise.solve(FIGURE, goal), OVER)
    np.testing.assert_allclose(angles / angles[0], [1, 2, 3], rtol=0.02)


def test_without_names_the_joint_and_the_two_above_turn():
    result = poise.solve(FIGURE, LookAt("Head", HEAD + np.array([1, 0, 1])), natural=False)
    named = poise.solve(FIGURE, LookAt("Head", HEAD + np.array([1, 0, 1]), over=OVER))
    np.testing.assert_array_equal(result.q, named.q)
    assert result.joints == OVER


def test_no_other_joint_turns():
    goal = LookAt("Head", HEAD + np.array([1, 0, 1]), over=("Spine", "Head"))
    result = poise.solve(FIGURE, goal)
    assert result.joints == ("Spine", "Head")
    s, moved = FIGURE.skeleton, result.q != FIGURE.q
    assert {n for n in s.names if moved[s.q_slice(n)].any()} == {"Spine", "Head"}


def test_all_that_stands_behind_is_looked_at():
    """Half a turn and nearly so; the shares hold within some per cent."""
    for way in ((1, 0, -1), (0, 0.02, -1), (0.001, 0, -1)):
        result = poise.solve(FIGURE, LookAt("Head", HEAD + way, over=OVER))
        assert result.reached
        angles = turned(result, OVER)
        np.testing.assert_allclose(angles / angles.sum(), np.array([1, 2, 3]) / 6, rtol=0.05)


def test_what_a_limit_does_not_let_a_joint_turn_goes_on_to_the_others():
    s = FIGURE.skeleton.with_limits({"Neck": Range(-0.1, 0.1, axis=(0, 1, 0))})
    result = poise.solve(Pose(s, s.rest_q), LookAt("Head", HEAD + np.array([2, 0, 1]), over=OVER))
    assert result.reached
    assert result.violation <= 1e-9
    chest, neck, head = turned(result, OVER)
    assert neck == pytest.approx(0.1)
    assert head / chest == pytest.approx(3, rel=0.15)
    assert chest + head > 0.95


def test_a_head_that_cannot_turn_says_so():
    s = straight_chain(2)
    result = poise.solve(Pose(s, s.rest_q), LookAt("tip", [1, 2, 3], axis=(0, 0, 1), over=["tip"]))
    assert result.status == poise.Status.nothing_to_move
    assert "no joint that looks with 'tip' can move" in result.message()


def test_a_target_at_the_eyes_is_met_as_it_is():
    result = poise.solve(FIGURE, LookAt("Head", HEAD + np.array([0, 0.1, 0.05]), offset=(0, 0.1, 0.05)))
    assert (result.reached, result.iterations) == (True, 0)
    np.testing.assert_array_equal(result.q, FIGURE.q)


def test_the_eyes_look_not_the_joint():
    offset = np.array([0.03, 0.1, 0.08])
    goal = LookAt("Head", HEAD + np.array([0.3, 0.1, 0.5]), offset=offset)
    result = poise.solve(FIGURE, goal)
    world = result.pose.world["Head"]
    way = goal.target - (world.positions + world.affine[:, :3] @ offset)
    assert np.linalg.norm(np.cross(way / np.linalg.norm(way), world.affine[:, 2])) < 2e-4


def test_hands_and_feet_have_goals_of_their_own_meanwhile():
    goals = [
        LookAt("Head", HEAD + np.array([1, 0.2, 1])),
        Position("LeftHand", FIGURE.world["LeftHand"].positions + np.array([-0.1, 0.2, 0.2]), root="Spine"),
        Pin("RightFoot", root="Hips"),
    ]
    result = poise.solve(FIGURE, goals)
    assert result.reached
    assert missed_by(result.pose, goals[0]) <= 1e-4


@pytest.mark.parametrize("name", ["knight_kaykit.glb", "mixamo_human_makehuman.glb"])
def test_real_heads_look(data, name):
    rig = poise.load(data / "glb" / name)
    s = rig.skeleton
    head = next(n for n in s.names if n.lower().endswith("head") and s[n].kind == poise.Kind.BALL)
    at, size = rig.rest.world[head].positions, np.ptp(rig.rest.world.positions, axis=0).max()
    goal = LookAt(head, at + size * np.array([[0.5, 0, 1], [-1, 0.2, 1], [0.1, -0.3, 1]]), axis=(0, 0, 1))
    result = poise.solve(rig.rest, goal)
    assert result.reached.all(), str(result)


class TestValue:
    def test_a_joint_that_is_not_above_cannot_look_along(self):
        with pytest.raises(InputError, match="'LeftHand' is not above 'Head'"):
            poise.solve(FIGURE, LookAt("Head", [0, 0, 1], over=("Neck", "LeftHand")))
        with pytest.raises(UnknownNameError):
            poise.solve(FIGURE, LookAt("Head", [0, 0, 1], over=("Nek", "Head")))

    @pytest.mark.parametrize("over", ["Neck", 3, {}, ()])
    def test_several_names_are_wanted(self, over):
        with pytest.raises(InputError, match="^the joints that look with 'Head' are"):
            LookAt("Head", [0, 0, 1], over=over)

    @pytest.mark.parametrize("share", [0, -1, np.nan, "much"])
    def test_a_share_is_above_zero(self, share):
        with pytest.raises(InputError, match="^the weight of 'Neck' among the joints that look with 'Head'"):
            LookAt("Head", [0, 0, 1], over={"Neck": share, "Head": 1})


def test_the_rows_are_what_a_common_turn_of_the_joints_does():
    """All that look turn together, each by its ease, about any axis: so much the residual falls."""
    rng = rng_of(7)
    tree = arm([BALL, BALL, BALL], AIM)
    tree.dofs[:, 3] = np.repeat([0.3, 0.6, 1.0], 3)
    tree.effectors[0, :7] = 0.2, 0.1, 0.0, 0.6, 0.0, 0.8, 1.0  # a point, an axis, and that the turn is shared
    us = random_u(rng, tree, WIDTH, 0.4)
    targets = np.array([p + 2 * a for p, a in (tree.measure(u)[0] for u in us)]) + 1e-9  # met: there the rows are exact
    J = lanes_after(tree, targets, us).J / np.sqrt(tree.dofs[:, 3])[:, None, None]  # the step has scaled them
    shares, h = tree.dofs[:, 3] / 1.9, 1e-5
    for k, u in enumerate(us):
        for axis in np.eye(3):
            whole = np.concatenate([before.inv().apply(axis) for _, _, before in tree.place(u)])
            turn = h * whole * shares
            fallen = tree.left(tree.moved(u, -turn), targets[k]) - tree.left(tree.moved(u, turn), targets[k])
            np.testing.assert_allclose((whole * shares) @ J[:, :, k], fallen / (2 * h), atol=1e-6)
            np.testing.assert_allclose(whole[:3] @ J[:3, :, k], fallen / (2 * h), atol=1e-6)  # each joint says the same


def test_the_turn_of_a_joint_that_looks_without_turning_belongs_to_the_start():
    """Only neck and spine turn: how the head was turned before is packed with each start, never taken from another."""
    s = straight_chain(3)
    goal = LookAt(s.names[-2], [4.0, 3.0, 2.0], over=s.names[0:2], axis=(1, 0, 0))
    rest = Pose(s, s.rest_q)
    q = s.rest_q.copy()
    q[s.q_slice(s.names[-2])] = (np.cos(0.4), 0.0, np.sin(0.4), 0.0)
    assert poise.solve(rest, goal).reached
    turned_before = poise.solve(Pose(s, q), goal)
    assert turned_before.reached
    assert missed_by(turned_before.pose, goal) < 1e-3
    assert poise.solve(Pose(s, np.stack([s.rest_q, q, s.rest_q])), goal).reached.all()
    assert poise.prepare(rest, goal)(goal.target, start=q).reached

"""Roll bones: found in the line of a limb, and still while any solver meets any goal."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import solvers
from poise.maths import rotations
from poise.model.anatomy.roll_bones import find_bending_roll_bones, find_roll_bones
from tests.model.roll_bone_figures import FIGURE, figure_with_rolls, rest_of

FRACTIONS = {"upper_arm": (0.5,), "forearm": (0.4, 0.8), "thigh": (0.5,), "shin": (0.3,)}
FIGURES = {
    "plain": figure_with_rolls(**FRACTIONS),
    "rolled": figure_with_rolls(**FRACTIONS, seed=3, scale=100.0, up="z"),
    "askew": figure_with_rolls(**FRACTIONS, seed=4, aside=0.03),
}
HAND, ARM, ELBOW = "LeftHand", "LeftArm", "LeftForeArm"
SOLVERS = [name for name in solvers.names() if name != "two_bone"]


def list_targets(skeleton, count, seed=0):
    """Places that the left arm reaches."""
    world = rest_of(skeleton).world
    shoulder, hand = world[ARM].positions, world[HAND].positions
    ways = np.random.default_rng(seed).normal(size=(count, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return shoulder + ways * np.linalg.norm(hand - shoulder) * np.linspace(0.5, 0.9, count)[:, None]


def start_of(skeleton):
    """A pose whose roll bones are turned, and bent a little."""
    pose, chance = rest_of(skeleton), np.random.default_rng(2)
    turns = {skeleton.names[bone.row]: 0.3 * chance.normal(size=3) for bone in find_roll_bones(skeleton)}
    return pose.replace({name: rotations.from_vector(turn) for name, turn in turns.items()})


def assert_still(result, start):
    """Assert that the roll bones of a result are the start's, bit for bit."""
    skeleton = start.skeleton
    assert find_bending_roll_bones(skeleton)
    for row in find_bending_roll_bones(skeleton):
        columns = skeleton.q_slice(skeleton.names[row])
        assert np.array_equal(result.q[..., columns], np.broadcast_to(start.q[columns], result.q[..., columns].shape))


class TestFinding:
    @pytest.mark.parametrize("name", FIGURES)
    def test_they_are_found_where_they_stand(self, name):
        skeleton = FIGURES[name]
        found = {skeleton.names[bone.row]: bone for bone in find_roll_bones(skeleton)}
        assert len(found) == 2 * sum(map(len, FRACTIONS.values()))
        for side in ("Left", "Right"):
            for i, fraction in enumerate((0.4, 0.8)):
                bone = found[f"{side}ForeArmRoll{i}"]
                assert bone.fraction == pytest.approx(fraction, abs=1e-9)
                assert (bone.role, bone.is_leaf) == (f"{side.lower()}LowerArm", False)
                assert (skeleton.names[bone.upper], skeleton.names[bone.end]) == (f"{side}ForeArm", f"{side}Hand")

    def test_a_joint_beside_the_line_is_none(self):
        assert not find_roll_bones(figure_with_rolls(forearm=(0.5,), aside=0.2))

    def test_a_figure_without_them_has_none(self):
        assert find_roll_bones(FIGURE.skeleton) == ()

    def test_leaves_are_roll_bones_by_their_name(self):
        skeleton = figure_with_rolls(leaves=(0.3, 0.7))
        assert {(skeleton.names[bone.row], bone.is_leaf) for bone in find_roll_bones(skeleton)} == {
            (f"{side}ForeArmTwist{i}", True) for side in ("Left", "Right") for i in (0, 1)
        }


class TestSolving:
    @pytest.mark.parametrize("name", FIGURES)
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_they_stand_still_in_every_solver(self, solver, name):
        if solver == "autodiff":
            pytest.importorskip("jax")
        skeleton = FIGURES[name]
        for start in (rest_of(skeleton), start_of(skeleton)):
            goal = poise.Position(HAND, list_targets(skeleton, 3), root=ARM)
            assert_still(poise.solve(start, goal, solver=solver), start)

    @pytest.mark.parametrize("name", FIGURES)
    @pytest.mark.parametrize("natural", [None, False])
    def test_they_stand_still_for_every_goal(self, name, natural):
        skeleton = FIGURES[name]
        start, spot = rest_of(skeleton), list_targets(skeleton, 1)[0]
        toward = spot + 2.0 * (spot - start.world["Hips"].positions)
        reach = poise.Position(HAND, spot)
        pole = poise.Pole(ELBOW, toward, root=ARM, tip=HAND)
        near, balance = poise.Near(start), poise.Balance(["LeftFoot"])
        shin = poise.Position("LeftFoot", start.world["LeftFoot"].positions + 0.1 * (spot - toward))
        aim = poise.Aim(HAND, toward, axis=(1, 0, 0))
        for goals in ([reach], [reach, pole], [pole], [reach, near], [reach, balance], [reach, shin], [aim]):
            assert_still(poise.solve(start, goals, natural=natural), start)
        assert_still(poise.solve(start, reach, prefer="closest"), start)

    def test_two_bone_takes_an_arm_with_roll_bones(self):
        skeleton = FIGURES["rolled"]
        start, targets = rest_of(skeleton), list_targets(skeleton, 5)
        result = poise.solve(start, poise.Position(HAND, targets, root=ARM), solver="two_bone")
        assert result.reached.all()
        assert_still(result, start)

    @pytest.mark.parametrize("root", [None, "LeftForeArmRoll1"])
    def test_a_goal_of_a_roll_bone_itself_is_met(self, root):
        skeleton = FIGURES["rolled"]
        start = rest_of(skeleton)
        wanted = rotations.multiply(start.world["LeftForeArmRoll1"].rotations, rotations.from_vector(np.full(3, 0.4)))
        result = poise.solve(start, poise.Orientation("LeftForeArmRoll1", wanted, root=root))
        assert result.reached
        bent = skeleton.q_slice("LeftForeArmRoll1")
        assert np.array_equal(result.q[bent], start.q[bent]) == (root is None)
        spot = 0.5 * (start.world["LeftForeArmRoll0"].positions + list_targets(skeleton, 1)[0])
        assert_still(poise.solve(start, poise.Position("LeftForeArmRoll0", spot)), start)


class TestLimits:
    def test_anatomical_limits_make_them_hinges_about_their_line(self):
        for skeleton in FIGURES.values():
            limits = poise.find_roles(skeleton).limits()
            world = rest_of(skeleton).world
            bones = find_roll_bones(skeleton)
            for bone in bones:
                limit = limits[skeleton.names[bone.row]]
                assert isinstance(limit, poise.Range)
                assert limit.low < 0.0 < limit.high
                line = rotations.rotate(world.rotations[bone.row], np.array(limit.axis))
                way = world.positions[bone.end] - world.positions[bone.row]
                assert np.linalg.norm(np.cross(line, way)) < 1e-9 * np.linalg.norm(way)
            assert len(bones) == 2 * sum(map(len, FRACTIONS.values()))

    def test_sides_mirror_each_other(self):
        limits = poise.find_roles(FIGURES["plain"]).limits()
        for name in ("ArmRoll0", "ForeArmRoll0", "UpLegRoll0", "LegRoll0"):
            left, right = limits[f"Left{name}"], limits[f"Right{name}"]
            assert (left.low, left.high) == pytest.approx((-right.high, -right.low))

    @pytest.mark.parametrize("solver", ["ccd", "levenberg_marquardt", "damped_least_squares"])
    def test_a_limited_roll_bone_turns_about_its_line_only(self, solver):
        free = FIGURES["rolled"]
        skeleton = free.with_limits(poise.find_roles(free).limits())
        start = rest_of(skeleton)
        hand = start.world[HAND]
        axis = hand.positions - start.world[ELBOW].positions
        turns = rotations.about(axis / np.linalg.norm(axis), np.radians([-100.0, 100.0]))
        goal = poise.Place(HAND, hand.positions, rotations.multiply(turns, hand.rotations), root=ARM)
        result = poise.solve(start, goal, solver=solver)
        if solver == "levenberg_marquardt":
            assert result.reached.all()
        shares = []
        for bone in find_roll_bones(skeleton):
            turn = rotations.as_vector(result.q[..., skeleton.q_slice(skeleton.names[bone.row])])
            line = np.array(skeleton.limits[bone.row].axis)
            assert np.abs(np.cross(turn, line)).max() < 1e-9
            shares.append(np.abs(turn).max())
        assert max(shares) > 0.1

    def test_the_command_writes_them(self, tmp_path):
        from poise.io.sidecar import append_limits

        limits = {name: limit for name, limit in poise.find_roles(FIGURES["plain"]).limits().items() if "Roll" in name}
        text = append_limits(tmp_path / "x.ik.toml", "", limits, dict.fromkeys(limits, "a roll bone"), "limits")
        assert text.count("range_deg") == len(limits) == 10

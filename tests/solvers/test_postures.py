"""Whole figures that fold, turn, and lean against a raised leg."""

import numpy as np
import pytest

import poise
from poise import samples
from poise.maths import rotations
from poise.maths.vectors import normalise

FIGURE = poise.load(samples.path("humanoid.glb"))
UP, LEFT, FORWARD = np.eye(3)[[1, 0, 2]]
AT_REST = FIGURE.rest.world
ARMS = {side: AT_REST[f"{side}Arm"].positions for side in ("Left", "Right")}
STANDING = poise.solve(
    FIGURE.rest, [poise.Position(f"{side}Hand", at - 0.53 * UP) for side, at in ARMS.items()]
).pose  # fmt: skip
FEET = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
TOES = AT_REST["LeftFoot"].positions + 0.16 * FORWARD + 0.08 * UP
HIP = AT_REST["LeftUpLeg"].positions
LEG = float(np.linalg.norm(AT_REST["LeftFoot"].positions - HIP))


def mirror(place):
    """The place on the other side of the body."""
    return place * [-1, 1, 1]


def turn_of(pose, joint):
    """The rotation of a joint since rest."""
    return rotations.multiply(pose.world[joint].rotations, rotations.inverse(AT_REST[joint].rotations))


def bend_of_knee(pose, side="Left"):
    """How far a knee is bent [deg]."""
    hip, knee, foot = (pose.world[f"{side}{part}"].positions for part in ("UpLeg", "Leg", "Foot"))
    return np.degrees(np.arccos(np.clip((normalise(knee - hip) * normalise(foot - knee)).sum(axis=-1), -1, 1)))


def reach(*places, start=STANDING, **options):
    """A pose on both feet with the left hand, and the right, at places."""
    hands = [poise.Position(f"{side}Hand", at) for side, at in zip(("Left", "Right"), places, strict=False)]
    return poise.solve(start, [*FEET, *hands], free_root=True, **options)


def kick(way, share=0.95):
    """A pose on the right foot with the left one along a way from its hip."""
    foot = poise.Position("LeftFoot", HIP + share * LEG * normalise(np.asarray(way, float)))
    return poise.solve(STANDING, [poise.Pin("RightFoot"), foot], free_root=True)


class TestFold:
    def test_hands_reach_the_toes_with_nearly_straight_knees(self):
        result = reach(TOES, mirror(TOES))
        assert result.reached
        assert bend_of_knee(result.pose) < 60
        assert turn_of(result.pose, "Hips") @ [1, 0, 0, 0] < np.cos(np.radians(30))  # the pelvis tilts by 60 and more
        assert result.pose.world["Hips"].positions[1] > AT_REST["Hips"].positions[1] - 0.25 * LEG

    def test_hands_reach_the_floor_ahead_with_bent_knees(self):
        ahead = TOES + 0.25 * FORWARD
        result = reach(ahead, mirror(ahead))
        assert result.reached
        assert bend_of_knee(result.pose) > 80

    def test_between_both_hips_move_smoothly(self):
        ways = np.linspace(0, 0.3, 61)[:, None] * FORWARD
        result = reach(TOES + ways, mirror(TOES + ways))
        assert result.reached.all()
        heights = result.pose.world["Hips"].positions[:, 1]
        assert np.abs(np.diff(heights)).max() < 0.05

    def test_the_weight_stays_over_the_feet(self):
        centre = poise.centre_of_mass(reach(TOES, mirror(TOES)).pose) - AT_REST["LeftFoot"].positions
        assert -0.08 < centre @ FORWARD < 0.2


class TestTurn:
    SIDE = AT_REST["Hips"].positions + 0.5 * LEFT + 0.05 * UP

    def test_pelvis_and_trunk_turn_to_what_is_beside(self):
        pose = reach(self.SIDE, self.SIDE + 0.1 * FORWARD).pose
        hips, chest = (np.degrees(rotations.twist_angle(turn_of(pose, joint), UP)) for joint in ("Hips", "Chest"))
        assert 10 < hips < 50 < chest < 95
        bend = np.arcsin(rotations.rotate(rotations.inverse(turn_of(pose, "Chest")), UP) @ LEFT)
        assert abs(np.degrees(bend)) < 15

    def test_a_trunk_stays_upright_for_what_is_low_behind(self):
        result = reach(AT_REST["LeftFoot"].positions + 0.15 * LEFT - 0.28 * FORWARD + 0.1 * UP)
        assert result.reached
        assert rotations.rotate(turn_of(result.pose, "Chest"), UP)[1] > 0


class TestCounterLean:
    @pytest.mark.parametrize(
        ("way", "aside", "back"),
        [((0, -0.4, 0.9), False, True), ((0, 0.7, 0.65), False, True), ((0.9, -0.4, 0), True, False)],
    )
    def test_the_trunk_leans_against_the_leg(self, way, aside, back):
        result = kick(way)
        assert result.reached
        up = rotations.rotate(turn_of(result.pose, "Chest"), UP)
        assert (up @ LEFT < -0.1) == aside
        assert (up @ FORWARD < -0.02) == back
        assert up[1] > 0.7

    def test_a_hanging_or_folded_leg_tilts_nothing(self):
        for way, share in (((0, -1, 0.2), 0.98), ((0, -0.4, -0.9), 0.5)):
            up = rotations.rotate(turn_of(kick(way, share).pose, "Hips"), UP)
            assert up[1] > 0.9999

    def test_a_leg_that_rises_takes_the_trunk_along_smoothly(self):
        angles = np.radians(np.linspace(0, 140, 141))[:, None]
        foot = HIP + 0.95 * LEG * (np.sin(angles) * FORWARD - np.cos(angles) * UP)
        goals = [poise.Pin("RightFoot"), poise.Position("LeftFoot", foot)]
        pose = poise.solve(STANDING, goals, free_root=True).pose
        own = turn_of(pose, "Hips")
        steps = rotations.as_vector(rotations.multiply(own[1:], rotations.inverse(own[:-1])))
        assert np.degrees(np.linalg.norm(steps, axis=-1)).max() < 1.5

    def test_a_raised_leg_that_stays_leaves_the_trunk(self):
        raised = kick((0, 0.7, 0.65)).pose
        place = raised.world["LeftFoot"].positions + 0.001 * UP
        again = poise.solve(raised, [poise.Pin("RightFoot"), poise.Position("LeftFoot", place)], free_root=True).pose
        turn = rotations.multiply(again.world["Hips"].rotations, rotations.inverse(raised.world["Hips"].rotations))
        assert np.degrees(np.linalg.norm(rotations.as_vector(turn))) < 1

    @pytest.mark.parametrize("way", [LEFT, -2 * FORWARD, -2 * LEFT + FORWARD])
    def test_feet_that_are_brought_elsewhere_leave_the_trunk_upright(self, way):
        feet = {f"{side}Foot": AT_REST[f"{side}Foot"].positions for side in ("Left", "Right")}
        moved = poise.solve(STANDING, [poise.Position(foot, at + way) for foot, at in feet.items()], free_root=True)
        assert moved.reached
        assert rotations.rotate(turn_of(moved.pose, "Hips"), UP)[1] > np.cos(np.radians(1))

    def test_a_kick_of_feet_that_are_brought_elsewhere_is_that_in_place(self):
        foot, other = HIP + 0.95 * LEG * normalise(np.array([0, 0.7, 0.65])), AT_REST["RightFoot"].positions
        tilts = []
        for way in (0 * LEFT, 1.5 * LEFT):
            goals = [poise.Position("RightFoot", other + way), poise.Position("LeftFoot", foot + way)]
            pose = poise.solve(STANDING, goals, free_root=True).pose
            tilts.append(rotations.as_vector(turn_of(pose, "Hips")))
        assert np.linalg.norm(tilts[0]) > 0.1
        np.testing.assert_allclose(tilts[1], tilts[0], atol=0.03)

    def test_kicks_of_figures_that_lie_are_continuous_in_the_start(self):
        tilts = []
        for angle in np.radians([-90.2, -90.1, -89.9, -89.8]):
            turn = rotations.from_vector(angle * LEFT)
            hips = poise.Place("Hips", UP, rotations.multiply(turn, STANDING.world["Hips"].rotations))
            lying = poise.solve(STANDING, hips, free_root=True).pose
            right = poise.Pin("RightFoot")
            foot = lying.world["LeftUpLeg"].positions + 0.95 * LEG * rotations.rotate(turn, normalise(LEFT - 0.2 * UP))
            pose = poise.solve(lying, [right, poise.Position("LeftFoot", foot)], free_root=True).pose
            own, start = pose.world["Hips"].rotations, lying.world["Hips"].rotations
            tilts.append(rotations.as_vector(rotations.multiply(own, rotations.inverse(start))))
        assert np.degrees(np.linalg.norm(np.diff(tilts, axis=0), axis=-1)).max() < 1

    def test_single_calls_and_batches_give_the_same_bits(self):
        ways = HIP + LEG * np.array([[0.0, -0.35, 0.88], [0.85, -0.4, 0.1], [0.0, 0.7, 0.65]])
        goals = [poise.Pin("RightFoot"), poise.Position("LeftFoot", ways)]
        together = poise.solve(STANDING, goals, free_root=True).pose.q
        for way, q in zip(ways, together, strict=True):
            goals = [poise.Pin("RightFoot"), poise.Position("LeftFoot", way)]
            np.testing.assert_array_equal(poise.solve(STANDING, goals, free_root=True).pose.q, q)


def test_an_arm_hangs_beside_a_trunk_that_leans_to_the_other_side():
    """Its hand does not go through the trunk, and not further from hanging than that takes."""
    hips = STANDING.world["Hips"]
    lean = rotations.multiply(rotations.about(FORWARD, np.radians(25)), hips.rotations)  # to the right
    pose = poise.solve(STANDING, poise.Place("Hips", hips.positions, lean), free_root=True).pose
    frame = rotations.inverse(turn_of(pose, "Chest"))
    hand = rotations.rotate(frame, pose.world["LeftHand"].positions - pose.world["Chest"].positions)
    assert hand[0] > 0.165  # both radii
    arm = normalise(pose.world["LeftHand"].positions - pose.world["LeftArm"].positions)
    assert np.degrees(np.arccos(-arm[1])) < 25

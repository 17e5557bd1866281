"""Figures under a mirrored root: their natural poses are the mirror images of those of the figure itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.maths import rotations

FIGURE = poise.load(samples.path("humanoid.glb"))
START = FIGURE.rest
MIRROR = np.array([-1.0, 1.0, 1.0])  # the sample's left is +x
HALF_TURN = np.array([0.0, 1.0, 0.0, 0.0])  # of the rotations of mirrored frames, from which the mirror is dropped
FEET, SIDES = ("LeftFoot", "RightFoot"), ("Left", "Right")


def swap(name):
    """The name of the joint of the other side."""
    return name.replace("Left", "?").replace("Right", "Left").replace("?", "Right")


def mirrored(*, renamed):
    """The sample below a root with scale -1; perhaps its joints are named by the sides where they then are."""
    s = FIGURE.skeleton
    names = ["mirror", *(map(swap, s.names) if renamed else s.names)]
    parents = [-1, *np.where(s.parents < 0, 0, s.parents + 1)]
    scales = np.concatenate([[MIRROR], [np.diag(after[:, :3]) for after in s.B]])
    skeleton = poise.Skeleton.build(
        names, parents, [poise.Kind.FIXED, *s.kinds], offsets=np.concatenate([np.zeros((1, 3)), s.A[:, :3]]),
        rotations=np.concatenate([[[1.0, 0.0, 0.0, 0.0]], s.A[:, 3:]]), scales=scales, rest_q=s.rest_q, up="y",
        limits=(None, *s.limits),
    )  # fmt: skip
    pose = poise.Pose(skeleton, START.q)
    np.testing.assert_allclose(pose.world.positions[1:], MIRROR * START.world.positions, atol=1e-12)
    return pose


POSES = {"as they were": mirrored(renamed=False), "by where they are": mirrored(renamed=True)}


def at(name):
    return START.world[name].positions


def steps(*names, size=0.4):
    """Steps of some joints."""
    return st.fixed_dictionaries({
        name: st.tuples(*[st.floats(-size, size).map(lambda value: round(value, 3))] * 3) for name in names
    })  # fmt: skip


def pin(*names):
    return [(poise.Pin, name) for name in names]


def reach(moves):
    """Places of hands within reach: the steps of the engine, which finishes the others, go joint by joint."""
    goals = []
    for hand, step in moves.items():
        shoulder = at(hand.replace("Hand", "Arm"))
        way, length = at(hand) + np.array(step) - shoulder, np.linalg.norm(at(hand) - shoulder)
        goals.append((poise.Position, hand, shoulder + way * min(1.0, 0.9 * length / np.linalg.norm(way))))
    return goals


def assert_mirrored(goals, *, tolerance=1e-6, **options):
    """Solve for goals (class, joint, place, rotation) and for their mirror images."""
    result = poise.solve(START, [goal(*rest) for goal, *rest in goals], free_root=True, **options)
    for way, pose in POSES.items():
        images = []
        for goal, name, *rest in goals:
            own = pose.skeleton.names[1 + FIGURE.skeleton.index(name)]
            turn = [rotations.multiply(HALF_TURN, rest[1])] if len(rest) > 1 else []
            images.append(goal(own, *[MIRROR * place for place in rest[:1]], *turn))
        found = poise.solve(pose, images, free_root=True, **options)
        wanted = MIRROR * result.pose.world.positions
        np.testing.assert_allclose(found.pose.world.positions[1:], wanted, atol=tolerance, err_msg=f"sides named {way}")


def test_sides_are_those_where_limbs_are():
    for pose in POSES.values():
        roles = poise.find_roles(pose.skeleton).joints
        assert pose.world[roles["leftHand"]].positions[0] > 0 > pose.world[roles["rightHand"]].positions[0]


def test_a_sidecar_has_the_last_word():
    """Names and the file's own map may be those of the figure before it was mirrored; a sidecar is meant for it."""
    pose = POSES["as they were"]
    declared = {f"{side.lower()}{part}": f"{side}{joint}" for side in SIDES for part, joint in (
        ("UpperLeg", "UpLeg"), ("LowerLeg", "Leg"), ("Foot", "Foot"), ("UpperArm", "Arm"), ("LowerArm", "ForeArm"),
        ("Hand", "Hand"),
    )}  # fmt: skip
    for is_sidecar in (True, False):
        rig = poise.Rig(pose.skeleton, pose, humanoid=declared, sidecar_roles=frozenset(declared if is_sidecar else ()))
        assert poise.find_roles(rig).joints["leftHand"] == ("LeftHand" if is_sidecar else "RightHand")


@given(steps("LeftHand", "RightHand"))
def test_hands_of_a_standing_figure(moves):
    assert_mirrored([*pin(*FEET), *reach(moves)])


@given(steps("LeftHand"), st.floats(0.1, 0.35))
def test_a_hand_near_the_floor(moves, height):
    place = at("LeftFoot") + np.array(moves["LeftHand"]) * [1, 0, 1] + [0.0, height, 0.2]
    assert_mirrored([*pin(*FEET), (poise.Position, "LeftHand", place)], floor=0.0)


@given(steps("Hips", size=0.15), st.floats(-0.45, -0.1))
def test_squats(moves, depth):
    place = at("Hips") + np.array(moves["Hips"]) * [1, 0, 1] + [0.0, depth, 0.0]
    assert_mirrored([*pin(*FEET), (poise.Position, "Hips", place)])


@given(steps("LeftFoot", size=0.5))
def test_a_leg_that_is_raised(moves):
    place = np.array(moves["LeftFoot"]) + at("LeftFoot") + [0.0, 0.5, 0.3]
    assert_mirrored([*pin("RightFoot"), (poise.Position, "LeftFoot", place)])


@given(st.floats(-2.5, 2.5), st.floats(-1.0, 1.0))
def test_a_look(turn, rise):
    place = at("Head") + 3.0 * np.array([np.sin(turn), rise, np.cos(turn)])
    assert_mirrored([*pin(*FEET), (poise.LookAt, "Head", place)])


@pytest.mark.parametrize("side", SIDES)
@given(turn=st.floats(-2.5, 2.5), tilt=st.floats(-0.5, 0.5))
def test_a_hand_that_turns(side, turn, tilt):
    hand = f"{side}Hand"
    own = rotations.multiply(rotations.from_vector(np.array([0.0, tilt, 0.0])), START.world[hand].rotations)
    turned = rotations.multiply(own, rotations.from_vector(turn * np.eye(3)[1]))
    assert_mirrored([*pin(*FEET), (poise.Place, hand, at(hand) + np.array([0.0, -0.1, 0.3]), turned)])


def kneel(*, forward=0.0, left=0.0):
    """Goals of one who kneels: hips above the knees, feet behind them on the floor."""
    thigh = at("LeftUpLeg") - at("LeftLeg")
    shin = float(np.linalg.norm(at("LeftLeg") - at("LeftFoot")))
    rise = float(np.linalg.norm(thigh)) + 0.03 - at("LeftUpLeg")[1]
    hips = at("Hips") + np.array([left, rise, forward])
    feet = [(poise.Position, foot, at(foot) * [1, 0, 1] + [0.0, 0.08, -shin]) for foot in FEET]
    return [(poise.Position, "Hips", hips), *feet]


@given(st.floats(-0.1, 0.1))
def test_one_who_kneels(forward):
    assert_mirrored(kneel(forward=forward), floor=0.0)


def solve_knees(goals):
    """Left and right knee of one who kneels."""
    pose = poise.solve(START, [goal(*rest) for goal, *rest in goals], free_root=True, floor=0.0).pose
    return [pose.world[f"{side}Leg"].positions for side in SIDES]


@given(st.floats(-0.1, 0.1))
def test_knees_of_one_who_kneels_go_out_alike(forward):
    left, right = solve_knees(kneel(forward=forward))
    np.testing.assert_allclose(left, MIRROR * right, atol=1e-6)
    assert left[0] >= at("LeftUpLeg")[0] - 1e-6


@pytest.mark.parametrize("forward", [-0.02, 0.0, 0.02])
def test_knees_of_one_who_kneels_stay_out_where_hips_sway(forward):
    sways = np.arange(-0.03, 0.0305, 0.001)
    knees = np.array([solve_knees(kneel(forward=forward, left=left)) for left in sways])
    out = (knees - np.array([at(f"{side}UpLeg") for side in SIDES]))[..., 0] - sways[:, None]
    assert np.all(out * [1.0, -1.0] >= -1e-6)
    assert np.linalg.norm(np.diff(knees, axis=0), axis=-1).max() < 0.004  # of hips that move by 1 mm


def lie(roll):
    """Angles by which knees are turned out of one who lies on the left side, or rolled towards the front [deg]."""
    side, ahead = rotations.from_vector(np.array([0.0, 0.0, -np.pi / 2])), np.array([np.radians(roll), 0.0, 0.0])
    turn, hips = rotations.multiply(rotations.from_vector(ahead), side), np.array([0.0, 0.17, 0.0])
    goals = [poise.Place("Hips", hips, rotations.multiply(turn, START.world["Hips"].rotations))]
    for name in SIDES:
        thigh, foot = at(f"{name}UpLeg"), at(f"{name}Foot")
        drawn_up = thigh - at("Hips") + 0.8 * (foot - thigh)
        goals.append(poise.Position(f"{name}Foot", hips + rotations.rotate(turn, drawn_up)))
    pose, angles = poise.solve(START, goals, free_root=True, floor=0.0).pose, []
    for name, out in zip(SIDES, (1.0, -1.0), strict=True):
        thigh, knee, foot = (pose.world[f"{name}{joint}"].positions for joint in ("UpLeg", "Leg", "Foot"))
        x, _, z = rotations.rotate(turn * [1, -1, -1, -1], knee - 0.5 * (thigh + foot))
        angles.append(np.degrees(np.arctan2(out * x, z)))
    return angles


def test_knees_of_one_who_lies_stay_ahead():
    np.testing.assert_allclose(lie(0.0), 0.0, atol=1.0)
    left, right = lie(40.0)
    assert -30.0 < left < -20.0  # outward it would point back
    assert abs(right) < 1.0
    left, right = lie(90.0)
    assert left > 45.0
    assert left == pytest.approx(right, abs=0.1)

"""Natural poses keep knees, feet and hands above a floor, and forearms outside of the body."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise import kernels
from poise.errors import InputError, UnsupportedError
from poise.maths import rotations
from poise.solvers.natural.ends import find_ends
from poise.solvers.natural.floor import make_floor
from poise.solvers.natural.surroundings import measure_height, place_capsules

UP = np.array([0.0, 1.0, 0.0])
SIDES = ("Left", "Right")


@pytest.fixture(scope="module")
def rig():
    return poise.load(poise.sample("humanoid"))


def stand_on(rig) -> float:
    names = [f"{side}{part}" for side in SIDES for part in ("Foot", "Toe")]
    return min(float(rig.rest.world[name].positions @ UP) for name in names if name in rig.skeleton.names)


def kneel_goals(rig, floor: float, depth: float = 0.0) -> list[poise.Goal]:
    world = rig.rest.world
    thigh = float(np.linalg.norm(world["LeftUpLeg"].positions - world["LeftLeg"].positions))
    shin = float(np.linalg.norm(world["LeftLeg"].positions - world["LeftFoot"].positions))
    hips = np.array(world["Hips"].positions)
    hips[1] += floor + thigh + 0.04 - depth - world["LeftUpLeg"].positions[1]
    feet = []
    for side in SIDES:
        place = np.array(world[f"{side}UpLeg"].positions)
        place[1], place[2] = floor + 0.25 * shin, place[2] - 0.9 * shin
        feet.append(poise.Position(f"{side}Foot", place))
    return [poise.Position("Hips", hips), *feet]


@pytest.mark.parametrize("depth", [0.0, 0.06])
def test_a_figure_that_kneels_stays_above_the_floor(rig, depth):
    floor = stand_on(rig)
    goals = kneel_goals(rig, floor, depth)
    sinks = poise.solve(rig.rest, goals, free_root=True)
    kneels = poise.solve(rig.rest, goals, free_root=True, floor=floor)
    assert kneels.reached

    def lowest(result):
        return min(float(result.pose.world[f"{side}{part}"].positions @ UP) for side in SIDES
                   for part in ("Leg", "Foot", "Toe"))  # fmt: skip

    assert lowest(kneels) >= floor - 1e-6
    assert lowest(sinks) < floor - 0.01


@pytest.mark.parametrize("depth", [0.0, 0.05])
def test_a_kneeling_foot_takes_the_smaller_turn(rig, depth):
    """It lies on its back: an ankle has 50 degrees that way, and 30 towards the shin."""
    floor = stand_on(rig)
    free, held = (poise.solve(rig.rest, kneel_goals(rig, floor, depth), free_root=True, floor=each).pose.world
                  for each in (None, floor))  # fmt: skip
    for side in SIDES:
        knee, ankle = (held[f"{side}{part}"].positions for part in ("Leg", "Foot"))
        shin = (knee - ankle) / np.linalg.norm(knee - ankle)
        before, after = (world[f"{side}Toe"].positions - world[f"{side}Foot"].positions for world in (free, held))
        assert after @ shin <= before @ shin + 1e-9
        assert np.degrees(np.arccos(before @ after / (before @ before))) < 50.0


def test_a_floor_under_nothing_changes_no_bit(rig):
    target = rig.rest.world["LeftHand"].positions + np.array([0.0, -0.2, 0.1])
    plain = poise.solve(rig.rest, poise.Position("LeftHand", target))
    above = poise.solve(rig.rest, poise.Position("LeftHand", target), floor=-10.0)
    assert np.array_equal(plain.pose.q, above.pose.q)


def test_auto_is_the_floor_under_pinned_feet(rig):
    goals = [poise.Pin("LeftFoot"), poise.Pin("RightFoot"), poise.Position("LeftHand", [0.4, 0.05, 0.35])]
    auto = poise.solve(rig.rest, goals, free_root=True, floor="auto")
    known = poise.solve(rig.rest, goals, free_root=True, floor=stand_on(rig))
    assert np.array_equal(auto.pose.q, known.pose.q)


def test_a_batch_has_the_bits_of_single_calls(rig):
    floor = stand_on(rig)
    goals = kneel_goals(rig, floor)
    steps = np.linspace(0.0, 0.08, 5)
    hips = goals[0].target + np.array([0.0, -1.0, 0.0]) * steps[:, None]
    batch = poise.solve(rig.rest, [poise.Position("Hips", hips), *goals[1:]], free_root=True, floor=floor)
    for i, place in enumerate(hips):
        one = poise.solve(rig.rest, [poise.Position("Hips", place), *goals[1:]], free_root=True, floor=floor)
        assert np.array_equal(one.pose.q, batch.pose.q[i])


def test_heels_rise_where_ankles_end(rig):
    hips = np.array(rig.rest.world["Hips"].positions)
    leg = hips[1] - rig.rest.world["LeftFoot"].positions[1]
    pins = [poise.Pin(f"{side}Toe") for side in SIDES]
    high = poise.solve(rig.rest, [*pins, poise.Position("Hips", hips - [0, 0.1 * leg, 0])], free_root=True)
    low = poise.solve(rig.rest, [*pins, poise.Position("Hips", hips - [0, 0.5 * leg, 0.0])], free_root=True)
    assert high.reached
    assert low.reached
    ankles = {name: rig.rest.world[name].positions[1] for name in ("LeftFoot", "RightFoot")}
    for name, height in ankles.items():
        assert high.pose.world[name].positions[1] == pytest.approx(height, abs=1e-6)
        assert low.pose.world[name].positions[1] > height + 0.01


def test_a_hand_behind_the_head_keeps_its_forearm_out_of_the_neck(rig):
    world = rig.rest.world
    target = world["Head"].positions + np.array([0.03, 0.03, -0.14])
    result = poise.solve(rig.rest, poise.Position("LeftHand", target), free_root=True)
    assert result.reached
    capsules = place_capsules(result.pose)[0]
    elbow, wrist = (result.pose.world[name].positions for name in ("LeftForeArm", "LeftHand"))
    for start, end, radius in zip(capsules[:2, :3], capsules[:2, 3:6], capsules[:2, 6], strict=True):
        points = elbow + np.linspace(0.0, 1.0, 200)[:, None] * (wrist - elbow)
        share = np.clip((points - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
        apart = np.linalg.norm(points - start - share[:, None] * (end - start), axis=1)
        assert apart.min() >= min(radius, apart[-1]) - 1e-4


@pytest.mark.parametrize("floor", ["below", True, float("nan"), [0.0], float("inf"), poise.Terrain])
def test_other_floors_are_refused(rig, floor):
    with pytest.raises(InputError, match="floor is a height"):
        poise.solve(rig.rest, poise.Position("LeftHand", [0.3, 1.0, 0.3]), floor=floor)


def test_auto_needs_pinned_feet(rig):
    with pytest.raises(InputError, match="no foot is pinned"):
        poise.solve(rig.rest, poise.Position("LeftHand", [0.3, 1.0, 0.3]), floor="auto")


def test_a_floor_needs_natural_poses(rig):
    with pytest.raises(UnsupportedError, match="natural poses"):
        poise.solve(rig.rest, poise.Position("LeftHand", [0.3, 1.0, 0.3]), solver="ccd", floor=0.0)
    arm = poise.load(poise.sample("arm"))
    with pytest.raises(UnsupportedError, match="floor="):
        poise.solve(arm.rest, poise.Position(arm.skeleton.names[-1], [0.3, 0.3, 0.3]), floor=0.0)


@given(
    turn=st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1),
    height=st.floats(0.0, 0.5),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_an_end_is_lifted_as_far_as_its_joint_allows(turn, height, scale):
    points = np.array([[-0.04, -0.07, 0.03], [-0.04, -0.07, -0.03], [0.12, -0.07, 0.03], [0.12, -0.07, -0.03]]) * scale
    turns = rotations.unit(np.array([turn]))
    places, floors, lifted = np.array([[0.0, height, 0.0]]) * scale, np.array([[0.0, 1.0, 0.0, 0.0]]), np.empty((1, 4))
    ways = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    count = kernels.posture_clearance.lift_ends(places, turns, points, np.zeros(4), ways[0], floors, ways[1], lifted)
    before, after = (
        float((places[:, None] + rotations.rotate(each[:, None], points))[..., 1].min()) for each in (turns, lifted)
    )
    assert count == int(before < -1e-9 * scale)
    assert after >= before - 1e-9 * scale
    if count == 0:
        assert np.array_equal(lifted, turns)
    if height >= 0.07 + 1e-6:  # level would do
        assert after >= -1e-6 * scale


def test_feet_and_hands_are_known_in_any_unit(rig):
    ends = {rig.skeleton.names[end.row]: end for end in find_ends(rig.skeleton)}
    assert set(ends) == {f"{side}{part}" for side in SIDES for part in ("Foot", "Hand")}
    height = measure_height(rig.skeleton)
    for name, end in ends.items():
        lengths = np.linalg.norm(end.points, axis=1)
        assert (lengths < (0.16 if "Foot" in name else 0.12) * height).all()


def measure_soles(skeleton) -> np.ndarray:
    """Measure heights (2, 4) of the corners of both soles where the joints have the numbers of rest_q."""
    world = poise.Pose(skeleton, skeleton.rest_q).world
    feet = [end for end in find_ends(skeleton) if "Foot" in skeleton.names[end.row]]
    turns = np.stack([world.rotations[end.row] for end in feet])
    places = np.stack([world.positions[end.row] for end in feet])
    points = np.stack([end.points for end in feet])
    return (places[:, None] + rotations.rotate(turns[:, None], points)) @ UP


@pytest.mark.parametrize(("bend", "is_level"), [(7.0, True), (60.0, False)])
def test_soles_are_level_in_a_rest_pose_that_stands(rig, bend, is_level):
    """A file may build a figure with bent knees. A frame of a motion as its rest pose says nothing of soles."""
    turned = rig.rest.replace({f"{side}Leg": rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(bend))
                               for side in SIDES})  # fmt: skip
    skeleton = dataclasses.replace(rig.skeleton.with_limits(dict.fromkeys(rig.skeleton.names)), rest_q=turned.q)
    heights = measure_soles(skeleton)
    assert (np.ptp(heights) < 1e-9) == is_level
    if not is_level:
        soles = zip(find_ends(skeleton), find_ends(rig.skeleton), strict=True)
        assert all(np.allclose(end.points, built.points) for end, built in soles)


@pytest.mark.parametrize(("shorter", "is_shared"), [(0.01, True), (0.1, False)])
def test_legs_that_differ_a_little_stand_on_one_floor(rig, shorter, is_shared):
    offsets = np.array(rig.skeleton.A)
    row = rig.skeleton.index("RightFoot")
    offsets[row, :3] *= 1.0 - shorter / np.linalg.norm(offsets[row, :3])
    heights = measure_soles(dataclasses.replace(rig.skeleton, A=offsets))
    assert (np.ptp(heights) < 1e-9) == is_shared


def test_a_foot_that_is_clear_only_when_level_stays_level(rig):
    """Its ankle is a hair higher than at rest: between two steps of the scan, only the level foot is clear."""
    world, floor = rig.rest.world, stand_on(rig)
    goals = []
    for name in ("Hips", "LeftFoot", "RightFoot"):
        ahead = [0.0, -0.05, 0.0] if name == "Hips" else [0.0, 1e-5, 0.03]
        goals.append(poise.Position(name, world[name].positions + np.array(ahead)))
    result = poise.solve(rig.rest, goals, free_root=True, floor=floor)
    assert result.reached
    for side in SIDES:
        foot, toe = (result.pose.world[f"{side}{part}"].positions for part in ("Foot", "Toe"))
        rest = world[f"{side}Toe"].positions - world[f"{side}Foot"].positions
        assert np.allclose(toe - foot, rest, atol=2e-3)


@pytest.mark.parametrize(
    "terrain",
    [poise.Terrain.slope(15, unit=1.0), poise.Terrain.slope(-15, unit=1.0), poise.Terrain.noise(0.1, 0.8, unit=1.0)],
    ids=["up", "down", "hills"],
)
def test_a_figure_kneels_on_uneven_ground(rig, terrain):
    floor = stand_on(rig)
    terrain = terrain.lift_by(floor)

    def measure_lowest(pose: poise.Pose) -> float:
        points = np.array([pose.world[f"{side}{part}"].positions for side in SIDES for part in ("Leg", "Foot", "Toe")])
        return float((points[:, 1] - terrain.heights(points)).min())

    goals = []
    for goal in kneel_goals(rig, floor, 0.06):
        place = np.array(goal.target)
        place[1] += terrain.heights(place) - floor
        goals.append(goal.with_target(place))
    kneels = poise.solve(rig.rest, goals, free_root=True, floor=terrain)
    assert kneels.reached
    assert measure_lowest(kneels.pose) >= -1e-3
    assert measure_lowest(poise.solve(rig.rest, goals, free_root=True).pose) < -0.02


def test_flat_ground_is_a_level_floor(rig):
    floor = stand_on(rig)
    level = poise.solve(rig.rest, kneel_goals(rig, floor, 0.06), free_root=True, floor=floor)
    ground = poise.Terrain.flat(floor, unit=1.0)
    assert np.allclose(
        level.pose.q, poise.solve(rig.rest, kneel_goals(rig, floor, 0.06), free_root=True, floor=ground).pose.q
    )


def test_a_batch_on_uneven_ground_has_the_bits_of_single_calls(rig):
    floor = stand_on(rig)
    ground = poise.Terrain.noise(0.1, 0.8, unit=1.0).lift_by(floor)
    goals = kneel_goals(rig, floor)
    hips = goals[0].target + np.array([0.02, -1.0, 0.0]) * np.linspace(0.0, 0.08, 4)[:, None]
    batch = poise.solve(rig.rest, [poise.Position("Hips", hips), *goals[1:]], free_root=True, floor=ground)
    for i, place in enumerate(hips):
        one = poise.solve(rig.rest, [poise.Position("Hips", place), *goals[1:]], free_root=True, floor=ground)
        assert np.array_equal(one.pose.q, batch.pose.q[i])


def test_shapes_are_in_metres_of_the_figure(rig):
    floor = make_floor(poise.Terrain.flat(1.0), rig.rest, [])
    legs = [np.linalg.norm(np.diff([rig.rest.world[f"{side}{part}"].positions for part in ("UpLeg", "Leg", "Foot")],
                                   axis=0), axis=1).sum() for side in SIDES]  # fmt: skip
    assert floor is not None
    assert floor.find_planes(np.zeros((1, 1, 3)))[0, 3] == pytest.approx(np.mean(legs) / (0.49 * 1.7), rel=1e-6)


def test_trackers_and_clips_take_uneven_ground(rig):
    floor = stand_on(rig)
    ground = poise.Terrain.slope(10, unit=1.0).lift_by(floor)
    goals = kneel_goals(rig, floor)
    tracker = poise.Tracker(rig.rest, goals, free_root=True, floor=ground)
    assert tracker([goal.target for goal in goals], 1.0 / 60.0).reached
    poses = poise.Pose(rig.skeleton, np.repeat(rig.rest.q[None], 3, axis=0))
    assert poise.bake(poise.Clip([0.0, 0.1, 0.2], poses), goals, free_root=True, floor=ground).result.reached.all()


def test_a_start_that_meets_its_goals_takes_a_floor(rig):
    goal = poise.Position("LeftFoot", rig.rest.world["LeftFoot"].positions)
    assert poise.solve(rig.rest, [goal, poise.Pin("RightFoot")], free_root=True, floor=stand_on(rig)).reached

"""What a peer is told of a chain: the same places as forward kinematics, as links, as numbers and as a URDF."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import EulerBox, Kind, Place, Pose, Position, Range, SwingTwist
from poise.comparison.peers.serial_chain import build_serial_chain
from poise.errors import UnsupportedError
from poise.io import samples
from poise.maths import rotations
from tests.strategies import figure, random_q, random_skeleton, rng_of, seeds, straight_chain, unit_quaternions

POSES = 20
NOWHERE, UNTURNED = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
OFFSET = (0.02, -0.03, 0.05)


def drawn(arm, rng, *shape):
    """Values anywhere inside the limits; where there are none, up to more than a turn."""
    low, high = np.where(np.isfinite(arm.low), arm.low, -4.0), np.where(np.isfinite(arm.high), arm.high, 4.0)
    return rng.uniform(np.minimum(low, high), np.maximum(low, high), size=(*shape, len(low)))


def tip_of(pose, goal):
    """The goal's place (4, 4) by our forward kinematics."""
    world = pose.world[goal.joint]
    result = np.eye(4)
    result[:3, :3] = rotations.as_matrix(world.rotations)
    result[:3, 3] = (world.matrices @ np.append(goal.offset, 1.0))[:3]
    return result


def assert_same_chain(start, goal, seed=0):
    """Random values give our places, are found again in q, and leave all other joints as they were.

    Places agree to rounding of the largest coordinate that forward kinematics passes, in file or arm units.
    """
    arm = build_serial_chain(start, goal)
    kept = np.ones(start.skeleton.nq, dtype=bool)
    for source in arm.value_sources:
        kept[source.q_column : source.q_column + (4 if source.order or source.axis else 1)] = False
    for values in drawn(arm, rng_of(seed), POSES):
        q = arm.values_to_q(values)
        pose = start.with_q(q)
        expected = tip_of(pose, goal)
        size = max(1.0, np.abs(pose.world.positions).max(), np.abs(expected).max())
        np.testing.assert_allclose(arm.compute_world_tip(values), expected, rtol=0, atol=1e-12 * size)
        again = arm.q_to_values(q)
        np.testing.assert_allclose(arm.compute_world_tip(again), expected, rtol=0, atol=1e-12 * size)
        assert (again >= arm.low - 1e-9).all()
        assert (again <= arm.high + 1e-9).all()
        np.testing.assert_array_equal(q[kept], start.q[kept])
        np.testing.assert_allclose(
            arm.to_arm_frame(arm.compute_world_tip(values)),
            arm.compute_tip(values),
            rtol=0,
            atol=1e-12 * size / arm.unit,
        )
    return arm


@pytest.mark.parametrize("goal", [Place("tool", NOWHERE, UNTURNED), Position("tool", NOWHERE, offset=OFFSET)])
def test_the_sample_arm(goal):
    arm = assert_same_chain(poise.load(samples.path("arm.urdf")).rest, goal)
    assert [len(arm.links), arm.unit, arm.ball_links] == [6, 1.0, ()]


@pytest.mark.parametrize(("name", "tip", "links"), [("panda", "panda_link8", 7), ("ur5", "tool0", 6)])
def test_real_arms(data, name, tip, links):
    arm = assert_same_chain(poise.load(data / "urdf" / f"{name}.urdf").rest, Place(tip, NOWHERE, UNTURNED))
    assert len(arm.links) == links


@pytest.mark.parametrize("goal", [Position("LeftHand", NOWHERE, root="Hips"), Place("LeftHand", NOWHERE, UNTURNED)])
def test_balls_of_a_figure_from_any_pose(goal):
    rig = poise.load(samples.path("humanoid.bvh"))
    start = rig.clips[0].poses[7]
    arm = assert_same_chain(start, goal)
    assert arm.ball_links
    assert [link.name for link in arm.links][:3] == [f"{start.skeleton.names[arm_row(arm)]}.{axis}" for axis in "xyz"]
    at_start = arm.compute_world_tip(arm.q_to_values(start.q))
    np.testing.assert_allclose(at_start, tip_of(start, goal), rtol=0, atol=1e-12)


def arm_row(arm):
    return int(np.flatnonzero([name == arm.links[0].name[:-2] for name in arm.start.skeleton.names])[0])


@pytest.mark.long
@given(seeds)
@settings(max_examples=40)
def test_any_chain_with_scales_of_either_sign(seed):
    rng = rng_of(seed)
    skeleton = random_skeleton(rng, couple=False)
    start = Pose(skeleton, random_q(rng, skeleton))
    tip = skeleton.names[-1]
    for goal in (Position(tip, NOWHERE, offset=OFFSET), Place(tip, NOWHERE, UNTURNED)):
        try:
            arm = build_serial_chain(start, goal)
        except UnsupportedError as error:
            assert "no joint moves" in str(error)  # noqa: PT017  (only some seeds raise)
            continue
        assert len(arm.links) > 0
        assert_same_chain(start, goal, seed)


def test_limits_of_balls_become_hinges_with_ranges():
    s = straight_chain(3).with_limits({
        "j0": Range(-0.5, 1.0, axis=(0.6, 0.0, 0.8)),
        "j1": EulerBox("ZXY", x=(-2.6, 2.5), y=(-0.4, 0.2), z=(-1.0, -0.3)),
    })  # fmt: skip
    arm = assert_same_chain(Pose(s, s.rest_q), Place("tip", NOWHERE, UNTURNED))
    assert [link.name for link in arm.links] == ["j0", "j1.z", "j1.x", "j1.y", "j2.x", "j2.y", "j2.z"]
    np.testing.assert_array_equal(arm.low[:4], [-0.5, -1.0, -2.6, -0.4])
    np.testing.assert_array_equal(arm.high[:4], [1.0, -0.3, 2.5, 0.2])
    assert arm.ball_links == (4,)
    for values in drawn(arm, rng_of(3), POSES):
        q = arm.values_to_q(values)
        np.testing.assert_allclose(s.legal(q)[0], q, rtol=0, atol=1e-9)


def test_joints_of_one_value_are_reported_as_fixed():
    s = straight_chain(4).with_limits({"j1": Range(0.3, 0.3, axis=(1, 0, 0))})
    arm = assert_same_chain(Pose(s, s.rest_q), Place("tip", NOWHERE, UNTURNED))
    assert len(arm.links) == 9
    held = straight_chain(2, Kind.HINGE, axes=[(0, 0, 1)] * 2, limits=[Range(0.2, 0.2), Range(-1, 1)])
    arm = assert_same_chain(Pose(held, held.rest_q), Position("tip", NOWHERE))
    assert [link.name for link in arm.links] == ["j1"]
    box = straight_chain(2).with_limits({"j0": EulerBox("XYZ", y=(0.1, 0.1))})
    assert "'j0' has an angle of one value only" in refusal(box, Position("tip", NOWHERE))


def test_large_and_small_chains_get_units_of_their_own():
    """Centimetres, and a slide: its value is in arm units, too."""
    for length, unit in ((20.0, 64.0), (1e-3, 2.0**-8)):
        slide = poise.Skeleton.build(
            ["a", "b", "c", "tip"], [-1, 0, 1, 2], [1, 2, 3, 0], axes=[(0, 0, 1), (0, 1, 0), (0, 0, 0), (0, 0, 0)],
            offsets=np.array([(0, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0)]) * length,
            limits=[None, Range(-length, length), None, None],
        )  # fmt: skip
        arm = assert_same_chain(Pose(slide, slide.rest_q), Position("tip", NOWHERE))
        assert arm.unit == unit
        assert (arm.low[1], arm.high[1]) == (-length / unit, length / unit)


def test_a_chain_whose_length_is_rounding_keeps_file_units():
    """A slide far from the origin, its tip led away and back again: what rounding leaves of that is no length."""
    rng, lengths = rng_of(9), []
    away = np.array([0.1, 0.2, 0.3])
    s = poise.Skeleton.build(["a", "b", "tip"], [-1, 0, 1], [4, 2, 0], offsets=[0 * away, 0 * away, away],
                             axes=[(0, 0, 1)] * 3)  # fmt: skip
    for _ in range(POSES):
        start = Pose(s, np.concatenate([rng.normal(size=3) * 100.0, unit_quaternions(rng), [0.3]]))
        arm = assert_same_chain(start, Position("tip", NOWHERE, root="b", offset=tuple(-away)))
        assert arm.unit == 1.0
        lengths.append(arm.length)
    assert max(lengths) > 0.0  # rounding there was


def test_one_at_a_time_is_as_good_as_many():
    arm = build_serial_chain(poise.load(samples.path("arm.urdf")).rest, Place("tool", NOWHERE, UNTURNED))
    many = drawn(arm, rng_of(4), 3, 2)
    np.testing.assert_allclose(arm.compute_world_tip(many)[1, 1], arm.compute_world_tip(many[1, 1]), rtol=0, atol=1e-15)


CHAINS = {
    "arm": lambda: build_serial_chain(poise.load(samples.path("arm.urdf")).rest, Place("tool", NOWHERE, UNTURNED)),
    "balls": lambda: build_serial_chain(
        poise.load(samples.path("humanoid.bvh")).rest, Place("LeftHand", NOWHERE, UNTURNED)
    ),
    "one end": lambda: build_serial_chain(*one_end()),
}


def one_end():
    s = straight_chain(
        2, Kind.HINGE, axes=[(0.6, 0, 0.8), (0, 0, 1)], limits=[Range(-1.0, np.inf), Range(-np.inf, -14.0)]
    )
    return Pose(s, s.rest_q), Position("tip", NOWHERE)


@pytest.mark.parametrize("continuous", [True, False])
@pytest.mark.parametrize("name", CHAINS)
def test_the_urdf_is_the_same_chain(tmp_path, name, continuous):
    arm = CHAINS[name]()
    path = tmp_path / "chain.urdf"
    path.write_text(arm.format_urdf(continuous=continuous), encoding="utf-8")
    rig = poise.load(path)
    assert not rig.notes
    assert rig.skeleton.nq == len(arm.links)
    values = drawn(arm, rng_of(5), POSES)
    found = Pose(rig.skeleton, values).world["tip"].matrices
    np.testing.assert_allclose(found, arm.compute_tip(values), rtol=0, atol=1e-12)
    ranges = rig.skeleton.value_ranges
    reported = np.isfinite(arm.low)
    np.testing.assert_array_equal(ranges[reported, 0], arm.low[reported])
    assert (ranges[:, 0] <= arm.low)[reported].all()
    if continuous and not (reported | np.isfinite(arm.high)).any():
        assert np.isinf(ranges).all()
    if not continuous:
        assert np.isfinite(ranges).all()


def refusal(skeleton, goal):
    with pytest.raises(UnsupportedError) as caught:
        build_serial_chain(Pose(skeleton, skeleton.rest_q), goal)
    return str(caught.value)


def test_what_cannot_be_reported_is_refused_with_its_name():
    s = figure(free=False)
    goal = Position("l_foot", NOWHERE, root="l_leg")
    assert "'l_leg' has a SwingTwist" in refusal(s.with_limits({"l_leg": SwingTwist((0, 1, 0), 0.5)}), goal)
    assert "'l_knee' has a soft limit" in refusal(s.with_limits({"l_knee": Range(0, 1, soft=1.0)}), goal)
    assert "no joint moves for 'hip'" in refusal(s, Position("hip", NOWHERE))
    scaled = poise.Skeleton.build(
        ["a", "b", "c"], [-1, 0, 1], [3, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0)],
        scales=[(1, 2, 1), (1, 1, 1), (1, 1, 1)],
    )  # fmt: skip
    assert "not uniform" in refusal(scaled, Position("c", NOWHERE))


def test_coupled_joints_on_the_way_are_refused_elsewhere_they_do_not_matter():
    def hand(parents):
        return poise.Skeleton.build(
            ["a", "b", "c", "tip"], parents, [1, 1, 1, 0], axes=[(0, 0, 1)] * 4, offsets=[(0, 1, 0)] * 4,
            couplings=[None, None, poise.Coupling(1, -1.0, 0.0), None],
        )  # fmt: skip

    assert "'c' follows 'b'" in refusal(hand([-1, 0, 1, 2]), Position("tip", NOWHERE))
    beside = hand([-1, 0, 1, 1])
    assert_same_chain(Pose(beside, beside.rest_q), Position("tip", NOWHERE, root="a"))


def test_a_turned_and_moved_base_is_taken_out():
    rng = rng_of(8)
    s = straight_chain(3, Kind.HINGE, axes=[(0, 0, 1)] * 3)
    s = poise.Skeleton.build(
        ["base", *s.names], [-1, 0, 1, 2, 3], [4, *s.kinds], axes=[(0, 0, 0), *s.axes], offsets=[(0, 0, 0), *s.A[:, :3]]
    )
    start = Pose(s, np.concatenate([rng.normal(size=3), unit_quaternions(rng), np.zeros(3)]))
    arm = assert_same_chain(start, Position("tip", NOWHERE, root="j0"))
    np.testing.assert_allclose(arm.base_transform[:3, 3], start.q[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(arm.to_arm_frame(arm.base_transform[:3, 3]), 0.0, rtol=0, atol=1e-12)

"""Natural poses of pages: what node answers to pulls, beside the answers of Poise."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.viewer.document.document import Document, build_document
from poise.viewer.document.whole_body import find_gaze_axes
from poise.viewer.offline import body, natural_poses
from poise.viewer.offline.program import ArrayStore
from tests.viewer.page_pulls import answer_pulls, solve_pull

pytestmark = pytest.mark.long

PULLS = {  # shares of the height: ahead, left, up
    "LeftHand": [(0.3, -0.3, 0.0), (0.2, -0.3, -0.6), (0.1, -0.3, 0.3), (0.3, -0.5, -0.2)],
    "RightFoot": [(0.2, 0.0, 0.1), (0.1, -0.2, 0.2)],
    "Hips": [(0.0, 0.0, -0.2), (0.05, 0.1, -0.05)],
    "Head": [(0.2, 0.0, -0.2), (0.0, 0.15, -0.05)],
}
JUDGED = "Hips", "Head", "LeftArm", "LeftForeArm", "RightForeArm", "LeftHand", "RightHand", "LeftLeg", "RightLeg"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def document() -> Document:
    return build_document(poise.load(samples.path("humanoid.glb")))


def place_targets(pose: Pose, joint: str, shares: list[tuple[float, float, float]]) -> np.ndarray:
    """Place targets beside a joint of a pose."""
    height = float(np.ptp(pose.world.positions[:, 1]))
    return pose.world[joint].positions + height * np.array(shares) @ find_gaze_axes(pose)


def measure(pose: Pose, q: np.ndarray, reference: np.ndarray) -> float:
    """Measure the median over targets of the largest distance of judged joints, in shares of the height."""
    rows = [pose.skeleton.index(name) for name in JUDGED]
    first, second = (pose.with_q(each).world.positions[:, rows] for each in (q, reference))
    return float(np.median(np.linalg.norm(first - second, axis=-1).max(axis=1)) / np.ptp(pose.world.positions[:, 1]))


@needs_node
@pytest.mark.parametrize("mode", ["limits", "free"])
def test_a_page_answers_pulls_nearly_as_poise_does(document, mode):
    modes = {name: limited for name, _, limited in body.list_modes(document)}
    start = modes[mode].solver_start
    targets = {joint: place_targets(start, joint, shares) for joint, shares in PULLS.items()}
    pulls = [
        {"joint": joint, "targets": rows.tolist(), "preference": preference, "mode": mode}
        for preference in ("natural", "start")
        for joint, rows in targets.items()
    ]
    answers = iter(answer_pulls(document, pulls))
    expected = {joint: [solve_pull(modes[mode], joint, row) for row in rows] for joint, rows in targets.items()}
    natural, stiff = ([measure(start, next(answers), np.array(expected[joint])) for joint in targets] for _ in range(2))
    assert max(natural) < 0.08  # half a cell of the grid of a hand
    assert np.median(natural) < 0.3 * np.median(stiff)


@needs_node
def test_natural_pulls_of_a_page_reach_and_stand(document):
    start = document.solver_start
    (hands,) = answer_pulls(
        document,
        [{"joint": "LeftHand", "targets": (goals := place_targets(start, "LeftHand", PULLS["LeftHand"])).tolist()}],
    )
    world = start.with_q(hands).world
    assert np.abs(world["LeftHand"].positions - goals).max() < 1e-3
    for foot in ("LeftFoot", "RightFoot"):
        assert np.abs(world[foot].positions - start.world[foot].positions).max() < 1e-3


@needs_node
def test_a_part_that_stays_moves_nothing(document):
    start = document.solver_start
    joints = ["Hips", "Head", "Chest"]
    places = [start.world[joint].positions.tolist() for joint in joints]
    for q in answer_pulls(document, [{"joint": j, "targets": [p]} for j, p in zip(joints, places, strict=True)]):
        assert np.abs(start.with_q(q[0]).world.positions - start.world.positions).max() < 1e-6


@needs_node
def test_a_second_pull_begins_where_the_first_was_left(document):
    start = document.solver_start
    hand = place_targets(start, "LeftHand", [(0.2, -0.2, -0.5)])[0]
    (q,) = answer_pulls(document, [{"joint": "LeftHand", "targets": [hand.tolist()]}])
    world = start.with_q(q[0]).world
    head = world["Head"].positions
    pulls = [
        {"joint": "LeftHand", "targets": [hand.tolist()]},
        {"joint": "Head", "targets": [head.tolist(), (head + np.array([0.0, 0.02, 0.0])).tolist()], "continues": True},
    ]
    _, (same, moved) = answer_pulls(document, pulls)
    assert np.abs(start.with_q(same).world.positions - world.positions).max() < 2e-3
    assert np.abs(start.with_q(moved).world["LeftHand"].positions - hand).max() < 0.1


@needs_node
def test_other_limits_in_a_pull_begin_at_the_start_pose(document):
    start = document.solver_start
    hands = place_targets(start, "LeftHand", PULLS["LeftHand"][:2]).tolist()
    pulls = [
        {"joint": "Head", "targets": [(start.world["Head"].positions - [0.0, 0.4, -0.2]).tolist()]},
        {"joint": "LeftHand", "targets": hands[:1], "continues": True},
        {"joint": "LeftHand", "targets": hands[1:], "continues": True, "mode": "free", "holds": True},
        {"joint": "LeftHand", "targets": hands[1:], "mode": "free"},
    ]
    *_, changed, fresh = answer_pulls(document, pulls)
    assert np.abs(start.with_q(changed[-1]).world.positions - start.with_q(fresh[-1]).world.positions).max() < 0.01


@needs_node
def test_other_limits_in_a_frame_of_a_clip_stay_there(document):
    start, shift = document.solver_start, np.array([3.0, 0.0, -2.0])
    q = start.q.copy()
    q[:3] += shift
    clip = Clip(np.array([0.0, 1.0]), start.with_q(np.array([start.q, q])))
    hand = (place_targets(start, "LeftHand", PULLS["LeftHand"][:1]) + shift).tolist()
    pulls = [
        {"joint": "LeftHand", "targets": hand, "frame": 1},
        {"joint": "LeftHand", "targets": hand, "continues": True, "holds": True, "mode": "free"},
        {"joint": "LeftHand", "targets": hand, "mode": "free", "frame": 1},
    ]
    _, changed, fresh = answer_pulls(document, pulls, clip)
    rows = [start.skeleton.index(name) for name in JUDGED]
    assert (
        np.abs((start.with_q(changed[0]).world.positions - start.with_q(fresh[0]).world.positions)[rows]).max() < 0.01
    )


@needs_node
def test_pulls_by_turns_do_not_roll_the_head(document):
    start = document.solver_start
    hands = {
        joint: place_targets(start, joint, [(0.3, side * 0.3, 0.2)]).tolist()
        for joint, side in (("LeftHand", -1), ("RightHand", 1))
    }
    pulls = [{"joint": joint, "targets": hands[joint], "continues": True} for _ in range(4) for joint in hands]
    answers = answer_pulls(document, pulls)
    tilts = []
    for q in (each[0] for each in answers[1::2]):
        head = start.with_q(q).world["Head"].rotations
        turn = rotations.multiply(head, rotations.inverse(start.world["Head"].rotations))
        tilts.append(np.degrees(np.arcsin(rotations.rotate(turn, find_gaze_axes(start)[1])[1])))
    assert np.abs(tilts).max() < 8.0  # [deg]; 23 where a gaze begins at the head that the last one turned


@needs_node
def test_calm_pulls_of_a_page_have_no_leap(document):
    start = document.solver_start
    way = place_targets(start, "LeftHand", [(0.3, -0.3, -0.8)])[0] - start.world["LeftHand"].positions
    shares = np.sin(np.linspace(0.0, np.pi / 2, 100))
    targets = start.world["LeftHand"].positions + shares[:, None] * way
    (q,) = answer_pulls(document, [{"joint": "LeftHand", "targets": targets.tolist()}])
    steps = np.linalg.norm(np.diff(start.with_q(q).world.positions, axis=0), axis=-1).max(axis=1)
    assert steps.max() < 2 * np.linalg.norm(np.diff(targets, axis=0), axis=1).max()


@needs_node
def test_a_figure_that_faces_elsewhere_in_a_clip_answers_likewise(document):
    start = document.solver_start
    shift = np.array([1.0, 0.0, -2.0])
    turn = rotations.from_vector(np.array([0.0, 2.0, 0.0]))
    place = start.q[:3]
    q = start.q.copy()
    q[:3], q[3:7] = rotations.rotate(turn, place) + shift, rotations.multiply(turn, start.q[3:7])
    clip = Clip(np.array([0.0, 1.0]), start.with_q(np.array([start.q, q])))
    hand = start.world["LeftHand"].positions
    targets = place_targets(start, "LeftHand", PULLS["LeftHand"])
    moved = rotations.rotate(turn, targets) + shift
    shown = build_document(document.rig).replace(limit_mode="plain")
    first, second = answer_pulls(
        shown,
        [
            {"joint": "LeftHand", "targets": targets.tolist(), "frame": 0},
            {"joint": "LeftHand", "targets": moved.tolist(), "frame": 1},
        ],
        clip,
    )
    expected = rotations.rotate(turn, start.with_q(first).world.positions) + shift
    rows = [start.skeleton.index(name) for name in JUDGED]
    assert np.abs(start.with_q(second).world.positions - expected)[:, rows].max() < 1e-3
    assert np.linalg.norm(targets - hand, axis=1).min() > 0.2


def test_the_place_at_the_start_is_a_corner(document):
    start, axes = document.solver_start, find_gaze_axes(document.start)
    grids = natural_poses.find_grids(document, axes)
    assert {"LeftHand", "RightForeArm", "LeftFoot", "Hips", "Chest", "Head"} <= set(grids)
    for joint, grid in grids.items():
        corners = grid.list_corners()
        assert corners.shape == (natural_poses.CORNERS**3, 3)
        assert np.abs(corners - axes @ start.world[joint].positions).max(axis=1).min() < 1e-12
        assert all((np.diff(line) > 0).all() for line in grid), joint


def test_a_root_beside_the_hips_has_no_natural_poses(document):
    skeleton = document.rig.skeleton.with_free_root("LeftHand")
    beside = document.replace(skeleton=skeleton, start=document.rig.pose.on(skeleton))
    assert natural_poses.export_natural_poses(beside, ArrayStore()) is None


def test_quaternions_of_corners_have_the_signs_of_the_start(document):
    start = document.solver_start
    groups = natural_poses.list_groups(start.skeleton)
    assert sorted(column for first, count in groups for column in range(first, first + count)) == [*range(len(start.q))]
    flipped = start.q.copy()
    for first, count in groups:
        if count == 4:
            flipped[first : first + count] *= -1.0
    aligned = natural_poses.align_quaternions(np.array([flipped, start.q]), start.q, groups)
    assert np.array_equal(aligned, np.array([start.q, start.q]))

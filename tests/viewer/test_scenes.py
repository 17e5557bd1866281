"""The demo scenes: each can be made, is solved as it is meant to be, is saved and loaded again."""

from __future__ import annotations

import contextlib
import json
import math

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.plot.limit_outlines import find_joints_at_limit
from poise.solvers.base.interface import Status
from poise.viewer import scenes
from poise.viewer.document.actions import place_on_ground
from poise.viewer.document.terrain import build_document_terrain
from poise.viewer.protocol import STATUS_NOTHING
from poise.viewer.scene_rigs import load_character
from poise.viewer.session import downloads

CLASSIC = ("ccd", "ccd_hinge", "ccd_hinge_range", "five_axes", "biped", "feet")
OTHERS = ("walk_on_hills", "two_methods", "race", "robot_arm", "two_hands", "four_bar", "crowd")
FIRST = "figure"  # a whole body that stands: nothing is pulled
PLAYED = ("walk_on_hills",)  # a clip, chains switched off


@pytest.fixture(params=scenes.names())
def document(request):
    return scenes.build_scene(request.param)


def solved(document, choice=None):
    """What a view solves first, and for which chains."""
    shown = document if choice is None else document.replace(solvers=(choice, choice))
    return downloads.solve_document(shown), document.active_chains


def test_the_menu_begins_with_the_figure_and_the_classic_ones():
    assert scenes.names() == (FIRST, *CLASSIC, *OTHERS)
    for name in scenes.names():
        about = scenes.describe_scene(name)
        assert about.name == name
        assert 2 < len(about.title) < 32
        assert about.text.endswith(".")
        assert 5 < len(about.hint) < 60
        assert not about.hint.endswith(".")
    json.dumps([scenes.describe_scene(name)._asdict() for name in scenes.names()])


def test_an_unknown_scene_lists_what_there_is():
    for ask in (scenes.build_scene, scenes.describe_scene):
        with pytest.raises(poise.UnknownNameError, match=r"no scene 'cdd'; did you mean 'ccd'.*walk_on_hills"):
            ask("cdd")


def test_a_scene_knows_its_name(document):
    assert document.scene_name in scenes.names()
    assert document.name == scenes.describe_scene(document.scene_name).title
    assert scenes.build_scene(document.scene_name).rig.skeleton == document.rig.skeleton  # made anew, the same


@pytest.mark.parametrize("view", [0, 1])
def test_default_targets_are_reached(document, view):
    outcome, chains = solved(document, document.solvers[view])
    if document.scene_name in PLAYED:
        assert outcome.status == STATUS_NOTHING
        return
    assert outcome.status == Status.reached, outcome.sentence
    assert outcome.has_moved == (document.scene_name != FIRST)
    skeleton = document.solver_skeleton
    for place, q in zip(document.character_positions, outcome.q, strict=True):
        pose = poise.Pose(skeleton, q)
        for chain in chains:
            if chain.relative_to is not None or chain.within is not None:
                assert poise.solve(pose, chain.build_goals(skeleton)).iterations == 0
            elif chain.kind not in ("look", "pin"):
                np.testing.assert_allclose(pose.world[chain.tip].positions + place, chain.position, atol=1e-3)
        assert skeleton.legal(q)[1] == ()


def test_the_start_is_legal(document):
    moved, names = document.solver_skeleton.legal(document.solver_start.q)
    assert names == ()
    np.testing.assert_array_equal(moved, document.solver_start.q)


def test_targets_are_not_where_the_tips_are(document):
    """A scene that opens solved shows nothing."""
    reaching = [chain for chain in document.active_chains if chain.kind in ("position", "place", "direction")]
    assert document.scene_name in (FIRST, *PLAYED) or reaching
    for chain in reaching:
        way = np.linalg.norm(np.subtract(chain.with_target_at(document.start).position, chain.position))
        assert way > 0.05


@pytest.mark.parametrize("suffix", [".glb", ".json"])
def test_a_solved_scene_is_saved_and_loaded(document, tmp_path, suffix):
    outcome, _ = solved(document)
    pose = document.start.with_q(outcome.q[0])
    loses_loops = document.skeleton.loops and suffix == ".glb"
    with pytest.warns(poise.PoiseWarning, match="rod") if loses_loops else contextlib.nullcontext():
        poise.save(pose, tmp_path / f"posed{suffix}", like=document.rig)
    if suffix == ".glb":
        loaded = poise.load(tmp_path / "posed.glb")
        for name in document.skeleton.names:
            np.testing.assert_allclose(loaded.pose.world[name].positions, pose.world[name].positions, atol=1e-6)


class TestModes:
    """The three switches of the classic scenes are modes of one arm."""

    def test_each_scene_has_its_own(self):
        modes = [scenes.build_scene(name).limit_mode for name in CLASSIC[:3]]
        assert modes == ["plain", "hinge", "limits"]
        assert all(reason is None for reason in scenes.build_scene("ccd").list_limit_modes().values())

    def test_plain_joints_turn_as_balls(self):
        outcome, _ = solved(scenes.build_scene("ccd"))
        assert any(off_axis(outcome.q[0]))

    @pytest.mark.parametrize("name", ["ccd_hinge", "ccd_hinge_range"])
    def test_hinges_turn_about_their_axes(self, name):
        outcome, _ = solved(scenes.build_scene(name))
        assert not any(off_axis(outcome.q[0]))

    def test_a_range_stops_what_a_hinge_does_not(self):
        """Behind the stand the shoulder would have to lie back."""
        far = (0.0, 0.1, -0.1)
        ends = {}
        for name in ("ccd_hinge", "ccd_hinge_range"):
            document = scenes.build_scene(name)
            chain = document.chains[0].replace(position=far)
            outcome, _ = solved(document.with_chain(chain))
            ends[name] = np.degrees(angles(outcome.q[0]))
        assert (np.abs(ends["ccd_hinge_range"]) <= np.array([180, 90, 150, 130, 100]) + 1e-6).all()


def test_five_axes_keep_the_direction():
    document = scenes.build_scene("five_axes")
    outcome, (chain,) = solved(document)
    tool = document.start.with_q(outcome.q[0]).world["tool"].affine[:, :3] @ chain.axis
    np.testing.assert_allclose(tool, (0.0, -1.0, 0.0), atol=1e-5)


def test_the_biped_keeps_its_feet_and_moves_its_hips():
    document = scenes.build_scene("biped")
    outcome, _ = solved(document)
    pose = document.start.with_q(outcome.q[0])
    for foot in ("LeftFoot", "RightFoot"):
        np.testing.assert_allclose(pose.world[foot].affine, document.start.world[foot].affine, atol=2e-4)
    assert (
        find_joints_at_limit(
            pose, [joint for chain in document.active_chains for joint in chain.list_joints(document.skeleton)]
        )
        == []
    )
    sunk = document.start.world["Hips"].positions - pose.world["Hips"].positions
    assert sunk[1] > 0.02


def test_both_knees_of_the_feet_bend():
    document = scenes.build_scene("feet")
    assert all(chain.stays_on_ground and place_on_ground(document, chain) == chain for chain in document.chains)
    outcome, chains = solved(document)
    pose = document.start.with_q(outcome.q[0])
    land = build_document_terrain(document.rig, document.terrain_spec)
    heights = [ground_below(land, chain.position) for chain in chains]
    assert abs(heights[0] - heights[1]) > 0.05  # uneven
    for side in ("Left", "Right"):
        hip, knee, ankle = (pose.world[f"{side}{joint}"].positions for joint in ("UpLeg", "Leg", "Foot"))
        thigh, shin = knee - hip, ankle - knee
        bend = math.degrees(math.acos(thigh @ shin / np.linalg.norm(thigh) / np.linalg.norm(shin)))
        assert bend > 15
        toe = pose.world[f"{side}Toe"].positions
        assert toe[1] - ground_below(land, ankle) > -0.05


def test_the_crowd_reaches_for_one_target():
    document = scenes.build_scene("crowd")
    assert len(document.character_positions) == 10
    outcome, (chain,) = solved(document)
    assert not any(document.character_positions[0])  # targets are in the frame of the first
    hands = [
        document.start.with_q(q).world["LeftHand"].positions + place
        for q, place in zip(outcome.q, document.character_positions, strict=True)
    ]
    np.testing.assert_allclose(hands, [chain.position] * 10, atol=1e-3)
    apart = [
        np.linalg.norm(np.subtract(a, b))
        for i, a in enumerate(document.character_positions)
        for b in document.character_positions[:i]
    ]
    assert min(apart) > 0.3  # nobody stands in another


def test_the_figure_is_the_sample_with_free_hips():
    rig, sample = load_character(), poise.load(samples.path("humanoid.glb"))
    assert rig.skeleton["Hips"].kind == poise.Kind.FREE
    np.testing.assert_allclose(rig.rest.world.affine, sample.rest.world.affine, atol=1e-12)
    hands = rig.pose.world["LeftHand"].positions, rig.pose.world["RightHand"].positions
    assert all(hand[1] < rig.rest.world["LeftHand"].positions[1] - 0.3 for hand in hands)


def ground_below(land, point):
    """Height of the ground under a point."""
    return land.place_point(tuple(map(float, point)), 0.0)[land.up_index]


def turns(q):
    """The quaternions (5, 4) of the arm's joints."""
    return q.reshape(5, 4)


def angles(q):
    """Signed angles about the axes of the arm's hinges."""
    parts = turns(q)[range(5), [2, 1, 1, 1, 3]]
    return 2 * np.arctan2(parts, turns(q)[:, 0])


def off_axis(q):
    """Which of the arm's joints turn about another axis than their own."""
    others = [[1, 3], [2, 3], [2, 3], [2, 3], [1, 2]]
    return [np.abs(turn[other]).max() > 1e-6 for turn, other in zip(turns(q), others, strict=True)]


def test_the_crowd_stands_in_a_fan_of_two_rows_around_its_target():
    document = scenes.build_scene("crowd")
    x, _, z = (np.array(document.character_positions) - document.chains[0].position).T
    np.testing.assert_allclose(np.hypot(x, z), [0.62, 0.9] * 5, atol=1e-12)
    np.testing.assert_allclose(np.degrees(np.arctan2(x, -z)), np.linspace(-125, 45, 10), atol=1e-9)


def test_the_feet_are_a_stride_apart():
    left, right = (np.array(chain.position) for chain in scenes.build_scene("feet").chains)
    assert left[2] - right[2] == pytest.approx(0.32)
    assert left[0] - right[0] == pytest.approx(0.38)

"""Goals as chains of the viewer: relative targets and ranges stay what they are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import poise
from poise.cli.view import ViewOptions, configure_document
from poise.errors import InputError, UnsupportedError
from poise.maths import rotations
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import build_document
from poise.viewer.document.goal_chains import build_goal_chains
from poise.viewer.session.downloads import solve_document
from poise.viewer.session.state_messages import describe_chain
from tests.viewer.action_cases import rig

FREE = (-math.inf, math.inf)
GRIP = poise.Within(z=(-0.05, 0.05), turn=poise.Range(*FREE, axis=(0, 0, 1)))
BESIDE = ([0.0, -0.4, 0.1], [1.0, 0.0, 0.0, 0.0])
WORDS = "place LeftHand 0 -0.4 0.1 1 0 0 0 relative=RightHand within=z:-0.05..0.05,turn-z:free"


def held(**options):
    return poise.Place("LeftHand", *BESIDE, relative_to="RightHand", within=GRIP, **options)


def document_of(*goals):
    return build_document(rig(), chains=build_goal_chains(rig().pose, goals))


def assert_same_goal(goal, wanted):
    assert type(goal) is type(wanted)
    np.testing.assert_array_equal(goal.rows(), wanted.rows())
    for name in ("joint", "root", "weight", "offset", "relative_to", "follow", "within"):
        assert getattr(goal, name) == getattr(wanted, name)


@pytest.mark.parametrize(
    "goal",
    [
        held(),
        held(follow=True, weight=2.0, root="LeftArm", offset=(0.0, 0.1, 0.0)),
        poise.Position("LeftHand", [0.3, 1.2, 0.3], within=poise.Within(x=(-0.1, math.inf), axes="joint")),
        poise.Position("LeftHand", [0.0, -0.4, 0.1], relative_to="RightHand"),
    ],
)
def test_a_goal_comes_back_from_its_chain(goal):
    (chain,) = build_goal_chains(rig().pose, goal)
    (built,) = chain.build_goals(rig().skeleton)
    assert_same_goal(built, goal)


def test_the_command_line_and_python_make_the_same_chains():
    options = ViewOptions(None, None, plants_feet=False, solver=None, joint=None, root=None, goals=(WORDS,))
    assert configure_document(build_document(rig()), options).chains == build_goal_chains(rig().pose, held())
    with poise.view(rig(), goals=held(), open_browser=False) as view:
        assert view.document.chains == build_goal_chains(rig().pose, [held()])


def test_a_pin_and_a_look_are_chains_and_names_differ():
    chains = build_goal_chains(
        rig().pose, [poise.Pin("LeftFoot"), poise.LookAt("Head", [0, 1, 3]), poise.Position("Head", [0, 1.6, 0])]
    )
    assert [(chain.name, chain.kind) for chain in chains] == [
        ("pin LeftFoot", "pin"),
        ("Head", "look"),
        ("Head 2", "position"),
    ]
    np.testing.assert_allclose(chains[0].position, rig().pose.world["LeftFoot"].positions)


@pytest.mark.parametrize(
    ("goal", "error", "words"),
    [
        (poise.Balance(), UnsupportedError, "Position, Place, LookAt, Pin"),
        (poise.Orientation("Head", [1, 0, 0, 0]), UnsupportedError, "none for Orientation"),
        (poise.Position("Head", [0, 1, 0], optional=True), UnsupportedError, "optional"),
        (poise.Pin("Head", rotation=False), UnsupportedError, "rotation"),
        (poise.Position("Head", [[0, 1, 0], [0, 2, 0]]), InputError, "batch"),
        ("position Head 0 1 0", InputError, "poise.Position"),
    ],
)
def test_what_no_chain_can_keep_is_refused(goal, error, words):
    with pytest.raises(error, match=words):
        build_goal_chains(rig().pose, goal)


def test_the_chains_come_from_goals_or_from_a_joint():
    options = ViewOptions(None, None, plants_feet=False, solver=None, joint="Head", root=None, goals=(WORDS,))
    with pytest.raises(InputError, match="--joint and --goal"):
        configure_document(build_document(rig()), options)


def test_the_viewer_solves_what_the_goal_says():
    document = document_of(held())
    outcome = solve_document(document)
    wanted = poise.solve(document.solver_start, held())
    assert outcome.sentence == wanted.message()
    np.testing.assert_array_equal(outcome.q[0], wanted.q)


def test_the_page_is_told_the_frame_and_the_range():
    document = document_of(held())
    told = json.loads(json.dumps(describe_chain(document, document.chains[0])))
    assert (told["relative_to"], told["follow"]) == ("RightHand", False)
    assert told["position"] == BESIDE[0]
    assert told["range"]["box"] == [[0, 0], [0, 0], [-0.05, 0.05]]
    (ring,) = np.array(told["range"]["turns"])
    np.testing.assert_allclose(ring[0], ring[-1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(ring, axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(ring[:, 2], 0.0, atol=1e-5)
    assert told["others"] == ["RightShoulder", "RightArm", "RightForeArm", "RightHand"]
    following = document_of(held(follow=True))
    assert describe_chain(following, following.chains[0])["others"] == []
    endless = document_of(poise.Position("Head", [0, 1, 0], within=poise.Within(y=FREE)))
    assert describe_chain(endless, endless.chains[0])["range"]["box"][1] == [None, None]


@pytest.mark.parametrize(
    ("turn", "count", "closed"),
    [
        (poise.Range(-0.3, 0.5, axis=(0, 1, 0)), 1, [True]),
        (poise.Range(-math.inf, 0.5, axis=(0, 1, 0)), 1, [True]),
        (poise.SwingTwist((1, 0, 0), 0.4, (0.0, 0.0)), 5, [True, False, False, False, False]),
        (poise.SwingTwist((1, 0, 0), 0.4, (-0.2, 0.3)), 6, [True, False, False, False, False, True]),
        (poise.EulerBox("XYZ", x=(-0.1, 0.2), y=(-1, 1), z=FREE), 3, [True, True, True]),
        (poise.EulerBox("XYZ", x=(-0.1, 0.2), y=(0, 0), z=(0, 0)), 1, [True]),
    ],
)
def test_turns_are_drawn_as_arcs_and_cones(turn, count, closed):
    goal = poise.Place("LeftHand", *BESIDE, within=poise.Within(turn=turn))
    document = document_of(goal)
    lines = describe_chain(document, document.chains[0])["range"]["turns"]
    assert len(lines) == count
    assert [bool(np.allclose(line[0], line[-1], atol=1e-6)) for line in lines] == closed
    assert max(np.linalg.norm(line, axis=1).max() for line in lines) == pytest.approx(1.0, abs=1e-4)


# --- changed on the page ----------------------------------------------------------------------------------------------


def world_of(pose, chain):
    """Where the target of a chain is in the world."""
    if chain.relative_to is None:
        return np.array(chain.position), np.array(chain.rotation)
    frame = pose.world[chain.relative_to]
    return (
        frame.affine[:, :3] @ np.array(chain.position) + frame.affine[:, 3],
        rotations.multiply(frame.rotations, np.array(chain.rotation)),
    )


def test_a_target_stays_in_the_world_when_its_frame_changes():
    document, pose = document_of(poise.Place("LeftHand", [0.3, 1.2, 0.3], [0.6, 0, 0.8, 0])), rig().pose
    change = ACTIONS["chain_change"].apply
    relative = change(document, {"chain": "LeftHand", "relative_to": "RightHand", "follow": True}, pose)
    assert relative.chains[0].relative_to == "RightHand"
    assert relative.chains[0].follow
    assert relative.chains[0].position != document.chains[0].position
    back = change(relative, {"chain": "LeftHand", "relative_to": None}, pose)
    assert (back.chains[0].relative_to, back.chains[0].follow) == (None, False)
    for changed in (relative, back):
        for found, wanted in zip(world_of(pose, changed.chains[0]), world_of(pose, document.chains[0]), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_chain_cannot_be_relative_to_its_own_tip_or_as_a_look():
    document = document_of(poise.Position("LeftHand", [0.3, 1.2, 0.3]), poise.LookAt("Head", [0, 1, 3]))
    change = ACTIONS["chain_change"].apply
    with pytest.raises(InputError, match="itself"):
        change(document, {"chain": "LeftHand", "relative_to": "LeftHand"})
    with pytest.raises(InputError, match="position, place, direction"):
        change(document, {"chain": "Head", "relative_to": "LeftHand"})


def test_a_kind_without_a_frame_or_a_turn_loses_it():
    document = document_of(held())
    change = ACTIONS["chain_change"].apply
    position = change(document, {"chain": "LeftHand", "kind": "position"}).chains[0]
    assert (position.relative_to, position.within) == ("RightHand", poise.Within(z=(-0.05, 0.05)))
    position.build_goals(rig().skeleton)
    for kind in ("look", "pin"):
        chain = change(document, {"chain": "LeftHand", "kind": kind}).chains[0]
        assert (chain.relative_to, chain.within, chain.follow) == (None, None, False)
        chain.build_goals(rig().skeleton)
    look = change(document, {"chain": "LeftHand", "kind": "look"}).chains[0]
    wanted = world_of(document.solver_start, document.chains[0])[0]
    np.testing.assert_allclose(look.position, wanted, atol=1e-12)


def test_a_relative_target_at_the_tip_is_met_at_once():
    document = document_of(held(), poise.Position("RightHand", [0.2, 0.1, 0.3], relative_to="Head"))
    chains = tuple(chain.with_target_at(document.solver_start) for chain in document.chains)
    outcome = solve_document(document.replace(chains=chains))
    assert outcome.sentence.endswith("0 iterations")


def test_a_relative_direction_is_in_the_frame_of_its_joint():
    pose = rig().pose
    chain = build_chain(pose, "arm", "LeftArm", "LeftHand", "direction", relative_to="Chest", axis=(1.0, 0.0, 0.0))
    result = poise.solve(pose, chain.build_goals(pose.skeleton))
    assert result.iterations == 0
    moved = chain.replace(position=(0.3, 0.1, 0.3))
    turned = poise.solve(pose, moved.build_goals(pose.skeleton)).require().pose.world
    tip = rotations.rotate(turned["LeftHand"].rotations, np.array([1.0, 0.0, 0.0]))
    wanted = rotations.rotate(turned["Chest"].rotations, np.array(chain.direction))
    np.testing.assert_allclose(tip, wanted, atol=1e-5)

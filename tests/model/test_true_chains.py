"""Roles are true chains, also among helpers, and animals have as many legs as they have."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.maths import rotations
from poise.model.joints import Kind
from poise.model.roles.bone_names import REQUIRED_BONES
from tests.command_line import run
from tests.model.creatures import (
    SIDES,
    broken_chains,
    centipede,
    found_legs,
    helped,
    horse,
    insect,
    leg_truth,
    ordered,
    positions,
    spider,
    with_leaf,
    with_twist,
    wrong_roles,
)
from tests.model.humanoid_figures import CONVENTIONS, figure, skeleton_of
from tests.model.humanoid_truth import HUMANOIDS
from tests.model.test_humanoid import expected, load

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")

ANIMALS = {
    "spider": spider, "spider with coxae": lambda pattern: spider(pattern, coxa=True),
    "spider of equal legs": lambda pattern: spider(pattern, alike=True),
    "insect": insect, "insect with wings": lambda pattern: insect(pattern, wings=True),
    "insect without antennae": lambda pattern: insect(pattern, antennae=False),
    "centipede": lambda pattern: centipede(10, pattern), "four pairs": lambda pattern: centipede(4, pattern),
    "horse": horse, "horse with hip bones": lambda pattern: horse(pattern, pelvis=True),
    "horse without shoulder blades": lambda pattern: horse(pattern, scapula=False),
    "donkey": lambda pattern: horse(pattern, ears=5),
}  # fmt: skip
PATTERNS = ("{p}_{s}_{part}", "{part}.{p}.{L}", "{s}{part}{p}", "{L}_{part}")
COPIES = (
    {}, {"nameless": True}, {"z_up": True}, {"scale": 100.0}, {"nameless": True, "up": False},
    {"nameless": True, "z_up": True, "scale": 1e-3},
)  # fmt: skip


@pytest.mark.parametrize("copy", COPIES, ids=str)
@pytest.mark.parametrize("name", ANIMALS)
def test_every_leg_of_an_animal(name, copy):
    for pattern in PATTERNS:
        made = ANIMALS[name](pattern)
        skeleton = made.skeleton(**copy)
        found = poise.find_roles(skeleton)
        assert found_legs(found) == leg_truth(made, skeleton), pattern
        assert broken_chains(skeleton, found) == []
        assert not any(role.startswith(tuple(SIDES)) for role in found.joints)
        assert found.kind == ("quadruped" if len(made.legs) == 4 else "multi-legged")


@pytest.mark.parametrize("name", [name for name in ANIMALS if "horse" not in name and name != "donkey"])
def test_legs_are_counted_from_the_front_whatever_their_order_in_the_file(name):
    """The same animal with the children of every joint the other way round."""
    made = ANIMALS[name](PATTERNS[0])
    children = [[row for row, parent in enumerate(made.parents) if parent == i] for i in range(len(made.names))]
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    place = {row: new for new, row in enumerate(order)}
    parents = [place.get(made.parents[row], -1) for row in order]
    skeleton = skeleton_of([made.names[row] for row in order], parents, [made.points[row] for row in order])
    assert found_legs(poise.find_roles(skeleton)) == leg_truth(made, made.skeleton())


def test_sides_and_positions_of_legs():
    legs = poise.find_roles(insect().skeleton()).legs
    assert [(leg.position, leg.side) for leg in legs] == [
        (at, side) for at in ("front", "mid", "hind") for side in SIDES
    ]
    assert [leg.position for leg in poise.find_roles(spider().skeleton()).legs[::2]] == positions(4)
    two = poise.find_roles(figure(CONVENTIONS["vrm"]).skeleton()).legs
    assert [(leg.position, leg.side) for leg in two] == [("", "left"), ("", "right")]


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_head_and_tail_tell_the_front_where_legs_are_only_numbered(turned):
    made = insect("leg{P}{L}_{part}", antennae=False)
    pairs = {"leg" + word: f"leg{i}" for i, word in enumerate(("FR", "FL", "MR", "ML", "HR", "HL"))}
    names = [f"{pairs[name[:5]]}_{row}" if name[:5] in pairs else name for row, name in enumerate(made.names)]
    skeleton = skeleton_of(names, made.parents, np.array(made.points) * [turned, 1.0, turned], up="y")
    legs = poise.find_roles(skeleton).legs
    found = [(leg.position, leg.side, leg.upper[:4]) for leg in legs]
    assert found[:2] == [("front", "left", "leg1"), ("front", "right", "leg0")]
    assert found[-2:] == [("hind", "left", "leg5"), ("hind", "right", "leg4")]


def test_the_head_and_what_carries_the_legs_of_an_insect():
    joints = poise.find_roles(insect().skeleton()).joints
    assert joints == {"hips": "metathorax", "head": "head"}


def test_a_lost_leg_is_no_reason_for_a_wrong_one():
    made = insect(antennae=False)
    lost = made.legs["mid left"]
    keep = [row for row in range(len(made.names)) if row not in lost]
    place = {row: new for new, row in enumerate(keep)}
    skeleton = skeleton_of(
        [made.names[row] for row in keep],
        [place.get(made.parents[row], -1) for row in keep],
        [made.points[row] for row in keep],
    )
    found = poise.find_roles(skeleton)
    assert broken_chains(skeleton, found) == []


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_helpers_in_and_beside_limbs_win_nothing(convention):
    for seed in range(8):
        skeleton, truth = helped(convention, seed)
        found = poise.find_roles(skeleton)
        assert wrong_roles(found, truth) == {}, seed
        assert broken_chains(skeleton, found) == [], seed
        assert not set(found.missing) & set(truth), seed


@pytest.mark.parametrize(("leaf", "role"), [("{S}Tibia", "LowerLeg"), ("{S}Humerus", "UpperArm")])
def test_a_leaf_with_the_better_name_is_a_helper(leaf, role):
    made = figure(CONVENTIONS["mixamo without prefix"])
    with_leaf(made, leaf, role)
    skeleton, truth = ordered(made)
    found = poise.find_roles(skeleton)
    assert found.joints[f"left{role}"] == truth[f"left{role}"]
    assert found.confidence[f"left{role}"] == 0.9


def test_a_leaf_is_not_taken_where_the_true_joint_has_no_name_that_says_anything():
    made = figure(CONVENTIONS["mixamo without prefix"])
    with_leaf(made, "{S}Tibia", "LowerLeg")
    shins = {"LeftLeg": "q1", "RightLeg": "q2"}
    made.names = [shins.get(name, name) for name in made.names]
    made.roles = {role: shins.get(name, name) for role, name in made.roles.items()}
    skeleton, truth = ordered(made)
    found = poise.find_roles(skeleton)
    assert found.joints["leftLowerLeg"] == truth["leftLowerLeg"] == "q1"
    assert found.confidence["leftLowerLeg"] == 0.5


def test_a_foot_that_hangs_elsewhere_is_left_out_with_a_reason():
    made = figure(CONVENTIONS["mixamo without prefix"])
    for side in ("Left", "Right"):
        made.parents[made.names.index(f"{side}Foot")] = 0
    skeleton, _ = ordered(made)
    found = poise.find_roles(skeleton)
    assert "leftFoot" not in found.joints
    assert found.left_out["leftFoot"] == "'LeftFoot' is not below 'LeftUpLeg', the leftUpperLeg"
    assert found.legs == ()
    assert found.apart[0] == poise.Leg("left", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase")


def test_what_the_sidecar_says_against_the_tree_is_left_out_with_a_reason(data):
    rig = poise.load(data / "glb/mixamo_human_makehuman.glb")
    given_ = {"leftLowerLeg": "mixamorig:RightLeg"}
    found = poise.find_roles(dataclasses.replace(rig, humanoid=given_, sidecar_roles=frozenset(given_)))
    assert "RightLeg" in found.left_out["leftLowerLeg"]
    assert found.joints.get("leftLowerLeg") in (None, "mixamorig:LeftLeg")
    assert broken_chains(rig.skeleton, found) == []


@pytest.mark.parametrize("name", HUMANOIDS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_every_humanoid_rolled_and_in_other_units(data, name, scale):
    """Every joint turned about itself at random: its place and its hinge stay, its frame does not."""
    rig = load(data, name)
    s, points = rig.skeleton, scale * rig.rest.world.positions
    chance = np.random.default_rng(3)
    frames = chance.normal(size=(len(s), 4))
    frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    parents = s.parents.tolist()
    own, offsets = _local(points, frames, parents)
    axes = rotations.rotate(rotations.multiply(rotations.inverse(frames), rig.rest.world.rotations), s.axes)
    rolled = poise.Skeleton.build(
        s.names, parents, s.kinds, offsets=offsets, rotations=own, axes=axes, up=s.up,
    )  # fmt: skip
    known, found = expected(name), poise.find_roles(rolled)
    assert wrong_roles(found, known) == {}
    assert broken_chains(rolled, found) == []


def _local(points, frames, parents):
    own, offsets = [], []
    for row, parent in enumerate(parents):
        back = rotations.inverse(frames[parent]) if parent >= 0 else np.array([1.0, 0.0, 0.0, 0.0])
        own.append(rotations.multiply(back, frames[row]))
        offsets.append(rotations.rotate(back, points[row] - (points[parent] if parent >= 0 else 0.0)))
    return np.array(own), np.array(offsets)


@pytest.mark.parametrize("down", [0, 45, 85, -80])
@pytest.mark.parametrize("nameless", [False, True])
def test_arms_at_rest_may_stand_out_or_hang(down, nameless):
    made = figure(CONVENTIONS["vrm"])
    angle = math.radians(down)
    for row, name in enumerate(made.names):
        if name.endswith(("LowerArm", "Hand")):
            sign = 1.0 if name.startswith("left") else -1.0
            x, y, z = made.points[row]
            far = abs(x) - 0.18
            made.points[row] = (sign * (0.18 + far * math.cos(angle)), y - far * math.sin(angle), z)
    if nameless:
        plain = {name: f"q{row}" for row, name in enumerate(made.names)}
        made.names = list(plain.values())
        made.roles = {role: plain[name] for role, name in made.roles.items()}
    found = poise.find_roles(made.skeleton())
    assert found.joints == made.roles


@pytest.mark.parametrize("role", ["UpperArm", "LowerArm", "UpperLeg", "LowerLeg"])
def test_nonsense_names_with_a_twist_bone_in_line_are_left_out_not_guessed(role):
    made = figure(CONVENTIONS["vrm"])
    with_twist(made, "{S}q", role)
    plain = {name: f"q{row}" for row, name in enumerate(made.names)}
    made.names = list(plain.values())
    made.roles = {role: plain[name] for role, name in made.roles.items()}
    skeleton, truth = ordered(made)
    found = poise.find_roles(skeleton)
    assert wrong_roles(found, truth) == {}
    assert broken_chains(skeleton, found) == []


LIMB_NAMES = st.sampled_from(["LeftUpLeg", "LeftLeg", "LeftFoot", "Tibia_L", "LeftArm", "LeftForeArm", "LeftHand", "x"])


@given(st.lists(st.tuples(st.integers(0, 30), LIMB_NAMES, st.tuples(*[st.integers(-2, 2)] * 3)), max_size=24))
def test_any_tree_has_true_chains_only(rows):
    parents = [min(parent, row) - 1 for row, (parent, _, _) in enumerate(rows)]
    skeleton = skeleton_of([name for _, name, _ in rows], parents, [place for _, _, place in rows])
    found = poise.find_roles(skeleton)
    assert broken_chains(skeleton, found) == []
    assert not set(found.left_out) & set(found.joints)


class TestFlat:
    FLAT = poise.Skeleton.build(
        ["root", "LeftUpLeg", "LeftLeg", "LeftFoot"], [-1, 0, 0, 0], [Kind.FIXED, Kind.BALL, Kind.BALL, Kind.BALL],
        offsets=[(0, 0, 0), (0, 1, 0), (0, 0.5, 0), (0, 0, 0)],
    )  # fmt: skip

    def test_roles_are_left_out_and_say_so(self):
        found = poise.find_roles(self.FLAT)
        assert (dict(found.joints), found.legs, found.missing) == ({}, (), REQUIRED_BONES)
        assert found.left_out["leftFoot"].startswith("flat skeleton: no joint is another's parent; ")

    def test_a_chain_says_so(self):
        with pytest.raises(poise.InputError, match="flat skeleton: no joint is another's parent; "):
            self.FLAT.chain("LeftUpLeg", "LeftFoot")

    def test_one_joint_is_not_flat_nor_is_a_chain(self):
        assert poise.find_roles(poise.Skeleton.build(["a"], [-1], [Kind.BALL])).left_out == {}
        chain = poise.Skeleton.build(["a", "b", "c"], [-1, 0, 1], [Kind.BALL, Kind.FIXED, Kind.BALL])
        assert poise.find_roles(chain).left_out == {}

    def test_info_says_so(self, data):
        text = run("info", data / "glb/hand_left_webxr.glb").stdout
        assert "roles: none, flat skeleton: no joint is another's parent" in text
        known = json.loads(run("info", data / "glb/hand_left_webxr.glb", "--json").stdout)["roles"]
        assert known["left_out"]["hips"].startswith("flat skeleton")

    def test_a_solve_says_so(self):
        """The joints turn one by one, but none can be brought anywhere."""
        start = poise.Pose(self.FLAT, self.FLAT.rest_q)
        result = poise.solve(start, poise.Position("LeftFoot", (1, 1, 0)))
        assert result.status is poise.Status.nothing_to_move
        assert "(flat skeleton: no joint is another's parent; " in result.message()
        assert poise.solve(start, poise.Orientation("LeftFoot", (0, 1, 0, 0))).reached

    def test_a_comparison_says_so(self, data):
        reported = run("compare", data / "glb/hand_left_webxr.glb", "--effort", "quick")
        assert reported.returncode == 2
        assert "flat skeleton: no joint is another's parent" in reported.stderr

    def test_planting_says_so(self):
        with pytest.raises(poise.UnsupportedError, match="flat skeleton"):
            poise.Grounder(poise.Pose(self.FLAT, self.FLAT.rest_q), poise.Terrain.flat())

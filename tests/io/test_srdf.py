"""SRDF beside URDF: chains, named poses, pairs that never collide, and files that are broken."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io.formats import urdf
from tests.io.fuzzing import mutated, until_time_is_up
from tests.io.test_urdf import LIMIT, joint, robot
from tests.timeouts import no_hang

ROBOT = robot(
    joint("j", "revolute", "a", "b", LIMIT),
    joint("k", "prismatic", "b", "c", LIMIT),
    joint("f", "fixed", "c", "d"),
    joint("l", "revolute", "c", "e", LIMIT + '<mimic joint="k" multiplier="2" offset="0.5"/>'),
    joint("p", "floating", "a", "g"),
)
ENTITIES = '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.fixture
def read(tmp_path):
    def reader(text, robot_text=ROBOT):
        (tmp_path / "arm.urdf").write_text(robot_text)
        (tmp_path / "arm.srdf").write_bytes(text if isinstance(text, bytes) else text.encode())
        return urdf.read(tmp_path / "arm.urdf")

    return reader


def srdf(*inside):
    return "<robot name='r'>\n" + "\n".join(inside) + "\n</robot>\n"


GROUP = '<group name="arm"><chain base_link="a" tip_link="d"/></group>'


# --- real files ------------------------------------------------------------------------------------

REAL = {"panda": "robots/panda_moveit.urdf", "fanuc": "robots/fanuc_moveit.urdf", "ur5": "urdf/ur5.urdf"}


def test_every_file_of_the_data_is_tested(data):
    assert {path.stem for path in (data / "srdf").iterdir()} == set(REAL)


@pytest.fixture
def real(data, read):
    def reader(name):
        return read((data / "srdf" / f"{name}.srdf").read_bytes(), (data / REAL[name]).read_text())

    return reader


def test_the_panda(real):
    rig = real("panda")
    assert dict(rig.skeleton.chains) == {"panda_arm": ("panda_joint1", "panda_joint8")}
    assert list(rig.poses) == ["ready", "extended", "transport", "open", "close"]
    ready = rig.named_pose("ready")
    np.testing.assert_array_equal(ready.q, [0, -0.785, 0, -2.356, 0, 1.571, 0.785, 0])
    assert len(rig.disabled_pairs) == 34
    assert ("panda_hand", "panda_link3") in rig.disabled_pairs
    assert len(rig.notes) == 2  # a hand with two fingers is no line
    assert all("makes no chain" in note for note in rig.notes)
    root, tip = rig.skeleton.chains["panda_arm"]
    goal = poise.Position(tip, ready.world[tip].positions + np.array([0.05, 0, -0.05]), root=root)
    assert poise.solve(ready, goal).reached


def test_the_fanuc_and_the_ur5(real):
    rig = real("fanuc")
    assert dict(rig.skeleton.chains) == {"manipulator": ("joint_1", "joint_6-tool0")}
    assert rig.skeleton.index("tool0") == rig.skeleton.index("joint_6-tool0")
    assert (len(rig.disabled_pairs), list(rig.poses), rig.notes) == (10, ["all-zeros"], ())
    rig = real("ur5")
    assert (len(rig.disabled_pairs), rig.poses, dict(rig.skeleton.chains)) == (10, {}, {})


@pytest.mark.parametrize("name", REAL)
def test_a_robot_is_still_written_byte_for_byte(real, name, tmp_path):
    rig = real(name)
    poise.save(rig, tmp_path / "same.urdf")
    assert (tmp_path / "same.urdf").read_bytes() == (tmp_path / "arm.urdf").read_bytes()


def test_poses_are_saved_as_joint_values(real, tmp_path):
    rig = real("panda")
    poise.save(rig.named_pose("ready"), tmp_path / "ready.json")
    assert (poise.load_values(tmp_path / "ready.json", rig.skeleton).q == rig.named_pose("ready").q).all()


# --- what elements mean ------------------------------------------------------------------------------


def test_groups(read):
    rig = read(
        srdf(
            GROUP,
            '<group name="lower"><chain base_link="b" tip_link="d"/></group>',
            '<group name="links"><link name="b"/><link name="c"/></group>',
            '<group name="joints"><joint name="j"/><joint name="f"/></group>',
            '<group name="both"><group name="links"/><joint name="f"/><passive_joint name="l"/></group>',
            '<group name="fork"><joint name="f"/><joint name="l"/></group>',
            '<group name="empty"/>',
            '<group name="one"><joint name="j"/></group>',
        )
    )
    assert dict(rig.skeleton.chains) == {
        "arm": ("j", "f"),
        "lower": ("k", "f"),
        "links": ("j", "k"),
        "joints": ("j", "f"),
        "both": ("j", "f"),
    }
    assert [note.split("'")[1] for note in rig.notes] == ["fork", "empty", "one"]


def test_a_sidecar_wins_over_a_group(tmp_path, read):
    read(srdf(GROUP))
    (tmp_path / "arm.ik.toml").write_text('[chains.arm]\nroot = "k"\ntip = "f"\n')
    assert dict(poise.load(tmp_path / "arm.urdf").skeleton.chains) == {"arm": ("k", "f")}


def state(name, group, **values):
    joints = "".join(f'<joint name="{one}" value="{value}"/>' for one, value in values.items())
    return f'<group_state name="{name}" group="{group}">{joints}</group_state>'


def test_states(read):
    rig = read(
        srdf(
            GROUP,
            GROUP.replace("arm", "leg"),
            '<virtual_joint name="v" type="floating" parent_frame="world" child_link="a"/>',
            state("home", "arm", j=1.5, v="0 0 0 0 0 0 1"),
            state("home", "leg", k=0.5, l=1.5),
            state("up", "arm", j=-0.5, k=0.25, l=9, p="0 0 0 0 0 0 1"),
        )
    )
    assert list(rig.poses) == ["arm/home", "leg/home", "up"]
    assert rig.poses["arm/home"].q[:2].tolist() == [1.5, 0.0]
    assert rig.poses["leg/home"].q[:2].tolist() == [0.0, 0.5]
    assert rig.poses["up"].q[:2].tolist() == [-0.5, 0.25]
    assert rig.notes == (
        "arm.srdf: state 'up': joint 'p' is no hinge or slide, and its value is not read",
        "arm.srdf: state 'up' has another value for 'l' than its coupling gives",
    )
    free = rig.with_skeleton(rig.skeleton.with_limits({"j": None}))
    assert free.named_pose("up").q[0] == -0.5


def test_pairs_of_links_that_are_not_there(read):
    pair = '<disable_collisions link1="{}" link2="{}" reason="Never"/>'
    rig = read(srdf(*(pair.format(*two) for two in ("ab", "ba", "bc", "ax", "xy"))))
    assert rig.disabled_pairs == (("a", "b"), ("b", "c"))
    assert rig.notes == ("arm.srdf: 2 disabled pairs name unknown links",)


def test_a_robot_without_a_name_and_one_without_srdf(read, tmp_path):
    rig = read(srdf(GROUP), ROBOT.replace(' name="r"', "", 1))
    assert dict(rig.skeleton.chains) == {"arm": ("j", "f")}
    (tmp_path / "arm.srdf").unlink()
    assert dict(urdf.read(tmp_path / "arm.urdf").skeleton.chains) == {}


# --- broken files ------------------------------------------------------------------------------------

BROKEN = {
    "empty": ("", "the file is empty"),
    "cut": (srdf(GROUP)[:40], "not well-formed XML"),
    "bytes": (b"\x00\xff\xfe", "not well-formed XML"),
    "another root": ("<mujoco/>", "line 1: not an SRDF file: its root element is <mujoco>, not <robot>"),
    "an entity bomb": (ENTITIES + srdf(), "line 1: document types and entities are not read"),
    "deep": ("<robot>" + "<a>" * 50 + "</a>" * 50 + "</robot>", "nested more than 20 deep"),
    "long": ("<robot>" + "<a/>" * 200_001 + "</robot>", "more than 200000 elements"),
    "no name": (srdf("<group/>"), "line 2: <group> has no name"),
    "a group twice": (srdf(GROUP, GROUP), "line 3: a second group is called 'arm'"),
    "a link that is not there": (srdf('<group name="g"><link name="bb"/></group>'), "line 2: no link 'bb'"),
    "a joint that is not there": (
        srdf('<group name="g"><joint name="jj"/></group>'),
        "no joint 'jj'; did you mean 'j'",
    ),
    "a tip that is not there": (srdf(GROUP.replace('"d"', '"x"')), "line 2: no link 'x'"),
    "a chain upwards": (
        srdf(GROUP.replace('"a"', '"d"').replace('tip_link="d"', 'tip_link="a"')),
        "is not above the tip",
    ),
    "a chain without a base": (srdf(GROUP.replace('base_link="a"', "")), "<chain> has no base_link"),
    "a group in itself": (srdf('<group name="g"><group name="g"/></group>'), "line 2: group 'g' contains itself"),
    "a circle of groups": (
        srdf('<group name="g"><group name="h"/></group>', '<group name="h"><group name="g"/></group>'),
        "contains itself",
    ),
    "a group that is not there": (srdf('<group name="g"><group name="h"/></group>'), "no group 'h'; groups: g"),
    "a state of nobody": (srdf(state("up", "leg")), "line 2: no group 'leg'"),
    "a state twice": (srdf(GROUP, state("up", "arm"), state("up", "arm")), "line 4: a second state of group 'arm'"),
    "nan": (srdf(GROUP, state("up", "arm", j="nan")), "line 3: the value of joint 'j': 'nan' is not a number"),
    "1e999": (srdf(GROUP, state("up", "arm", j="1e999")), "the value of joint 'j': '1e999' is too large"),
    "a list": (srdf(GROUP, state("up", "arm", j="1 2")), "'1 2' is not a number"),
    "a state of a joint that is not there": (srdf(GROUP, state("up", "arm", x=1)), "line 3: no joint 'x'"),
    "half a pair": (srdf('<disable_collisions link1="a"/>'), "line 2: <disable_collisions> has no link2"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_one_sentence(case, read, tmp_path):
    text, sentence = BROKEN[case]
    with no_hang(), pytest.raises(poise.FileError) as refusal:
        read(text)
    assert str(refusal.value).startswith(str(tmp_path / "arm.srdf"))
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.long
def test_mutations(read, tmp_path):
    seeds = [srdf(GROUP, state("up", "arm", j=1), '<disable_collisions link1="a" link2="b"/>').encode()]
    counts = {True: 0, False: 0}

    def check(data):
        message = ""
        try:
            rig = read(data)
        except poise.FileError as error:
            rig, message = None, str(error)
        counts[rig is not None] += 1
        if rig is None:
            assert message.startswith(str(tmp_path))
        else:
            assert all(np.isfinite(pose.q).all() for pose in rig.poses.values())
            assert all(root in rig.skeleton and tip in rig.skeleton for root, tip in rig.skeleton.chains.values())

    until_time_is_up(mutated(seeds), check)
    assert min(counts.values()) > 0

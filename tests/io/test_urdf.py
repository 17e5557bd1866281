"""URDF: real robots against independent forward kinematics, every joint type, couplings and writing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poise.errors import UnsupportedError
from poise.io.formats import urdf
from poise.io.urdf_xml import parse_visuals
from poise.model.clip import Clip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton

ROBOTS = {
    "panda": "panda.urdf", "ur5": "ur5.urdf", "g1_29dof": "g1_29dof.urdf", "solo12": "solo12.urdf",
    "simple_humanoid": "simple_humanoid/urdf/simple_humanoid.urdf", "finger_edu": "finger_edu/robots/finger_edu.urdf",
}  # fmt: skip


def joint(name, kind, parent, child, inside=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*joints, links="abcdefgh"):
    used = [f'<link name="{link}"/>' for link in links if any(f'link="{link}"' in text for text in joints)]
    return f'<?xml version="1.0"?>\n<robot name="r">\n{"".join(used)}\n' + "\n".join(joints) + "\n</robot>\n"


LIMIT = '<limit lower="-1" upper="2" effort="1" velocity="1"/>'


@pytest.fixture
def parsed(tmp_path):
    def read(text):
        path = tmp_path / "robot.urdf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return urdf.read(path)

    return read


# --- real files ------------------------------------------------------------------------------------


def test_every_robot_of_the_data_is_tested(data):
    found = {path.relative_to(data / "urdf").as_posix() for path in (data / "urdf").rglob("*.urdf")}
    assert found == set(ROBOTS.values())


@pytest.mark.parametrize("name", ROBOTS)
def test_every_link_is_where_independent_kinematics_say(data, name):
    rig = urdf.read(data / "urdf" / ROBOTS[name])
    golden = np.load(data / "golden" / "fk_urdf.npz")
    actuated, links, values, world = (golden[f"{name}|{key}"] for key in ("actuated", "links", "q", "world"))
    skeleton = rig.skeleton
    assert skeleton.nq == len(actuated)
    q = np.zeros((len(values), skeleton.nq))
    for k, joint_name in enumerate(actuated):
        q[:, skeleton.q_slice(joint_name)] = values[:, k : k + 1]
    ours = Pose(skeleton, q).world
    assert len(skeleton) == len(links)
    for k, link in enumerate(links):
        np.testing.assert_allclose(ours[link].matrices, world[:, k], atol=1e-12, err_msg=link)
    np.testing.assert_array_equal(ours.matrices[:, 0], np.tile(np.eye(4), (len(values), 1, 1)))
    assert rig.notes == ()


@pytest.mark.parametrize("name", ROBOTS)
def test_q_stands_in_the_order_of_the_file(data, name):
    skeleton = urdf.read(data / "urdf" / ROBOTS[name]).skeleton
    actuated = np.load(data / "golden" / "fk_urdf.npz")[f"{name}|actuated"].tolist()
    ours = [skeleton.names[i] for i, kind in enumerate(skeleton.kinds) if Kind(kind).nq and not skeleton.couplings[i]]
    if name == "simple_humanoid":  # its file names some joints before their parents
        assert sorted(ours) == sorted(actuated)
        assert ours != actuated
    else:
        assert ours == actuated


@pytest.mark.parametrize("name", ROBOTS)
def test_an_unchanged_robot_is_written_byte_for_byte(data, name, tmp_path):
    path = data / "urdf" / ROBOTS[name]
    rig = urdf.read(path)
    urdf.write(rig, tmp_path / "same.urdf", rig.skeleton)
    assert (tmp_path / "same.urdf").read_bytes() == path.read_bytes()


def test_the_panda(data):
    rig = urdf.read(data / "urdf" / "panda.urdf")
    skeleton = rig.skeleton
    assert (skeleton.metres_per_unit, skeleton.up, skeleton.nq) == (1.0, "z", 8)
    assert skeleton["panda_joint4"].limit == Range(-3.0718, -0.0698)
    assert skeleton["panda_joint4"].limit.source == "file"
    assert rig.pose.q[3] == -0.0698  # zero is not legal there
    second = skeleton["panda_finger_joint2"]
    assert (second.coupling.leader, second.coupling.ratio) == (skeleton.index("panda_finger_joint1"), 1.0)
    assert skeleton["panda_hand"].name == "panda_hand_joint"
    meshes = skeleton.source.meshes["panda_link0"]
    assert meshes == ("package://example-robot-data/robots/panda_description/meshes/visual/link0.dae",)


def test_loading_does_not_import_numba(data):
    code = f"import sys; from poise.io.formats import urdf; from pathlib import Path; urdf.read(Path({str(data / 'urdf' / 'ur5.urdf')!r})); sys.exit('numba' in sys.modules)"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- joints ----------------------------------------------------------------------------------------


def test_origin_then_axis(parsed):
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0.6 0.8"/>' + LIMIT
    rig = parsed(robot(joint("j", "revolute", "a", "b", inside)))
    expected = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]) * Rotation.from_rotvec(0.7 * np.array([0, 0.6, 0.8]))
    matrix = Pose(rig.skeleton, np.array([0.7])).world["b"].matrices
    np.testing.assert_allclose(matrix[:3, :3], expected.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(matrix[:3, 3], [1, 2, 3])
    assert rig.skeleton["j"].limit == Range(-1, 2)
    assert rig.notes == ()


def test_defaults_are_no_origin_and_the_x_axis(parsed):
    skeleton = parsed(robot(joint("j", "prismatic", "a", "b", LIMIT))).skeleton
    np.testing.assert_array_equal(Pose(skeleton, np.array([1.5])).world["b"].positions, [1.5, 0, 0])
    assert skeleton.names == ("a", "j")
    assert skeleton.aliases == {"b": 1}


def test_every_type(parsed):
    types = ["revolute", "continuous", "prismatic", "fixed", "floating"]
    texts = [joint(f"j{k}", kind, "abcdef"[k], "abcdef"[k + 1], LIMIT) for k, kind in enumerate(types)]
    skeleton = parsed(robot(*texts)).skeleton
    kinds = [Kind.FIXED, Kind.HINGE, Kind.HINGE, Kind.SLIDE, Kind.FIXED, Kind.FREE]
    assert [Kind(kind) for kind in skeleton.kinds] == kinds
    assert [limit is not None for limit in skeleton.limits] == [False, True, False, True, False, False]


@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0, 0), (0, -1, 0), (0.6, 0, 0.8)])
def test_planar_is_two_slides_and_a_hinge(parsed, normal):
    axis = f'<axis xyz="{normal[0]} {normal[1]} {normal[2]}"/>'
    rig = parsed(robot(joint("j", "planar", "a", "b", axis + '<origin xyz="0 0 1"/>'), joint("j_x", "fixed", "b", "c")))
    skeleton = rig.skeleton
    assert skeleton.names == ("a", "j_x_1", "j_y", "j", "j_x")
    assert [Kind(kind) for kind in skeleton.kinds[1:4]] == [Kind.SLIDE, Kind.SLIDE, Kind.HINGE]
    first, second, third = skeleton.axes[1:4]
    np.testing.assert_allclose(np.cross(first, second), third, atol=1e-15)
    np.testing.assert_allclose(third, normal, atol=1e-15)
    moved = Pose(skeleton, np.array([2.0, 3.0, 0.5])).world["b"]
    np.testing.assert_allclose(moved.positions, 2 * first + 3 * second + [0, 0, 1], atol=1e-15)
    expected = Rotation.from_rotvec(0.5 * np.array(normal)).as_matrix()
    np.testing.assert_allclose(moved.matrices[:3, :3], expected, atol=1e-15)
    assert rig.notes == ("planar joint 'j' was read as the slides 'j_x_1' and 'j_y' and the hinge 'j'",)
    if normal == (0, 0, 1):
        np.testing.assert_array_equal(skeleton.axes[1:3], [[1, 0, 0], [0, 1, 0]])


def test_an_axis_of_other_length_is_normalised_and_reported(parsed):
    rig = parsed(robot(joint("j", "continuous", "a", "b", '<axis xyz="0 0 5"/>')))
    np.testing.assert_array_equal(rig.skeleton.axes[1], [0, 0, 1])
    assert rig.notes == ("the axis of joint 'j' has length 5 and was normalised",)
    few_digits = parsed(robot(joint("j", "continuous", "a", "b", '<axis xyz="0 0.7071 0.7071"/>')))
    assert few_digits.notes == ()
    np.testing.assert_allclose(np.linalg.norm(few_digits.skeleton.axes[1]), 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("limit", "expected", "note"),
    [
        ("", None, "no lower and upper limit and was read as unlimited"),
        ('<limit effort="1" velocity="1"/>', None, "no lower and upper limit"),
        ('<limit lower="-inf" upper="inf"/>', None, "infinite limit and was read as unlimited"),
        ('<limit lower="-1.7976931348623157e+308" upper="INF"/>', None, "infinite limit and was read as unlimited"),
        ('<limit lower="-1" upper="inf"/>', Range(-1, np.inf), "read as unlimited above"),
        ('<limit lower="-inf" upper="1"/>', Range(-np.inf, 1), "read as unlimited below"),
        ('<limit upper="1"/>', Range(0, 1), ""),
        ('<limit lower="-1"/>', Range(-1, 0), ""),
        ('<limit lower="0" upper="0"/>', Range(0, 0), ""),
        ('<limit lower=" -1 " upper="1e-3"/>', Range(-1, 0.001), ""),
    ],
)
def test_limits_missing_and_infinite(parsed, limit, expected, note):
    rig = parsed(robot(joint("j", "revolute", "a", "b", limit)))
    assert rig.skeleton["j"].limit == expected
    assert len(rig.notes) == bool(note)
    assert note in "".join(rig.notes)


def test_rest_is_the_nearest_legal_value(parsed):
    rig = parsed(robot(joint("j", "revolute", "a", "b", '<limit lower="0.5" upper="2"/>')))
    np.testing.assert_array_equal(rig.pose.q, [0.5])
    np.testing.assert_array_equal(rig.rest.q, [0.5])


def test_joints_before_their_parents_and_branches_keep_the_order_of_the_file(parsed):
    texts = [joint("late", "revolute", "c", "d", LIMIT), joint("one", "revolute", "a", "b", LIMIT),
             joint("two", "revolute", "a", "c", LIMIT), joint("three", "revolute", "b", "e", LIMIT)]  # fmt: skip
    skeleton = parsed(robot(*texts)).skeleton
    assert skeleton.names == ("a", "one", "two", "late", "three")
    assert skeleton.parents.tolist() == [-1, 0, 0, 2, 1]


# --- couplings -------------------------------------------------------------------------------------


def test_a_mimic_of_a_mimic_named_before_its_leader(parsed):
    texts = [
        joint("third", "revolute", "a", "b", LIMIT + '<mimic joint="second" multiplier="-2" offset="0.5"/>'),
        joint("second", "revolute", "b", "c", LIMIT + '<mimic joint="first" multiplier="0.5" offset="0.1"/>'),
        joint("first", "revolute", "c", "d", LIMIT),
        joint("plain", "prismatic", "d", "e", '<mimic joint="first"/>'),
    ]
    rig = parsed(robot(*texts))
    skeleton = rig.skeleton
    assert skeleton.nq == 1
    leader = skeleton.index("first")
    assert {skeleton[name].coupling.leader for name in ("third", "second", "plain")} == {leader}
    assert tuple(skeleton["second"].coupling) == (leader, 0.5, 0.1)
    np.testing.assert_allclose(skeleton["third"].coupling[1:], (-1.0, 0.3))  # -2 (q/2 + 0.1) + 0.5
    assert tuple(skeleton["plain"].coupling) == (leader, 1.0, 0.0)
    q = 0.8
    turned = Pose(skeleton, np.array([q])).world
    angles = [-2 * (0.5 * q + 0.1) + 0.5, 0.5 * q + 0.1, q]
    np.testing.assert_allclose(
        turned["d"].matrices[:3, :3], Rotation.from_rotvec([sum(angles), 0, 0]).as_matrix(), atol=1e-15
    )
    np.testing.assert_allclose(turned["e"].positions, [q, 0, 0], atol=1e-15)


def test_the_range_of_a_mimic_bounds_its_leader(parsed):
    mimic = '<limit lower="0" upper="1"/><mimic joint="first" multiplier="2"/>'
    rig = parsed(robot(joint("first", "revolute", "a", "b", LIMIT), joint("second", "revolute", "b", "c", mimic)))
    legal, moved = rig.skeleton.legal(np.array([1.5]))
    np.testing.assert_array_equal(legal, [0.5])
    assert "second" in moved


def test_a_follower_that_would_freeze_its_leader_loses_its_range(parsed, tmp_path):
    """Many grippers' files give the follower with multiplier -1 the range of its leader."""
    limit = '<limit lower="0" upper="0.8"/>'
    inner = '<limit lower="0" upper="0.9"/><mimic joint="finger" multiplier="-1"/>'
    text = robot(joint("finger", "revolute", "a", "b", limit), joint("inner", "revolute", "b", "c", inner))
    rig = parsed(text)
    np.testing.assert_array_equal(rig.skeleton.value_ranges, [[0.0, 0.8]])
    assert rig.skeleton["inner"].limit is None
    assert "the range of 'inner', 0 to 0.9, leaves 'finger', which it follows with ratio -1" in rig.notes[0]
    urdf.write(rig, tmp_path / "again.urdf", rig.skeleton)
    assert (tmp_path / "again.urdf").read_text() == text


# --- names -----------------------------------------------------------------------------------------


def test_names_that_links_and_joints_share(parsed):
    rig = parsed(robot(joint("b", "revolute", "a", "b", LIMIT)))
    assert (rig.notes, rig.skeleton.aliases) == ((), {})
    rig = parsed(robot(joint("a", "revolute", "a", "b", LIMIT), joint("x", "revolute", "b", "c", LIMIT)))
    assert rig.skeleton.names == ("a_1", "a", "x")
    assert "root link 'a' is called 'a_1'" in rig.notes[0]
    rig = parsed(robot(joint("c", "revolute", "a", "b", LIMIT), joint("x", "revolute", "b", "c", LIMIT)))
    assert rig.skeleton.index("c") == 1
    assert "link 'c' and a joint elsewhere have the same name" in rig.notes[0]


def test_a_single_link_is_a_robot(parsed):
    skeleton = parsed('<robot name="r"><link name="only"/></robot>').skeleton
    assert (skeleton.names, skeleton.nq) == (("only",), 0)


def test_what_a_skeleton_does_not_need_is_passed_over(parsed):
    inside = (
        '<link name="a"><collision><geometry><mesh filename="c.stl"/></geometry></collision>'
        '<visual><geometry><mesh filename="../../etc/passwd"/></geometry></visual>'
        '<inertial><mass value="nan"/></inertial></link>'
        '<transmission name="t"><joint name="j"/></transmission><gazebo><joint name="j" type="odd"/></gazebo>'
    )
    rig = parsed(f'<robot name="r">{inside}</robot>')
    assert rig.skeleton.names == ("a",)
    assert rig.skeleton.source.meshes == {"a": ("../../etc/passwd",)}  # a name only: nothing is opened


def test_what_a_link_shows_is_read_with_its_colour(tmp_path):
    """Of a material the colour counts, whatever else stands beside it; of a geometry the shape."""
    material = '<material name="red"><color rgba="1 0 0 1"/><texture filename="t.png"/></material>'
    shown = f'<visual><geometry><box size="1 2 3"/></geometry><color rgba="no place for it"/>{material}</visual>'
    own = '<material name="m"><color rgba="0 1 0 1"/></material>'
    data = f'<robot name="r"><link name="a">{shown}{shown}</link>{own}</robot>'
    found = parse_visuals(tmp_path / "r.urdf", data.encode())
    assert found.rgba_by_material == {"m": "0 1 0 1"}
    assert [(one.shape, one.attributes, one.material, one.rgba) for one in found.visuals_by_link["a"]] == [
        ("box", {"size": "1 2 3"}, "red", "1 0 0 1")
    ] * 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1", "us-ascii"])
def test_encodings(parsed, encoding):
    name = "Rueckgrat" if encoding == "us-ascii" else "Rückgrat"
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?><robot name="r"><link name="{name}"/></robot>'
    assert parsed(text.encode(encoding)).skeleton.names == (name,)


# --- writing ---------------------------------------------------------------------------------------


def test_changed_limits_change_their_numbers_only(tmp_path, parsed):
    odd = "<limit\n  effort='1' upper = '2'\tlower=\"-1\" velocity=\"3\"  />"
    text = robot(
        joint("é1", "revolute", "a", "b", LIMIT + "<!-- kept -->"), joint("j2", "prismatic", "b", "c", odd),
        joint("j3", "revolute", "c", "d", '<limit upper="1"/>'),
    )  # fmt: skip
    rig = parsed(text)
    changed = rig.with_skeleton(rig.skeleton.with_limits({"j2": Range(-0.25, 0.5), "j3": Range(-1, 1)}))
    path = tmp_path / "changed.urdf"
    urdf.write(changed, path, changed.skeleton)
    new = odd.replace("'2'", '"0.5"').replace('"-1"', '"-0.25"')
    expected = text.replace(odd, new).replace('<limit upper="1"/>', '<limit lower="-1.0" upper="1.0"/>')
    assert path.read_text(encoding="utf-8") == expected
    again = urdf.read(path)
    assert again.skeleton == changed.skeleton


def test_changed_limits_of_a_real_robot_come_back(data, tmp_path):
    rig = urdf.read(data / "urdf" / "panda.urdf")
    changed = rig.with_skeleton(rig.skeleton.with_limits({"panda_joint?": Range(-1.5, -0.25)}))
    urdf.write(changed, tmp_path / "tight.urdf", changed.skeleton)
    again = urdf.read(tmp_path / "tight.urdf")
    assert again.skeleton.limits == changed.skeleton.limits
    before, after = (
        (path).read_text().splitlines() for path in (data / "urdf" / "panda.urdf", tmp_path / "tight.urdf")
    )
    assert len(before) == len(after)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 7


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"j1": None}, "'j1' needs a finite range"),
        ({"j1": Range(0, np.inf)}, "'j1' needs a finite range"),
        ({"j2": Range(0, 1)}, "'j2' has no range in the URDF file"),
    ],
)
def test_limits_that_the_file_cannot_take_are_refused(tmp_path, parsed, limits, match):
    rig = parsed(robot(joint("j1", "revolute", "a", "b", LIMIT), joint("j2", "continuous", "b", "c")))
    changed = rig.with_skeleton(rig.skeleton.with_limits(limits))
    with pytest.raises(UnsupportedError, match=match):
        urdf.write(changed, tmp_path / "no.urdf", changed.skeleton)
    assert not (tmp_path / "no.urdf").exists()


def test_poses_clips_and_other_skeletons_are_refused(tmp_path, parsed):
    rig = parsed(robot(joint("j1", "revolute", "a", "b", LIMIT)))
    path = tmp_path / "no.urdf"
    with pytest.raises(UnsupportedError, match=r"holds no pose; save joint values to a \.json or \.csv file"):
        urdf.write(rig.pose, path, rig.skeleton)
    clip = Clip(np.zeros(1), Pose(rig.skeleton, np.zeros((1, 1))))
    for thing in (clip, Rig(rig.skeleton, rig.pose, (clip,))):
        with pytest.raises(UnsupportedError, match="holds no clip"):
            urdf.write(thing, path, rig.skeleton)
    other = Skeleton.build(["a"], [-1], [Kind.BALL])
    with pytest.raises(UnsupportedError, match="only be written for a robot that was read from one"):
        urdf.write(Rig(other, Pose(other, other.rest_q)), path, other)
    with pytest.raises(UnsupportedError, match="joints differ"):
        urdf.write(Rig(other, Pose(other, other.rest_q)), path, rig.skeleton)

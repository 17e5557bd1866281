"""URDF files with small faults that Pinocchio reads: they load, with a note; and what <limit> says of motors."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.conversion.rig_edits import UnitChange, change_units
from poise.io.formats import urdf
from poise.io.urdf_xml import parse_visuals

LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
LIMIT = '<limit lower="-1" upper="2" effort="87" velocity="2.5"/>'
DECLARATION = '<?xml version="1.0"?>'


def joint(name="j", kind="revolute", parent="a", child="b", inside=LIMIT):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(inside, links=LINKS):
    return f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n{links}\n{inside}\n</robot>\n'


LAST = joint("k", "fixed", "b", "c")
PLAIN = robot(joint() + LAST)

FAULTS = {
    "mimic on a fixed joint": (
        robot(joint() + joint("k", "fixed", "b", "c", '<mimic joint="j" multiplier="2"/>')),
        "<mimic> of 'k' is ignored: a fixed joint has no single value",
    ),
    "mimic on a floating joint": (
        robot(joint() + joint("k", "floating", "b", "c", '<mimic joint="j"/>')),
        "<mimic> of 'k' is ignored: a floating joint has no single value",
    ),
    "mimic of an unknown joint": (
        robot(joint(inside=LIMIT + '<mimic joint="other"/>') + LAST),
        "<mimic> of 'j' is ignored: there is no joint 'other'",
    ),
    "mimic of a fixed joint": (
        robot(joint(inside=LIMIT + '<mimic joint="k"/>') + LAST),
        "<mimic> of 'j' is ignored: 'k' is a fixed joint without a value",
    ),
    "xacro element in a link": (
        robot(
            joint() + LAST, LINKS.replace('<link name="a"/>', '<link name="a"><visual><xacro:grey/></visual></link>')
        ),
        "left in the file are ignored, and their content may be missing: <xacro:grey> in line 2",
    ),
    "xacro elements that hold others": (
        robot('<xacro:macro name="m"><link name="z"/><joint name="j"/></xacro:macro>' + joint() + LAST),
        "may be missing: <xacro:macro> in line 3",
    ),
    "xacro element in a joint": (
        robot(joint(inside=LIMIT + "<xacro:x/>") + LAST),
        "may be missing: <xacro:x> in line 3",
    ),
    "second axis": (
        robot(joint(inside=LIMIT + '<axis xyz="1 0 0"/>' * 2) + LAST),
        "the second <axis> of joint 'j' (line 3), which is the same, is ignored",
    ),
    "second limit": (
        robot(joint(inside=LIMIT + '<limit lower="5" upper="6"/>') + LAST),
        "the second <limit> of joint 'j' (line 3), which differs, is ignored",
    ),
    "second parent": (
        robot(joint(inside=LIMIT + '<parent link="c"/>') + LAST),
        "the second <parent> of joint 'j' (line 3), which differs, is ignored",
    ),
    "declaration after a blank line": (
        f"\n{DECLARATION}\n{PLAIN}",
        "the XML declaration does not begin the file, and is ignored",
    ),
    "declaration after the mark of UTF-8 and a blank": (
        f"\ufeff\n{DECLARATION}\n{PLAIN}",
        "the XML declaration does not begin the file, and is ignored",
    ),
    "two declarations": (
        f"{DECLARATION}\n{DECLARATION}\n{PLAIN}",
        "the XML declaration does not begin the file, and is ignored",
    ),
    "dashes in comments": (
        PLAIN.replace("</robot>", "<!-- a -- b --><!----- c ----->\n</robot>"),
        "comments with two dashes in them, which XML does not allow, are ignored (2)",
    ),
    "more after the robot": (PLAIN + "\0\0", "the content after the end of <robot> is ignored"),
    "a second robot": (PLAIN + PLAIN, "the content after the end of <robot> is ignored"),
    "a second robot after a comment with an end": (
        PLAIN.replace("<link", "<!-- </robot> --><link", 1) + "<robot/>",
        "the content after the end of <robot> is ignored",
    ),
    "output of a program before the robot": (
        f"xacro: in-order processing\n{PLAIN}",
        "the text before the first element is ignored",
    ),
    "bare ampersands": (
        PLAIN.replace("</robot>", "<gazebo>a & b &nbsp; &amp; &#65;</gazebo></robot>"),
        "XML does not allow a bare &, which is read as _ (2)",
    ),
    "control characters": (
        PLAIN.replace("</robot>", "<gazebo>\x1b[0m</gazebo></robot>"),
        "XML does not allow a control character, which is read as _ (1)",
    ),
}


@pytest.fixture
def parsed(tmp_path):
    def read(text):
        path = tmp_path / "robot.urdf"
        path.write_bytes(text.encode())
        return urdf.read(path)

    return read


@pytest.mark.parametrize("fault", FAULTS)
def test_what_other_readers_take_loads_with_a_note(parsed, tmp_path, fault):
    text, note = FAULTS[fault]
    rig = parsed(text)
    assert len(rig.notes) == 1
    assert rig.notes[0].endswith(note)
    assert rig.skeleton["j"].limit == poise.Range(-1, 2)
    assert rig.skeleton.nq == (8 if "floating" in fault else 1)
    assert set(parse_visuals(tmp_path / "robot.urdf", text.encode()).link_by_joint) == {"j", "k"}
    narrower = rig.with_skeleton(rig.skeleton.with_limits({"j": poise.Range(-0.5, 0.5)}))
    urdf.write(narrower, tmp_path / "again.urdf", rig.skeleton)
    written = (tmp_path / "again.urdf").read_bytes()
    assert written == text.replace('lower="-1"', 'lower="-0.5"', 1).replace('upper="2"', 'upper="0.5"', 1).encode()


@pytest.mark.parametrize(
    ("ends", "low", "high"),
    [('lower="1" upper="-1"', "1", "-1"), ('lower="2"', "2", "0"), ('lower="inf" upper="inf"', "inf", "inf")],
)
def test_lower_above_upper_is_no_range(parsed, tmp_path, ends, low, high):
    rig = parsed(robot(joint(inside=f"<limit {ends}/>") + LAST))
    assert rig.skeleton["j"].limit is None
    (note,) = rig.notes
    assert note == f"the range of joint 'j' is ignored: its lower limit {low} is above its upper limit {high}"
    mended = rig.with_skeleton(rig.skeleton.with_limits({"j": poise.Range(-1, 1)}))
    urdf.write(mended, tmp_path / "mended.urdf", rig.skeleton)
    assert urdf.read(tmp_path / "mended.urdf").skeleton["j"].limit == poise.Range(-1, 1)


def test_pinocchio_reads_what_is_taken(tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    path = tmp_path / "robot.urdf"
    for name, (text, _) in FAULTS.items():
        path.write_text(text, encoding="utf-8")
        assert pinocchio.buildModelFromUrdf(str(path)).nq in (1, 8), name


def test_faults_are_found_in_time_that_grows_with_the_file(parsed):
    comments = "<!-- a -- b -->" * 200_000
    assert parsed(f"{DECLARATION * 1000}{PLAIN}".replace("</robot>", f"{comments}</robot>")).skeleton.nq == 1
    with pytest.raises(poise.FileError, match="not well-formed"):
        parsed("<!-- a -- b -->" + "<!--" * 1_000_000)


def test_many_second_elements_are_counted(parsed):
    rig = parsed(robot(joint(inside=LIMIT + "<axis/>" * 1_001) + LAST))
    assert len(rig.notes) == 21
    assert rig.notes[-1] == "980 more second elements of joints are ignored"


# --- motors ----------------------------------------------------------------------------------------

SAFETY = '<safety_controller soft_lower_limit="-0.9" soft_upper_limit="1.9" k_position="15" k_velocity="10"/>'


def test_velocity_effort_and_safety_controller_are_kept(parsed, tmp_path):
    text = robot(joint(inside=LIMIT + SAFETY) + joint("k", "continuous", "b", "c", '<limit effort="0" velocity="3"/>'))
    rig = parsed(text)
    assert rig.notes[1:] == ()
    assert rig.skeleton.motors == {
        "j": poise.Motor(2.5, 87.0, poise.SafetyController(-0.9, 1.9, 15.0, 10.0)),
        "k": poise.Motor(3.0, 0.0),
    }
    assert rig.skeleton["j"].motor == rig.skeleton.motors["j"]
    assert rig.skeleton["a"].motor is None
    urdf.write(rig, tmp_path / "again.urdf", rig.skeleton)
    assert (tmp_path / "again.urdf").read_text() == text


@pytest.mark.parametrize(
    ("limit", "motor", "note"),
    [
        ('<limit lower="-1" upper="2"/>', None, ""),
        ('<limit lower="-1" upper="2" velocity="inf"/>', None, ""),
        ('<limit lower="-1" upper="2" effort="1e308" velocity="1"/>', poise.Motor(1.0), ""),
        ('<limit lower="-1" upper="2" effort="-1" velocity="1"/>', poise.Motor(1.0), "the effort -1 of joint 'j'"),
        ('<limit lower="-1" upper="2" effort="x" velocity="1"/>', poise.Motor(1.0), "is no number but 'x'"),
        (
            '<limit lower="-1" upper="2"/><safety_controller k_velocity="10"/>',
            poise.Motor(safety=poise.SafetyController(k_velocity=10.0)),
            "",
        ),
    ],
)
def test_motors_that_the_file_says_little_of(parsed, limit, motor, note):
    rig = parsed(robot(joint(inside=limit) + LAST))
    assert rig.skeleton["j"].motor == motor
    assert len(rig.notes) == bool(note)
    assert note in "".join(rig.notes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: poise.Motor(velocity=-1.0), "the velocity of a motor must be finite and at least 0"),
        (lambda: poise.Motor(effort="87"), "the effort of a motor must be a number"),
        (lambda: poise.Motor(safety=15.0), "is a poise.SafetyController or None"),
        (lambda: poise.SafetyController(upper=float("nan")), "the upper of a safety controller must be finite"),
    ],
)
def test_values_of_motors_are_checked(make, message):
    with pytest.raises(poise.InputError, match=message):
        make()


def test_a_speed_along_a_slide_is_a_length(parsed):
    rig = parsed(robot(joint("j", "prismatic", inside=LIMIT + SAFETY) + LAST))
    again = change_units(rig, UnitChange(100.0, np.array([1.0, 0, 0, 0]), "z", 0.01))
    assert again.skeleton["j"].motor == poise.Motor(250.0, 87.0, poise.SafetyController(-90.0, 190.0, 15.0, 0.1))

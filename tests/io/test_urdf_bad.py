"""Broken and hostile URDF files: one FileError with place and reason, without a hang, nothing else opened."""

from __future__ import annotations

import tracemalloc

import pytest

from poise.errors import FileError
from poise.io.formats import urdf
from tests.timeouts import assert_linear, no_hang

LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
LIMIT = '<limit lower="-1" upper="2"/>'


def joint(name="j", kind="revolute", parent="a", child="b", inside=LIMIT):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(inside, links=LINKS):
    return f'<robot name="r">\n{links}\n{inside}\n</robot>'


SECOND = joint("k", "fixed", "b", "c")
BAD_INPUTS = {
    "urdf_not_xml": "line 1: not well-formed XML",
    "urdf_two_parents": "line 7: joint 'j2': link 'c' is already the child of joint 'j1'",
    "urdf_duplicate_joint": "line 7: a second joint is called 'j1'",
    "urdf_nan_origin": "joint 'j1': origin xyz: 'nan' is not a number",
    "urdf_mimic_cycle": "mimics in a cycle: j1, j2, j1",
    "urdf_billion_laughs": "line 2: document types and entities are not read",
    "urdf_latin1": "line 2: not well-formed XML",
}


def refused(tmp_path, text, match):
    path = tmp_path / "bad.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=match) as caught:
        urdf.read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_every_bad_urdf_of_the_data_is_tested(data):
    names = {path.stem for path in (data / "bad_inputs").glob("*.urdf")}
    taken = {"urdf_unnormalised_axis", "urdf_lower_gt_upper"}
    assert names == set(BAD_INPUTS) | taken
    for name in taken:
        assert len(urdf.read(data / "bad_inputs" / f"{name}.urdf").notes) == 1


@pytest.mark.parametrize(("name", "match"), BAD_INPUTS.items())
def test_bad_inputs_are_refused(data, name, match):
    with pytest.raises(FileError, match=match):
        urdf.read(data / "bad_inputs" / f"{name}.urdf")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (robot("", links=""), "the robot has no link"),
        (robot(""), "3 links have no parent joint and one root is needed: a, b, c"),
        (robot(joint() + joint("k", child="c", parent="x")), "joint 'k': unknown parent link 'x'"),
        (robot(joint() + joint("k", child="x")), "joint 'k': unknown child link 'x'"),
        (robot(joint() + joint("k", parent="")), "joint 'k': no parent link"),
        (robot(SECOND + joint(kind="screw")), "unknown type 'screw'; known: revolute, continuous"),
        (robot(SECOND + joint(kind="")), "joint 'j': no type"),
        (robot(joint() + joint("k", parent="b", child="a") + joint("m", child="c")), "no root: every link"),
        (robot(joint("k", "fixed", "b", "c") + joint("m", "fixed", "c", "b")), "form a loop that the root 'a'"),
        (robot(joint(parent="a", child="a") + SECOND, LINKS), "no parent joint|loop"),
        (robot(SECOND + joint(), LINKS + '<link name="a"/>'), "a second link is called 'a'"),
        (robot(SECOND + joint(), LINKS + "<link/>"), "a link has no name"),
        (robot(SECOND + joint(name="")), "a joint has no name"),
        (robot(SECOND + joint(inside='<axis xyz="0 0 0"/>' + LIMIT)), "joint 'j': the axis has zero length"),
        (robot(SECOND + joint(inside='<axis xyz="0 1"/>' + LIMIT)), "axis xyz needs three numbers, not '0 1'"),
        (robot(SECOND + joint(inside='<axis xyz="0 inf 1"/>' + LIMIT)), "axis xyz: 'inf' is not a number"),
        (robot(SECOND + joint(inside='<origin xyz="0 0 1e999"/>' + LIMIT)), "origin xyz: '1e999' is too large"),
        (robot(SECOND + joint(inside='<origin rpy="0 0 1,5"/>' + LIMIT)), "origin rpy: '1,5' is not a number"),
        (robot(SECOND + joint(inside='<origin xyz="${x} 0 0"/>' + LIMIT)), "looks like a xacro template"),
        (robot(SECOND + joint(inside='<limit lower="nan" upper="1"/>')), "lower limit: 'nan' is not a number"),
        (robot(SECOND + joint(inside='<limit lower="" upper="1"/>')), "lower limit: '' is not a number"),
        (robot(SECOND + joint(inside='<mimic joint="j"/>')), "mimics in a cycle: j, j"),
        (robot(SECOND + joint(inside="<mimic/>")), "<mimic> names no joint"),
        (robot(SECOND + joint(inside='<mimic joint="k" multiplier="nan"/>')), "mimic multiplier: 'nan'"),
        (robot('<xacro:macro name="m"/>'), "line 3: is a xacro file, a template; run"),
        (robot("<xacro:arm/>" + joint()), "is a xacro file.*; as it is, it cannot be read: 2 links have no parent"),
        (robot("<xacro:arm/>", '<link name="a"/>'), "is a xacro file"),
        (robot("<xacro:arm/>" + joint(inside='<origin xyz="${x} 0 0"/>') + SECOND), "is a xacro file"),
        (robot('<xacro:if value="1">' * 200 + "</xacro:if>" * 200 + joint() + SECOND), "nested more than 100 deep"),
        (robot(joint(name="${prefix}j")), "is a xacro file"),
        ('<sdf version="1.6"><model/></sdf>', "not a URDF file: its root element is <sdf>, not <robot>"),
        ("<robot name='r'>" + LINKS, "not well-formed XML: no element found"),
        ("<robot><link name=a/></robot>", "not well-formed XML"),
        ('<robot xmlns:x="y"><link name="a" name="b"/></robot>', "duplicate attribute"),
        ("HIERARCHY\nROOT a", "not a URDF file; this looks like a BVH file"),
        ('{"asset": {}}', "this looks like a JSON"),
        (b"glTF\x02\0\0\0", "this looks like a GLB file"),
        (b"\0\xff\xfe\x01" * 100, "not well-formed XML"),
        ("", "the file is empty"),
        ("   \n", "not well-formed XML: no element found"),
        ('<?xml version="1.0" encoding="cp1252"?>' + robot(joint() + SECOND), "the encoding 'cp1252' is not supported"),
        ('<?xml version="1.0" encoding="klingon"?>' + robot(joint() + SECOND), "encoding 'klingon' is not supported"),
        ('<?xml version="1.0" encoding="utf-16"?>' + robot(joint() + SECOND), "encoding"),
        (robot(joint() + SECOND).replace("a", "\0"), "not well-formed XML"),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(tmp_path, text, match):
    refused(tmp_path, text, match)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "secret.txt">]>',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "secret.txt"> %p;]>',
        '<!DOCTYPE robot SYSTEM "secret.txt">',
        '<!DOCTYPE robot PUBLIC "x" "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY x "y">]>',
        "<!DOCTYPE robot>",
    ],
)
def test_document_types_and_entities_are_refused(tmp_path, declaration):
    (tmp_path / "secret.txt").write_text("secret")
    refused(tmp_path, declaration + '<robot name="&x;"><link name="a"/></robot>', "entities are not read")


@pytest.mark.parametrize("end", range(5, 270, 11))
def test_a_file_cut_anywhere_is_refused(tmp_path, end):
    text = robot(joint() + SECOND)
    assert len(text) > 270
    refused(tmp_path, text[:end], "not well-formed XML")


def long_chain(n, mimic=False):
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    inside = [f'<mimic joint="j{i + 1}"/>' if mimic and i + 1 < n else "" for i in range(n)]
    joints = (joint(f"j{i}", "revolute", f"l{i}", f"l{i + 1}", LIMIT + inside[i]) for i in range(n))
    return robot("".join(joints), links)


@pytest.mark.parametrize("mimic", [False, True])
def test_a_chain_of_three_thousand_joints_loads(tmp_path, mimic):
    path = tmp_path / "long.urdf"
    path.write_text(long_chain(3000, mimic))
    skeleton = urdf.read(path).skeleton
    assert (len(skeleton), skeleton.nq) == (3001, 1 if mimic else 3000)


def long_mimic_cycle(n):
    return long_chain(n, mimic=True).replace(f'l{n}"/>{LIMIT}', f'l{n}"/>{LIMIT}<mimic joint="j0"/>')


@pytest.mark.parametrize("text", [long_chain, lambda n: long_chain(n, mimic=True), long_mimic_cycle])
def test_the_work_grows_with_the_joints_and_not_faster(tmp_path, text):
    def read(n):
        (tmp_path / "long.urdf").write_text(text(n))
        try:
            urdf.read(tmp_path / "long.urdf")
        except FileError:
            assert text is long_mimic_cycle

    assert_linear(read, 200)


HOSTILE = {
    "a hundred thousand joints": lambda: long_chain(100_000),
    "nested elements": lambda: "<robot>" + "<a>" * 1_000_000,
    "nested links": lambda: "<robot>" + "<link name='a'>" * 300_000,
    "one long name": lambda: robot("", f'<link name="{"x" * 3_000_000}"/><link name="b"/>'),
    "one long number": lambda: robot(joint(inside=f'<origin xyz="{"9" * 3_000_000} 0 0"/>') + SECOND),
    "many numbers": lambda: robot(joint(inside=f'<origin xyz="{"9 " * 500_000}"/>') + SECOND),
    "growing ratios": lambda: long_chain(300, mimic=True).replace("<mimic ", '<mimic multiplier="1e90" '),
    "a long mimic cycle": lambda: long_mimic_cycle(5000),
}  # fmt: skip


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_without_a_hang_and_in_little_memory(tmp_path, make):
    path = tmp_path / "hostile.urdf"
    path.write_text(make())
    with no_hang(), pytest.raises(FileError) as caught:
        urdf.read(path)
    assert len(str(caught.value)) < 400 + len(str(path))
    tracemalloc.start()
    with pytest.raises(FileError):
        urdf.read(path)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()

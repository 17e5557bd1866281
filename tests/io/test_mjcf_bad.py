"""MJCF files that are broken or hostile: one sentence with file and line, at once, and nothing outside is opened."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import poise
from poise.io.formats import mjcf
from poise.io.text_parsing import MAX_NUMBER
from tests.io.fuzzing import mutated, until_time_is_up
from tests.io.mjcf_samples import ARM, body, model
from tests.timeouts import no_hang

ENTITIES = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "boom"}">' for k in range(12))
HINGE = '<joint name="j"/>'


def deep(levels):
    return model("<body><joint/>" * levels + "</body>" * levels)


BROKEN = {
    "cut in the middle": (ARM[: len(ARM) // 2], "not well-formed XML"),
    "cut in a tag": (ARM[:200], "not well-formed XML"),
    "no end": (ARM.replace("</mujoco>", ""), "no element found"),
    "a urdf": ('<robot name="r"><link name="a"/></robot>', "it is a URDF file: rename it to end in .urdf"),
    "an sdf": ("<sdf/>", "it is an SDF file"),
    "a part": ("<mujocoinclude/>", "read the file that includes it"),
    "any xml": ("<html/>", "not an MJCF file: its root element is <html>; a robot for MuJoCo begins with <mujoco>"),
    "json": ("{}", "this looks like a JSON"),
    "an entity bomb": (f"<!DOCTYPE m [{ENTITIES}]><mujoco>&e11;</mujoco>", "document types and entities are not read"),
    "an outer entity": (
        '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>&x;</mujoco>',
        "line 1: document",
    ),
    "another encoding": ('<?xml version="1.0" encoding="utf-7"?><mujoco/>', "the encoding 'utf-7' is not supported"),
    "nan": (model(body('<joint pos="nan 0 0"/>')), "line 4: pos of <joint>: 'nan' is not a number that can be used"),
    "inf": (model(body(HINGE, more='pos="0 inf 0"')), "pos of <body>: 'inf' is not a number"),
    "1e999": (model(body('<joint ref="1e999"/>')), "ref of <joint>: '1e999' is not a number"),
    "hexadecimal": (model(body('<joint axis="0x10 0 0"/>')), "axis of <joint>: '0x10'"),
    "nan in a range": (model(body('<joint range="nan 1"/>')), "range of <joint>: 'nan'"),
    "nan in a keyframe": (model(body(HINGE), '<keyframe><key qpos="nan"/></keyframe>'), "line 6: qpos of <key>: 'nan'"),
    "too few numbers": (
        model(body('<joint pos="0 0"/>')),
        "line 4: <joint>: attribute 'pos' does not have enough data",
    ),
    "letters": (model(body('<joint pos="a b c"/>')), "line 4: <joint>: bad format in attribute 'pos'"),
    "no axis": (model(body('<joint name="j" axis="0 0 0"/>')), "line 4: <joint> 'j': axis too small"),
    "no rotation": (model(body(HINGE, more='quat="0 0 0 0"')), "line 4: <body> 'a': zero quaternion is not allowed"),
    "a misspelt attribute": (model(body('<joint rnage="0 1"/>')), "unrecognized attribute: 'rnage'"),
    "a name twice": (model(body(HINGE) + body("", "b") + body("", "b")), "line 4: <body> 'b': "),
    "two free joints": (model(body("<freejoint/><freejoint/>")), "line 4: <body> 'a': more than 6 dofs"),
    "a free joint inside": (model(body(body("<freejoint/>", "b"))), "free joint can only be used on top level"),
    "no such class": (model(body('<joint class="x"/>')), "line 4: <joint>: unknown default class"),
    "a keyframe of another robot": (model(body(HINGE), '<keyframe><key qpos="1 2"/></keyframe>'), "invalid qpos size"),
    "an equality of nobody": (model(body(HINGE), '<equality><joint joint1="x"/></equality>'), "unknown element 'x'"),
    "a bomb of copies": (model('<replicate count="1000000000"><body/></replicate>'), "at most 10000 are read"),
    "copies of copies": (
        model('<replicate count="9999">' * 3 + "<body/>" + "</replicate>" * 3),
        "more than 10000 bodies, joints and sites",
    ),
    "half a copy": (model('<replicate count="1.5"><body/></replicate>'), "count of <replicate>: '1.5' is not a count"),
    "nested too deep": (deep(450), "nested more than 400 deep"),
    "a great many bodies": (model("<body/>" * 10_001), "more than 10000 bodies, joints and sites"),
    "a long name": (model(body("", "n" * 1001)), "has more than 1000 characters"),
    "the old coordinates": (model(body(HINGE), attributes='coordinate="global"'), "before version 2.3.4"),
    "an include of itself": ('<mujoco>\n<include file="a.xml"/></mujoco>', "line 2: 'a.xml' is included a second time"),
    "an include without a file": ("<mujoco><include/></mujoco>", "<include> names no file"),
    "an include of nothing": ('<mujoco><include file="b.xml"/></mujoco>', "line 1: <include>: "),
    "an include of a folder": ('<mujoco><include file="sub"/></mujoco>', "<include>: "),
    "a way out": ('<mujoco><include file="../b.xml"/></mujoco>', "leads out of the file's folder; it was not opened"),
    "a way out and back": ('<mujoco><include file="sub/../../x/b.xml"/></mujoco>', "leads out of the file's folder"),
    "a hidden way out": ('<mujoco><include file="%2e%2e/b.xml"/></mujoco>', "there is no file '%2e%2e/b.xml'"),
    "a full path": ('<mujoco><include file="/etc/passwd"/></mujoco>', "leads out of the file's folder"),
    "an address": ('<mujoco><include file="http://a/b.xml"/></mujoco>', "there is no file 'http://a/b.xml'"),
    "a drive": ('<mujoco><include file="C:\\b.xml"/></mujoco>', "<include>: "),
    "a way out with backslashes": (
        '<mujoco><include file="..\\b.xml"/></mujoco>',
        "it was not opened; permit a folder that holds it: include_root=DIR in Python, --include-root DIR on the",
    ),
    "a path that is long": (f'<mujoco><include file="{"a" * 2000}"/></mujoco>', "is not the path of a file"),
    "a name that is long": (f'<mujoco><include file="{"a" * 300}"/></mujoco>', "<include>: "),
    "an include with elements": (
        '<mujoco><include file="one.xml"><body/></include></mujoco>',
        "line 1: <include> has elements of its own",
    ),
    "an include of an empty element": ('<mujoco><include file="empty.xml"/></mujoco>', "'empty.xml' holds no elements"),
    "a link out": ('<mujoco><include file="link.xml"/></mujoco>', "leads out of the file's folder"),
    "a device": ('<mujoco><include file="null.xml"/></mujoco>', "leads out of the file's folder"),
    "an include of URDF": ('<mujoco><include file="robot.xml"/></mujoco>', "'robot.xml' is not MJCF: its root element"),
    "an include in a circle": ('<mujoco><include file="one.xml"/></mujoco>', "one.xml: line 1: 'a.xml' is included"),
}


def test_there_are_fifteen_and_more():
    assert len(BROKEN) > 40


@pytest.mark.parametrize("case", BROKEN)
def test_one_sentence(case, tmp_path):
    folder = tmp_path / "robot"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "b.xml").write_text(ARM)
    (folder / "link.xml").symlink_to(tmp_path / "b.xml")
    (folder / "null.xml").symlink_to(os.devnull)
    (folder / "robot.xml").write_text("<robot/>")
    (folder / "empty.xml").write_text("<mujoco/>")
    (folder / "one.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    path, (text, sentence) = folder / "a.xml", BROKEN[case]
    path.write_text(text)
    before = {file.name for file in folder.iterdir()} | {file.name for file in os.scandir()}
    with no_hang(), pytest.raises(poise.FileError) as refusal:
        mjcf.read(path)
    assert sentence in str(refusal.value)
    assert str(refusal.value).startswith(str(folder))
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 1000
    assert {file.name for file in folder.iterdir()} | {file.name for file in os.scandir()} == before  # no log


MALFORMED = {
    "two hyphens in a comment": ("<mujoco><!-- a -- b -->", ""),
    "an ampersand": ('<mujoco model="a & b">', ""),
    "an entity that is not defined": ('<mujoco model="&deg;">', ""),
    "two attributes without a blank": ('<mujoco model="a"model2="b">', ""),
    "a blank line before the declaration": ('\n<?xml version="1.0"?>\n<mujoco>', ""),
    "two declarations": ('<?xml version="1.0"?><?xml version="1.0"?><mujoco>', ""),
    "a word before the root": ("model <mujoco>", ""),
    "a second root": ("<mujoco>", "<mujoco/>"),
}


@pytest.mark.parametrize("included", [False, True])
@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_that_mujoco_reads_is_reported_as_one(case, included, tmp_path):
    first, last = MALFORMED[case]
    (tmp_path / "a.xml").write_text('<mujoco><include file="b.xml"/></mujoco>')
    path = tmp_path / ("b.xml" if included else "a.xml")
    text = f"{first}{body(HINGE)}</mujoco>{last}" if included else f"{first}<worldbody/></mujoco>{last}"
    path.write_text(text)
    with pytest.raises(poise.FileError) as refusal:
        mjcf.read(tmp_path / "a.xml")
    line = 2 if "blank line" in case else 1
    assert str(refusal.value).startswith(f"{path}: line {line}: not well-formed XML: ")
    assert str(refusal.value).endswith(
        "; MuJoCo reads the file although it is malformed, Poise does not: correct this line"
    )
    if "attributes" not in case and not included:  # MuJoCo knows no model2, and says so after it has read the XML
        mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize(
    "text", ["<mujoco>", '<mujoco a="1" a="2"/>', "<mujoco a=1/>", '<mujoco><?xml version="1.0"?></mujoco>']
)
def test_a_malformed_file_that_mujoco_refuses_too(text, tmp_path):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(poise.FileError, match="not well-formed XML: ") as refusal:
        mjcf.read(tmp_path / "a.xml")
    assert "MuJoCo" not in str(refusal.value)


def test_a_malformed_file_names_others_that_stay_closed(tmp_path):
    """MuJoCo is asked about the text alone: it opens no file that the text names."""
    (tmp_path / "secret.xml").write_text("<mujoco>")
    text = f'<mujoco model="a & b"><include file="{tmp_path / "secret.xml"}"/></mujoco>'
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(poise.FileError, match=r"a\.xml: line 1: .*MuJoCo reads the file although"):
        mjcf.read(tmp_path / "a.xml")


def test_the_way_out_of_the_data_is_refused_before_mujoco_sees_it(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(poise.FileError, match="leads out of the file's folder; it was not opened"):
        mjcf.read(data / "bad_inputs" / "mjcf_include_traversal.xml")


@pytest.mark.parametrize("version", [None, "3.2.1"])
def test_without_a_mujoco_that_reads_it_the_file_is_named(tmp_path, monkeypatch, version):
    monkeypatch.setitem(sys.modules, "mujoco", version and SimpleNamespace(__version__=version))
    (tmp_path / "a.xml").write_text(ARM)
    with pytest.raises(poise.FileError, match=r"a\.xml: MJCF is read with MuJoCo.*pip install"):
        poise.load(tmp_path / "a.xml")


def test_too_deep_by_what_is_included(tmp_path):
    path, levels = tmp_path / "a.xml", 300
    inside = '<include file="b.xml"/>'
    path.write_text(model("<body><joint/>" * levels + inside + "</body>" * levels))
    (tmp_path / "b.xml").write_text("<mujoco>" + "<body><joint/>" * levels + "</body>" * levels + "</mujoco>")
    with pytest.raises(poise.FileError, match=r"b\.xml: line 1: elements are nested more than 400 deep"):
        mjcf.read(path)


def test_as_deep_as_a_chain_may_be(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(deep(395))
    assert len(mjcf.read(path).skeleton) == 396


@pytest.mark.long
def test_one_element_more_than_a_file_may_have(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text("<mujoco>" + "<a/>" * 200_000 + "</mujoco>")
    with pytest.raises(poise.FileError, match="more than 200000 elements"):
        mjcf.read(path)


def test_many_bodies_are_read_soon(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(model("".join(body("<joint/>", f"b{k}") for k in range(4000))))
    with no_hang():
        assert len(mjcf.read(path).skeleton) == 4001


SEEDS = [
    ARM.encode(),
    model(
        body('<freejoint/><geom size="1"/><joint type="ball"/>') + '<replicate count="3"><body/></replicate>'
    ).encode(),
    model(
        body('<joint name="j" type="ball" range="0 1"/><site pos="1 2 3"/>', more='axisangle="1 2 3 0.5"'),
        '<equality><weld body1="a"/></equality><default><joint ref="1"/></default>',
    ).encode(),
]


@pytest.mark.long
def test_mutations(tmp_path):
    """Whatever stands in a file, reading ends soon with a rig of finite numbers or a FileError."""
    path, counts = tmp_path / "a.xml", {True: 0, False: 0}

    def check(data):
        path.write_bytes(data)
        message = ""
        try:
            with no_hang():
                rig = mjcf.read(path)
        except poise.FileError as error:
            rig, message = None, str(error)
        counts[rig is not None] += 1
        if rig is None:
            assert message.startswith(str(tmp_path))
            assert "\n" not in message
            return
        assert np.isfinite(rig.pose.q).all()
        assert (np.abs(rig.skeleton.A) <= MAX_NUMBER).all()
        assert len(set(rig.skeleton.names)) == len(rig.skeleton)
        assert all(np.isfinite(pose.q).all() for pose in rig.poses.values())

    until_time_is_up(mutated(SEEDS), check)
    assert min(counts.values()) > 0

"""MJCF attributes that hold names: every attribute of MuJoCo's own schema, with MuJoCo as the judge."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import mujoco
import pytest

import poise
from poise.io.formats import mjcf
from tests.workload import draw

# "{name}" is defined as a mesh, a material, a class and so on, so that references to it lead somewhere.
BASE = """<mujoco>
  <default><default class="{name}"/></default>
  <asset>
    <material name="{name}"/>
    <texture name="{name}" type="2d" builtin="flat" width="1" height="1"/>
    <mesh name="{name}" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <hfield name="{name}" nrow="2" ncol="2" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <body name="{name}"><joint name="{name}"/><geom name="{name}" size="1"/></body>
    <body name="b"><joint name="k"/><geom size="1"/></body>
  </worldbody>
</mujoco>"""
REQUIRED = {
    "default": {"class": "new"},
    "body/geom": {"size": "1"},
    "body/inertial": {"pos": "0 0 0", "mass": "1", "diaginertia": "1 1 1"},
    "frame/geom": {"size": "1"},
    "replicate": {"count": "2"},
    "equality/joint": {"joint1": "k"},
    "equality/connect": {"body1": "b", "anchor": "0 0 0"},
    "equality/weld": {"body1": "b"},
}
KEPT = (
    "compiler", "default", "default/joint", "default/geom", "default/mesh", "default/site", "default/equality",
    "asset/mesh", "body", "body/joint", "body/freejoint", "body/geom", "body/site", "body/inertial", "frame",
    "replicate", "equality/joint", "equality/connect", "equality/weld", "keyframe/key",
)  # fmt: skip
OUTSIDE = {"frame": ["name", "childclass"], "replicate": ["count", "sep"]}  # the printed schema leaves these two out
HOLD_NAMES = {
    "default class", "body name", "body childclass", "body/joint name", "body/joint class", "body/freejoint name",
    "body/geom name", "body/geom class", "body/geom material", "body/geom mesh", "body/geom hfield",
    "default/geom material", "default/geom mesh", "default/geom hfield", "default/site material", "body/site name",
    "body/site class", "body/site material", "frame name", "frame childclass", "replicate sep", "equality/joint name",
    "equality/joint class", "equality/joint joint2", "equality/connect name", "equality/connect body2",
    "equality/weld name", "equality/weld body2", "keyframe/key name",
}  # fmt: skip
NAMES = ("light_gray", "visual/white 1.5")


def attributes_of_the_schema():
    """Every element, as a path below <mujoco>, with the names of its attributes, as MuJoCo prints them."""
    found = {path: set(names) for path, names in OUTSIDE.items()}
    above = []
    for line in mujoco.mj_printSchema(False, True).splitlines():
        head = re.match(r"( *)(\S+) \(.\)(.*)", line)
        if head:
            depth = len(head[1]) // 3
            above = [*above[:depth], head[2].replace("(world)", "")]
        path = "/".join(above[1:])
        found.setdefault(path, set()).update((head[3] if head else line).split())
    return found


def model_with(path, attribute, value):
    """A model with one more element, whose attribute holds a name."""
    root = ET.fromstring(BASE.format(name=value))  # noqa: S314  (it stands above)
    tags = path.split("/")
    at = root.find(
        {"default": "default", **dict.fromkeys(("body", "frame", "replicate"), "worldbody")}.get(tags[0], ".")
    )
    for depth, tag in enumerate(tags):
        at = ET.SubElement(at, tag, REQUIRED.get("/".join(tags[: depth + 1]), {}))
    if path in ("frame", "replicate"):
        ET.SubElement(ET.SubElement(at, "body"), "geom", {"size": "1"})
    if path.startswith("body/") and path != "body/geom":
        ET.SubElement(root.find("worldbody/body[last()]"), "geom", {"size": "1"})
    if attribute == "hfield":
        at.set("type", "hfield")
    at.set(attribute, f"{value}2" if attribute == "name" or (path, attribute) == ("default", "class") else value)
    return ET.tostring(root, encoding="unicode")


def taken_by_mujoco(text):
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return False
    return True


def refusal(path, text):
    """The sentence with which a model is refused; None where it is read."""
    path.write_text(text)
    try:
        mjcf.read(path)
    except poise.FileError as error:
        return str(error)
    return None


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_attribute_that_may_hold_a_name_may_hold_it(tmp_path, name):
    schema, taken = attributes_of_the_schema(), set()
    for element in KEPT:
        for attribute in sorted(schema[element]):
            text = model_with(element, attribute, name)
            if taken_by_mujoco(text):
                taken.add(f"{element} {attribute}")
                assert refusal(tmp_path / "a.xml", text) is None, f"{attribute} of <{element}>"
    assert taken >= HOLD_NAMES


@pytest.mark.parametrize("name", ["0x10", "inf", "1_000"])
def test_a_name_may_look_like_a_number_that_is_refused(tmp_path, name):
    for place in sorted(HOLD_NAMES):
        assert refusal(tmp_path / "a.xml", model_with(*place.split(), name)) is None, place


@pytest.mark.long
def test_elements_that_are_left_out_may_hold_anything(tmp_path):
    """Materials, tendons, actuators, sensors and the like are neither checked nor handed to MuJoCo."""
    for element, attributes in attributes_of_the_schema().items():
        if element in KEPT or not element:
            continue
        for attribute in draw(f"attributes of {element}", sorted(attributes), 5):
            text = model_with(element, attribute, "visual/white 1.5")
            assert refusal(tmp_path / "a.xml", text) is None, f"{attribute} of <{element}>"


def test_a_site_that_shows_a_mesh_stands_where_it_is(tmp_path):
    text = '<site name="tip" type="mesh" mesh="light_gray" pos="1 2 3"/>'
    (tmp_path / "a.xml").write_text(BASE.format(name="light_gray").replace('<joint name="k"/>', text))
    assert mjcf.read(tmp_path / "a.xml").rest.world["tip"].positions.tolist() == [1.0, 2.0, 3.0]

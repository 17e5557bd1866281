"""Files of one's own in the page: chosen, dropped alone and as folders, refused in a sentence."""

from __future__ import annotations

import json
import shutil

import pytest

import poise
from poise.io import samples
from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long

CUBE = """solid a
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 0.1 0 0
vertex 0 0.1 0
endloop
endfacet
endsolid a
"""
ROBOT = """<robot name="r"><link name="base"><visual><geometry><mesh filename="package://r/meshes/a.stl"/></geometry>
</visual></link><link name="tip"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def robot(tmp_path):
    """A folder with a robot, its mesh, and a rig that could be meant as well."""
    folder = tmp_path / "robot"
    (folder / "meshes").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "arm.urdf").write_text("nothing")
    (folder / "meshes" / "a.stl").write_text(CUBE)
    (folder / "robot.urdf").write_text(ROBOT)
    shutil.copy(samples.path("humanoid.bvh"), folder / "meshes" / "walk.bvh")
    return folder


def drop(tab, *paths):
    """Drop files or folders of the disk on the middle of the page, as a hand does."""
    client = tab.context.new_cdp_session(tab.page)
    at = {"x": 500, "y": 300, "data": {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}}
    for kind in ("dragEnter", "dragOver"):
        client.send("Input.dispatchDragEvent", {"type": kind, **at})
    tab.until("!document.querySelector('[data-testid=drop-sign]').hidden")
    client.send("Input.dispatchDragEvent", {"type": "drop", **at})


def opened(tab, name):
    tab.until_state(f"state.name === {name!r}")
    tab.until("window.poise.ready")
    tab.answered()


def test_a_file_is_chosen_undone_and_redone(served):
    tab = served("ccd")
    tab.click("open-menu")
    assert ".glb" in tab.at("open-files").inner_text()
    with tab.page.expect_file_chooser() as chooser:
        tab.click("open-files")
    chooser.value.set_files(samples.path("humanoid.glb"))
    opened(tab, "humanoid.glb")
    assert tab.studio.document.skeleton.names == poise.load(samples.path("humanoid.glb")).skeleton.names
    assert tab.get("window.poise.model.asset")
    assert tab.state["undo"] == "open"
    tab.click("scope-limbs")
    tab.until_state("state.scope === 'limbs'")
    tab.answered()
    tab.drag(*[(i, -i) for i in range(10)])
    assert_shown_is_solved(tab)
    tab.key("Control+z")
    tab.click("undo")
    tab.click("undo")
    tab.until_state("state.scene === 'ccd'")
    tab.key("Control+Shift+Z")
    opened(tab, "humanoid.glb")
    tab.click("scene-menu")
    tab.click("scene-ccd")
    tab.until_state("state.scene === 'ccd'")
    tab.click("scene-menu")
    tab.click("scene-opened")
    opened(tab, "humanoid.glb")
    assert tab.messages_shown() == []


def test_a_folder_is_dropped_and_its_robot_found_with_its_meshes(served, robot):
    tab = served("ccd")
    drop(tab, robot)
    opened(tab, "robot.urdf")
    assert tab.get("window.poise.model.asset")
    assert tab.messages_shown() == []


def test_a_gltf_is_dropped_with_its_files(served, tmp_path):
    data = samples.path("humanoid.glb").read_bytes()
    length = int.from_bytes(data[12:16], "little")
    tree = json.loads(data[20 : 20 + length])
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "all.bin").write_bytes(data[20 + length + 8 :])
    tree["buffers"][0]["uri"] = "data/all.bin"
    (tmp_path / "body.gltf").write_text(json.dumps(tree))
    tab = served("ccd")
    drop(tab, tmp_path / "body.gltf", tmp_path / "data")
    opened(tab, "body.gltf")
    assert tab.studio.document.skeleton.names == poise.load(samples.path("humanoid.glb")).skeleton.names


def test_where_several_could_be_meant_it_is_requested(served, tmp_path):
    for name in ("one.bvh", "two.bvh"):
        shutil.copy(samples.path("humanoid.bvh"), tmp_path / name)
    tab = served("ccd")
    drop(tab, tmp_path)
    dialog = tab.at("which-file")
    dialog.wait_for()
    assert dialog.get_by_role("button").all_inner_texts() == [
        "Cancel",
        *(f"{tmp_path.name}/{n}.bvh" for n in ("one", "two")),
    ]
    tab.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert tab.state["scene"] == "ccd"
    drop(tab, tmp_path)
    dialog.get_by_text("two.bvh").click()
    opened(tab, "two.bvh")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.blend", b"BLENDER", "Blender files are not supported"),
        ("a.glb", b"glTF1234", "a.glb"),
        ("a.txt", b"hi", "known:"),
    ],
)
def test_a_bad_file_is_one_sentence_and_what_was_shown_stays(served, tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    tab = served("ccd")
    drop(tab, tmp_path / name)
    tab.until("document.querySelector('[data-testid=message]')")
    (sentence,) = tab.messages_shown()
    assert words in sentence
    assert str(tmp_path) not in sentence
    assert tab.state["scene"] == "ccd"
    assert tab.state["undo"] is None
    tab.drag(*[(i, -i) for i in range(10)])
    assert_shown_is_solved(tab)


def test_too_much_is_refused_before_it_is_sent(served, tmp_path):
    with (tmp_path / "huge.urdf").open("wb") as file:
        file.truncate(300_000_000)
    tab = served("ccd")
    drop(tab, tmp_path / "huge.urdf")
    tab.until("document.querySelector('[data-testid=message]')")
    assert "256 MB" in tab.messages_shown()[0]


def test_nothing_is_lost_of_a_large_file(served, tmp_path):
    """Ten megabytes go through in pieces while the page is used."""
    lines = samples.path("humanoid.bvh").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Frame Time"))
    frames = lines[start + 1 :] * (10_000_000 // sum(map(len, lines[start + 1 :])))
    lines[start - 1] = f"Frames: {len(frames)}"
    (tmp_path / "long.bvh").write_text("\n".join([*lines[: start + 1], *frames]) + "\n")
    tab = served("ccd")
    drop(tab, tmp_path / "long.bvh")
    opened(tab, "long.bvh")
    assert len(tab.studio.document.rig.clips[0]) == len(frames)

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

import poise
from poise.errors import FileError
from poise.ground.contact.contact_files import load_contacts, save_contacts
from poise.ground.contact.contacts import Contacts
from poise.io.sidecar import apply_sidecar
from tests.strategies import straight_chain

LEGS, TIMES = ("left", "front right"), np.arange(100) / 30
SIDECAR = """# my rig
[chains]
arm = { root = "j0", tip = "tip" }  # the arm

[contacts.walk]
# old
left = { heel = [[0.0, 1.0]] }

# limits
[joints.j1]
axis = [0, 0, 1]
"""


def some(seed=1):
    rng = np.random.default_rng(seed)
    stands = np.repeat(rng.random((4, 10, 2)) < 0.5, 10, axis=1)
    return Contacts(LEGS, TIMES, stands[0], stands[1])


def same(a, b):
    np.testing.assert_array_equal(a.heel, b.heel)
    np.testing.assert_array_equal(a.ball, b.ball)


@pytest.mark.parametrize("name", ["new.ik.toml", "new.json"])
@pytest.mark.parametrize("clip", ["walk", 'A "walk"\nwith \\ and é', ""])
def test_there_and_back(tmp_path, name, clip):
    save_contacts(some(), tmp_path / name, clip)
    same(load_contacts(tmp_path / name, clip, LEGS, TIMES), some())


def test_the_rest_of_a_sidecar_stays_as_it_is(tmp_path):
    path = tmp_path / "rig.ik.toml"
    path.write_text(SIDECAR)
    save_contacts(some(), path, "walk")
    text = path.read_text()
    before, after = SIDECAR.split("[contacts.walk]\n# old\nleft = { heel = [[0.0, 1.0]] }\n")
    assert text.startswith(before)
    assert text.endswith(after)
    same(load_contacts(path, "walk", LEGS, TIMES), some())
    assert apply_sidecar(straight_chain(3), path).chains == {"arm": ("j0", "tip")}


def test_a_second_clip_is_appended_and_written_over(tmp_path):
    path = tmp_path / "rig.ik.toml"
    path.write_bytes(SIDECAR.replace("\n", "\r\n").encode())
    for seed in (2, 3):
        save_contacts(some(seed), path, "my run")
    assert load_contacts(path, "walk", LEGS, TIMES).heel.any()
    same(load_contacts(path, "my run", LEGS, TIMES), some(3))
    text = path.read_bytes().decode()
    assert text.startswith(SIDECAR.replace("\n", "\r\n"))
    assert text.count('[contacts."my run"]') == 1
    assert text.count("\n") == text.count("\r\n")


def test_a_sidecar_that_says_nothing_of_a_clip(tmp_path):
    path = tmp_path / "rig.ik.toml"
    path.write_text(SIDECAR)
    assert load_contacts(path, "run", LEGS, TIMES) is None


@pytest.mark.parametrize(
    "text",
    ["[contacts]\nwalk = { left = { heel = [] } }\n", "contacts.walk.left.heel = []\n", "contacts = { walk = {} }\n"],
)
def test_contacts_in_another_form_are_left_alone(tmp_path, text):
    path = tmp_path / "rig.ik.toml"
    path.write_text(text)
    with pytest.raises(FileError, match="contacts.walk: the sidecar holds contacts in another form"):
        save_contacts(some(), path, "walk")
    assert path.read_text() == text


def test_tables_of_legs_are_replaced_with_the_clip(tmp_path):
    path = tmp_path / "rig.ik.toml"
    path.write_text("[contacts.walk.left]\nheel = [\n [0.0, 0.5],\n [1.0, 1.5]\n]\n[chains]\n")
    save_contacts(some(), path, "walk")
    assert set(tomllib.loads(path.read_text())) == {"contacts", "chains"}
    same(load_contacts(path, "walk", LEGS, TIMES), some())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[contacts", "not a TOML file"),
        ("a.toml", "contacts = 3", "contacts must be a table"),
        ("a.toml", "[contacts]\nwalk = 3", "contacts.walk: contacts must be a table"),
        ("a.toml", "[contacts.walk]\nlft = {}", "contacts.walk: no leg 'lft'.*legs: left, front right"),
        (
            "a.toml",
            "[contacts.walk]\nleft = { heel = [[3, 9]] }",
            "left.heel: the interval 3 to 9 s is not in the clip",
        ),
        ("a.json", "{", "not a JSON file"),
        ("a.json", "[]", "contacts must be a table"),
        ("a.json", '{"left": {"heel": [[NaN, 1]]}}', "NaN is not a number"),
        ("a.json", '{"left": {}, "left": {}}', "the key 'left' occurs twice"),
        ("a.yaml", "", "kept in .toml .a sidecar. or .json files, not .yaml"),
        ("a", "", "not without a suffix"),
    ],
)
def test_mistakes_are_one_sentence_with_the_file(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        load_contacts(path, "walk", LEGS, TIMES)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        load_contacts(tmp_path / "none.json", "walk", LEGS, TIMES)


def test_a_json_file_is_a_line_a_leg(tmp_path):
    save_contacts(some(), tmp_path / "walk.json", "walk")
    text = (tmp_path / "walk.json").read_text()
    assert [line.split(":")[0].strip() for line in text.splitlines()] == ["{", '"left"', '"front right"', "}"]
    assert set(json.loads(text)) == set(LEGS)


def test_loading_a_rig_with_contacts_in_its_sidecar(tmp_path, data):
    rig = tmp_path / "walk_mass.bvh"
    rig.write_bytes((data / "bvh/walk_mass.bvh").read_bytes())
    save_contacts(some(), tmp_path / "walk_mass.ik.toml", "walk_mass")
    assert len(poise.load(rig).clips) == 1


def test_planting_takes_the_path_of_a_file(tmp_path):
    rig = poise.load(poise.samples.path("humanoid.glb"))
    clip, path = rig.clips[0], tmp_path / "steps.json"
    stands = Contacts.from_intervals(
        {"left": {"heel": [[0.0, 0.3]], "ball": [[0.0, 0.3]]}, "right": {"heel": [[0.5, 0.7]], "ball": []}},
        ("left", "right"),
        clip.times,
    )
    save_contacts(stands, path, clip.name)
    by_path = poise.lock_feet(clip, rig=rig, contacts=str(path))
    by_value = poise.lock_feet(clip, rig=rig, contacts=load_contacts(path, clip.name, ("left", "right"), clip.times))
    np.testing.assert_array_equal(by_path.poses.q, by_value.poses.q)
    same(by_path.contacts, by_value.contacts)
    assert by_path.contacts.heel.any()
    one_leg = poise.plant_feet(clip, poise.Terrain.flat(), rig=rig, legs=["right"], contacts=path)
    assert one_leg.contacts.legs == ("right",)
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(FileError, match=rf"empty\.toml: holds no contacts of the clip '{clip.name}'"):
        poise.lock_feet(clip, rig=rig, contacts=tmp_path / "empty.toml")

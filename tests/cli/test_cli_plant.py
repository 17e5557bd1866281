"""`poise plant` and `poise lock`, run in this process: what they write, what they say, what they refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.command_line import run

WALK = samples.path("humanoid.bvh")
CHARACTER = samples.path("humanoid.glb")


class TestPlant:
    def test_it_writes_the_clip_and_says_how_it_went(self, tmp_path):
        out = tmp_path / "hill.glb"
        code, text, _ = run("plant", CHARACTER, "--terrain", "slope:5", "-o", out)
        assert code == 0
        for words in ("on a slope of 5 degrees", "foot skate [cm/s]", "left leg: LeftUpLeg, LeftLeg, LeftFoot, LeftToe",
                      "note: the clip walks in place", f"clip 'walk_planted' in {out}"):  # fmt: skip
            assert words in text
        clips = poise.load(out).clips
        assert [clip.name for clip in clips] == ["walk", "walk_planted"]
        before, after = (clip.poses.world["Hips"].positions for clip in clips)
        travelled, climbed = (after - before)[-1, [2, 1]]
        assert travelled > 1  # the clip walked in place
        assert abs((after - before)[0, 2]) < 0.01
        assert climbed == pytest.approx(travelled * np.tan(np.radians(5)), abs=0.1)

    @pytest.mark.long
    def test_strict_tells_by_its_exit_code_what_the_sentences_say(self, tmp_path):
        rig = poise.load(WALK)
        stays = poise.Pose(rig.skeleton, np.tile(rig.clips[0].poses.q[:1], (5, 1)))
        poise.save(poise.Clip(np.arange(5) / 30, stays, "stands"), tmp_path / "stands.bvh", like=rig)
        for file, ground, ok in ((tmp_path / "stands.bvh", "flat", True), (WALK, "stairs:0.6,0.25", False)):
            out = tmp_path / f"{ok}.bvh"
            code, text, _ = run("plant", file, "--terrain", ground, "-o", out, "--strict")
            assert code == (0 if ok else 1)
            assert ("worse: " in text) is not ok
            assert poise.load(out).clips  # the answer is kept
            assert run("plant", file, "--terrain", ground, "-o", out)[0] == 0
            code, text, _ = run("plant", file, "--terrain", ground, "-o", out, "--strict", "--json")
            assert (code, json.loads(text)["ok"]) == (0 if ok else 1, ok)
        assert run("lock", tmp_path / "stands.bvh", "-o", tmp_path / "a.bvh", "--strict")[0] == 0

    def test_every_file_that_is_requested(self, tmp_path):
        out, page, picture = (tmp_path / name for name in ("a.bvh", "a.html", "a.svg"))
        code, _, _ = run("plant", WALK, "--terrain", "flat", "-o", out, "--report", page, "--plot", picture)
        assert code == 0
        assert page.read_text().startswith("<!DOCTYPE html>")
        assert picture.read_bytes().startswith(b"<?xml")
        assert len(poise.load(out).clips[0]) == len(poise.load(WALK).clips[0])

    def test_json_on_the_terminal_and_in_a_file(self, tmp_path):
        numbers = tmp_path / "a.json"
        code, text, _ = run(
            "plant", WALK, "--terrain", "noise:0.02", "-o", tmp_path / "a.bvh", "--report", numbers, "--json"
        )
        assert code == 0
        message, kept = json.loads(text), json.loads(numbers.read_text())
        assert message["after"] == kept["after"]
        assert message["joints"]["left"] == ["LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe"]
        assert message["out"] == str(tmp_path / "a.bvh")
        assert (message["up"], message["ground"]) == ("y", "bumps of 0.02")

    def test_one_foot(self, tmp_path):
        code, text, _ = run("plant", WALK, "--terrain", "flat", "--legs", "right", "-o", tmp_path / "a.bvh")
        assert code == 0
        assert text.startswith("1 leg (right)")

    def test_strides_that_fit_stairs(self, tmp_path):
        heights = {}
        for stride in ("keep", "fit"):
            out, numbers = tmp_path / f"{stride}.glb", tmp_path / f"{stride}.json"
            code, text, _ = run(
                "plant", CHARACTER, "--terrain", "stairs:0.15,0.30", "--stride", stride, "-o", out, "--report", numbers
            )
            assert code == 0
            assert ("note: strides fitted to the treads: of 3 steps 3 shorter" in text) is (stride == "fit")
            hips = poise.load(out).clips[1].poses.world["Hips"].positions
            heights[stride] = abs(hips[-1, 1] - hips[0, 1])
        assert heights["fit"] < 0.8 * heights["keep"]
        code, _, errors = run(
            "plant", CHARACTER, "--terrain", "stairs:0.15,0.30", "--stride", "fit", "--in-place", "keep", "-o",
            tmp_path / "a.glb",
        )  # fmt: skip
        assert code != 0
        assert "no stride can be fitted" in errors

    def test_a_height_map_with_its_size_height_and_place(self, tmp_path):
        np.savez(tmp_path / "ramp.npz", heights=np.tile(np.linspace(0, 1, 11), (11, 1)))
        place = ("--terrain-size", "20,20", "--terrain-height", "2", "--terrain-origin", "-1,3")
        code, text, _ = run(
            "plant", WALK, "--terrain", tmp_path / "ramp.npz", *place, "-o", tmp_path / "a.bvh", "--json"
        )
        assert code == 0
        hips = [poise.load(path).clips[0].poses.world["Hips"].positions[0, 1] for path in (WALK, tmp_path / "a.bvh")]
        assert hips[1] - hips[0] == pytest.approx(1 + 0.1, abs=0.05)  # the middle of the map is a metre west
        assert json.loads(text)["ground"] == "a height map"

    def test_a_height_map_in_centimetres(self, tmp_path):
        np.savez(tmp_path / "step.npz", heights=np.full((2, 2), 30.0))
        place = ("--terrain-size", "2000,2000", "--terrain-unit", "0.01")
        assert run("plant", WALK, "--terrain", tmp_path / "step.npz", *place, "-o", tmp_path / "a.bvh")[0] == 0
        hips = [poise.load(path).clips[0].poses.world["Hips"].positions[:, 1] for path in (WALK, tmp_path / "a.bvh")]
        np.testing.assert_allclose(hips[1] - hips[0], 0.3, atol=0.05)

    def test_without_matplotlib_it_finishes_and_says_how_to_get_the_picture(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        code, _, errors = run(
            "plant", WALK, "--terrain", "flat", "-o", tmp_path / "a.bvh", "--plot", tmp_path / "a.png"
        )
        assert code == 0
        assert "poise[plot]" in errors
        assert sorted(tmp_path.iterdir()) == [tmp_path / "a.bvh"]


def test_a_second_run_names_the_clip_again(tmp_path):
    first, out = tmp_path / "a.glb", tmp_path / "b.glb"
    assert run("lock", CHARACTER, "-o", first)[0] == 0
    code, text, _ = run("lock", first, "--clip", "walk", "-o", out, "--json")
    assert code == 0
    assert json.loads(text)["clip"] == "walk_locked_1"
    assert [clip.name for clip in poise.load(out).clips] == ["walk", "walk_locked", "walk_locked_1"]


class TestContacts:
    def test_saved_edited_and_given(self, tmp_path):
        kept = tmp_path / "steps.json"
        first = run("lock", WALK, "-o", tmp_path / "a.bvh", "--save-contacts", kept, "--json")
        again = run("lock", WALK, "-o", tmp_path / "b.bvh", "--contacts", kept, "--json")
        assert first[0] == again[0] == 0
        assert json.loads(first[1])["after"]["contact"] == json.loads(again[1])["after"]["contact"]
        assert f"contacts are those of {kept}" in json.loads(again[1])["notes"]
        kept.write_text(json.dumps({"right": {"ball": [[0.6, 0.8]]}}))
        known = json.loads(run("lock", WALK, "-o", tmp_path / "c.bvh", "--contacts", kept, "--json")[1])
        np.testing.assert_allclose(known["after"]["contact"], [0, 7 / 30], atol=1e-6)  # 6 steps and half a step twice
        words = ("plant", WALK, "--terrain", "flat", "-o", tmp_path / "d.bvh", "--contacts", kept, "--json")
        assert json.loads(run(*words)[1])["after"]["contact"] == known["after"]["contact"]

    def test_those_of_the_sidecar_need_no_word(self, tmp_path):
        walk = tmp_path / "walk.bvh"
        walk.write_bytes(WALK.read_bytes())
        (tmp_path / "walk.ik.toml").write_text("[contacts.walk]\nleft = { heel = [[0.1, 0.3]] }\n")
        code, text, _ = run("lock", walk, "--legs", "left", "-o", tmp_path / "a.bvh")
        assert code == 0
        assert "in contact: left 23 %" in text
        assert f"note: contacts are those of {tmp_path / 'walk.ik.toml'}" in text

    def test_one_foot_of_contacts_for_both(self, tmp_path):
        kept = tmp_path / "steps.json"
        kept.write_text(json.dumps({"left": {"heel": [[0.1, 0.3]]}, "right": {"ball": [[0.6, 0.8]]}}))
        words = ("lock", WALK, "--legs", "right", "-o", tmp_path / "c.bvh", "--contacts", kept, "--json")
        np.testing.assert_allclose(json.loads(run(*words)[1])["after"]["contact"], [7 / 30], atol=1e-6)


class TestDirection:
    @pytest.mark.parametrize(
        ("typed", "way"),
        [
            ("along", [0, 0, 1]),
            ("against", [0, 0, -1]),
            ("90", [1, 0, 0]),
            ("-1,0", [-1, 0, 0]),
            ("0,5,-2", [0, 0, -1]),
        ],
    )
    def test_stairs_climb_that_way(self, tmp_path, typed, way):
        ground = ("--terrain", "stairs:0.15,0.30", "--terrain-direction", typed)
        code, text, _ = run("plant", WALK, *ground, "-o", tmp_path / "a.bvh", "--json")
        assert code == 0
        known = json.loads(text)
        np.testing.assert_allclose(known["direction"], way, atol=0.02)
        climbed = np.ptp(poise.load(tmp_path / "a.bvh").clips[0].poses.world["Hips"].positions[[0, -1], 1])
        assert (climbed > 0.3) == (way[2] != 0)

    @pytest.mark.long
    def test_each_of_many_clips_has_its_own_way(self, tmp_path):
        rig = poise.load(WALK)
        walk = rig.clips[0]
        q = np.array(walk.poses.q)
        q[:, 0] -= 1.5 * walk.times  # sideways
        poise.save(walk, tmp_path / "a.bvh", like=rig)
        poise.save(poise.Clip(walk.times, poise.Pose(rig.skeleton, q), "b"), tmp_path / "b.bvh", like=rig)
        ground = ("--terrain", "slope:10", "--terrain-direction", "along")
        files = tmp_path / "a.bvh", tmp_path / "b.bvh"
        assert run("plant", *files, *ground, "-o", tmp_path / "new", "--processes", "1")[0] == 0
        for name, climbed in (("a", [0, 0]), ("b", [1, 0])):
            way = poise.travel_direction(poise.load(tmp_path / f"{name}.bvh").clips[0])
            assert (abs(way[0]) > 0.9) == bool(climbed[0])
            after = poise.load(tmp_path / "new" / f"{name}.bvh").clips[0].poses.world["Hips"].positions
            assert after[-1, 1] - after[0, 1] > 0.1  # uphill, each its own way


class TestInPlace:
    def test_kept_where_it_is(self, tmp_path):
        code, text, _ = run(
            "plant", WALK, "--terrain", "flat", "--in-place", "keep", "-o", tmp_path / "a.bvh", "--json"
        )
        assert code == 0
        before, after = (poise.load(path).clips[0].poses.world["Hips"].positions for path in (WALK, tmp_path / "a.bvh"))
        np.testing.assert_allclose(after[:, [0, 2]], before[:, [0, 2]], atol=1e-4)
        known = json.loads(text)
        assert known["after"]["skate"] < 1 < np.hypot(*known["velocity"])  # on the ground that passes

    def test_refused(self, tmp_path):
        code, _, errors = run("plant", WALK, "--terrain", "flat", "--in-place", "refuse", "-o", tmp_path / "a.bvh")
        assert code == 2
        assert "walks in place" in errors
        assert list(tmp_path.iterdir()) == []

    def test_lock_stays_there_without_the_option(self, tmp_path):
        code, text, _ = run("lock", WALK, "-o", tmp_path / "a.bvh")
        assert code == 0
        assert "on flat ground" in text
        after = poise.load(tmp_path / "a.bvh").clips[0].poses.world["Hips"].positions
        assert abs(after[-1, 2] - after[0, 2]) < 0.1


STAIRS = ("plant", WALK, "--terrain", "stairs:0.15,0.30", "-o", "a.bvh")

BALL = """HIERARCHY
ROOT ball
{
OFFSET 0 0 0
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{
OFFSET 0 1 0
}
}
MOTION
Frames: 2
Frame Time: 0.1
0 0 0
1 2 3
"""
BAD = [
    (("plant", WALK, "--terrain", "hill", "-o", "a.bvh"), "no terrain 'hill'"),
    (("plant", WALK, "--terrain", "stairs:1", "-o", "a.bvh"), "stairs:RISE,GOING"),
    (("plant", WALK, "--terrain", "no.png", "-o", "a.bvh"), "no.png"),
    (("plant", WALK, "--terrain", "flat", "--terrain-size", "3,4", "-o", "a.bvh"), "--terrain-size is for height maps"),
    (
        ("plant", WALK, "--terrain", "flat", "--terrain-unit", "0", "-o", "a.bvh"),
        "unit of a terrain must be more than 0",
    ),
    (("plant", WALK, "--terrain", "m.png", "--terrain-size", "3", "-o", "a.bvh"), "--terrain-size takes 2 numbers"),
    (("plant", WALK, "--terrain", "m.png", "--terrain-origin", "a,b", "-o", "a.bvh"), "takes 2 or 3 numbers"),
    (
        (*STAIRS, "--terrain-direction", "1,0", "--terrain-up", "z"),
        "--terrain-up is for terrain files, not for 'stairs:",
    ),
    (
        ("plant", WALK, "--terrain", "slope:5", "--terrain-up", "y", "-o", "a.bvh"),
        "for terrain files, not for 'slope:5'",
    ),
    ((*STAIRS, "--terrain-direction", "up"), "--terrain-direction takes along, against, an angle in degrees, or two"),
    ((*STAIRS, "--terrain-direction", "nan"), "[,Z] in the clip's axes, not 'nan'"),
    ((*STAIRS, "--terrain-direction", "1,2,3,4"), "[,Z] in the clip's axes, not '1,2,3,4'"),
    ((*STAIRS, "--terrain-direction", ""), "[,Z] in the clip's axes, not ''"),
    ((*STAIRS, "--terrain-direction", "0,0"), "--terrain-direction 0,0 points nowhere"),
    ((*STAIRS, "--terrain-direction", "0,1,0"), "has no level part; up is y"),
    (
        ("plant", WALK, "--terrain", "noise:0.1", "--terrain-direction", "along", "-o", "a.bvh"),
        "a direction (@TURN, --terrain-direction) is for slope and stairs, not for 'noise:0.1'",
    ),
    (
        ("plant", WALK, "--terrain", "slope:5@90", "--terrain-direction", "along", "-o", "a.bvh"),
        "'slope:5@90' says a direction, and so does --terrain-direction",
    ),
    (("plant", WALK, "--terrain", "flat", "-o", "a.png"), "a.png"),
    (("plant", WALK, "--terrain", "flat", "-o", "no/a.bvh"), "there is no folder 'no'"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--report", "a.txt"), "a page (.html) or numbers (.json)"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--report", "no/a.html"), "there is no folder 'no'"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--plot", "a.gif"), "cannot draw to 'a.gif'"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--legs", "left,tail"), "no leg 'tail'; legs: left, right"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--clip", "run"), "no clip 'run'"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--metre", "0"), "a metre must be a positive number"),
    (("plant", WALK, "--terrain", "flat", "-o", "a.bvh", "--stretch", "9"), "stretch must be"),
    (("plant", "none.bvh", "--terrain", "flat", "-o", "a.bvh"), "none.bvh"),
    (("plant", samples.path("arm.urdf"), "--terrain", "flat", "-o", "a.glb"), "holds no animation"),
    (("lock", "empty.bvh", "-o", "a.glb"), "empty.bvh: holds no animation: there is nothing to lock"),
    (("lock", WALK, "-o", "a.bvh", "--contacts", "none.json"), "none.json"),
    (("lock", WALK, "-o", "a.bvh", "--contacts", "other.toml"), "no contacts of the clip 'humanoid'"),
    (("lock", WALK, "-o", "a.bvh", "--save-contacts", "a.csv"), "end with .json or .toml"),
    (("lock", WALK, "-o", "a.bvh", "--save-contacts", "no/a.json"), "there is no folder 'no'"),
    (
        ("lock", WALK, "-o", "a.bvh", "--save-contacts", "c.json", "--report", "./c.json"),
        "--report and --save-contacts",
    ),
    (("plant", WALK, "--terrain", "slope:85", "-o", "a.bvh"), "beyond the end of its leg"),
    (
        ("plant", WALK, "--terrain", "far.npz", "-o", "a.bvh"),
        "x 100 to 101, z 9.5 to 10.5; scale it (unit=, --terrain-",
    ),
    (("plant", WALK, "-o", "a.bvh"), "Missing option"),
    (("lock", WALK), "Missing option"),
    (("lock", "two.glb", "-o", "a.glb"), "poise lock needs --clip NAME: this file has 2 clips: 'walk', 'again'"),
    (("lock", "ball.bvh", "-o", "a.bvh"), "no legs"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_one_sentence_and_nothing_is_written(tmp_path, arguments, words):
    (tmp_path / "ball.bvh").write_text(BALL)
    (tmp_path / "other.toml").write_text("[contacts.other]\n")
    np.savez(tmp_path / "far.npz", heights=np.zeros((2, 2)), origin=(100.5, 0, 10))
    if "empty.bvh" in arguments:
        tree = Path(WALK).read_text().split("MOTION")[0]
        (tmp_path / "empty.bvh").write_text(f"{tree}MOTION\nFrames: 0\nFrame Time: 0.03\n")
    if "two.glb" in arguments:
        walk = poise.load(CHARACTER).clips[0]
        poise.save(
            poise.Clip(walk.times[:3], walk.poses[:3], "again"), tmp_path / "two.glb", like=poise.load(CHARACTER)
        )
    there = sorted(tmp_path.iterdir())
    code, text, errors = run(*arguments, cwd=tmp_path)
    assert code == 2
    assert text == ""
    assert words in errors
    assert "Traceback" not in errors
    assert errors.startswith("error: ")
    assert sorted(tmp_path.iterdir()) == there

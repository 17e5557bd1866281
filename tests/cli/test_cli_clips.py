"""`--clip all` of plant, lock and solve: every clip of a file, a file each where one holds one, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.cli.foot_planting import list_contact_files
from poise.io import samples
from poise.io.registry import build_clip_paths, is_single_clip_format, list_formats
from tests.command_line import run

HUMANOID = samples.path("humanoid.glb")
HAND = ("--joint", "LeftHand", "--to", "0.3", "1.2", "0.3")


def several(path, *names):
    """The sample with these clips: the walk, and its first frames for all others."""
    rig = poise.load(HUMANOID)
    walk = rig.clips[0]
    start = poise.Pose(rig.skeleton, walk.poses.q[:6])
    clips = [poise.Clip(walk.times, walk.poses, names[0])]
    clips += [poise.Clip(walk.times[:6], start, name) for name in names[1:]]
    poise.save(poise.Rig(rig.skeleton, rig.pose, tuple(clips), rig.skins), path, like=rig)
    return path


@pytest.fixture
def two(tmp_path):
    return several(tmp_path / "two.glb", "walk", "start")


class TestFeet:
    def test_all_go_into_one_file_that_holds_several(self, two, tmp_path):
        out = tmp_path / "locked.glb"
        code, text, _ = run("lock", two, "--clip", "all", "-o", out)
        assert code == 0
        assert [clip.name for clip in poise.load(out).clips] == ["walk", "start", "walk_locked", "start_locked"]
        assert text.count("foot skate") == 2
        alone = tmp_path / "alone.glb"
        assert run("lock", two, "--clip", "start", "-o", alone)[0] == 0
        wanted, made = (poise.load(path).clip("start_locked").poses.q for path in (alone, out))
        np.testing.assert_array_equal(made, wanted)

    @pytest.mark.long
    def test_a_file_a_page_and_a_contact_file_each(self, two, tmp_path):
        files = {"-o": "up.bvh", "--report": "up.html", "--save-contacts": "steps.json", "--plot": "side.svg"}
        words = [word for option, name in files.items() for word in (option, tmp_path / name)]
        assert run("plant", two, "--terrain", "slope:5", "--clip", "all", *words)[0] == 0
        made = {path.name for path in tmp_path.iterdir()} - {"two.glb"}
        assert made == {
            f"{stem}_{clip}.{suffix}" for stem, suffix in (name.split(".") for name in files.values())
            for clip in ("walk", "start")
        }  # fmt: skip
        assert len(poise.load(tmp_path / "up_walk.bvh").clips[0]) == 31

    def test_contacts_given_back_are_those_of_each_clip(self, two, tmp_path):
        for kept in (tmp_path / "steps.json", tmp_path / "steps.toml"):
            assert run("lock", two, "--clip", "all", "-o", tmp_path / "a.glb", "--save-contacts", kept)[0] == 0
            words = ("lock", two, "--clip", "all", "-o", tmp_path / "b.glb", "--contacts", kept, "--json")
            code, text, _ = run(*words)
            message = json.loads(text)
            assert (code, [one["source"] for one in message["clips"]], message["failed"]) == (0, ["walk", "start"], [])
            assert all(any("contacts are those of" in note for note in one["notes"]) for one in message["clips"])
            a, b = (poise.load(tmp_path / name).clips for name in ("a.glb", "b.glb"))
            for one, other in zip(a, b, strict=True):
                np.testing.assert_allclose(one.poses.q, other.poses.q, atol=2e-3)  # times are kept to 0.1 ms

    def test_a_clip_that_cannot_be_planted_costs_no_other(self, two, tmp_path):
        (tmp_path / "steps_walk.json").write_text("{}")
        (tmp_path / "steps_start.json").write_text('{"left": {"knee": [[0, 1]]}}')
        out = tmp_path / "a.glb"
        code, text, errors = run("lock", two, "--clip", "all", "-o", out, "--contacts", tmp_path / "steps.json")
        assert code == 1
        assert "clip 'walk_locked'" in text
        assert errors.startswith("failed: clip 'start': ")
        assert [clip.name for clip in poise.load(out).clips] == ["walk", "start", "walk_locked"]
        (tmp_path / "steps_walk.json").write_text('{"left": {"knee": [[0, 1]]}}')
        code, _, errors = run("lock", two, "--clip", "all", "-o", out, "--contacts", tmp_path / "steps.json")
        assert (code, errors.count("\n")) == (2, 1)
        assert "no clip of 2 could be worked on" in errors

    def test_what_it_was_called_before_still_goes(self, two, tmp_path):
        code, text, _ = run("lock", two, "--clip", "start", "-o", tmp_path / "a.glb", "--json")
        assert (code, json.loads(text)["clip"]) == (0, "start_locked")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ("--report", "s.json", "--save-contacts", "s.json"),
                "--report and --save-contacts would both write s.json",
            ),
            (("--contacts", "s.json"), "s_walk.json: there is no such file; --clip all takes a contact file for each"),
            (("--report", "no/r.html"), "there is no folder 'no'"),
        ],
    )
    def test_refused_before_any_work(self, two, tmp_path, words, message):
        before = sorted(tmp_path.iterdir())
        code, _, errors = run("lock", two, "--clip", "all", "-o", "a.glb", *words, cwd=tmp_path)
        assert (code, errors.count("\n")) == (2, 1)
        assert message in errors
        assert sorted(tmp_path.iterdir()) == before

    def test_two_files_that_clash_by_the_name_of_a_clip(self, two, tmp_path):
        code, _, errors = run("lock", two, "--clip", "all", "-o", "a.json", "--save-contacts", "a.json", cwd=tmp_path)
        assert (code, errors) == (2, "error: --out and --save-contacts would both write a.json: give two files\n")

    def test_contacts_of_two_clips_of_one_name_go_into_two_files(self):
        walk = poise.load(HUMANOID).clips[0]
        with pytest.raises(poise.InputError, match=r"--contacts a\.toml: two clips are called 'walk'"):
            list_contact_files(Path("a.toml"), [walk, walk], "--contacts")
        assert list_contact_files(Path("a.json"), [walk, walk], "") == [Path("a_walk.json"), Path("a_walk_1.json")]


class TestSolve:
    def test_every_frame_of_every_clip(self, two, tmp_path):
        words = ("solve", two, "--every-frame", "--clip", "all", *HAND)
        code, text, _ = run(*words, "-o", tmp_path / "reach.bvh", "--json")
        message = json.loads(text)["clips"]
        assert (code, [one["reached"] for one in message]) == (0, [31, 6])
        for name, frames in (("walk", 31), ("start", 6)):
            clip = poise.load(tmp_path / f"reach_{name}.bvh").clips[0]
            assert len(clip) == frames
            hand = clip.poses.world["LeftHand"].positions
            np.testing.assert_allclose(hand, np.broadcast_to([0.3, 1.2, 0.3], hand.shape), atol=1e-4)
        code, text, _ = run(*words)
        assert code == 0
        assert "'walk':\n31 of 31 frames reached" in text

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "--clip all: a pose starts from one clip"),
            (("--every-frame", "--targets", "t.csv"), "--clip all: the rows of --targets are the frames of one clip"),
        ],
    )
    def test_one_clip_where_one_is_needed(self, two, tmp_path, words, message):
        target = ("--joint", "LeftHand") if "--targets" in words else HAND
        code, _, errors = run("solve", two, *target, "--clip", "all", *words, cwd=tmp_path)
        assert (code, errors.count("\n")) == (2, 1)
        assert message in errors


class TestLibrary:
    @pytest.mark.long
    def test_a_file_for_each_clip_of_each_file(self, two, tmp_path):
        (tmp_path / "in").mkdir()
        several(tmp_path / "in" / "a.glb", "walk", "start")
        several(tmp_path / "in" / "b.glb", "walk", "start")
        for words in (("lock",), ("solve", "--every-frame", *HAND)):
            out = tmp_path / words[0]
            code, text, _ = run(words[0], tmp_path / "in", "-o", out, "--format", "bvh", "--clip", "all", *words[1:])
            assert code == 0, text
            assert {path.name for path in out.glob("*.bvh")} == {
                f"{s}_{c}.bvh" for s in "ab" for c in ("walk", "start")
            }
            again = run(words[0], tmp_path / "in", "-o", out, "--format", "bvh", "--clip", "all", *words[1:])
            assert again.returncode == 2
            assert "these outputs exist" in again.stderr

    @pytest.mark.parametrize("verb", ["convert", "lock", "solve"])
    def test_names_that_clash_are_refused_before_any_work(self, tmp_path, verb):
        (tmp_path / "in").mkdir()
        several(tmp_path / "in" / "a.glb", "b_c", "d")
        several(tmp_path / "in" / "a_b.glb", "c", "e")
        more = ("--every-frame", *HAND) if verb == "solve" else ()
        words = (verb, "in", "-o", "out", "--format", "bvh", "--clip", "all", *more)
        code, _, errors = run(*words, cwd=tmp_path)
        assert (code, errors.count("\n")) == (2, 1)
        assert "in/a.glb and in/a_b.glb would both be written to out/a_b_c.bvh" in errors
        assert not (tmp_path / "out").exists()

    @pytest.mark.long
    def test_a_file_that_is_there_is_not_written_over(self, tmp_path):
        (tmp_path / "in").mkdir()
        (tmp_path / "out").mkdir()
        several(tmp_path / "in" / "a.glb", "walk", "start")
        (tmp_path / "out" / "a_walk.bvh").write_text("mine")
        words = ("lock", "in", "-o", "out", "--format", "bvh", "--clip", "all")
        code, _, errors = run(*words, cwd=tmp_path)
        assert code == 2
        assert "this output exists: out/a_walk.bvh; --overwrite" in errors
        assert (tmp_path / "out" / "a_walk.bvh").read_text() == "mine"
        assert run(*words, "--overwrite", cwd=tmp_path)[0] == 0


@pytest.mark.filterwarnings("ignore:.*it holds 2 animations")
@pytest.mark.parametrize("suffix", sorted(s for s, module in list_formats().items() if hasattr(module, "write")))
def test_a_format_says_whether_it_holds_one_clip(suffix, tmp_path):
    rig = poise.load(HUMANOID)
    hips = poise.Pose(rig.skeleton, rig.clips[0].poses.q[:2])
    clips = tuple(poise.Clip([0.0, 0.1], hips, name) for name in ("a", "b"))
    path = tmp_path / f"x{suffix}"
    if suffix == ".urdf":
        return  # holds none
    if is_single_clip_format(path):
        with pytest.raises(poise.UnsupportedError, match="clip"):
            poise.save(poise.Rig(rig.skeleton, rig.pose, clips), path)
    else:
        poise.save(poise.Rig(rig.skeleton, rig.pose, clips), path, like=rig)
        assert len(poise.load(path).clips) >= 2


def test_names_of_files(tmp_path):
    assert build_clip_paths(tmp_path / "a.bvh", ["walk"]) == [tmp_path / "a.bvh"]
    names = ["walk", "Walk", "a/b", "..", "walk"]
    made = [path.name for path in build_clip_paths(tmp_path / "a.bvh", names)]
    assert made == ["a_walk.bvh", "a_Walk_1.bvh", "a_a_b.bvh", "a_clip.bvh", "a_walk_2.bvh"]

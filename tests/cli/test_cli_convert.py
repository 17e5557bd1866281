"""`poise convert`: what it writes, what it says, what it refuses."""

from __future__ import annotations

import json

import pytest

import poise
from poise.io import samples
from tests.command_line import run

FIGURE, WALK = samples.path("humanoid.glb"), samples.path("humanoid.bvh")


def test_it_writes_the_file_and_says_what_is_lost(tmp_path):
    out = tmp_path / "walk.bvh"
    code, text, errors = run("convert", FIGURE, out)
    assert (code, errors) == (0, "")
    for line in (f"wrote {out}", "1 clip, 31 frames at 30 frames/s", "lost: limits of 4 joints"):
        assert line in text.splitlines()
    assert poise.load(out).clips[0].fps == pytest.approx(30)


def test_options_and_json(tmp_path):
    out = tmp_path / "walk.glb"
    options = ("--clip", "humanoid", "--fps", "15", "--scale", "0.5", "--up", "z", "--json")
    code, text, _ = run("convert", WALK, out, *options)
    message = json.loads(text)
    assert code == 0
    assert (message["files"], message["clips"], message["frames"]) == ([str(out)], ["humanoid"], 16)
    assert message["fps"] == pytest.approx(15)
    assert poise.load(out).skeleton.up == "z"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no.glb", "a.bvh"), "no.glb: No such file"),
        ((WALK, "a.fbx"), "a.fbx: "),
        ((WALK, "nowhere/a.glb"), "there is no folder 'nowhere'"),
        ((WALK, WALK), "which IN reads"),
        ((WALK, "a.glb", "--clip", "run"), "no clip 'run'"),
        ((WALK, "a.glb", "--rest", "zero"), "is for BVH files"),
        ((WALK, "a.urdf"), "a URDF file describes a robot"),
        ((WALK, "a.glb", "--up", "w"), "'w' is not one of"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(arguments, message, tmp_path):
    code, text, errors = run("convert", *arguments, cwd=tmp_path)
    assert (code, text) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())

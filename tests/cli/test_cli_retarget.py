"""`poise retarget`: what it writes, what it says, what it refuses."""

from __future__ import annotations

import json

import pytest

import poise
from poise.io import samples
from tests.command_line import run

FIGURE, WALK, ARM = (samples.path(name) for name in ("humanoid.glb", "humanoid.bvh", "arm.urdf"))


def test_it_writes_the_clip_with_the_target(tmp_path):
    out, report = tmp_path / "walk.glb", tmp_path / "walk.json"
    code, text, errors = run("retarget", WALK, FIGURE, "-o", out, "--report", report)
    assert (code, errors) == (0, "")
    assert f"clip 'humanoid' in {out}: 31 frames" in text
    rig = poise.load(out)
    assert rig.skeleton.names == poise.load(FIGURE).skeleton.names
    assert len(rig.clips[-1]) == 31
    assert json.loads(report.read_text())["frames"] == 31


@pytest.mark.parametrize("suffix", ["glb", "bvh", "gltf", "vrma"])
def test_the_suffix_chooses_the_format(tmp_path, suffix):
    out = tmp_path / f"walk.{suffix}"
    code, text, _ = run("retarget", WALK, FIGURE, "-o", out, "--json", "--ground", "none", "--fps", "15")
    message = json.loads(text)
    assert code == 0
    assert (message["frames"], message["out"], message["feet"]) == (16, str(out), None)
    assert out.stat().st_size


def test_a_match_is_printed_saved_and_used(tmp_path):
    table, out = tmp_path / "match.toml", tmp_path / "walk.bvh"
    code, text, _ = run("retarget", WALK, FIGURE, "--dry-run", "--save-match", table)
    assert code == 0
    assert text.startswith("role")
    table.write_text(table.read_text().replace("[leftHand]", "[leftHand]\nskip = true"))
    code, text, _ = run("retarget", WALK, FIGURE, "-o", out, "--match", table, "--json")
    assert code == 0
    assert next(row for row in json.loads(text)["match"] if row["role"] == "leftHand")["skip"]
    assert "leftHand" in json.loads(text)["unmatched"]
    assert json.loads(run("retarget", WALK, FIGURE, "--dry-run", "--json")[1])["units"] == {"turn": "degrees"}


def test_a_folder_is_one_job(tmp_path):
    clips, out = tmp_path / "clips", tmp_path / "out"
    clips.mkdir()
    for name in ("a", "b"):
        (clips / f"{name}.bvh").write_bytes(WALK.read_bytes())
    code, text, _ = run("retarget", clips, FIGURE, "-o", out, "--processes", "1", "--json")
    assert code == 0
    assert [row["status"] for row in json.loads(text)["rows"]] == ["ok", "ok"]
    assert sorted(path.name for path in out.glob("*.glb")) == ["a.glb", "b.glb"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WALK,), "poise retarget CLIP... TARGET -o OUT"),
        ((WALK, FIGURE), "give the output"),
        ((ARM, WALK, "-o", "a.bvh"), "holds no animation: there is nothing to retarget"),
        ((WALK, ARM, "-o", "a.glb"), "the target has no known leftUpperLeg"),
        ((WALK, FIGURE, "-o", "a.png"), "a pose is written to a file of a rig"),
        ((WALK, FIGURE, "-o", "a.glb", "--match", "no.toml"), "no.toml: No such file"),
        ((WALK, FIGURE, "-o", "a.glb", "--clip", "run"), "no clip 'run'"),
        ((WALK, FIGURE, "-o", "a.glb", "--ground", "sea"), "sea"),
        ((WALK, FIGURE, "-o", "a.glb", "--report", "a.html"), "--report writes numbers (.json) or a table (.txt)"),
        ((WALK, FIGURE, "-o", "a.glb", "--processes", "2"), "poise retarget with one file takes no --processes"),
        ((WALK, FIGURE, "-o", "a.glb", "--root", "hover"), "'hover' is not one of"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(arguments, message, tmp_path):
    code, text, errors = run("retarget", *arguments, cwd=tmp_path)
    assert (code, text) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_match_that_skips_every_limb_is_a_job_too(tmp_path):
    clips, table = tmp_path / "clips", tmp_path / "match.toml"
    clips.mkdir()
    (clips / "a.bvh").write_bytes(WALK.read_bytes())
    run("retarget", WALK, FIGURE, "--dry-run", "--save-match", table)
    table.write_text(table.read_text().replace("]\n", "]\nskip = true\n"))
    code, text, _ = run(
        "retarget", clips, FIGURE, "-o", tmp_path / "out", "--match", table, "--processes", "1", "--json"
    )
    row = json.loads(text)["rows"][0]
    assert code == 0, row["message"]
    assert (row["status"], row["arms"], row["legs"]) == ("ok", 0.0, 0.0)

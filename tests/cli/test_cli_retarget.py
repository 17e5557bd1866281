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


def test_pictures_and_pages_of_all_clips(tmp_path):
    rig, clips = poise.load(WALK), tmp_path / "clips.glb"
    first = rig.clips[0]
    pair = tuple(poise.Clip(first.times[:9], first.poses[:9], name) for name in ("one", "two"))
    poise.save(poise.Rig(rig.skeleton, rig.pose, pair), clips)
    report, sheet = tmp_path / "report.html", tmp_path / "sheet.svg"
    arguments = ("-o", tmp_path / "a.bvh", "--clip", "all", "--report", report, "--plot", sheet)
    code, _, errors = run("retarget", clips, FIGURE, *arguments)
    assert code == 0, errors
    for name in ("one", "two"):
        assert f"clip '{name}', 9 frames" in (tmp_path / f"report_{name}.html").read_text().replace("&#x27;", "'")
        assert f"clip '{name}', 9 frames" in (tmp_path / f"sheet_{name}.svg").read_text()


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


@pytest.mark.long
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
        (
            (WALK, FIGURE, "-o", "a.glb", "--report", "a.pdf"),
            "--report writes a page (.html), numbers (.json) or a table",
        ),
        ((WALK, FIGURE, "-o", "a.glb", "--plot", "a.bmp"), "cannot draw to 'a.bmp': the name of a picture ends with"),
        ((WALK, FIGURE, "--dry-run", "--plot", "a.png"), "--dry-run moves nothing"),
        ((WALK, FIGURE, "--dry-run", "--report", "a.json"), "--dry-run moves nothing"),
        ((WALK, FIGURE, "-o", "a.glb", "--plot", "no/a.png"), "cannot write here: there is no folder"),
        ((WALK, FIGURE, "-o", "out", "--format", "glb", "--plot", "a.png"), "--plot"),
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


@pytest.mark.long
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


def write_match(path):
    poise.match(poise.load(WALK), poise.load(FIGURE)).save(path)


@pytest.mark.parametrize(
    ("side", "extra"),
    [
        ("from", ("--dry-run",)),
        ("from", ("-o", "a.glb")),
        ("to", ("--dry-run",)),
        ("to", ("-o", "a.glb")),
        ("to", ("-o", "out", "--format", "glb")),
    ],
)
def test_a_wrong_row_is_told_with_its_file_before_any_work(tmp_path, side, extra):
    table = tmp_path / "match.toml"
    write_match(table)
    lines = table.read_text().splitlines()
    place = lines.index("[leftHand]") + (1 if side == "from" else 2)
    lines[place] = f'{side} = "Nobody"'
    table.write_text("\n".join(lines))
    code, text, errors = run("retarget", WALK, FIGURE, "--match", table, *extra, cwd=tmp_path)
    assert (code, text) == (2, "")
    assert f"{table}: no joint for leftHand 'Nobody'" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["match.toml"]


def test_a_match_is_not_saved_before_an_error(tmp_path):
    table = tmp_path / "match.toml"
    for arguments in ((), ("-o", "a.png"), ("-o", "a.glb", "--report", "a.pdf"), ("-o", "a.glb", "--plot", "a.bmp")):
        code, _, _ = run("retarget", WALK, FIGURE, "--save-match", table, *arguments, cwd=tmp_path)
        assert code == 2
        assert not list(tmp_path.iterdir())


def test_no_input_is_overwritten(tmp_path):
    table, clip = tmp_path / "match.toml", tmp_path / "walk.bvh"
    write_match(table)
    clip.write_bytes(WALK.read_bytes())
    for arguments in (
        ("--match", table, "--save-match", table, "--dry-run"),
        ("--match", table, "-o", "a.glb", "--save-match", table),
        ("--save-match", clip, "-o", "a.glb"),
        ("-o", clip),
    ):
        code, _, errors = run("retarget", clip, FIGURE, *arguments, cwd=tmp_path)
        assert code == 2
        assert "would write over" in errors
    assert clip.read_bytes() == WALK.read_bytes()


def test_an_error_about_the_target_names_the_target(tmp_path):
    clips = tmp_path / "clips"
    clips.mkdir()
    (clips / "a.bvh").write_bytes(WALK.read_bytes())
    for source in (WALK, clips):
        code, _, errors = run("retarget", source, ARM, "-o", tmp_path / ("a.glb" if source is WALK else "out"))
        assert code == 2
        assert errors.startswith(f"error: {ARM}: the target has no known"), errors
    assert not (tmp_path / "out").exists()


def test_all_clips_print_their_notes(tmp_path):
    rig, clips = poise.load(WALK), tmp_path / "clips.glb"
    first = rig.clips[0]
    pair = tuple(poise.Clip(first.times, first.poses, name) for name in ("one", "two"))
    poise.save(poise.Rig(rig.skeleton, rig.pose, pair), clips)
    code, text, _ = run("retarget", clips, FIGURE, "-o", tmp_path / "a.bvh", "--clip", "all")
    assert code == 0
    for name in ("one", "two"):
        assert f"note: clip '{name}': the clip walks in place" in text


@pytest.mark.long
def test_a_job_is_not_resumed_with_another_match(tmp_path):
    clips, out, table = tmp_path / "clips", tmp_path / "out", tmp_path / "match.toml"
    clips.mkdir()
    (clips / "a.bvh").write_bytes(WALK.read_bytes())
    (clips / "b.bvh").write_text("HIERARCHY")
    write_match(table)
    arguments = ("retarget", clips, FIGURE, "-o", out, "--match", table, "--processes", "1")
    assert run(*arguments)[0] == 1
    resumed = (out / "a.glb").stat().st_mtime_ns
    assert run(*arguments)[0] == 1
    assert (out / "a.glb").stat().st_mtime_ns == resumed
    table.write_text(table.read_text().replace("[leftHand]", "[leftHand]\nskip = true"))
    code, _, errors = run(*arguments)
    assert code == 2
    assert "--overwrite" in errors

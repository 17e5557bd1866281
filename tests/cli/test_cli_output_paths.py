"""What commands write: nothing that they read, under names that a system takes, and said as it is called there."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.io.registry import build_clip_paths
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from tests.cli.test_cli_clips import HAND, several
from tests.command_line import ARM, HUMANOID, run, start


class TestOverwriting:
    """What a command reads, it does not write over."""

    @pytest.mark.parametrize("own", ["humanoid.glb", "humanoid.bvh"])
    @pytest.mark.parametrize(
        "words",
        [
            ("lock",), ("lock", "--clip", "all"), ("plant", "--terrain", "flat"), ("solve", *HAND),
            ("solve", *HAND, "--every-frame"), ("solve", *HAND, "--every-frame", "--clip", "all"),
        ],
    )  # fmt: skip
    def test_the_file_itself(self, tmp_path, own, words):
        file, link = tmp_path / own, tmp_path / f"link{own[-4:]}"
        file.write_bytes(samples.path(own).read_bytes())
        link.symlink_to(file)
        before = file.read_bytes()
        for out in (file, link):
            code, _, errors = run(words[0], file, *words[1:], "-o", out)
            assert (code, errors) == (2, f"error: --out would write over {out}, which FILE reads: give another file\n")
        assert file.read_bytes() == before
        assert link.is_symlink()

    def test_contacts(self, tmp_path):
        kept = tmp_path / "steps.json"
        assert run("lock", HUMANOID, "-o", tmp_path / "a.glb", "--save-contacts", kept)[0] == 0
        before = kept.read_bytes()
        for words in (("--report", kept), ("--report", kept, "--clip", "all")):
            code, _, errors = run("lock", HUMANOID, "-o", tmp_path / "b.glb", "--contacts", kept, *words)
            assert (code, errors.count("\n")) == (2, 1)
            assert "which --contacts reads" in errors
        assert kept.read_bytes() == before

    def test_targets(self, tmp_path):
        table = tmp_path / "t.csv"
        table.write_text("x,y,z\n0.3,0.1,0.4\n")
        code, _, errors = run("solve", ARM, "--joint", "tool", "--targets", table, "-o", table)
        assert (code, errors.count("\n")) == (2, 1)
        assert "which --targets reads" in errors
        assert table.read_text().startswith("x,y,z")

    def test_terrain(self, tmp_path):
        ground = tmp_path / "g.obj"
        ground.write_text("v -9 0 -9\nv 9 0 -9\nv 0 0 9\nf 1 3 2\n")
        words = ("--terrain", ground, "-o", tmp_path / "a.glb", "--report", ground)
        code, _, errors = run("plant", HUMANOID, *words)
        assert (code, errors.count("\n")) == (2, 1)
        assert "which --terrain reads" in errors

    def test_the_table_of_a_library(self, tmp_path):
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "poise-convert.bvh").write_bytes(samples.path("humanoid.bvh").read_bytes())
        code, _, errors = run("convert", "lib", "-o", "new", "--format", "csv", cwd=tmp_path)
        assert code == 2
        assert "where the table of all files goes: rename it" in errors
        assert not list(tmp_path.glob("new/*"))


class TestNames:
    @pytest.mark.parametrize("clip", ["walk", "all"])
    def test_a_clip_is_reported_as_it_is_called_in_the_file(self, tmp_path, clip):
        out = tmp_path / "a.glb"
        words = (HUMANOID, *HAND, "--every-frame", "--clip", clip, "-o", out)
        assert "'walk_1'" in run("solve", *words)[1]
        code, text, _ = run("solve", *words, "--json")
        message = json.loads(text)
        assert (code, (message if clip == "walk" else message["clips"][0])["clip"]) == (0, "walk_1")
        solved = poise.load(out).clip("walk_1").poses.world["LeftHand"].positions
        np.testing.assert_allclose(solved, np.tile([0.3, 1.2, 0.3], (len(solved), 1)), atol=1e-3)

    def test_long_names_are_cut_to_what_a_system_takes(self, tmp_path):
        names = ["a" * 800, "a" * 799 + "b", "\u00e4" * 120]
        paths = build_clip_paths(tmp_path / "new.bvh", names)
        assert len(set(paths)) == 3
        for path in paths:
            path.write_text("")
        two = several(tmp_path / "two.glb", *names[1:])
        assert run("convert", two, tmp_path / "made.bvh", "--clip", "all")[0] == 0
        assert len(list(tmp_path.glob("made_*.bvh"))) == 2

    @pytest.mark.long
    def test_a_path_that_no_system_takes_is_named(self, tmp_path):
        done = start("lock", "z" * 300 + ".bvh", "-o", tmp_path / "a.bvh")
        assert done.returncode == 2
        assert done.stderr.startswith("error: zzz")

    @pytest.mark.parametrize(
        ("words", "ended"),
        [
            (("convert", HUMANOID, "loop.glb"), 0),  # the new file takes the place of the link
            (("lock", HUMANOID, "-o", "loop.glb", "--report", "r.html"), 0),
            (("convert", HUMANOID, ARM, "-o", "loop.glb", "--format", "glb"), 2),
            (("convert", "loop.glb", "a.bvh"), 2),
        ],
    )
    def test_links_that_go_round(self, tmp_path, words, ended):
        (tmp_path / "loop.glb").symlink_to("loop.glb")
        code, _, errors = run(*words, cwd=tmp_path)
        assert code == ended
        assert ended == 0 or "loop.glb" in errors


class TestReasons:
    def test_a_figure_without_size_is_named_by_its_file(self, tmp_path):
        zero = tmp_path / "zero.bvh"
        zero.write_text(re.sub(r"OFFSET .*", "OFFSET 0 0 0", samples.path("humanoid.bvh").read_text()))
        out = tmp_path / "a.bvh"
        calls = [
            ("lock", zero, "-o", out), ("plant", zero, "--terrain", "flat", "-o", out),
            ("view", zero, "--plant", "--html", tmp_path / "a.html"),
        ]  # fmt: skip
        for words in calls:
            message = f"error: {zero}: the left leg has no length in the rest pose\n"
            assert run(*words) == (2, "", message)
        code, _, errors = run("lock", zero, "-o", out, "--clip", "all")
        assert (code, errors.count(str(zero))) == (2, 1)
        assert list(tmp_path.iterdir()) == [zero]

    def test_what_a_format_cannot_hold_is_named_by_the_new_file(self, tmp_path):
        tree = Skeleton.build(["Hips", "Spine"], [-1, 0], [Kind.BALL, Kind.BALL], scales=[(1, 2, 1), (1, 1, 1)])
        poise.save(Pose(tree, tree.rest_q), tmp_path / "uneven.glb")
        calls = [
            ("convert", "uneven.glb", "a.bvh"),
            ("solve", "uneven.glb", "--joint", "Spine", "--to", "0", "0", "0", "-o", "a.bvh"),
        ]  # fmt: skip
        for words in calls:
            code, _, errors = run(*words, cwd=tmp_path)
            assert code == 2
            assert errors.splitlines()[-1].startswith("error: a.bvh: a BVH file cannot hold scale")
            assert errors.endswith("these joints have it: Hips; a .glb file holds it\n")

    def test_one_clip_is_requested_only_where_that_would_help(self, tmp_path):
        two = several(tmp_path / "two.glb", "walk", "start")
        code, _, errors = run("convert", two, tmp_path / "a.urdf")
        assert code == 2
        assert "select one by name" not in errors
        code, _, errors = run("convert", two, tmp_path / "a.bvh")
        assert code == 2
        assert "select one by name" in errors

    def test_the_end_of_a_clip_as_it_is_shown_is_in_it(self, tmp_path):
        rig = poise.load(HUMANOID)
        walk = rig.clips[0]
        poise.save(poise.Clip(walk.times * 1.234567 + 0.0123, walk.poses, "walk"), tmp_path / "a.glb", like=rig)
        clip = poise.load(tmp_path / "a.glb").clip("walk_1")
        for time in (f"{clip.times[-1] * (1 + 3e-6):.6g}", "0"):
            words = ("--clip", clip.name, "--time", time)
            assert run("solve", tmp_path / "a.glb", *HAND, *words)[0] == 0

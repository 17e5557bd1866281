"""Several --joint in one call of `poise solve`: solved together, each with the options that follow it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise.cli.joint_option_groups import split_groups
from tests.command_line import HUMANOID, run

HAND = ("--joint", "LeftHand", "--to", "0.4", "1.2", "0.35")
FOOT = ("--joint", "RightFoot", "--to", "-0.15", "0.3", "0.25")
COUNTS = {"--joint": 1, "--root": 1, "--to": 3}


class TestSolving:
    def test_both_are_met_in_one_pose(self, tmp_path):
        out = tmp_path / "both.glb"
        run("solve", HUMANOID, *HAND, *FOOT, "-o", str(out))
        places = poise.load(out).pose.world
        np.testing.assert_allclose(places["LeftHand"].positions, (0.4, 1.2, 0.35), atol=1e-4)
        np.testing.assert_allclose(places["RightFoot"].positions, (-0.15, 0.3, 0.25), atol=1e-4)

    def test_it_is_what_python_finds_for_both(self, tmp_path):
        out = tmp_path / "both.glb"
        run("solve", HUMANOID, *HAND, "--root", "LeftArm", *FOOT, "--root", "RightUpLeg", "-o", str(out))
        goals = [
            poise.Position("LeftHand", (0.4, 1.2, 0.35), root="LeftArm"),
            poise.Position("RightFoot", (-0.15, 0.3, 0.25), root="RightUpLeg"),
        ]
        expected = poise.solve(poise.load(HUMANOID).pose, goals).pose.world.positions
        np.testing.assert_allclose(poise.load(out).pose.world.positions, expected, atol=1e-6)

    def test_a_rotation_and_a_pole_belong_to_the_joint_before_them(self):
        answer = json.loads(run("solve", HUMANOID, *FOOT, "--pole", "-0.5", "0.5", "1", *HAND, "--json").stdout)
        assert [goal["goal"] for goal in answer["goals"]] == ["position", "pole", "position"]
        assert [goal["joint"] for goal in answer["goals"]] == ["RightFoot", "RightLeg", "LeftHand"]

    def test_roles_are_names(self):
        assert (
            "reached"
            in run("solve", HUMANOID, "--joint", "leftHand", *HAND[2:], "--joint", "rightFoot", *FOOT[2:]).stdout
        )

    def test_every_frame_of_a_clip(self, tmp_path):
        out = tmp_path / "walk.glb"
        message = run(
            "solve", HUMANOID, "--every-frame", *HAND, "--joint", "Head", "--look-at", "2", "1.6", "2", "-o", str(out)
        )
        assert "31 of 31 frames reached" in message.stdout


class TestTakingApart:
    def test_what_comes_before_the_first_joint_is_its_own(self):
        words = [
            "f.glb",
            "--to",
            "1",
            "2",
            "3",
            "--joint",
            "A",
            "-o",
            "x",
            "--joint",
            "B",
            "--to",
            "4",
            "5",
            "6",
            "--json",
        ]
        assert split_groups(words, COUNTS) == (
            ["f.glb", "-o", "x", "--json", "--to", "1", "2", "3", "--joint", "A"],
            [["--joint", "B", "--to", "4", "5", "6"]],
        )

    def test_negative_numbers_and_equals_signs(self):
        words = ["--joint=A", "--to=-1", "-2", "-3", "f.glb", "--joint=B", "--root=C"]
        assert split_groups(words, COUNTS) == (
            ["f.glb", "--joint=A", "--to=-1", "-2", "-3"],
            [["--joint=B", "--root=C"]],
        )

    @pytest.mark.parametrize("cut", range(6))
    def test_words_that_are_missing_are_left_to_the_parser(self, cut):
        words = ["--joint", "A", "--to", "1", "2", "3"][:cut]
        assert split_groups(words, COUNTS) == (words, [])

    def test_an_option_twice(self):
        with pytest.raises(poise.InputError, match="--to is given twice for one --joint"):
            split_groups(["--joint", "A", "--to", "1", "2", "3", "--to", "4", "5", "6"], COUNTS)

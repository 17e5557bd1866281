"""Relative goals and ranges in words at the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import poise
from poise import rotations
from poise.cli.goal_options import parse_goal
from poise.cli.within_text import parse_within
from tests.command_line import ARM, HUMANOID, run

PLACE = "place LeftHand 0 0 -0.3 1 0 0 0 relative=RightHand"
Z = (0, 0, 1)


@pytest.fixture(scope="module")
def start():
    return poise.load(HUMANOID).rest


class TestWords:
    @pytest.mark.parametrize(
        ("words", "within"),
        [
            ("z:-0.05..0.05", poise.Within(z=(-0.05, 0.05))),
            ("x:free,y:-inf..2, z : -1 .. 0.5", poise.Within((-math.inf, math.inf), (-math.inf, 2.0), (-1.0, 0.5))),
            ("turn-z:free", poise.Within(turn=poise.Range(-math.inf, math.inf, axis=Z))),
            ("turn-x:-30..10", poise.Within(turn=poise.Range.degrees(-30, 10, axis=(1, 0, 0)))),
            ("turn-y:0..10", poise.Within(turn=poise.Range.degrees(0, 10, axis=(0, 1, 0)))),
            ("swing:20", poise.Within(turn=poise.SwingTwist.degrees(Z, 20, (0, 0)))),
            ("swing:20,twist:-5..7", poise.Within(turn=poise.SwingTwist.degrees(Z, 20, (-5, 7)))),
            ("twist:free,swing:20", poise.Within(turn=poise.SwingTwist.degrees(Z, 20))),
            ("x:0..1,axes:joint", poise.Within(x=(0, 1), axes="joint")),
        ],
    )
    def test_parts_are_those_of_python(self, words, within):
        assert parse_within(words) == within

    def test_a_goal_takes_all_words(self, start):
        goal = parse_goal(f"{PLACE} follow=yes within=z:-0.05..0.05,turn-z:free weight=2", start)
        assert (goal.relative_to, goal.follow, goal.weight) == ("RightHand", True, 2.0)
        assert goal.within == parse_within("z:-0.05..0.05,turn-z:free")

    @pytest.mark.parametrize("kind", ["position LeftHand 0 0 0", "direction LeftHand 0 1 0", "aim LeftHand 0 1 0"])
    def test_other_kinds_can_be_relative(self, start, kind):
        assert parse_goal(f"{kind} relative=Head", start).relative_to == "Head"
        assert parse_goal(f"{kind} relative_to=Head", start).relative_to == "Head"

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("", "'' is no part of within; parts are written NAME:LOW..HIGH"),
            ("z", "'z' of within has no colon; write z:-0.05..0.05"),
            ("turn-z", "write turn-z:-30..30"),
            ("z=-1..1", "'z=-1..1' of within has no colon; write z:-1..1"),
            ("w:0..1", "no part of within 'w'"),
            ("turnz:free", "did you mean 'turn-z'"),
            ("z:0.05", "z:0.05 of within has one end; write z:-0.05..0.05, or z:free"),
            ("z:-0.05,0.05", "z:-0.05,0.05 of within have a comma; write z:-0.05..0.05"),
            ("z:-0.05..0.05,0.07", "0.07 of within have a comma"),
            ("z:0.1..-0.1", "z:0.1..-0.1 of within goes down; write z:-0.1..0.1"),
            ("z:0..1cm", "z:0..1cm of within has '1cm' for a number; write z:-0.05..0.05"),
            ("z:0..nan", "'nan' for a number"),
            ("z:0..1_0", "'1_0' for a number"),
            ("z:..1", "'' for a number"),
            ("z:inf..inf", "no value inside; write z:free"),
            ("z:0..1,z:0..2", "within names z twice"),
            ("turn-x:free,turn-y:free", "two turns, turn-x and turn-y; keep one"),
            ("turn-z:free,swing:20", "turn-z and swing; keep turn-z"),
            ("twist:-5..5", "twist of within needs swing:DEG; a turn about z alone is turn-z:-5..5"),
            ("swing:-20..20", "one angle, the same on all sides; write swing:20"),
            ("swing:200", "from 0 to 180 degrees; write swing:20"),
            ("swing:free", "'free' for a number; write swing:20"),
            ("axes:world", "axes of within are target or joint, not 'world'"),
        ],
    )
    def test_a_mistake_is_one_sentence_with_the_repair(self, words, says):
        with pytest.raises(poise.PoiseError) as caught:
            parse_within(words)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)


class TestSolve:
    def test_a_hand_in_the_frame_of_the_other(self):
        done = run("solve", HUMANOID, "--goal", f"{PLACE} within=z:-0.05..0.05,turn-z:free", "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        (goal,) = answer["goals"]
        assert (goal["relative_to"], goal["follow"]) == ("RightHand", False)
        assert goal["within"]["x"] == [0.0, 0.0]
        assert goal["within"]["z"] == [-0.05, 0.05]
        assert goal["within"]["axes"] == "target"
        assert goal["within"]["turn"]["axis"] == [0.0, 0.0, 1.0]
        world = poise.load(HUMANOID).rest.replace(answer["joints"]).world
        left, right = world["LeftHand"], world["RightHand"]
        offset = rotations.rotate(rotations.inverse(right.rotations), left.positions - right.positions)
        np.testing.assert_allclose(offset[:2], 0.0, atol=answer["tolerance"])
        assert -0.35 - answer["tolerance"] <= offset[2] <= -0.25 + answer["tolerance"]

    def test_a_plain_goal_has_neither(self):
        done = run("solve", ARM, "--joint", "tool", "--to", "0.3", "0.2", "0.4", "--json")
        (goal,) = json.loads(done.stdout)["goals"]
        assert (goal["relative_to"], goal["follow"], goal["within"]) == (None, False, None)

    def test_a_picture_has_the_target_where_it_is_now(self, tmp_path):
        done = run("solve", HUMANOID, "--goal", PLACE, "--plot", str(tmp_path / "hands.png"))
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "hands.png").is_file()

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("position LeftHand 0 0 0 within=z:0.05", "write z:-0.05..0.05"),
            ("position LeftHand 0 0 0 within=turn-z:free", "its range has no `turn`; use Place or Orientation"),
            ("orientation LeftHand 1 0 0 0 within=x:free", "its range has no x, y or z; use Place or Position"),
            ("position LeftHand 0 0 0 relative=RihgtHand", "no joint 'RihgtHand'; did you mean 'RightHand'"),
            ("position LeftHand 0 0 0 relative=LeftHand", "relative to the joint itself; name another joint"),
            ("position LeftHand 0 0 0 follow=yes", "needs relative_to"),
            ("position LeftHand 0 0 0 relative=Head relative_to=Head", "relative_to of a position goal is given twice"),
            ("position LeftHand 0 0 0 within=x:free within=y:free", "within of a position goal is given twice"),
            ("direction LeftHand 0 0 1 within=x:free", "no option of a direction goal 'within'"),
            ("pin LeftHand relative=Head", "no option of a pin goal 'relative'"),
        ],
    )
    def test_misuse_is_one_line(self, words, says):
        done = run("solve", HUMANOID, "--goal", words)
        assert done.returncode == 2
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1

"""Goals and solver options in words at the command line, and the list of solvers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import rich.markup

import poise
from poise import cli, solvers
from poise.cli.goal_options import parse_goal
from poise.cli.solver_options import make_solver
from poise.io import samples
from tests.command_line import ARM, HUMANOID, run

SOLVE = ("solve", HUMANOID)


@pytest.fixture(scope="module")
def start():
    return poise.load(HUMANOID).rest


class TestWords:
    def test_a_position_with_options(self, start):
        goal = parse_goal("position LeftHand 0.4 1.2 -0.35 weight=2 root=LeftArm", start)
        assert isinstance(goal, poise.Position)
        assert (goal.joint, goal.weight, goal.root) == ("LeftHand", 2.0, "LeftArm")
        np.testing.assert_array_equal(goal.target, [0.4, 1.2, -0.35])

    def test_a_place_takes_seven_numbers(self, start):
        goal = parse_goal("place LeftHand 1 2 3 1 0 0 0", start)
        np.testing.assert_array_equal(goal.rows(), [1, 2, 3, 1, 0, 0, 0])

    def test_an_axis_is_numbers(self, start):
        goal = parse_goal("direction LeftHand 0 1 0 axis=0,2,0", start)
        assert goal.axis == (0.0, 1.0, 0.0)

    def test_near_means_the_start(self, start):
        goal = parse_goal("near joints=LeftArm,RightArm weight=0.5", start)
        assert goal.pose is start
        assert goal.joints == ("LeftArm", "RightArm")

    def test_a_joint_with_a_blank_is_quoted(self, start):
        with pytest.raises(poise.UnknownNameError, match="no joint 'Left Hand'"):
            parse_goal("position 'Left Hand' 0 0 0", start)

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("", "an empty goal"),
            ("positon LeftHand 0 0 0", "no goal 'positon'; did you mean 'position'"),
            ("position LeftHand 0 0", "written 'position JOINT X Y Z'; got 3 words"),
            ("place LeftHand 0 0 0", "'place JOINT X Y Z W X Y Z'"),
            ("position LeftHand 0 0 zero", "'zero' is no number"),
            (
                "position LeftHand 0 0 0 wait=2",
                "no option of a position goal 'wait'; did you mean 'within' or 'weight'",
            ),
            ("position LeftHand 0 0 0 weight=no", "weight is a number, not 'no'"),
            ("near LeftHand", "near takes no joint"),
            ("position 'LeftHand 0 0 0", "cannot read the goal"),
            ("position LeftHand 0 nan 0", "'nan' is no number"),
        ],
    )
    def test_what_cannot_be_read_is_one_sentence(self, start, words, says):
        with pytest.raises(poise.PoiseError, match=says):
            parse_goal(words, start)


class TestSolve:
    def test_several_goals_are_each_answered(self):
        done = run(*SOLVE, "--goal", "position LeftHand 0.4 1.2 0.3", "--goal", "pin RightHand", "--near", "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert [goal["goal"] for goal in answer["goals"]] == ["position", "pin", "near"]
        assert answer["goals"][0]["position_error"] <= answer["tolerance"]
        assert answer["goals"][1]["angle_error"] <= answer["angle_tolerance"]
        pose = poise.load(HUMANOID).rest.replace(answer["joints"])
        np.testing.assert_allclose(pose.world["LeftHand"].positions, [0.4, 1.2, 0.3], atol=answer["tolerance"])

    def test_a_pull_is_listed(self):
        done = run(*SOLVE, "--goal", "position LeftHand 0.4 1.2 0.3 pull=0.25", "--near", "--json")
        assert [goal["pull"] for goal in json.loads(done.stdout)["goals"]] == [0.25, None]

    def test_a_direction_beside_a_position(self):
        words = (
            "--joint",
            "LeftHand",
            "--to",
            "0.4",
            "1.2",
            "0.3",
            "--direction",
            "0",
            "1",
            "0",
            "--axis",
            "1",
            "0",
            "0",
        )
        done = run(*SOLVE, *words, "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        turned = poise.load(HUMANOID).rest.replace(answer["joints"]).world["LeftHand"].matrices[:3, :3]
        np.testing.assert_allclose(turned[:, 0], [0, 1, 0], atol=2e-4)

    def test_an_option_of_the_solver(self):
        words = ("--joint", "LeftHand", "--to", "0.4", "1.2", "0.3", "--solver", "ccd", "--option", "iterations=0")
        done = run(*SOLVE, *words, "--json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["iterations"] == 0

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("--near",), "give a target: --joint JOINT with --to"),
            (("--to", "0", "0", "0"), "--to needs --joint JOINT"),
            (("--joint", "LeftHand", "--axis", "0", "0", "1"), "--axis says which axis"),
            (("--targets", "x.csv"), "--targets needs --joint"),
            (("--goal", "pin RightHand", "--solver", "ccd"), "ccd solves"),
            (("--goal", "pin RightHand", "--option", "iterations=2"), "--option needs --solver NAME"),
            (("--goal", "pin RightHand", "--solver", "ccd", "--option", "sweeps=2"), "; options of ccd: iterations, "),
            (
                ("--goal", "pin RightHand", "--solver", "ccd", "--option", "iterations=2", "--iterations", "3"),
                "iterations is given twice",
            ),
        ],
    )
    def test_misuse_is_one_line(self, words, says):
        done = run(*SOLVE, *words)
        assert done.returncode == 2
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1


class TestSolvers:
    def test_the_list_names_every_solver(self):
        done = run("solvers")
        assert done.returncode == 0, done.stderr
        for name in solvers.names():
            assert name in done.stdout

    @pytest.mark.parametrize("name", solvers.names())
    def test_one_solver_has_its_options_with_defaults(self, name):
        found = json.loads(run("solvers", name, "--json").stdout)
        assert found["name"] == name
        assert found["summary"]
        assert {"name", "type", "default", "help"} <= found["options"][0].keys()

    def test_units_are_shown(self):
        """Brackets are units here, not the markup of a terminal."""
        assert "[rad]" in run("solvers", "ccd").stdout

    @pytest.mark.parametrize("verb", cli.COMMANDS)
    def test_no_help_has_words_that_a_terminal_takes_for_markup(self, verb):
        command = cli.load_command(verb)
        texts = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
        assert [text for text in texts if text and rich.markup.render(text).plain != text] == []

    def test_an_unknown_solver_is_one_line(self):
        done = run("solvers", "cdc")
        assert done.returncode == 2
        assert "did you mean 'ccd'" in done.stderr


class TestLooks:
    def test_a_head_looks_at_a_point(self):
        done = run(*SOLVE, "--joint", "Head", "--look-at", "2", "1", "1", "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["goal"] == "look-at"
        head = poise.load(HUMANOID).rest.replace(answer["joints"]).world["Head"]
        way = np.array([2, 1, 1]) - head.positions
        np.testing.assert_allclose(head.matrices[:3, 2], way / np.linalg.norm(way), atol=2e-4)

    def test_a_knee_points_to_the_pole(self):
        words = ("--joint", "LeftFoot", "--to", "0.1", "0.3", "0.2", "--pole", "2", "0.5", "0")
        done = run(*SOLVE, *words, "--json")
        assert done.returncode == 0, done.stderr
        pose = poise.load(HUMANOID).rest.replace(json.loads(done.stdout)["joints"])
        hip, knee, foot = (pose.world[name].positions for name in ("LeftUpLeg", "LeftLeg", "LeftFoot"))
        line = (foot - hip) / np.linalg.norm(foot - hip)
        sides = [way - (way @ line) * line for way in (knee - hip, np.array([2, 0.5, 0]) - hip)]
        assert sides[0] @ sides[1] == pytest.approx(np.linalg.norm(sides[0]) * np.linalg.norm(sides[1]))

    def test_a_look_takes_no_root(self):
        done = run(*SOLVE, "--joint", "Head", "--look-at", "2", "1", "1", "--root", "Spine")
        assert done.returncode == 2
        assert "--look-at takes no --root" in done.stderr

    def test_a_pole_needs_a_limb(self):
        done = run(*SOLVE, "--joint", "Spine", "--to", "0", "1", "0", "--root", "Hips", "--pole", "0", "0", "1")
        assert done.returncode == 2
        assert "--pole turns a limb of two joints or more; above 'Spine' there are 1" in done.stderr


class TestEveryFrame:
    @pytest.fixture(scope="class")
    @classmethod
    def clip(cls):
        return poise.load(samples.path("humanoid.bvh")).clips[0]

    def solve(self, *words):
        return run("solve", str(samples.path("humanoid.bvh")), "--every-frame", *words)

    def test_a_look_is_baked_into_the_saved_clip(self, clip, tmp_path):
        done = self.solve("--goal", "look-at Head 5 1.5 0", "-o", str(tmp_path / "look.bvh"))
        assert done.returncode == 0, done.stderr
        assert f"{len(clip)} of {len(clip)} frames reached" in done.stdout
        saved = poise.load(tmp_path / "look.bvh").clips[0]
        head = saved.poses.world["Head"]
        ways = np.array([5, 1.5, 0]) - head.positions
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        np.testing.assert_allclose(head.matrices[:, :3, 2], ways, atol=1e-3)
        np.testing.assert_array_equal(saved.times, clip.times)

    def test_a_table_has_a_target_for_each_frame(self, clip, tmp_path):
        targets = clip.poses.world["LeftHand"].positions + np.array([0, 0.02, 0])
        np.save(tmp_path / "hand.npy", targets)
        done = self.solve("--joint", "LeftHand", "--targets", str(tmp_path / "hand.npy"), "--json")
        answer = json.loads(done.stdout)
        assert answer["frames"] == len(clip)
        assert answer["reached"] + len(answer["missed"]) == len(clip)
        assert answer["reached"] > 0.9 * len(clip)

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("--joint", "LeftHand", "--to", "0", "1", "0", "--time", "1"), "--every-frame solves a whole clip"),
            (("--joint", "LeftHand", "--to", "0", "1", "0", "--prefer", "closest"), "takes the first pose found"),
            (("--joint", "LeftHand", "--to", "0", "1", "0", "--clip", "run"), "no clip 'run'"),
            (("--joint", "LeftHand", "--to", "0", "1", "0", "-o", "x.urdf"), "a URDF file holds no pose"),
        ],
    )
    def test_misuse_is_one_line(self, words, says):
        done = self.solve(*words)
        assert done.returncode == 2
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_near_means_the_pose_of_each_frame(self, clip, tmp_path):
        out, hand = tmp_path / "out.bvh", ("0", "1.2", "0.1")
        self.solve("--joint", "LeftHand", "--to", *hand, "--goal", "near joints=Spine weight=0.5", "-o", str(out))
        near = poise.Near(clip.poses, joints=["Spine"], weight=0.5)
        want = poise.bake(clip, [poise.Position("LeftHand", [float(x) for x in hand]), near])
        found = poise.load(out).clips[0].poses.world.positions
        np.testing.assert_allclose(found, want.poses.world.positions, atol=1e-4)

    def test_a_table_of_another_length_is_refused(self, tmp_path):
        np.save(tmp_path / "hand.npy", np.zeros((3, 3)))
        done = self.solve("--joint", "LeftHand", "--targets", str(tmp_path / "hand.npy"))
        assert done.returncode == 2
        assert "the table 3 targets: give one each" in done.stderr


class TestIterations:
    @pytest.mark.parametrize("name", solvers.names())
    def test_a_named_solver_is_that_of_python(self, name):
        pose = poise.load(ARM).pose
        goals = (poise.Position("tool", (0.3, 0.2, 0.4)),)
        if not hasattr(solvers.make_solver(name), "iterations"):
            with pytest.raises(poise.InputError, match=f"the solver {name} has no --iterations"):
                make_solver(name, pose, goals, "first", iterations=7)
            return
        assert make_solver(name, pose, goals, "first", iterations=7) == solvers.make_solver(name, iterations=7)

    def test_auto_names_its_solver_and_python_gives_the_same_pose(self):
        words = ("--joint", "tool", "--to", "0.3", "0.2", "0.4", "--iterations", "2", "--restarts", "0", "--json")
        found = json.loads(run("solve", ARM, *words).stdout)
        solver = solvers.make_solver(found["solver"], iterations=2, restarts=0)
        result = poise.solve(poise.load(ARM).pose, poise.Position("tool", (0.3, 0.2, 0.4)), solver=solver)
        assert found["iterations"] == int(result.iterations)
        assert list(found["joints"].values()) == pytest.approx([result.pose.q[i] for i in range(len(found["joints"]))])

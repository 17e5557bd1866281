"""The command line: its output and its exit code; as a person starts it, and called in this process."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import cli
from poise.cli import demo
from tests.command_line import ARM, HUMANOID, REACH, run, start
from tests.timeouts import NO_HANG, PROCESS


def test_version_and_help():
    assert start("--version").stdout.strip() == f"poise {poise.__version__}"
    text = run("solve", "--help").stdout
    for option in ("--joint", "--root", "--to", "--clip", "--iterations", "--tolerance", "--limits", "--hinge"):
        assert option in text


def test_the_list_of_commands_imports_no_command_and_no_numba():
    program = (
        "import sys; from poise import cli; sys.argv = ['poise', '--help']\n"
        "try: cli.main()\n"
        "finally: print('modules:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=PROCESS)
    listed, modules = done.stdout.split("modules:")
    assert done.returncode == 0
    assert all(verb in listed for verb in cli.COMMANDS)
    verbs = {f"poise.cli.{listed.function_path.split('.')[0]}" for listed in cli.COMMANDS.values()}
    assert {"numba", "numpy", *verbs} & set(modules.split()) == set()


@pytest.mark.parametrize("verb", cli.COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_says_first(verb):
    assert " ".join(cli.load_command(verb).help.split("\n\n")[0].split()) == cli.COMMANDS[verb].summary


def test_a_command_that_does_not_exist_is_one_line():
    done = run("slve")
    assert done.returncode == 2
    assert done.stderr.startswith("error: no command 'slve'; did you mean 'solve'")
    assert done.stderr.count("\n") == 1


class TestInfo:
    @pytest.mark.long
    def test_a_tree_people_can_read(self):
        text = start("info", ARM).stdout
        assert "1 unit = 1 m, +Z up" in text
        assert "hinge, about z, -175..175 deg" in text or "hinge" in text
        assert "└─" in text
        assert "chains (root -> tip):" in text

    def test_clips_chains_and_limits(self):
        text = run("info", HUMANOID).stdout
        assert "walk" in text
        assert "left_arm: LeftArm -> LeftHand" in text or "left_arm:" in text
        assert "hinge about" in text

    def test_json(self):
        known = json.loads(run("info", HUMANOID, "--json").stdout)
        assert known["up"] == "y"
        assert known["height"] == pytest.approx(1.6, abs=0.2)
        assert {joint["kind"] for joint in known["joints"]} <= {"fixed", "hinge", "slide", "ball", "free"}
        assert known["clips"][0]["name"] == "walk"

    def test_control_characters_in_names_do_not_reach_the_terminal(self, tmp_path):
        odd = "a\n\x1b[2J"
        node = {"name": odd, "children": [1], "extras": {"poise": {"kind": "ball"}}}
        document = {"asset": {"version": "2.0"}, "nodes": [node, {"name": odd, "children": [2]}, {"name": "tip"}]}
        document["asset"]["extras"] = {
            "poise": {"chains": {odd: {"root": odd, "tip": "tip"}}, "aliases": {"\x07": "tip"}}
        }
        path = tmp_path / "odd.gltf"
        path.write_text(json.dumps(document))
        text = run("info", path).stdout
        assert all(line.isprintable() for line in text.split("\n"))
        assert r"a\n\x1b[2J: a\n\x1b[2J -> tip" in text
        assert r"link \x07" in text
        assert r"renamed: a\n\x1b[2J_1" in text
        known = json.loads(run("info", path, "--json").stdout)
        assert known["joints"][0]["name"] == odd

    def test_a_chain_of_thousands(self, tmp_path):
        links = "".join(f'<link name="l{i}"/>' for i in range(3001))
        joints = "".join(
            f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
            for i in range(3000)
        )
        path = tmp_path / "long.urdf"
        path.write_text(f'<robot name="r">{links}{joints}</robot>')
        done = run("info", path)
        assert done.returncode == 0
        assert len(done.stdout) < 1_000_000


class TestSolve:
    @pytest.mark.long
    def test_reached_is_0_and_the_json_is_whole(self):
        done = start("solve", HUMANOID, *REACH, "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["status"] == "reached"
        assert answer["reached"] is True
        assert answer["solver"] == "levenberg_marquardt"
        assert answer["position_error"] <= answer["tolerance"]
        assert answer["microseconds"] > 0
        rig = poise.load(HUMANOID)
        pose = rig.rest.replace(answer["joints"])
        np.testing.assert_allclose(pose.world["LeftHand"].positions, [0.45, 1.75, 0.25], atol=answer["tolerance"])
        local = dict(zip(rig.skeleton.names, pose.local_rotations, strict=True))
        for name, rotation in answer["local"].items():
            np.testing.assert_allclose(rotation, local[name], atol=1e-12)

    @pytest.mark.long
    def test_not_reached_is_1_and_says_why(self):
        done = start("solve", HUMANOID, "--joint", "LeftHand", "--to", "9", "9", "9")
        assert done.returncode == 1
        assert "out of reach: the target is" in done.stdout

    @pytest.mark.parametrize("out", ["posed.glb", "posed.gltf", "posed.bvh"])
    def test_the_pose_is_written(self, tmp_path, out):
        done = run("solve", HUMANOID, *REACH, "-o", tmp_path / out)
        assert done.returncode == 0, done.stderr
        rig = poise.load(tmp_path / out)
        pose = rig.clips[0].poses[0] if out.endswith("bvh") else rig.pose
        np.testing.assert_allclose(pose.world["LeftHand"].positions, [0.45, 1.75, 0.25], atol=1e-3)
        if not out.endswith("bvh"):
            assert [clip.name for clip in rig.clips] == ["walk"]
            np.testing.assert_array_equal(rig.rest.q, poise.load(HUMANOID).rest.q)

    def test_robot_values(self, tmp_path):
        done = run("solve", ARM, "--joint", "tool", "--to", "0.35", "0.25", "0.45", "-o", tmp_path / "arm.json")
        assert done.returncode == 0, done.stderr + done.stdout
        assert "joints" in (tmp_path / "arm.json").read_text()

    def test_options_reach_the_solver(self):
        for option in (("--order", "tip-first"), ("--hinge", "project"), ("--root", "LeftShoulder"), ("--no-limits",)):
            assert run("solve", HUMANOID, *REACH, *option).returncode == 0
        assert run("solve", HUMANOID, *REACH, "--iterations", "0").returncode == 0  # natural poses take none
        assert run("solve", HUMANOID, *REACH, "--iterations", "0", "--no-natural").returncode == 1
        assert run("solve", HUMANOID, *REACH, "--iterations", "0", "--tolerance", "5").returncode == 0

    def test_from_a_clip(self):
        done = run("solve", HUMANOID, *REACH, "--clip", "walk", "--time", "0.4", "--json")
        assert done.returncode == 0, done.stderr
        walked = poise.load(HUMANOID).clip("walk").at(0.4).local_rotations
        names = poise.load(HUMANOID).skeleton.names
        leg = names.index("RightLeg")
        np.testing.assert_allclose(json.loads(done.stdout)["local"]["RightLeg"], walked[leg], atol=1e-12)

    def test_limits_from_a_file(self, tmp_path):
        limits = tmp_path / "stiff.ik.toml"
        limits.write_text('[joints."Left*Arm"]\naxis = [0, 0, 1]\nrange_deg = [-1, 1]\n')
        done = run("solve", HUMANOID, *REACH, "--limits", limits)
        assert done.returncode == 1
        assert "limited" in done.stdout

    def test_a_picture(self, tmp_path):
        pytest.importorskip("matplotlib")
        files = tmp_path / "x.glb", tmp_path / "x.png"
        done = run("solve", HUMANOID, *REACH, "-o", files[0], "--plot", files[1])
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1] == f"written: {files[0]}, {files[1]}"
        assert files[1].read_bytes().startswith(b"\x89PNG")

    @pytest.mark.long
    def test_without_matplotlib_it_finishes_and_says_how_to_get_the_picture(self, tmp_path):
        (tmp_path / "matplotlib.py").write_text("raise ImportError('not installed')\n")
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = start("solve", HUMANOID, *REACH, "--plot", tmp_path / "x.png", env={"PYTHONPATH": path})
        assert done.returncode == 0
        assert "poise[plot]" in done.stderr
        assert "reached" in done.stdout
        assert "written" not in done.stdout
        assert not (tmp_path / "x.png").exists()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((), "--joint"),
            (("--joint", "LeftHand"), "give a target"),
            (("--joint", "Lefthand", "--to", "0", "0", "0"), "did you mean 'LeftHand'"),
            (("--joint", "LeftHand", "--to", "nan", "0", "0"), "finite"),
            (("--joint", "LeftHand", "--to", "0", "0"), "--to"),
            (("--joint", "LeftHand", "--root", "RightArm", "--to", "0", "0", "0"), "not above"),
            ((*REACH, "--solver", "magic"), "no solver 'magic'"),
            ((*REACH, "--clip", "run"), "no clip 'run'; clips: walk"),
            ((*REACH, "-o", "x.obj"), "cannot write files"),
            ((*REACH, "-o", "x.fbx"), "FBX files are read, not written; save as .glb or .bvh"),
            ((*REACH, "-o", "x.blend"), "not supported yet"),
            ((*REACH, "-o", "nowhere/x.glb"), "nowhere"),
            ((*REACH, "--limits", "none.toml"), "none.toml: No such file"),
            ((*REACH, "--order", "sideways"), "sideways"),
            ((*REACH, "--plot", "x.docx"), "docx"),
            ((*REACH, "--plot", "nowhere/x.png"), "nowhere"),
            ((*REACH, "-o", "x.urdf"), "a URDF file holds no pose"),
            ((*REACH, "--time", "0.4"), "--time needs --clip"),
            ((*REACH, "--iterations", "9" * 25), "iterations must be a whole number from 0 to 1000000"),
            (("--joint", "LeftHand", "--to", "1e200", "0", "0", "--json"), "1e+100"),
            (("--joint", "LeftHand", "--to", "9" * 400, "0", "0"), "finite"),
        ],
    )
    def test_misuse_is_2_with_one_clear_line(self, tmp_path, arguments, words):
        done = run("solve", HUMANOID, *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        assert list(tmp_path.iterdir()) == []

    def test_a_process_that_was_misused_ends_with_2(self):
        done = start("solve", HUMANOID, *REACH, "--solver", "magic")
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert "no solver 'magic'" in done.stderr

    @pytest.mark.parametrize("out", ["-o=x.glb", "--plot=x.png"])
    def test_a_folder_in_the_place_of_a_file_is_reported_before_any_result(self, tmp_path, out):
        option, name = out.split("=")
        (tmp_path / name).mkdir()
        done = run("solve", HUMANOID, *REACH, option, name, cwd=tmp_path)
        assert done.returncode == 2
        assert f"{name}: cannot write here: it is a directory" in done.stderr
        assert done.stdout == ""

    def test_what_a_format_refuses_only_when_it_writes_is_reported_before_any_result(self, tmp_path):
        """A pose with a translation of a single joint, as clips have them, is no joint values."""
        rig = poise.load(HUMANOID)
        pose = rig.rest
        clip = poise.Clip(np.zeros(1), poise.Pose(
            rig.skeleton, pose.q[None], translations=pose.local_positions[None] + [0, 0.1, 0]), "moved")  # fmt: skip
        poise.save(clip, tmp_path / "moved.glb", like=rig)
        start = ("--clip", "moved")
        done = run("solve", tmp_path / "moved.glb", *REACH, *start, "-o", tmp_path / "x.json")
        assert done.returncode == 2
        assert "joint values hold no translation" in done.stderr
        assert done.stdout == ""

    def test_targets_at_the_largest_distance_give_whole_json(self):
        done = run("solve", HUMANOID, "--joint", "LeftHand", "--to", "1e100", "-1e100", "1e12", "--json")
        assert done.returncode == 1, done.stderr
        assert done.stderr == ""
        assert json.loads(done.stdout)["status"] == "out_of_reach"


@pytest.mark.long
def test_demo(tmp_path):
    done = start("demo", "--headless", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("reached") >= 3
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"humanoid_reach.glb", "humanoid_step.bvh", "arm_reach.json", "humanoid_reach.png"} <= made
    assert {"humanoid_hills.glb", "humanoid_hills.html", "humanoid_hills.png"} <= made
    assert "walks over hills.npz" in done.stdout
    message = done.stdout.splitlines()
    rows = [line for line in message if re.search(r" (reached|out of reach) ", line)]
    assert len(rows) == 4
    for row in rows:
        assert re.search(r"[0-9] (m|units) .* (mm|m|units) +[0-9]+ +[0-9.]+ (us|ms|s) ", row), row
    assert re.search(r"[0-9.]+ cm/s -> [0-9.]+ cm/s, deepest in the ground [0-9.]+ mm -> [0-9.]+ mm", done.stdout)
    assert [line[:4] for line in message if "/6 " in line[:4]] == [f"{i}/6 " for i in range(1, 7)]
    assert "try next:" in message
    commands = [line.strip() for line in message[message.index("try next:") + 1 :] if line.startswith("    ")]
    assert len(commands) == 3
    for command in commands:  # as they are printed
        words = ["--html", tmp_path / "page.html"] if " view " in command else []
        verb = shlex.split(command)
        assert Path(shutil.which(verb[0])).samefile(sys.executable)
        assert verb[1:3] == ["-m", "poise"]
        assert run(*verb[3:], *words)[0] == 0, command


class TestHowPoiseIsCalled:
    """The name where the shell finds this program, else a path that a shell takes."""

    @pytest.fixture
    def program_at(self, tmp_path, monkeypatch):
        program = tmp_path / "my tools" / "poise"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "argv", [str(program)])
        monkeypatch.chdir(tmp_path)
        return program

    def test_by_its_name_where_it_is_found(self, program_at, monkeypatch):
        monkeypatch.setenv("PATH", str(program_at.parent))
        assert demo.find_poise_command() == "poise"

    def test_by_a_path_where_it_is_not_or_another_one_is(self, program_at, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", "")
        assert demo.find_poise_command() == "'my tools/poise'"
        monkeypatch.chdir(program_at.parent)
        assert demo.find_poise_command() == "./poise"
        other = tmp_path / "poise"
        other.write_text("#!/bin/sh\n")
        other.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert demo.find_poise_command() == "./poise"


# --- files that are broken on purpose -------------------------------------------------------------

REJECT, WARN, ACCEPT = "reject", "warn", "accept"
READ_ALL_THE_SAME = {"urdf_lower_gt_upper.urdf": WARN}  # its README says reject; every other reader of URDF takes it


def expected_classes(folder: Path):
    """What the README beside the files says of each: reject, warn or accept."""
    rows = [line.split("|") for line in (folder / "README.md").read_text().splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[5].strip() for row in rows} | READ_ALL_THE_SAME


FORKED = """
import contextlib, json, os, sys, tempfile, traceback
from poise.cli import main

def code_of(arguments):
    sys.argv = ["poise", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

first, *commands = json.load(sys.stdin)
with contextlib.redirect_stdout(sys.stderr):
    assert code_of(first) == 0
for arguments in commands:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            code = code_of(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # to take all modules apart takes longer than to answer
        _, status, use = os.wait4(child, 0)
        output.seek(0)
        errors.seek(0)
        said = errors.read().decode(), output.read().decode()
        left = os.waitstatus_to_exitcode(status), *said, use.ru_utime + use.ru_stime, use.ru_maxrss
        print(json.dumps(left), flush=True)
"""


def measured(commands):
    """Exit code, stderr, stdout, CPU seconds and peak kilobytes of each command but the first.

    Every command has a process of its own, a copy of one that has run the first and so has imported what it uses.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORKED], input=json.dumps(commands), capture_output=True, text=True, check=True,
        timeout=PROCESS,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
def test_every_malformed_file_is_answered_as_its_readme_says(data):
    folder = data / "bad_inputs"
    classes = expected_classes(folder)
    assert len(classes) >= 40
    ordinary = ["info", str(HUMANOID), "--json"]
    commands = [ordinary, ["--version"], *(["info", str(folder / name), "--json"] for name in classes)]
    (_, _, _, _, idle_kb), *answers = measured(commands)
    for (name, wanted), (code, errors, output, seconds, kilobytes) in zip(classes.items(), answers, strict=True):
        assert "Traceback" not in errors, name
        assert seconds < NO_HANG, (name, seconds)
        assert kilobytes - idle_kb < 100_000, (name, kilobytes)
        if wanted == REJECT:
            assert code == 2, (name, errors)
            assert len(errors.strip().splitlines()) == 1, (name, errors)
            assert name in errors, errors
        if wanted == ACCEPT:
            assert code == 0, (name, errors)
        elif wanted == WARN and code == 0:
            assert json.loads(output)["notes"], name


def test_no_file_outside_the_folder_is_opened(data):
    """Watched from inside by an audit hook: what a malformed file names is never opened, and no socket is made."""
    code = (
        "import sys, json\n"
        "import poise\nfrom poise.io import registry\n"
        "registry.list_formats()\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, str(args[0]))) "
        "if event in ('open', 'socket.__new__', 'socket.connect') else None)\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        poise.load(path)\n"
        "    except poise.PoiseError:\n"
        "        pass\n"
        "    except Warning:\n"
        "        pass\n"
        "print(json.dumps(seen))\n"
    )
    folder = data / "bad_inputs"
    files = [path for path in sorted(folder.iterdir()) if path.suffix in {".glb", ".gltf", ".bvh", ".urdf", ".xml"}]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, files)], capture_output=True, text=True, check=True
    )
    observed = json.loads(done.stdout)
    assert observed
    for event, what in observed:
        assert event == "open", (event, what)
        is_code = what.endswith((".py", ".pyc")) or "site-packages" in what
        assert is_code or Path(what).parent == folder, what

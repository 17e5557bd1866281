"""Wrong calls of the command line: each is answered by one line on standard error, and ends with exit code 2."""

from __future__ import annotations

import sys

import pytest

from poise.cli import main
from poise.io import samples

GLB, ARM = str(samples.path("humanoid.glb")), str(samples.path("arm.urdf"))
HAND = ["solve", GLB, "--joint", "LeftHand"]

CALLS = {
    "no such command": (["slove"], "did you mean 'solve'"),
    "no file": (["solve"], "Missing argument"),
    "no file to show": (["info"], "poise info --help"),
    "two numbers": (["solve", GLB, "--to", "1", "2"], "requires 3 arguments"),
    "letters": ([*HAND, "--to", "a", "b", "c"], "'--to'"),
    "no such option": ([*HAND, "--target", "1"], "No such option: --target"),
    "a word too many": (["warmup", "now", "please"], "unexpected extra argument"),
    "no such choice": ([*HAND, "--to", "0", "1", "0", "--prefer", "best"], "'first', 'closest', 'all'"),
    "iterations below 0": ([*HAND, "--to", "0", "1", "0", "--iterations", "-1"], "--iterations"),
    "no target": (HAND, "give a target"),
    "no joint": (["solve", GLB, "--to", "0", "1", "0"], "--to needs --joint JOINT"),
    "two targets": ([*HAND, "--to", "0", "1", "0", "--to", "1", "1", "0"], "--to is given twice for one --joint"),
    "a joint without a target": (
        [*HAND, "--to", "0", "1", "0", "--joint", "Head"],
        "--joint Head has no target of its",
    ),
    "letters for the second": ([*HAND, "--to", "0", "1", "0", "--joint", "Head", "--to", "a", "b", "c"], "'--to'"),
    "no such joint": (["solve", GLB, "--joint", "LeftHnd", "--to", "0", "1", "0"], "did you mean 'LeftHand'"),
    "a root below": ([*HAND, "--root", "Head", "--to", "0", "1", "0"], "'Head' is not above 'LeftHand'"),
    "no such solver": ([*HAND, "--to", "0", "1", "0", "--solver", "dls"], "did you mean 'damped_least_squares'"),
    "no such goal": (["solve", GLB, "--goal", "reach LeftHand 0 1 0"], "no goal 'reach'"),
    "a goal cut short": (["solve", GLB, "--goal", "position LeftHand 0 1"], "a goal is written"),
    "an axis alone": ([*HAND, "--to", "0", "1", "0", "--axis", "0", "0", "1"], "--direction or --look-at"),
    "a time alone": ([*HAND, "--to", "0", "1", "0", "--time", "1"], "--time needs --clip"),
    "no such clip": ([*HAND, "--to", "0", "1", "0", "--clip", "run"], "no clip 'run'; clips: walk"),
    "no such pose": ([*HAND, "--to", "0", "1", "0", "--from-pose", "home"], "no pose 'home'; poses: (none)"),
    "two starts": (
        [*HAND, "--to", "0", "1", "0", "--from-pose", "home", "--clip", "walk"],
        "--from-pose conflicts with the start",
    ),
    "an option alone": ([*HAND, "--to", "0", "1", "0", "--option", "bend=0"], "--option needs --solver"),
    "no file there": (["info", "nothing.glb"], "nothing.glb"),
    "MJCF is not written": (
        ["solve", ARM, "--joint", "tool", "--to", "0", "0", "1", "-o", "robot.xml"],
        "MJCF files are read, not written",
    ),
    "Blender": (["info", "mixamo.blend"], "save it as .glb with Blender"),
    "FBX to write": ([*HAND, "--to", "0", "1", "0", "-o", "a.fbx"], "FBX files are read, not written"),
    "USD to write": ([*HAND, "--to", "0", "1", "0", "-o", "a.usdz"], "USD files are read, not written"),
    "xacro": (["info", "robot.urdf.xacro"], "xacro robot.urdf.xacro > robot.urdf"),
    "SRDF alone": (["info", "robot.srdf"], "an SRDF is read beside the URDF of the same name"),
    "a folder": (["info", "."], ".: is a folder, not a file; files that can be read: .amc"),
    "no suffix": (["info", "notes"], "cannot read a file without a suffix"),
    "commas between": (
        [*HAND, "--to", "0.4,1.2,0.3"],
        "requires 3 arguments, with spaces between: --to 0.5 0.5 0.5",
    ),
    "commas, and more": (
        [*HAND, "--to", "0.4,1.2,0.3", "-o", "out.glb"],
        "'--to' takes 3 numbers with spaces between: --to 0.5 0.5 0.5",
    ),
    "a root alone": (["compare", GLB, "--root", "LeftArm"], "give its tip with --joint"),
    "one end of an old chain": (
        ["compare", GLB, "--chain", "LeftHand"],
        "--chain is written --root ROOT --joint JOINT now; its values are missing",
    ),
    "Euler angles": ([*HAND, "--rotation", "90", "0", "0"], "requires 4 arguments, with spaces between"),
    "words for options": (["solve", GLB, "LeftHand", "0.4", "1.2"], "'LeftHand' is no file: the joint and its target"),
    "a pose in a picture": ([*HAND, "--to", "0", "1", "0", "-o", "a.png"], "--plot a.png draws a picture"),
    "seeds alone": ([*HAND, "--to", "0", "1", "0", "--seeds", "3"], "write --prefer closest --seeds 3"),
    "a time after the end": (
        [*HAND, "--to", "0", "1", "0", "--clip", "walk", "--time", "9"],
        "--time 9: the clip 'walk' goes from 0 to 1 s",
    ),
    "a number for a joint": (
        ["solve", GLB, "--joint", "LeftHand", "0.3", "1.2"],
        "'0.3' is no file: the joint and its",
    ),
    "all clips in a picture": (
        [*HAND, "--to", "0", "1", "0", "--every-frame", "--clip", "all", "-o", "a.png"],
        "draws a picture",
    ),
    "a target to compare": (["compare", GLB, "--to", "0", "1", "0"], "targets are made, or given by --targets FILE"),
    "a clip to list": (["info", GLB, "--clip", "walk"], "No such option: --clip; every clip is listed"),
    "help as a command": (["help"], "poise --help lists the commands"),
    "another suffix": (["info", "notes.txt"], "markers, by poise info and poise.load_markers(): .c3d, .trc"),
    "no such method": (["solvers", "lm"], "did you mean 'levenberg_marquardt'"),
    "both limits": ([*HAND, "--to", "0", "1", "0", "--no-limits", "--limits", "a.toml"], "not both"),
    "no such picture": ([*HAND, "--to", "0", "1", "0", "--plot", "a.gif"], "a.gif"),
    "no such format": (["solve", ARM, "--joint", "tool", "--to", "0", "0", "1", "-o", "a.fbx"], "a.fbx"),
}


def test_there_are_twenty_five():
    assert len(CALLS) >= 25


@pytest.mark.parametrize("name", CALLS)
def test_misuse_is_one_line_and_exit_code_2(name, monkeypatch, capsys):
    words, right = CALLS[name]
    monkeypatch.setattr(sys, "argv", ["poise", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    message = capsys.readouterr()
    assert ended.value.code == 2
    assert message.out == ""
    (line,) = [one for one in message.err.splitlines() if not one.startswith("note: ")]
    assert line.startswith("error: ")
    assert right in line


def test_help_and_a_solve_still_end_well(monkeypatch, capsys):
    for words, code in ((["--help"], 0), (["--version"], 0), ([*HAND, "--to", "9", "9", "9"], 1)):
        monkeypatch.setattr(sys, "argv", ["poise", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        assert capsys.readouterr().out


def test_samples_are_copied_once(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "rigs"
    message = []
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["poise", "samples", str(folder)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        message.append(capsys.readouterr().out)
    assert all(str(folder / name) in message[0] for name in samples.NAMES)
    assert message[1].endswith("no file was overwritten\n")
    assert (folder / "humanoid.ik.toml").is_file()
    assert (folder / "humanoid.glb").read_bytes() == samples.path("humanoid.glb").read_bytes()
    (folder / "arm.urdf").write_text("mine")
    assert samples.copy_to(folder) == []
    assert (folder / "arm.urdf").read_text() == "mine"


def test_nothing_at_all_is_answered_by_the_help(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["poise"])
    with pytest.raises(SystemExit):
        main()
    message = capsys.readouterr()
    assert "Usage: poise" in message.out
    assert "error" not in message.err

"""Names of files, joints and clips are data: they neither steer the terminal nor break a page."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import poise
from poise.calls.progress import show_progress_bar
from poise.cli.terminal import say
from poise.errors import FileError, PoiseWarning, escape_controls
from poise.io.formats import gltf
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.plot.scene_drawing import encode_figure, open_canvas
from tests.command_line import HUMANOID, REACH, run, start
from tests.workload import draw

BVH = poise.sample("humanoid.bvh")
ODD = "\n\x1b[2J\u202e"  # at the end of a joint's name
NAMES = {
    "bytes that are no UTF-8": os.fsdecode(b"wei\xdf"),
    "control characters": "b\x1b]0;pwn\x07\nok: all fine\r\x9b2J\u202e",
    "markup": "[bold]a[red] :boom: $x_{$ %s {0} <b>&amp;",
}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse these names")


def steering(text: str) -> set[str]:
    """Letters of an output that are no text; line ends are, where no name can make them."""
    return {letter for letter in text if escape_controls(letter) != letter} - {"\n"}


def checked(*arguments, code=0, cwd=None):
    done = run(*arguments, cwd=cwd)
    assert done.returncode == code, done
    assert steering(done.stdout + done.stderr) == set()
    assert not [
        line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("ok: all fine", r"\x1b[2J"))
    ]
    return done


@pytest.fixture(params=NAMES)
def name(request):
    return NAMES[request.param]


@pytest.mark.parametrize("kind", draw("names of files", NAMES, 1))
@pytest.mark.long
def test_every_verb(tmp_path, kind):
    """Reading, solving, locking, converting, viewing; pictures, reports and pages that quote the name."""
    name = NAMES[kind]
    rig, clip = tmp_path / f"{name}.glb", tmp_path / f"{name}.bvh"
    shutil.copy(HUMANOID, rig)
    shutil.copy(BVH, clip)
    checked("info", rig)
    checked("limits", clip)
    checked("solve", rig, *REACH, "-o", tmp_path / f"{name} posed.glb", "--plot", tmp_path / f"{name}.svg")
    checked("solve", rig, *REACH, "--json")
    locked, report = tmp_path / f"{name} locked.bvh", tmp_path / f"{name}.html"
    checked("lock", clip, "-o", locked, "--report", report, "--plot", tmp_path / f"{name} feet.svg")
    checked("view", clip, "--html", tmp_path / f"{name} page.html")
    for suffix in ("glb", "gltf", "vrma", "json", "csv"):
        checked("convert", clip, tmp_path / f"{name} new.{suffix}")
    for page in (report, tmp_path / f"{name} page.html"):
        assert not set(map(chr, range(32))) & set(page.read_bytes().decode("utf-8")) - {"\n", "\t"}


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_pictures(name, kind):
    """A name is no formula, and has nothing that a picture cannot hold."""
    with open_canvas(2.0, 1.0) as figure:
        axes = figure.add_subplot(xscale="log", title=f"{name}\nsecond line", xlabel=f"$\\frac{name}$")
        axes.plot([1.0, 1000.0], [0.0, 1.0], label=name)
        axes.legend()
        data = encode_figure(figure, kind)
    ticks = [tick for tick in axes.get_xticklabels() if "$" in tick.get_text()]
    assert ticks
    assert all(tick.get_parse_math() for tick in ticks)  # Matplotlib's own powers of ten
    assert not any(text.get_parse_math() for text in (axes.title, axes.xaxis.label))
    if kind == "svg":
        ET.fromstring(data)  # noqa: S314  (our own)


@pytest.mark.long
def test_many_files(tmp_path, name):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(BVH, folder / f"{name}.bvh")
    (folder / f"{name} bad.bvh").write_bytes(b"no BVH")
    checked("convert", folder, "-o", out, "--format", "glb", "--processes", "1", code=1)
    assert (out / f"{name}.glb").is_file()
    (table,) = out.glob("*.csv")
    with table.open(encoding="utf-8", newline="") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["failed", "ok"]


def test_errors(tmp_path, name):
    """An error is one line, of the command line and of Python, whatever names it quotes."""
    bad = tmp_path / f"{name}.bvh"
    bad.write_bytes(b"no BVH")
    for arguments in (
        ("info", bad), ("info", tmp_path / f"{name}.none"), ("convert", bad, bad), ("view", BVH, "--html", bad),
        ("solve", HUMANOID, *REACH, "-o", tmp_path / name / "a.glb"), ("solve", HUMANOID, "--joint", name), (name,),
        ("solve", HUMANOID, *REACH, "--plot", bad), ("info", f"--{name}"),
    ):  # fmt: skip
        done = checked(*arguments, code=2)
        assert len(done.stderr.splitlines()) == 1, done.stderr
    with pytest.raises(FileError) as error:
        poise.load(bad)
    assert steering(str(error.value)) == set()
    assert len(str(error.value).splitlines()) == 1
    assert error.value.path == str(bad)


def test_names_inside_of_files(tmp_path):
    """Joints and clips may be called anything, too."""
    name = NAMES["control characters"]
    rig = poise.load(HUMANOID)
    clips = tuple(Clip(clip.times, clip.poses, name) for clip in rig.clips)
    path = tmp_path / "odd.gltf"
    gltf.write(Rig(rig.skeleton, rig.pose, clips), path, rig.skeleton)
    document = json.loads(path.read_text(encoding="utf-8"))
    for node in document["nodes"]:
        node["name"] += ODD
    path.write_text(json.dumps(document), encoding="utf-8")
    joint = f"LeftHand{ODD}"
    for arguments in (
        ("info", path), ("limits", path), ("lock", path, "-o", tmp_path / "locked.glb"),
        ("solve", path, "--joint", joint, *REACH[2:]), ("convert", path, tmp_path / "new.glb"),
    ):  # fmt: skip
        checked(*arguments)


def test_warnings_are_one_line(tmp_path):
    path = tmp_path / f"{NAMES['control characters']}.bvh"
    path.write_text(
        "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n"
        "}\nMOTION\nFrames: 1\nFrame Time: 0\n0 0 0\n",
        encoding="utf-8",
    )
    with pytest.warns(PoiseWarning) as caught:
        poise.load(path)
    assert steering(str(caught[0].message)) == set()
    assert len(str(caught[0].message).splitlines()) == 1


def test_progress(monkeypatch, name):
    """A bar shows names as they are: it reads no markup in them."""
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress_bar("working", 2) as advance:
        advance(1, name)
    assert escape_controls(name)[:8] in errors.getvalue()
    assert name not in errors.getvalue() or name == NAMES["markup"]
    with show_progress_bar("working", 2) as advance:
        advance(1, "[/red]")  # of a clip: no file has this name
    assert "[/red]" in errors.getvalue()


@pytest.mark.long
def test_letters_that_the_terminal_lacks(tmp_path):
    path = tmp_path / "größe.bvh"
    shutil.copy(BVH, path)
    done = start("convert", path, tmp_path / "gelöst.glb", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert r"gel\xf6st.glb" in done.stdout


def test_lines(capsys):
    say("a\tb", "c\nd\x00", "déjà 漢字 👩\u200d🚀", os.fsdecode(b"\xff"))
    assert capsys.readouterr().out == "a\\tb\nc\\nd\\x00\ndéjà 漢字 👩\u200d🚀\n\\udcff\n"


def test_every_command_prints_through_say():
    """A new command cannot forget it: `typer.echo` prints JSON only, which escapes by itself."""
    folder = Path(poise.__file__).parent / "cli"
    for path in sorted(folder.rglob("*.py")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "typer.echo(" in line]
        assert path.name == "terminal.py" or all("json.dumps(" in line for line in lines), path


def test_names_that_a_new_file_changes_are_reported(tmp_path):
    path = tmp_path / "odd.gltf"
    rig = poise.load(HUMANOID)
    gltf.write(rig, path, rig.skeleton)
    path.write_text(path.read_text(encoding="utf-8").replace('"LeftHand"', '"Left Hand"'), encoding="utf-8")
    done = checked("lock", path, "-o", tmp_path / "locked.bvh")
    assert [line for line in done.stderr.splitlines() if line.startswith("note:") and "Left Hand -> Left_Hand" in line]
    done = checked("convert", path, tmp_path / "new.bvh")
    assert "Left Hand -> Left_Hand" in done.stdout
    assert "note" not in done.stderr


@pytest.mark.long
def test_a_comparison_names_its_file(tmp_path, name):
    rig, report = tmp_path / f"{name}.glb", tmp_path / "report.html"
    shutil.copy(HUMANOID, rig)
    checked("compare", rig, "--effort", "quick", "--solvers", "two_bone", "--out", report)
    assert report.read_bytes().decode("utf-8")

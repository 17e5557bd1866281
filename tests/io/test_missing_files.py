"""A file that is missing: the sentence offers the file beside it that was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

import poise
from poise.cli.target_file import open_target_table
from poise.errors import FileError
from poise.ground.terrain.words import terrain_of
from poise.io.files import suggest_similar_paths
from tests.command_line import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rigs").mkdir()
    for name in ("humanoid.glb", "humanoid.png", "hills.npz", "Targets.csv", "notes"):
        (tmp_path / "rigs" / name).write_text("x")
    return tmp_path / "rigs"


@pytest.mark.parametrize(
    ("missing", "meant"),
    [
        ("rigs/humanod.glb", "rigs/humanoid.glb"),
        ("rigs/humanoid.fbx", "rigs/humanoid.glb"),
        ("rigs/humanoid.gbl", "rigs/humanoid.glb"),
        ("rigs/humanoid", "rigs/humanoid.glb"),
        ("rigs/Humanoid.GLB", "rigs/humanoid.glb"),
        ("rgis/humanoid.glb", "rigs/humanoid.glb"),
        ("rgis/humanoid.bvh", "rigs/"),
    ],
)
def test_a_rig_is_offered(missing, meant):
    with pytest.raises(FileError, match="No such file") as refused:
        poise.load(missing)
    assert str(refused.value).endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize("missing", ["rigs/robot.glb", "elsewhere/robot.glb", "rigs/notes.glb"])
def test_nothing_far_is_offered(missing):
    with pytest.raises(FileError, match="No such file") as refused:
        poise.load(missing)
    assert "did you mean" not in str(refused.value)


def test_other_files_are_offered_with_their_own_suffix_only(folder):
    assert suggest_similar_paths(folder / "hils.npz").endswith("hills.npz'?")
    assert suggest_similar_paths(folder / "targets.csv").endswith("Targets.csv'?")
    assert suggest_similar_paths(folder / "humanoid.csv") == ""
    assert suggest_similar_paths(folder / "humanoid.glb" / "a.glb") == ""


def test_a_suffix_that_is_nearly_one_is_offered():
    done = run("solve", "--joint", "tool", "--to", "0", "0", "1", poise.samples.path("arm.urdf"), "-o", "posed.gbl")
    assert done.returncode == 2
    assert "cannot write files named '.gbl' (did you mean .glb?)" in done.stderr


@pytest.mark.parametrize(
    ("read", "missing", "meant"),
    [
        (terrain_of, "hills.png", "hills.npz"),
        (terrain_of, "hils.obj", "hills.npz"),
        (lambda path: open_target_table(Path(path), "LeftHand", None), "targets.npy", "Targets.csv"),
        (poise.load_markers, "walk.c3d", "walk.trc"),
    ],
)
def test_a_file_of_the_same_kind_with_another_suffix_is_offered(folder, read, missing, meant):
    (folder / "walk.trc").write_text("x")
    with pytest.raises(FileError, match="No such file") as refused:
        read(str(folder / missing))
    assert str(refused.value).endswith(f"; did you mean {str(folder / meant)!r}?")
    with pytest.raises(FileError, match="No such file or directory$"):
        read(str(folder / missing.replace(".", "_is_elsewhere.")))

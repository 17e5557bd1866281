"""Files are written whole, with the mode, the links and the names that they have."""

from __future__ import annotations

import os
import stat
import sys

import numpy as np
import pytest

import poise
from poise.cli.batch_run import remove_leftovers
from poise.errors import FileError
from poise.io.files import find_leftovers, name_part_file, write_atomically
from poise.model.clip import Clip
from poise.model.pose import Pose
from tests.command_line import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of Unix")

LONGEST = 255  # [bytes] of a name


@pytest.fixture
def umask():
    """Set the umask to 027 for the test."""
    old = os.umask(0o027)
    yield
    os.umask(old)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def arm_clip() -> Clip:
    skeleton = poise.load(poise.sample("arm")).skeleton
    return Clip.at_rate(Pose(skeleton, np.tile(skeleton.rest_q, (2, 1))), 30.0, "still")


def writers(folder):
    """Each way in which Poise writes a file: the file, and what writes it."""
    arm, person = poise.load(poise.sample("arm")), poise.load(poise.sample("humanoid.bvh"))
    table, npy = folder / "t.csv", folder / "t.npy"
    targets = folder / "targets.csv"
    targets.write_text("x,y,z\n0.3,0.2,0.5\n")
    solve = ("solve", poise.sample("arm"), "--joint", "tool", "--targets", targets, "-o")
    return [
        (folder / "a.urdf", lambda path: poise.save(arm, path)),
        (folder / "a.json", lambda path: poise.save(arm.pose, path)),
        (folder / "a.npz", lambda path: poise.save(arm_clip(), path)),
        (folder / "p.glb", lambda path: poise.save(person, path)),
        (folder / "p.gltf", lambda path: poise.save(person, path)),
        (folder / "p.bvh", lambda path: poise.save(person, path)),
        (folder / "p.vrma", lambda path: poise.save(person, path)),
        (table, lambda path: run(*solve, path)),
        (npy, lambda path: run(*solve, path)),
    ]


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_every_writer_keeps_the_mode_and_follows_the_link(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    for path, write in writers(tmp_path):
        target = real / path.name
        target.write_bytes(b"old")
        target.chmod(0o640)
        path.symlink_to(target)
        write(path)
        assert path.is_symlink(), path.name
        assert target.read_bytes() != b"old", path.name
        assert mode(target) == 0o640, path.name
    assert sorted(path.name for path in real.iterdir()) == sorted(path.name for path, _ in writers(tmp_path))


@pytest.mark.usefixtures("umask")
def test_modes(tmp_path):
    new, private, shared = (tmp_path / name for name in ("new", "private", "shared"))
    for path, bits in ((private, 0o600), (shared, 0o664)):
        path.write_bytes(b"")
        path.chmod(bits)
    for path in (new, private, shared):
        write_atomically(path, b"data")
    assert [mode(path) for path in (new, private, shared)] == [0o640, 0o600, 0o664]


def test_links(tmp_path):
    chain, middle, target = (tmp_path / name for name in ("chain", "middle", "target"))
    (tmp_path / "folder").mkdir()
    chain.symlink_to("middle")  # relative, as ln -s makes them
    middle.symlink_to("folder/target")
    write_atomically(chain, b"made")  # the file at the end is missing
    assert (tmp_path / "folder" / "target").read_bytes() == b"made"
    assert chain.is_symlink()
    assert middle.is_symlink()
    assert not target.exists()
    circle = tmp_path / "circle"
    circle.symlink_to("circle")  # leads to no file
    write_atomically(circle, b"made")
    assert (circle.read_bytes(), circle.is_symlink()) == (b"made", False)


@pytest.mark.parametrize("case", ["pipe", "folder", "no folder", "zero byte"])
def test_places_that_take_no_file(tmp_path, case):
    path = tmp_path / ("a\0b" if case == "zero byte" else "place")
    if case == "pipe":
        os.mkfifo(path)
    elif case == "folder":
        path.mkdir()
    elif case == "no folder":
        path.symlink_to("nowhere/place")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError, match="cannot write here|no file can have this name"):
        write_atomically(path, b"data")
    assert sorted(tmp_path.iterdir()) == before
    assert not path.is_file()


@pytest.mark.parametrize("letters", ["a", "ä", "漢"])
def test_the_longest_names(tmp_path, letters):
    """A name of 255 bytes is written, loaded, and swept up where the process was killed."""
    stem = letters * ((LONGEST - 4) // len(letters.encode()))
    path = tmp_path / f"{stem}.bvh"
    poise.save(poise.load(poise.sample("humanoid.bvh")), path)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert poise.load(path).clips[0].name == stem
    assert len(os.fsencode(name_part_file(path).name)) <= LONGEST


def test_what_a_killed_process_left_is_found(tmp_path, monkeypatch):
    long = tmp_path / ("n" * 250)
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to("real/file")
    monkeypatch.setattr("pathlib.Path.unlink", lambda _path, **_: None)
    monkeypatch.setattr("pathlib.Path.replace", lambda _path, _target: None)
    for path in (long, link):
        write_atomically(path, b"data")
    monkeypatch.undo()
    found = find_leftovers([long, link])
    assert len(found) == 2
    assert find_leftovers([tmp_path / ("n" * 249)]) == []
    remove_leftovers([long, link])
    assert not any(path.exists() for path in found)


def test_a_table_with_a_name_of_255_bytes(tmp_path):
    (tmp_path / "targets.csv").write_text("x,y,z\n0.3,0.2,0.5\n")
    out = tmp_path / ("t" * 251 + ".csv")
    code, *_ = run("solve", poise.sample("arm"), "--joint", "tool", "--targets", tmp_path / "targets.csv", "-o", out)
    assert (code, out.is_file()) == (0, True)


def test_a_name_that_no_file_can_have_is_one_sentence():
    for name in ("x" * 300, "x" * 300 + ".json", "x" * 300 + ".bvh"):
        with pytest.raises(FileError):
            poise.load(name)


@pytest.mark.parametrize("suffix", ["glb", "gltf", "vrm", "vrma", "fbx", "bvh", "asf", "amc", "urdf", "mjcf", "usd"])
def test_a_pointer_of_git_lfs_is_named(tmp_path, suffix):
    path = tmp_path / f"walk.{suffix}"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n")
    with pytest.raises(FileError, match=r"pointer of Git LFS, not the file itself: `git lfs pull` fetches that"):
        poise.load(path)

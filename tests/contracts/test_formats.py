"""The contract of formats: what holds for every format in the folder."""

from __future__ import annotations

import importlib
import pkgutil
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import Kind, Pose
from poise.io import formats as folder
from poise.io import samples
from poise.io.registry import MARKER_FORMATS, UNSUPPORTED_SUFFIXES, find_reader, find_writer, list_formats
from tests.contracts import read_only
from tests.contracts.clips import MOTIONS, VERBS, walk
from tests.contracts.test_inputs import arrays_in
from tests.strategies import rng_of

MODULES = {
    found.name: importlib.import_module(f"poise.io.formats.{found.name}")
    for found in pkgutil.iter_modules(folder.__path__)
}
EVERY = [(name, suffix) for name, module in MODULES.items() for suffix in module.SUFFIXES]
READ = [(name, suffix) for name, suffix in EVERY if hasattr(MODULES[name], "read")]
WRITTEN = [(name, suffix) for name, suffix in EVERY if hasattr(MODULES[name], "write")]


def figure():
    """A trunk with two arms, balls all of them, no rotations between their rest frames."""
    return poise.Skeleton.build(
        ["hips", "chest", "head", "arm.L", "hand.L", "arm.R", "hand.R"],
        [-1, 0, 1, 1, 3, 1, 5],
        [Kind.BALL] * 7,
        offsets=[(0, 1, 0), (0, 0.5, 0), (0, 0.3, 0), (0.2, 0, 0), (0.6, 0, 0.1), (-0.2, 0, 0), (-0.6, 0, 0.1)],
    )


def rest(skeleton):
    return Pose(skeleton, skeleton.rest_q)


def saved(path):
    """What is in a file now: the figure at rest, or where the format cannot hold it, a bundled sample or an example."""
    if not hasattr(list_formats()[path.suffix], "write"):
        read_only.put(path)
        return None
    thing = rest(figure())
    try:
        poise.save(thing, path)
    except poise.UnsupportedError:
        if not hasattr(list_formats()[path.suffix], "read"):
            clip = walk()
            poise.save(clip, path)
            return clip
        own = next(Path(samples.__file__).parent.glob(f"*{path.suffix}"), None)
        thing = loaded(own or samples.path("humanoid.glb"))
        poise.save(thing, path)
        thing = thing if own else loaded(path)  # such as a VRM animation, which has only the figure's human bones
    return thing


def tries(suffix, usual):
    """How many broken files are read: fewer where each takes a process of its own."""
    return usual // 10 if read_only.is_slow(suffix) else usual


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)  # repairs are told, and no concern here
        return poise.load(path)


def refuses(path):
    """Loading is a FileError in one line that names the file."""
    with pytest.raises(poise.FileError) as refusal:
        loaded(path)
    assert path.name in str(refusal.value)
    assert "\n" not in str(refusal.value)


def holds(path):
    """Loading gives a rig whose numbers are finite, or is a FileError that names the file; nothing else."""
    try:
        rig = loaded(path)
    except poise.UnsupportedError:
        return
    except poise.FileError:
        refuses(path)
        return
    assert np.isfinite(rig.rest.world.positions).all()
    assert (rig.skeleton.parents < np.arange(len(rig.skeleton))).all()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is(name):
    module = MODULES[name]
    assert module.NAME
    assert module.__doc__
    assert hasattr(module, "read") or hasattr(module, "write")
    for suffix in module.SUFFIXES:
        assert suffix == suffix.lower()
        assert suffix.startswith(".")
        assert list_formats()[suffix] is module, f"two modules of poise.io have the suffix {suffix}"


def test_what_is_known_is_listed(tmp_path):
    with pytest.raises(poise.FileError) as refusal:
        poise.load(tmp_path / "rig.unheard")
    for _, suffix in READ:
        assert suffix in str(refusal.value)


def test_a_format_that_begins_like_the_suffix_is_found_without_importing_the_others(monkeypatch):
    requested, found = [], importlib.import_module

    def noted(name):
        requested.append(name)
        return found(name)

    monkeypatch.setattr(importlib, "import_module", noted)
    assert find_reader(Path("rig.glb")) is found("poise.io.formats.gltf")
    assert [name for name in requested if name.startswith("poise.io.formats.")] == ["poise.io.formats.gltf"]


@pytest.mark.parametrize(("name", "suffix"), EVERY)
@pytest.mark.parametrize("verb", ["read", "write"])
def test_the_way_out_is_reported_where_a_format_is_read_or_written_only(name, suffix, verb, tmp_path):
    module, path = MODULES[name], tmp_path / f"rig{suffix}"
    if hasattr(module, verb):
        assert (find_reader if verb == "read" else find_writer)(path) is module
        return
    assert hasattr(module, "write" if verb == "read" else "read")
    what = "read, not written" if verb == "write" else "written, not loaded"
    with pytest.raises(poise.FileError, match=re.escape(f"{module.NAME} files are {what}; {module.UNSUPPORTED_HINT}")):
        poise.load(path) if verb == "read" else poise.save(rest(figure()), path)


def test_other_suffixes_have_one_table(tmp_path):
    assert not set(UNSUPPORTED_SUFFIXES) & set(list_formats())
    assert set(MARKER_FORMATS) < set(UNSUPPORTED_SUFFIXES)
    for suffix, sentence in UNSUPPORTED_SUFFIXES.items():
        for path, call in ((f"a{suffix}", poise.load), (f"a{suffix.upper()}", lambda p: poise.save(rest(figure()), p))):
            with pytest.raises(poise.FileError, match=re.escape(sentence)):
                call(tmp_path / path)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize(("name", "suffix"), WRITTEN)
def test_whether_it_holds_one_clip_and_one_tree_is_reported(name, suffix, tmp_path):
    """What `convert` takes the declarations for: several clips, or several roots that move, are refused or are not."""
    clip, module = walk(), MODULES[name]
    several = poise.Rig(clip.skeleton, rest(clip.skeleton), (clip, poise.Clip(clip.times, clip.poses, "again")))
    twice = poise.Skeleton.build(["a", "b", "c", "d"], [-1, 0, -1, 2], [Kind.BALL] * 4, offsets=[(0, 1, 0)] * 4)
    for thing, flag, words in ((several, "HAS_SINGLE_CLIP", "clip"), (rest(twice), "HAS_SINGLE_ROOT", "root")):
        message = ""
        try:
            poise.save(thing, tmp_path / f"rig{suffix}")
        except poise.UnsupportedError as error:
            message = str(error).replace(str(tmp_path), "")
        if getattr(module, flag, False):
            assert words in message
        else:
            assert (
                not message or words not in message or name in ("urdf", "vrma")
            )  # which hold other things, or one figure


@pytest.mark.parametrize(("name", "suffix"), READ)
class TestReading:
    def test_a_file_that_is_not_there(self, name, suffix, tmp_path):
        refuses(tmp_path / f"rig{suffix}")

    def test_a_folder(self, name, suffix, tmp_path):
        path = tmp_path / f"rig{suffix}"
        path.mkdir()
        refuses(path)

    @pytest.mark.parametrize("text", [b"", b"\x00" * 64, b"\xff\xfe\x00nonsense", b"a b c\n1 2 nan\n", b"{", b"<robot"])
    def test_what_is_no_such_file(self, name, suffix, tmp_path, text):
        path = tmp_path / f"rig{suffix}"
        path.write_bytes(text)
        refuses(path)

    @pytest.mark.long
    def test_a_file_that_ends_early(self, name, suffix, tmp_path):
        path = tmp_path / f"rig{suffix}"
        saved(path)
        data = path.read_bytes()
        for length in np.linspace(1, len(data) - 1, tries(suffix, 40)).astype(int):
            path.write_bytes(data[:length])
            holds(path)

    @pytest.mark.long
    def test_a_file_with_wrong_bytes(self, name, suffix, tmp_path):
        path, rng = tmp_path / f"rig{suffix}", rng_of(1)
        saved(path)
        data = path.read_bytes()
        for _ in range(tries(suffix, 60)):
            wrong = bytearray(data)
            for place in rng.integers(len(data), size=rng.integers(1, 4)):
                wrong[place] = rng.choice([rng.integers(256), *b" \n-.e9,\x00"])
            path.write_bytes(wrong)
            holds(path)


@pytest.mark.parametrize(("name", "suffix"), WRITTEN)
class TestWriting:
    def test_what_is_written_is_read_again(self, name, suffix, tmp_path):
        """Joints, who hangs in whom, and where they are at rest; a format may add joints of its own."""
        path = tmp_path / f"rig{suffix}"
        skeleton = saved(path).skeleton
        if (name, suffix) not in READ:
            return
        rig = loaded(path)
        assert set(skeleton.names) <= set(rig.skeleton.names)
        for joint in skeleton.names:
            assert rig.skeleton[joint].parent == skeleton[joint].parent
            at = rig.rest.world[joint].positions
            np.testing.assert_allclose(at, rest(skeleton).world[joint].positions, atol=1e-5)

    def test_written_again_it_says_the_same(self, name, suffix, tmp_path):
        path, again = tmp_path / f"rig{suffix}", tmp_path / f"again{suffix}"
        saved(path)
        if (name, suffix) in READ:
            poise.save(loaded(path), again)
            before, after = loaded(path), loaded(again)
            assert after.skeleton.names == before.skeleton.names
            np.testing.assert_allclose(after.rest.world.positions, before.rest.world.positions, atol=1e-5)

    def test_a_folder_that_is_not_there(self, name, suffix, tmp_path):
        thing = saved(tmp_path / f"rig{suffix}")
        with pytest.raises(poise.FileError, match="cannot write"):
            poise.save(thing, tmp_path / "nowhere" / f"rig{suffix}")

    @pytest.mark.parametrize("what", ["bent pose", "batch", "clip", "scaled", "hinges"])
    def test_what_it_cannot_hold_it_refuses(self, name, suffix, tmp_path, what):
        """A pose is written whole or not at all: read again it stands where it stood, or nothing was left behind."""
        path = tmp_path / f"rig{suffix}"
        thing = things()[what]
        try:
            poise.save(thing, path)
        except poise.UnsupportedError:
            assert list(tmp_path.iterdir()) == []
            return
        if (name, suffix) not in READ:
            return
        rig = loaded(path)
        pose = rig.pose if what in ("bent pose", "scaled", "hinges") else rig.clips[0].poses
        wanted = thing.poses if what == "clip" else thing
        for joint in wanted.skeleton.names:
            there = pose.world[joint].positions
            np.testing.assert_allclose(there, wanted.world[joint].positions, atol=1e-4)

    @pytest.mark.parametrize("what", [*VERBS, *MOTIONS])
    def test_a_clip_comes_back_as_it_was(self, name, suffix, tmp_path, what):
        """What each verb makes of a clip, and motions of every kind: places at every time; or it is refused whole."""
        clip = made(what)
        path, before = tmp_path / f"clip{suffix}", arrays_in(clip)
        near = 1e-3 if what == "nearly uniform scale" else 2e-5  # a BVH file takes it for uniform
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", poise.PoiseWarning)  # what a format cannot hold, if it is little
                poise.save(clip, path)
                data = path.read_bytes()
                poise.save(clip, path)
        except poise.UnsupportedError:
            assert list(tmp_path.iterdir()) == []
            return
        finally:
            assert arrays_in(clip) == before
        assert path.read_bytes() == data
        if (name, suffix) in READ:
            clips = loaded(path).clips
            again = next((other for other in clips if other.name == clip.name), clips[0])
            assert again.duration == pytest.approx(clip.duration, rel=1e-5)
            joints = set(clip.skeleton.names) - {"Body"}  # a mesh that hangs beside the figure
            if name == "vrma":  # which has human bones only
                joints = {joint for joint in joints if joint in again.skeleton}
                assert len(joints) == 21
            for joint in joints:
                there = again.at(clip.times).world[joint].positions
                np.testing.assert_allclose(there, clip.poses.world[joint].positions, atol=near)


@cache
def made(what):
    """What a verb makes of the walk, or a motion of that name; once for all formats, none of which may change it."""
    return MOTIONS[what]() if what in MOTIONS else VERBS[what](walk())


def things():
    """Poses that not every format can hold."""
    s = figure()
    q = rng_of(3).normal(size=(3, s.nq))
    q = (q.reshape(3, -1, 4) / np.linalg.norm(q.reshape(3, -1, 4), axis=-1, keepdims=True)).reshape(3, -1)
    hinges = poise.Skeleton.build("abc", [-1, 0, 1], [1, 1, 0], offsets=[(0, 1, 0)] * 3, axes=[(0, 0, 1)] * 3)
    return {
        "bent pose": Pose(s, q[0]),
        "batch": Pose(s, q),
        "clip": poise.Clip(np.array([0.0, 0.1, 0.2]), Pose(s, q), "walk"),
        "scaled": Pose(s, q[0], scales=np.full((len(s), 3), 1.5)),
        "hinges": Pose(hinges, np.array([0.4, -0.7])),
    }

"""glTF for skeletons from other formats: a document made from nothing, from which the same skeleton is read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise import __version__
from poise.errors import FileError, UnsupportedError
from poise.io.formats import bvh, gltf, urdf
from poise.maths import rotations
from poise.model.clip import Clip
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Coupling, Kind, Skeleton
from tests.io.gltf_samples import again, content, places, saved, turn_between, turned
from tests.timeouts import no_hang

BVH = ("bvhio_example", "jesse_dance_rokoko", "jumping_jacks_cmu1", "mocapbank", "walk_makehuman_zup", "walk_mass")


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("name", BVH)
@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_bvh_to_gltf(data, tmp_path, name, suffix):
    rig = bvh.read(data / "bvh" / f"{name}.bvh")
    second = again(rig, tmp_path / f"a{suffix}", rig.skeleton)
    _assert_same_joints(rig.skeleton, second.skeleton)
    assert np.array_equal(second.pose.q, rig.pose.q)
    for a, b in zip(rig.clips, second.clips, strict=True):
        assert np.allclose(a.times, b.times, atol=1e-5)
        assert turn_between(a.poses, b.poses) < 1e-6
        size = np.abs(a.poses.world.positions).max()
        assert np.abs(a.poses.local_positions - b.poses.local_positions).max() < 1e-6 * size


def _assert_same_joints(a: Skeleton, b: Skeleton) -> None:
    for key in ("names", "limits", "couplings", "euler"):
        assert getattr(a, key) == getattr(b, key)
    for key in ("parents", "kinds", "axes", "A", "B", "rest_q"):
        assert np.array_equal(getattr(a, key), getattr(b, key)), key


def _limited_robot() -> Skeleton:
    return Skeleton.build(
        ["base", "turn", "slide", "follow", "ball"],
        [-1, 0, 1, 2, 3],
        [Kind.FREE, Kind.HINGE, Kind.SLIDE, Kind.HINGE, Kind.BALL],
        offsets=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2]],
        rotations=rotations.normalise([[1, 0, 0, 0], [1, 2, 3, 4], [4, 3, 2, 1], [1, -1, 1, 1], [0, 1, 0, 0.1]]),
        axes=[[0, 0, 0], [1, 2, 3], [0, 1, 1], [0, 0, 1], [0, 0, 0]],
        scales=[[1, 1, 1], [1, 1, 1], [2, 2, 2], [1, 1, 1], [-1, 1, 1]],
        limits=[None, Range(0.5, 9), Range(-1, np.inf), Range(-20, 0), Range(-1, 1, (0.6, 0, 0.8))],
        couplings=[None, None, None, Coupling(1, -2.0, 0.5), None],
    )


def _robot_poses(s: Skeleton, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    q = np.cumsum(rng.normal(size=(count, s.nq)) * 0.3, axis=0) + s.rest_q
    q[:, 3:7] = rotations.normalise(q[:, 3:7])
    q[:, -4:] = rotations.about(np.array([0.6, 0, 0.8]), rng.uniform(-1, 1, count))
    return s.legal(q)[0]


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_robots_read_back_with_hinges_slides_and_couplings(tmp_path, suffix):
    s = _limited_robot()
    q = _robot_poses(s, 40)
    pose = Pose(s, q[-1])
    second = again(pose, tmp_path / f"a{suffix}", s)
    _assert_same_joints(s, second.skeleton)
    assert np.abs(second.pose.q - pose.q).max() < 1e-12
    assert np.abs(second.pose.world.matrices - pose.world.matrices).max() < 1e-12
    third = again(Pose(second.skeleton, q[0]), tmp_path / f"b{suffix}", second.skeleton)
    assert third.skeleton == second.skeleton
    assert np.abs(third.pose.q - q[0]).max() < 1e-12
    clip = Clip.at_rate(Pose(s, q), 30, "move")
    for like in (s, second.skeleton):
        found = again(clip, tmp_path / f"c{suffix}", like).clips[0]
        assert np.abs(found.poses.q - q).max() < 1e-5
        assert np.abs(found.poses.world.positions - clip.poses.world.positions).max() < 1e-5


def test_urdf_to_gltf(data, tmp_path):
    rig = urdf.read(data / "urdf" / "panda.urdf")
    pose = Pose(rig.skeleton, rig.skeleton.legal(np.linspace(-2, 2, rig.skeleton.nq))[0])
    second = again(pose, tmp_path / "a.glb", rig.skeleton)
    _assert_same_joints(rig.skeleton, second.skeleton)
    assert np.abs(second.pose.world.matrices - pose.world.matrices).max() < 1e-12


def test_bare_corners(tmp_path):
    one = Skeleton.build(["a"], [-1], [Kind.BALL], up="y", metres_per_unit=1.0)
    gltf.write(Pose(one, one.rest_q), tmp_path / "a.glb", one)
    assert content(tmp_path / "a.glb")[0]["asset"] == {"version": "2.0", "generator": f"poise {__version__}"}
    empty = Skeleton.build([], [], [])
    assert len(again(Pose(empty, np.zeros(0)), tmp_path / "a.glb", empty).skeleton) == 0
    two = Skeleton.build(["a", "b"], [-1, -1], [Kind.BALL, Kind.FIXED], scales=[[0, 1, 1], [1, 1, 1]])
    _assert_same_joints(two, again(turned(Pose(two, two.rest_q)), tmp_path / "a.glb", two).skeleton)
    assert "skins" not in content(tmp_path / "a.glb")[0]
    flat = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.BALL], scales=[[0, 1, 1], [1, 1, 1]])
    assert (
        "inverseBindMatrices"
        not in again(Pose(flat, flat.rest_q), tmp_path / "a.glb", flat).skeleton.source.container.json["skins"][0]
    )
    sheared = dataclasses.replace(two, B=np.tile(np.eye(3, 4) + 0.1, (2, 1, 1)))
    with pytest.raises(UnsupportedError, match="more than a scale"):
        gltf.write(Pose(sheared, sheared.rest_q), tmp_path / "b.glb", sheared)


# --- the whole of a skeleton: up axis, unit, aliases, chains -----------------------------------------


def whole(up: str | None = "z", metres: float | None = 0.01) -> Skeleton:
    """Two joints and a hinge with everything that glTF has no place for."""
    s = Skeleton.build(
        ["hips", "knee", "foot"], [-1, 0, 1], [Kind.FREE, Kind.BALL, Kind.HINGE],
        offsets=[[0, 0, 0], [0, 0, -4], [0, 1, -4]], axes=[[0, 0, 0], [0, 0, 0], [1, 0, 0]],
        rest_q=[1, 2, 9, 1, 0, 0, 0, 1, 0, 0, 0, 0], aliases={"sole": 2}, metres_per_unit=metres, up=up,
    )  # fmt: skip
    return dataclasses.replace(s, chains={"leg": ("hips", "sole")})


@pytest.mark.parametrize("up", ["x", "y", "z", None])
@pytest.mark.parametrize("metres", [0.01, 1.0, None])
def test_up_unit_aliases_and_chains_read_back(tmp_path, up, metres):
    s = whole(up, metres)
    pose = Pose(s, s.rest_q).replace({"knee": [1, 2, 3, 4], "foot": 0.5})
    clip = Clip.at_rate(Pose(s, np.stack([s.rest_q, pose.q])), 30, "step")
    second = again(Rig(s, pose, (clip,)), tmp_path / "a.glb", s)
    assert second.notes == ()
    assert dataclasses.replace(second.skeleton, source_ids=s.source_ids) == s
    assert np.abs(second.pose.q - pose.q).max() < 1e-15
    assert np.abs(second.clips[0].poses.q - clip.poses.q).max() < 1e-6
    np.testing.assert_allclose(second.skins[0].bind, Pose(s, s.rest_q).world.matrices, atol=1e-6)
    third = again(dataclasses.replace(second, pose=second.rest), tmp_path / "b.glb", second.skeleton)
    assert third.skeleton == second.skeleton


@pytest.mark.parametrize(("up", "axis"), [("z", 2), ("x", 0)])
def test_other_tools_see_the_figure_upright(tmp_path, up, axis):
    s = whole(up, 1.0)
    gltf.write(Pose(s, s.rest_q), tmp_path / "a.gltf", s)
    document = content(tmp_path / "a.gltf")[0]
    assert [node["name"] for node in document["nodes"]] == ["hips", "knee", "foot", "poise_up"]
    assert document["scenes"] == [{"nodes": [3]}]
    del document["asset"]["extras"], document["nodes"][3]["extras"]  # what no other tool knows of
    observed = gltf.read(saved(tmp_path / "b.gltf", document))
    own = Pose(s, s.rest_q).world
    for name in s.names:
        assert observed.rest.world[name].positions[1] == pytest.approx(own[name].positions[axis], abs=1e-12)
    bind = observed.skins[0].bind
    np.testing.assert_allclose(bind, [observed.rest.world[name].matrices for name in s.names], atol=1e-6)
    turn = observed.rest.world["poise_up"].matrices[:3, :3]
    assert np.linalg.det(turn) == pytest.approx(1.0)


@pytest.mark.parametrize("up", ["x", "y", "z", None])
@pytest.mark.parametrize("metres", [0.01, 0.0254, 1.0, 1000.0, None])
def test_other_tools_see_the_figure_in_metres(tmp_path, up, metres):
    s = whole(up, metres)
    pose = Pose(s, s.rest_q).replace({"knee": [1, 2, 3, 4], "foot": 0.5})
    gltf.write(pose, tmp_path / "a.gltf", s)
    document = content(tmp_path / "a.gltf")[0]
    to_y = {"z": lambda p: (p[0], p[2], -p[1]), "x": lambda p: (-p[1], p[0], p[2])}.get(up, tuple)
    observed = places(document)
    for name in s.names:
        np.testing.assert_allclose(
            observed[name], np.multiply(to_y(pose.world[name].positions), metres or 1.0), rtol=1e-12
        )
    del document["asset"]["extras"]
    plain = gltf.read(saved(tmp_path / "b.gltf", document))  # what else the file holds is in metres, too
    bind, rest = plain.skins[0].bind, [plain.rest.world[name].matrices for name in s.names]
    np.testing.assert_allclose(bind, rest, rtol=1e-5, atol=1e-6 * (metres or 1.0))


def test_a_unit_beyond_32_bits_is_kept_without_a_scale(tmp_path):
    s = whole("y", 1e-300)
    second = again(Pose(s, s.rest_q), tmp_path / "a.glb", s)
    assert len(second.skeleton.source.container.json["nodes"]) == 3
    assert second.skeleton.metres_per_unit == 1e-300


def test_a_file_without_the_scale_is_read_as_before(tmp_path):
    """Until the scale came, a unit stood in the extras alone."""
    s = whole("z", 0.01)
    gltf.write(Pose(s, s.rest_q), tmp_path / "a.gltf", s)
    document = content(tmp_path / "a.gltf")[0]
    del document["asset"]["extras"]["poise"]["in_metres"], document["nodes"][3]["scale"]
    rig = gltf.read(saved(tmp_path / "b.gltf", document))
    assert rig.skeleton == dataclasses.replace(s, source_ids=rig.skeleton.source_ids)
    assert rig.notes == ()


def change(*path):
    """Return a change of a document: the last of `path` is put at the keys before it."""

    def changed(document: dict) -> None:
        place = document
        for key in path[:-2]:
            place = place[key]
        place[path[-2]] = path[-1]

    return changed


@pytest.mark.parametrize(
    "edit",
    [
        change("nodes", 3, "rotation", [0, 0, 0, 1]),
        change("nodes", 3, "translation", [0, 1, 0]),
        change("nodes", 3, "extras", {}),
        change("nodes", 3, "scale", [1, 1, 1]),
        change("nodes", 3, "children", []),
        change("nodes", 0, "children", [1, 3]),
        change("skins", 0, "joints", [0, 1, 2, 3]),
        change("skins", [{"joints": [3]}]),
        change("animations", [{"samplers": [], "channels": [{"target": {"node": 3, "path": "weights"}}]}]),
        lambda document: document["nodes"].append({}),
    ],
)
def test_an_added_root_that_others_changed_is_a_joint(tmp_path, edit):
    s = whole()
    gltf.write(Pose(s, s.rest_q), tmp_path / "a.gltf", s)
    document = content(tmp_path / "a.gltf")[0]
    edit(document)
    path = saved(tmp_path / "b.gltf", document)
    try:
        rig = gltf.read(path)
    except FileError as error:
        assert "cycle" in str(error) or "bind matrices" in str(error)  # noqa: PT017  (broken, whoever reads it)
        return
    assert "poise_up" in rig.skeleton
    assert rig.skeleton.up == "y"
    assert rig.skeleton.metres_per_unit == 1.0
    assert any("the node that rotates z to up" in note for note in rig.notes)
    assert any("the node that scales to metres" in note for note in rig.notes)


CHAIN = {"root": "hips", "tip": "foot"}


@pytest.mark.parametrize(
    "message",
    [
        3, None, [], {"up": "w"}, {"up": 1}, {"up": []}, {"metres_per_unit": 0}, {"metres_per_unit": -1},
        {"metres_per_unit": "1"}, {"metres_per_unit": True}, {"metres_per_unit": 10**400}, {"aliases": []},
        {"in_metres": 1}, {"in_metres": True, "metres_per_unit": None},
        {"aliases": {"a": 1}}, {"aliases": {"a": "unattended"}}, {"chains": 1}, {"chains": {"a": 1}},
        {"chains": {"a": CHAIN | {"tip": "unattended"}}}, {"chains": {"a": {"root": "foot", "tip": "hips"}}},
        {"chains": {"a": {"root": "foot", "tip": "foot"}}}, {"chains": {"a": {"root": "hips"}}},
    ],
)  # fmt: skip
def test_malformed_extras_of_the_asset_are_ignored_with_a_note(tmp_path, message):
    s = whole("y", 1.0)
    gltf.write(Pose(s, s.rest_q), tmp_path / "a.gltf", s)
    document = content(tmp_path / "a.gltf")[0]
    document["asset"]["extras"] = {"poise": message}
    rig = gltf.read(saved(tmp_path / "b.gltf", document))
    assert (rig.skeleton.up, rig.skeleton.metres_per_unit) == ("y", 1.0)
    assert (dict(rig.skeleton.aliases), dict(rig.skeleton.chains)) == ({}, {})
    assert len(rig.notes) == 1
    assert "asset.extras.poise" in rig.notes[0]


@pytest.mark.long
def test_three_thousand_million_steps_along_chains_are_not_made(tmp_path):
    n = 30_000
    nodes = [{"name": f"j{i}", "children": [i + 1]} for i in range(n - 1)] + [{"name": f"j{n - 1}"}]
    chains = {str(i): {"root": "j0", "tip": f"j{n - 1}"} for i in range(100_000)}
    document = {"asset": {"version": "2.0", "extras": {"poise": {"chains": chains}}}, "nodes": nodes}
    path = saved(tmp_path / "a.gltf", document)
    with no_hang():
        rig = gltf.read(path)
    assert "do not fit" in rig.notes[0]


def test_an_empty_skeleton_keeps_its_up_axis(tmp_path):
    s = Skeleton.build([], [], [], up="z")
    assert again(Pose(s, np.zeros(0)), tmp_path / "a.glb", s).skeleton.up == "z"


def test_links_of_a_robot_are_found_in_its_glb(data, tmp_path):
    rig = urdf.read(data / "urdf" / "panda.urdf")
    second = again(rig, tmp_path / "a.glb", rig.skeleton)
    ours, theirs = second.skeleton, rig.skeleton
    assert dict(ours.aliases) == dict(theirs.aliases) != {}
    assert (ours.up, ours.metres_per_unit) == ("z", 1.0)
    assert ours.index("panda_link4") == theirs.index("panda_link4")

"""FBX: every real file against independent forward kinematics, and files written here for what those do not have."""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import poise
from poise.io.formats import fbx as module
from poise.model.clip import KeyedClip
from poise.model.limits import EulerBox, Range
from poise.model.skeleton import Kind
from tests.io.fbx_samples import fbx, node
from tests.io.gltf_samples import content, places
from tests.timeouts import PROCESS

pytest.importorskip("ufbx")

FILES = (
    "arnaud_skinned", "cmu_91_49_m2m", "cmu_91_52_m2m", "huesitos", "kenney_character", "pab_jog", "pab_walk",
)  # fmt: skip
SIDES = ("Perspective", "Front", "Back", "Right", "Left", "Top", "Bottom")
NEAR = 1e-6  # of the size of the figure
#: How far off clips are between frames, of the size at rest (docs/formats/fbx.md): half of the frames, worst, first.
BETWEEN = {
    "arnaud_skinned": (1e-12, 1e-12, 1e-12), "cmu_91_49_m2m": (2e-6, 2e-4, 3e-3), "cmu_91_52_m2m": (2e-6, 2e-4, 3e-3),
    "huesitos": (2e-6, 2e-4, 2e-4), "kenney_character": (1e-6, 6e-4, 6e-4), "pab_jog": (3e-4, 2e-3, 2e-3),
    "pab_walk": (2e-6, 2e-4, 2e-4),
}  # fmt: skip
LIMB = [node("hip"), node("knee", "hip", LclTranslation=(0, -4, 0)), node("foot", "knee", LclTranslation=(0, -3, 0))]


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)  # notes are looked at where they are meant
        return poise.load(path)


def saved(thing, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)  # names with blanks become words in a BVH file
        poise.save(thing, path)


@pytest.fixture(scope="module")
def real(data):
    """Every real file, read once."""
    return {name: loaded(data / "fbx" / f"{name}.fbx") for name in FILES}


@pytest.fixture(scope="module")
def golden(data):
    with np.load(data / "golden" / "fk_fbx.npz") as file:
        return dict(file)


@pytest.fixture
def read(tmp_path):
    """A function that reads the file that `fbx` writes of the same arguments."""

    def reader(*arguments, **options):
        path = tmp_path / "a.fbx"
        path.write_bytes(fbx(*arguments, **options))
        return loaded(path)

    return reader


def turned(order, *degrees):
    """A rotation matrix of turns about the fixed axes in this order."""
    return Rotation.from_euler(order.lower(), degrees, degrees=True).as_matrix()


#: Cameras and lights of the real files, by the names that their programs gave them; all others are joints.
EQUIPMENT = {
    "huesitos": ["Lamp", "Camera"],
    "pab_jog": [*(producers := [f"Producer {s}" for s in SIDES]), "Camera Switcher"],
    "pab_walk": [*producers, "Camera Switcher", "Camera01", "Camera02", "Camera03"],
}


def kept_of(rig, names):
    """Numbers of ufbx's nodes that are joints: all but the scene's root, which is the first, and the equipment."""
    missing = EQUIPMENT.get(rig.path.stem, [])
    kept = [i for i, name in enumerate(names.tolist()) if i and name not in missing]
    assert rig.skeleton.source_ids == tuple(names[kept].tolist())
    assert len(kept) + len(missing) == len(names) - 1
    return kept


def matrix(rig, name):
    return rig.rest.world[name].matrices


# --- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
class TestRealFiles:
    def test_every_node_stands_where_ufbx_has_it(self, real, golden, name):
        rig, of = real[name], {key: golden[f"{name}.fbx|{key}"] for key in ("names", "parents", "is_bone", "rest")}
        kept = kept_of(rig, of["names"])
        row_of = np.full(len(of["names"]), -1)
        row_of[kept] = np.arange(len(kept))
        np.testing.assert_array_equal(rig.skeleton.parents, row_of[of["parents"][kept]])
        assert not of["is_bone"][np.setdiff1d(np.arange(1, len(row_of)), kept)].any()
        size = np.ptp(of["rest"][of["is_bone"], :3, 3], axis=0).max()
        worlds = rig.rest.world.matrices
        np.testing.assert_allclose(worlds[:, :3, 3], of["rest"][kept, :3, 3], atol=NEAR * size)
        np.testing.assert_allclose(worlds[:, :3, :3], of["rest"][kept, :3, :3], atol=1e-9 * np.abs(of["rest"]).max())

    def test_and_at_any_time_of_the_take(self, real, golden, name):
        """The times are those of frames and of what lies between: curves of angles are no straight lines."""
        clip, of = real[name].clips[0], {key: golden[f"{name}.fbx|{key}"] for key in ("take", "t", "t_begin_end")}
        assert clip.name == str(of["take"])
        size = np.ptp(golden[f"{name}.fbx|rest"][golden[f"{name}.fbx|is_bone"], :3, 3], axis=0).max()
        worlds = clip.at(of["t"] - of["t_begin_end"][0]).world.matrices
        wanted = golden[f"{name}.fbx|world"][:, kept_of(real[name], golden[f"{name}.fbx|names"])]
        np.testing.assert_allclose(worlds[..., :3, 3], wanted[..., :3, 3], atol=NEAR * size)
        assert clip.duration == pytest.approx(np.ptp(of["t_begin_end"]), abs=1e-6)
        assert clip.fps == pytest.approx(float(golden[f"{name}.fbx|frames_per_second"]))

    @pytest.mark.long
    def test_between_frames_it_is_as_near_as_the_docs_say(self, real, data, tmp_path, name):
        """At five places within each frame, against ufbx's own evaluation of the whole scene."""
        rig, clip = real[name], real[name].clips[0]
        step = np.diff(clip.times)
        times = (clip.times[:-1, None] + step[:, None] * [0.2, 0.4, 0.5, 0.6, 0.8]).ravel()
        script, out = Path(__file__).with_name("fbx_oracle.py"), tmp_path / "places.npz"
        words = [script, data / "fbx" / f"{name}.fbx", out, *map(repr, times.tolist())]
        subprocess.run([sys.executable, *map(str, words)], check=True, timeout=PROCESS)
        with np.load(out) as file:
            names, theirs = file["names"].tolist(), file["places"]
        rows = [row for row, one in enumerate(rig.skeleton.source_ids) if names.count(one) == 1]
        wanted = theirs[:, [names.index(rig.skeleton.source_ids[row]) for row in rows]]
        off = np.linalg.norm(clip.at(times).world.positions[:, rows] - wanted, axis=2)
        frames = off.max(axis=1).reshape(len(step), -1).max(axis=1)
        frames /= np.ptp(rig.rest.world.positions[rows], axis=0).max()
        half, worst, first = BETWEEN[name]
        assert np.median(frames) <= half
        assert frames[1:].max() <= worst
        assert frames[0] <= first

    def test_units_and_bones(self, real, golden, name):
        rig = real[name]
        assert rig.skeleton.metres_per_unit == pytest.approx(float(golden[f"{name}.fbx|unit_m"]))
        assert rig.skeleton.up == "y"
        bones = golden[f"{name}.fbx|is_bone"][kept_of(rig, golden[f"{name}.fbx|names"])]
        assert (rig.skeleton.kinds[bones] == Kind.BALL).all()

    @pytest.mark.parametrize("suffix", [".glb", ".bvh"])
    def test_a_solved_limb_is_saved_and_read_again(self, real, tmp_path, name, suffix):
        rig = real[name]
        tip = poise.find_roles(rig).joints.get("leftHand", "Bone.005")
        hip = rig.rest.world[rig.skeleton.chain(None, tip)[0]].positions
        way = rig.rest.world[tip].positions - hip
        reach = hip + 0.8 * way + 0.1 * np.linalg.norm(way) * np.array([0.0, 1.0, 1.0])
        result = poise.solve(rig.rest, poise.Position(tip, reach)).require()
        saved(result.pose, tmp_path / f"a{suffix}")
        again = loaded(tmp_path / f"a{suffix}")
        length = np.linalg.norm(way)
        there = again.pose.world[tip if suffix == ".glb" else "_".join(tip.split())].positions
        np.testing.assert_allclose(there, result.pose.world[tip].positions, atol=1e-5 * length)

    @pytest.mark.parametrize("suffix", [".glb", ".bvh"])
    def test_a_clip_is_saved_and_read_again(self, real, golden, tmp_path, name, suffix):
        clip = real[name].clips[0]
        saved(clip, tmp_path / f"a{suffix}")
        again = loaded(tmp_path / f"a{suffix}").clips[0]
        words = {each: each if suffix == ".glb" else "_".join(each.split()) for each in clip.skeleton.names}
        bones = [each for each, word in words.items() if word in again.skeleton.names]
        assert len(bones) > len(words) / 2
        size = np.ptp(clip.poses.world.positions.reshape(-1, 3), axis=0).max()
        for time in clip.times[:: len(clip) // 4]:
            for bone in bones[::5]:
                there = again.at(time).world[words[bone]].positions
                np.testing.assert_allclose(there, clip.at(time).world[bone].positions, atol=1e-5 * size)


@pytest.mark.parametrize("name", ["pab_walk", "kenney_character"])
def test_saved_as_glb_it_is_in_metres_for_other_programs(real, tmp_path, name):
    clip = real[name].clips[0]
    pose = real[name].pose
    for thing in (clip, pose):
        poise.save(thing, tmp_path / "a.glb")
        observed = places(content(tmp_path / "a.glb")[0])
        unit, names = clip.skeleton.metres_per_unit, clip.skeleton.names
        assert unit == pytest.approx(0.01)
        shown = real[name].rest if thing is clip else pose
        at = np.array([observed[each] for each in names])
        np.testing.assert_allclose(at, unit * shown.world.positions, atol=1e-9)
        again = loaded(tmp_path / "a.glb").skeleton
        assert (again.metres_per_unit, again.up, again.names) == (unit, "y", names)
        np.testing.assert_array_equal(again.A, clip.skeleton.A)


def test_a_take_that_begins_late_begins_at_zero(real):
    rig = real["arnaud_skinned"]
    assert rig.clips[0].times[0] == 0.0
    assert "take 'Take 001' begins at 0.0416667 s in the file; its clip begins at 0" in rig.notes


def test_a_size_that_no_figure_has_is_reported(real):
    assert any("the bones span 149 m" in note for note in real["cmu_91_49_m2m"].notes)
    assert not any("span" in note for note in real["pab_walk"].notes)


def test_cameras_and_lights_are_counted_and_do_not_widen_the_figure(real):
    message = "without joints below were left out: they are no part of the character"
    assert f"11 cameras {message}" in real["pab_walk"].notes
    assert f"1 camera and 1 light {message}" in real["huesitos"].notes
    assert not any("left out" in note for note in real["kenney_character"].notes)
    assert np.ptp(real["pab_walk"].rest.world.positions, axis=0).max() < 1500  # [cm]; a Producer is 15000 away


def test_a_camera_that_carries_a_joint_is_kept(read):
    nodes = [node("gimbal", "", "Camera"), node("lens", "gimbal", "Camera"), *LIMB, node("eye", "foot", "Camera")]
    rig = read([*nodes, node("lid", "eye", "Null"), node("spare", "eye", "Camera")])
    assert rig.skeleton.names == ("hip", "knee", "foot", "eye", "lid")
    assert any(note.startswith("3 cameras without joints below") for note in rig.notes)


def test_knees_and_elbows_of_the_file_are_hinges(real):
    rig = real["arnaud_skinned"]
    limited = {name for name, limit in zip(rig.skeleton.names, rig.skeleton.limits, strict=True) if limit}
    assert limited == {"LeftLeg", "RightLeg", "LeftForeArm", "RightForeArm"}
    assert rig.skeleton["LeftLeg"].limit == Range(-np.inf, np.inf, axis=(0, 0, 1))
    assert rig.skeleton["LeftLeg"].limit.source == "file"


def test_the_skin_has_its_bind_pose(real):
    skin = real["arnaud_skinned"].skins[0]
    assert len(skin.joints) == 53
    rest = np.array([matrix(real["arnaud_skinned"], name) for name in skin.joints])
    np.testing.assert_allclose(skin.bind, rest, atol=2e-2)  # this figure was bound as it stands


def test_an_ordinary_file_takes_little_time(data):
    """Processor time of both processes, once what both import lies on the disk's cache."""
    path = data / "fbx" / "pab_walk.fbx"
    loaded(path)
    taken = []
    for _ in range(3):
        before = used()
        loaded(path)
        taken.append(used() - before)
    assert min(taken) <= 0.3


def used():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


# --- what the real files do not have -------------------------------------------------------------

ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx", "xyz")  # the last is SPHERIC


@pytest.mark.parametrize("number", range(7))
class TestRotationOrders:
    def test_at_rest(self, read, number):
        before, after = (20, -30, 40), (-15, 25, 35)
        rig = read([
            node("a", LclRotation=(10, 50, -70), RotationOrder=number, RotationActive=True,
                 PreRotation=before, PostRotation=after),
            node("b", "a", LclTranslation=(1, 2, 3)),
        ])  # fmt: skip
        angles = dict(zip("xyz", (10, 50, -70), strict=True))
        order = ORDERS[number]
        own = turned(order, *(angles[letter] for letter in order))
        wanted = turned("xyz", *before) @ own @ turned("xyz", *after).T
        np.testing.assert_allclose(matrix(rig, "a")[:3, :3], wanted, atol=1e-12)
        np.testing.assert_allclose(matrix(rig, "b")[:3, 3], wanted @ (1, 2, 3), atol=1e-12)
        assert rig.skeleton.euler[0] == order[::-1].upper()

    def test_in_a_take(self, read, number):
        keys = {("a", "R", axis): [(0, 0), (1, turn)] for axis, turn in zip("XYZ", (40, 80, -60), strict=True)}
        rig = read([node("a", RotationOrder=number, RotationActive=True, PreRotation=(0, 0, 90))], [("t", 0, 1, keys)])
        angles = dict(zip("xyz", (10, 20, -15), strict=True))
        order = ORDERS[number]
        wanted = turned("z", 90) @ turned(order, *(angles[letter] for letter in order))
        np.testing.assert_allclose(rig.clips[0].at(0.25).world["a"].matrices[:3, :3], wanted, atol=1e-6)


class TestPivots:
    NODES = (
        node("a", LclTranslation=(1, 2, 3), RotationPivot=(5, 0, 0), ScalingPivot=(5, 0, 0), RotationActive=True),
        node("b", "a", LclTranslation=(10, 0, 0)),
    )

    def test_a_joint_turns_about_its_pivot(self, read):
        rig = read(self.NODES)
        np.testing.assert_allclose(matrix(rig, "a")[:3, 3], (6, 2, 3), atol=1e-12)
        bent = rig.rest.replace({"a": (np.sqrt(0.5), 0, 0, np.sqrt(0.5))})
        np.testing.assert_allclose(bent.world["b"].positions, (6, 7, 3), atol=1e-12)
        assert any("pivot" in note and note.endswith(": a") for note in rig.notes)

    def test_in_a_take_too(self, read):
        clip = read(self.NODES, [("t", 0.5, 1.5, {("a", "R", "Z"): [(0.5, 0), (1.5, 90)]})]).clips[0]
        np.testing.assert_allclose(clip.at(1.0).world["b"].positions, (6, 7, 3), atol=1e-9)
        assert clip.poses.translations is None or np.ptp(clip.poses.translations, axis=0).max() < 1e-9


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (1, [(2, 0, 0), (2 + np.sqrt(2), 3 / np.sqrt(2), 0)]),  # all of the parent's scale, turned with the node
        (0, [(2, 0, 0), (2 + np.sqrt(2), np.sqrt(2), 0)]),  # its scale along the node's own axes
        (2, [(2, 0, 0), (2 + np.sqrt(0.5), np.sqrt(0.5), 0)]),  # none of it, but for the place
    ],
)
def test_the_three_ways_to_inherit_scale(read, kind, wanted):
    rig = read([
        node("a", LclScaling=(2, 3, 4)),
        node("b", "a", LclTranslation=(1, 0, 0), LclRotation=(0, 0, 45), InheritType=kind),
        node("c", "b", LclTranslation=(1, 0, 0), InheritType=kind),
    ])  # fmt: skip
    at = [rig.rest.world[name].positions for name in "bc"]
    np.testing.assert_allclose(at, wanted, atol=1e-12)
    assert any("NAME_scale" in note for note in rig.notes) == (kind != 1)


class TestTakes:
    def test_several_and_their_names(self, read):
        keys = {("knee", "R", "X"): [(0, 0), (1, 90)]}
        rig = read(LIMB, [("walk", 0, 1, keys), ("run", -0.5, 0.5, keys), ("walk", 0, 0, keys)])
        assert [clip.name for clip in rig.clips] == ["walk", "run", "walk_1"]
        assert [len(clip) for clip in rig.clips] == [31, 31, 1]
        assert rig.clips[1].times[0] == 0.0
        assert any("'run' begins at -0.5 s" in note for note in rig.notes)

    def test_between_frames_the_curve_counts(self, read):
        """Two keys 3 s apart turn in a straight line of angles; the clip follows it within a frame, too."""
        keys = {("knee", "R", axis): [(0, 0), (3, turn)] for axis, turn in zip("XYZ", (170, 80, 120), strict=True)}
        clip = read(LIMB, [("t", 0, 3, keys)]).clips[0]
        for time in (0.01, 1.255, 2.99):
            wanted = turned("xyz", 170 * time / 3, 80 * time / 3, 120 * time / 3) @ (0, -3, 0) + (0, -4, 0)
            np.testing.assert_allclose(clip.at(time).world["foot"].positions, wanted, atol=1e-7)

    def test_angles_that_jump_by_a_turn_do_not_spin(self, read):
        """From 150 to -170 degrees within a frame: a cubic through these slopes would whirl about."""
        keys = {("knee", "R", "X"): [(0, 150), (1 / 30, -170), (2 / 30, -170)]}
        clip = read(LIMB, [("t", 0, 2 / 30, keys)]).clips[0]
        for time in np.linspace(0.0, 2 / 30, 17):
            at = clip.at(time).world["foot"].positions
            assert at[1] > -4 - 3 * np.cos(np.radians(149.9)), time  # never lower than at the first key

    def test_a_camera_that_trembles_is_no_joint(self, read):
        nodes = [*LIMB, node("eye", "foot", "Camera"), node("lid", "eye", "Null")]
        rig = read(
            nodes, [("t", 0, 1, {("eye", "R", "X"): [(0, 0), (1, 1e-5)], ("knee", "R", "X"): [(0, 0), (1, 90)]})]
        )
        assert rig.skeleton["eye"].kind == Kind.FIXED
        np.testing.assert_allclose(rig.clips[0].at(1.0).world["foot"].positions, (0, -4, -3), atol=1e-9)

    def test_a_last_piece_of_a_frame_is_kept(self, read):
        clip = read(LIMB, [("t", 0, 0.45, {("knee", "R", "X"): [(0, 0), (0.45, 90)]})]).clips[0]
        assert clip.duration == pytest.approx(0.45)
        np.testing.assert_allclose(clip.at(0.45).world["foot"].positions, (0, -4, -3), atol=1e-9)

    def test_places_and_scales_are_animated(self, read):
        keys = {("knee", "T", axis): [(0, at), (1, 2 * at)] for axis, at in zip("XYZ", (2, -4, 1), strict=True)}
        keys |= {("hip", "S", axis): [(0, 1), (1, size)] for axis, size in zip("XYZ", (3, 5, 1), strict=True)}
        clip = read(LIMB, [("t", 0, 1, keys)]).clips[0]
        np.testing.assert_allclose(clip.at(0.5).world["knee"].positions, (6, -18, 1.5), atol=1e-9)

    def test_one_in_which_nothing_moves(self, read):
        clip = read(LIMB, [("still", 0, 1, {})]).clips[0]
        assert not isinstance(clip, KeyedClip)
        assert len(clip) == 31


class TestLimits:
    def of(self, read, **properties):
        rig = read(
            [node("a"), node("b", "a", LclTranslation=(0, 1, 0), RotationActive=True, **properties), node("c", "b")]
        )
        return rig, rig.skeleton["b"].limit

    def test_a_hinge(self, read):
        """The angle is measured from zero in the file, not from the rest pose."""
        rig, limit = self.of(
            read, LclRotation=(0, 0, 30), PreRotation=(0, 90, 0), RotationMin=(0, 0, -10), RotationMax=(0, 0, 120),
            **{f"Rotation{end}{axis}": True for end in ("Min", "Max") for axis in "XYZ"},
        )  # fmt: skip
        assert limit == Range(np.radians(-10), np.radians(120), axis=(0, 0, 1))
        np.testing.assert_allclose(rig.rest.world["b"].matrices[:3, :3], turned("y", 90) @ turned("z", 30), atol=1e-12)
        legal, moved = rig.skeleton.legal(rig.rest.replace({"b": [np.cos(1.2), 0, 0, np.sin(1.2)]}).q)
        assert moved == ("b",)
        straight = rig.rest.with_q(legal).world["b"].matrices[:3, :3]
        np.testing.assert_allclose(straight, turned("y", 90) @ turned("z", 120), atol=1e-9)

    def test_a_box(self, read):
        _, limit = self.of(
            read, RotationOrder=4, RotationMin=(-20, -30, 0), RotationMax=(40, 50, 60),
            RotationMinX=True, RotationMaxX=True, RotationMinY=True, RotationMaxZ=True,
        )  # fmt: skip
        wanted = EulerBox("YXZ", x=np.radians((-20, 40)), y=(np.radians(-30), np.inf), z=(-np.inf, np.radians(60)))
        assert limit == wanted

    def test_switched_off_they_are_none(self, read):
        assert self.of(read, RotationMin=(-20, -30, 0), RotationMax=(40, 50, 60))[1] is None

    def test_the_rest_pose_is_not_moved_for_them(self, read):
        rig, limit = self.of(read, LclRotation=(90, 0, 0), RotationMax=(45, 0, 0), RotationMinX=True, RotationMaxX=True)
        assert limit is None
        np.testing.assert_allclose(rig.rest.world["b"].matrices[:3, :3], turned("x", 90), atol=1e-12)
        assert any("the rest pose breaks" in note and note.endswith(": b") for note in rig.notes)


class TestUnitsAndNames:
    @pytest.mark.parametrize(
        ("settings", "unit", "up"),
        [
            ({}, 0.01, "y"),
            ({"UnitScaleFactor": 100.0}, 1.0, "y"),
            ({"UnitScaleFactor": 2.54, "UpAxis": 2, "FrontAxis": 1, "FrontAxisSign": -1}, 0.0254, "z"),
            ({"UpAxisSign": -1, "CoordAxisSign": -1}, 0.01, None),
        ],
    )
    def test_settings(self, read, settings, unit, up):
        rig = read(LIMB, settings=settings.items())
        assert rig.skeleton.metres_per_unit == pytest.approx(unit)
        assert rig.skeleton.up == up

    def test_left_handed_axes_are_reported(self, read):
        assert any("left-handed" in note for note in read(LIMB, settings={"FrontAxisSign": -1}.items()).notes)
        assert not read(LIMB).notes

    def test_names(self, read):
        rig = read([node("mixamorig:Hips"), node("a b", "mixamorig:Hips"), node("ein\u00e4", "a b")])
        assert rig.skeleton.names == ("mixamorig:Hips", "a b", "ein\u00e4")

    def test_a_chain_of_three_thousand(self, read):
        nodes = [node(f"n{i}", f"n{i - 1}" if i else "", LclTranslation=(0, 1, 0)) for i in range(3000)]
        rig = read(nodes)
        assert rig.rest.world["n2999"].positions[1] == pytest.approx(3000.0)


def test_without_the_extra_the_way_out_is_reported(monkeypatch, tmp_path):
    path = tmp_path / "a.fbx"
    path.write_bytes(fbx(LIMB))
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(poise.FileError, match=r"pip install 'poise\[fbx\]'; or save it as \.glb with Blender"):
        poise.load(path)


def test_it_is_not_written_and_what_is_instead_is_reported(read, tmp_path):
    with pytest.raises(poise.FileError, match=r"FBX files are read, not written; save as \.glb or \.bvh"):
        poise.save(read(LIMB).rest, tmp_path / "b.fbx")
    assert not (tmp_path / "b.fbx").exists()

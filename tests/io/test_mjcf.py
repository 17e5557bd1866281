"""MJCF: real models against MuJoCo's own kinematics, what each element means, and what a model needs not to have."""

from __future__ import annotations

import subprocess
import sys
import time

import mujoco
import numpy as np
import pytest

import poise
from poise.io.formats import mjcf
from poise.maths import rotations
from poise.model.limits import Range
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from tests.io.mjcf_samples import ARM, body, model

ROBOTS = (
    "allegro_right.xml", "h1.xml", "humanoid.xml", "humanoid_CMU_V2020.xml", "pusher_v5.xml", "shadow_right_hand.xml",
    "ur5e.xml",
)  # fmt: skip


@pytest.fixture
def parsed(tmp_path):
    def read(text, name="robot.xml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return mjcf.read(path)

    return read


def qpos_of(skeleton, qpos):
    """Numbers of q: those of qpos, rotations of unit length as MuJoCo makes them."""
    q = qpos.copy()
    for i in np.flatnonzero(skeleton.kinds >= Kind.BALL):
        at = int(skeleton.q_start[i]) + (3 if skeleton.kinds[i] == Kind.FREE else 0)
        q[..., at : at + 4] = rotations.normalise(q[..., at : at + 4])
    return q


# --- real files ------------------------------------------------------------------------------------


def test_every_model_of_the_data_is_tested(data):
    assert tuple(sorted(path.name for path in (data / "mjcf").glob("*.xml"))) == ROBOTS


@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_and_sites_are_where_mujoco_says(data, name):
    rig = mjcf.read(data / "mjcf" / name)
    golden = np.load(data / "golden" / "fk_mjcf.npz")
    skeleton, s = rig.skeleton, f"{name}|"
    assert skeleton.nq == golden[s + "qpos"].shape[1]
    world = Pose(skeleton, qpos_of(skeleton, golden[s + "qpos"])).world
    near = 1e-12 * np.ptp(world.positions, axis=(0, 1)).max()
    for k, one in enumerate(golden[s + "bodies"].tolist()):
        np.testing.assert_allclose(world[one].matrices, golden[s + "world"][:, k], atol=near, err_msg=one)
    sites = golden[s + "sites"].tolist() if s + "sites" in golden else []
    assert len([row for row in skeleton.source_ids if row is None]) >= len(sites)
    for k, one in enumerate(sites):
        joint = f"{one}_site" if f"{one}_site" in skeleton else one
        assert skeleton[joint].kind == Kind.FIXED
        np.testing.assert_allclose(world[joint].matrices, golden[s + "site_world"][:, k], atol=near, err_msg=one)


@pytest.mark.parametrize("name", ROBOTS)
def test_names_and_ranges_are_those_of_the_file(data, name):
    skeleton = mjcf.read(data / "mjcf" / name).skeleton
    golden = np.load(data / "golden" / "fk_mjcf.npz")
    for i, joint in enumerate(golden[f"{name}|joints"].tolist()):
        # the free joint of h1.xml has no name and is called like its body
        own = str(golden[f"{name}|joint_body"][i]) if joint.startswith("#") else joint
        assert skeleton.q_slice(own).start == golden[f"{name}|qpos_adr"][i]
        limit, ends = skeleton[own].limit, golden[f"{name}|range"][i].tolist()
        assert limit == (Range(*ends) if golden[f"{name}|limited"][i] else None)


@pytest.mark.parametrize("name", ROBOTS)
def test_keyframes_are_named_poses(data, name):
    rig = mjcf.read(data / "mjcf" / name)
    qpos = np.load(data / "golden" / "fk_mjcf.npz")[f"{name}|qpos"][4:]
    assert len(rig.poses) == len(qpos)
    for pose, wanted in zip(rig.poses.values(), qpos, strict=True):
        np.testing.assert_allclose(pose.q, qpos_of(rig.skeleton, wanted), atol=1e-15)


def test_a_humanoid_is_read_at_once(data):
    mjcf.read(data / "mjcf" / "ur5e.xml")  # MuJoCo is imported once
    seconds = []
    for _ in range(3):
        start = time.process_time()
        mjcf.read(data / "mjcf" / "humanoid_CMU_V2020.xml")
        seconds.append(time.process_time() - start)
    assert min(seconds) <= 0.3


def test_what_real_models_are_noted_for(data):
    notes = {name: mjcf.read(data / "mjcf" / name).notes for name in ROBOTS}
    assert any("tendons (4)" in note for note in notes["shadow_right_hand.xml"])
    assert any("site 'lwrist' is called 'lwrist_site'" in note for note in notes["humanoid_CMU_V2020.xml"])
    assert not notes["h1.xml"] + notes["ur5e.xml"] + notes["allegro_right.xml"] + notes["pusher_v5.xml"]


def test_shapes_and_pairs_are_kept(data):
    rig = mjcf.read(data / "mjcf" / "h1.xml")
    geoms = rig.skeleton.source.geoms
    golden = np.load(data / "golden" / "fk_mjcf.npz")
    assert [geom.kind for geom in geoms] == golden["h1.xml|geom_type"].tolist()
    assert [geom.can_collide for geom in geoms] == golden["h1.xml|geom_collides"].tolist()
    world = Pose(rig.skeleton, qpos_of(rig.skeleton, golden["h1.xml|qpos"][1])).world
    for k, geom in enumerate(geoms):
        at = world[geom.joint_name].matrices @ np.array([*geom.offset, 1.0])
        np.testing.assert_allclose(at, golden["h1.xml|geom_world"][1, k, :, 3], atol=1e-12)
    assert len(rig.disabled_pairs) == 2
    assert all(one in rig.skeleton for pair in rig.disabled_pairs for one in pair)


def test_masses_are_those_of_the_file(data):
    masses = poise.masses(mjcf.read(data / "mjcf" / "h1.xml"))
    assert masses["pelvis"] == (5.39, (-0.0002, 4e-05, -0.04522))
    assert sum(mass for mass, _ in masses.values()) == pytest.approx(51.4, abs=0.5)


def test_a_mass_that_is_not_known_is_not_made_up(data):
    rig = mjcf.read(data / "mjcf" / "allegro_right.xml")  # its meshes would tell
    assert rig.skeleton.source.inertials == {}


def test_masses_of_shapes_and_of_inertials(parsed):
    """A ball of one kilogram beside a mesh: what the body weighs is not known, unless an <inertial> tells."""
    ball, mesh = '<joint/><geom size="0.1" mass="1" pos="0 0 2"/>', '<geom type="mesh" mesh="m"/>'
    inertial = '<inertial pos="0 0 3" mass="7" diaginertia="1 1 1"/>'
    inertials = {
        inside: parsed(model(body(inside), attributes=more)).skeleton.source.inertials
        for inside, more in (
            (ball, ""),
            (ball + mesh, ""),
            (inertial + ball + mesh, ""),
            (inertial + mesh + ball, 'inertiafromgeom="true"'),
        )
    }
    assert list(inertials.values()) == [{"a": (1.0, (0, 0, 2))}, {}, {"a": (7.0, (0, 0, 3))}, {}]


@pytest.mark.parametrize("name", ROBOTS)
def test_load_solve_save(data, name, tmp_path):
    rig = mjcf.read(data / "mjcf" / name)
    skeleton = rig.skeleton
    tip = skeleton.names[
        int(np.flatnonzero(np.array([len(skeleton.list_path(i)) for i in range(len(skeleton))]) > 4)[-1])
    ]
    chain = skeleton.chain(None, tip)
    rng = np.random.default_rng(1)
    q = skeleton.rest_q.copy()
    for joint in chain:
        low, high = np.clip(skeleton.value_ranges[skeleton.q_slice(joint)].T, -0.5, 0.5)
        q[skeleton.q_slice(joint)] = rng.uniform(np.minimum(low, high), high)
    q, _ = skeleton.legal(q)
    result = poise.solve(rig.rest, poise.Position(tip, Pose(skeleton, q).world[tip].positions))
    assert result.reached
    for suffix in (".json", ".csv"):
        poise.save(result.pose, tmp_path / f"pose{suffix}")
        again = poise.load_values(tmp_path / f"pose{suffix}", skeleton)
        np.testing.assert_array_equal(again.q.reshape(-1), result.pose.q)
    poise.save(result.pose, tmp_path / "pose.glb")
    shown = poise.load(tmp_path / "pose.glb").pose.world[tip].positions
    np.testing.assert_allclose(shown, result.pose.world[tip].positions, atol=1e-5)


# --- what elements mean ------------------------------------------------------------------------------


def test_the_arm_stands_where_mujoco_has_it(parsed):
    skeleton = parsed(ARM).skeleton
    spec = mujoco.MjModel.from_xml_string(ARM)
    at = mujoco.MjData(spec)
    qpos = np.array([0.3, 0.9, 0.2, -0.4, 0.1, 0.2])
    at.qpos = qpos
    mujoco.mj_kinematics(spec, at)
    world = Pose(skeleton, qpos[:5]).world  # the finger follows: 0.1 + 0.5 * 0.2
    for one in ("base", "upper", "hand", "finger"):
        np.testing.assert_allclose(world[one].positions, at.body(one).xpos, atol=1e-14)
        np.testing.assert_allclose(world[one].matrices[:3, :3].ravel(), at.body(one).xmat, atol=1e-14)
    np.testing.assert_allclose(world["tip"].positions, at.site("tip").xpos, atol=1e-14)


def test_the_rows_of_the_arm(parsed):
    skeleton = parsed(ARM).skeleton
    assert skeleton.names == ("world", "turn", "lift", "pitch", "roll", "reach", "close", "finger", "tip")
    assert dict(skeleton.aliases) == {"base": 1, "upper": 2, "hand": 5}
    assert (skeleton.metres_per_unit, skeleton.up) == (1.0, "z")
    assert skeleton["lift"].limit == Range.degrees(10, 120)
    assert skeleton["pitch"].limit == Range.degrees(-30, 60)
    assert skeleton["reach"].limit == Range(0, 0.2)
    coupling = skeleton["close"].coupling
    assert (skeleton.names[coupling.leader], coupling.ratio, coupling.offset) == ("pitch", 0.5, 0.1)


def test_the_rest_is_qpos0_made_legal(parsed):
    rig = parsed(ARM)
    lift = rig.skeleton.q_slice("lift")
    assert rig.rest.q[lift] == np.radians(20.0)
    assert rig.pose.q[lift] == rig.rest.q[lift]
    rig = parsed(ARM.replace('ref="20" range="10 120"', 'ref="5" range="10 120"'))
    assert rig.rest.q[lift] == np.radians(10.0)


def test_a_keyframe_by_name(parsed):
    rig = parsed(ARM)
    np.testing.assert_array_equal(rig.named_pose("home").q, [0.1, 0.8, 0.2, -0.1, 0.05])
    with pytest.raises(poise.UnknownNameError, match=r"no pose 'hom'; did you mean 'home'\?"):
        rig.named_pose("hom")
    wide = rig.with_skeleton(rig.skeleton.with_limits({"turn": None}))
    assert wide.named_pose("home").skeleton is wide.skeleton


def test_a_keyframe_that_disagrees_with_an_equality_is_noted(parsed):
    (note,) = parsed(ARM.replace("0.05 0.2", "0.05 0.9")).notes
    assert note == "keyframe 'home' has other values than the equalities give: close"


def test_keyframes_without_names_or_with_odd_numbers(parsed):
    text = model(
        body('<joint name="j"/>'),
        '<keyframe><key qpos="0.5" ctrl="1 2 3" act="9"/><key name="far" qpos="1e60"/></keyframe>',
    )
    assert list(parsed(text).poses) == ["key0", "far"]


def test_a_free_joint_is_the_place_in_the_world(parsed):
    rig = parsed(model(body("<freejoint/><geom size='1'/>", "ship", 'pos="1 2 3" euler="0 0 1"')))
    assert rig.skeleton.names == ("world", "ship")
    assert rig.skeleton["ship"].kind == Kind.FREE
    np.testing.assert_allclose(rig.rest.q, [1, 2, 3, np.cos(0.5), 0, 0, np.sin(0.5)])
    np.testing.assert_allclose(rig.rest.world["ship"].positions, [1, 2, 3])


def test_ball_joints_and_their_limit(parsed):
    rig = parsed(model(body('<joint name="j" type="ball" range="0 0.5" pos="0 0 1"/>')))
    assert [Kind(kind) for kind in rig.skeleton.kinds] == [Kind.FIXED, Kind.BALL, Kind.FIXED]
    limit = rig.skeleton["j"].limit
    assert (limit.sides, limit.twist) == (poise.SwingTwist((0, 0, 1), swing=0.5).sides, (-0.5, 0.5))
    assert "may turn by 0.5 rad in all" in rig.notes[0]
    np.testing.assert_allclose(Pose(rig.skeleton, np.array([0, 1.0, 0, 0])).world["a"].positions, [0, 0, 2], atol=1e-15)


def test_joints_without_names_are_called_like_their_body(parsed):
    hinges = '<joint axis="0 0 1"/><joint axis="0 -1 0"/><joint type="slide" axis="1 0 0"/><joint axis="1 1 0"/>'
    skeleton = parsed(model(body(hinges, "torso") + body("<joint/>", "arm"))).skeleton
    assert skeleton.names == ("world", "torso_z", "torso_y", "torso_tx", "torso_hinge", "arm")
    assert dict(skeleton.aliases) == {"torso": 4}
    skeleton = parsed(model("<body><joint/></body><body><body/></body>")).skeleton
    assert skeleton.names == ("world", "body1", "body2", "body3")


def test_a_body_and_a_site_that_are_called_like_a_joint(parsed):
    inside = '<joint name="b"/><site name="b"/>' + body('<joint name="c" pos="1 0 0"/>', "b")
    rig = parsed(model(body(inside, "c")))
    assert rig.skeleton.names == ("world", "b", "c", "b_body", "b_site")
    assert len(rig.notes) == 3
    assert "body 'c' and a joint have the same name" in rig.notes[0]


def test_names_with_letters_that_xml_escapes(parsed):
    rig = parsed(model(body('<joint name="&lt;j&gt; &amp; &quot;k&quot; &#9;ü"/>', "a'b")))
    assert rig.skeleton.names == ("world", '<j> & "k" \tü')
    assert dict(rig.skeleton.aliases) == {"a'b": 1}


def test_degrees_and_radians_and_autolimits(parsed):
    joints = '<joint name="j" range="-1 2"/><joint name="k" range="-1 2" limited="false"/>'
    skeleton = parsed(model(body(joints))).skeleton
    assert (skeleton["j"].limit, skeleton["k"].limit) == (Range(-1, 2), None)
    skeleton = parsed(model(body(joints)).replace("radian", "degree")).skeleton
    assert skeleton["j"].limit == Range.degrees(-1, 2)
    joints = '<joint name="j" range="-1 2"/>'
    with pytest.raises(poise.FileError, match="line 4: <joint> 'j'"):
        parsed(
            model(body(joints), attributes='autolimits="false"').replace('range="-1 2"', 'range="2 -1" limited="true"')
        )


@pytest.mark.parametrize("ends", [("-inf", "inf"), ("-1e300", "1e300")])
def test_an_endless_range_is_no_limit(parsed, ends):
    joint = f'<joint name="j" range="{ends[0]} {ends[1]}"/><joint name="k" range="{ends[0]} 2"/>'
    skeleton = parsed(model(body(joint))).skeleton
    assert (skeleton["j"].limit, skeleton["k"].limit) == (None, Range(-np.inf, 2.0))


EQUALITIES = {
    "curved": ('<joint joint1="j" joint2="k" polycoef="0 1 0.5 0 0"/>', "the curved equality of joint 'j'"),
    "constant": ('<joint joint1="j" polycoef="0.5 0 0 0 0"/>', "the constant equality of joint 'j'"),
    "not active": ('<joint joint1="j" joint2="k" active="false"/>', "the equality of joint 'j' is not active"),
    "flex": ('<flex flex="f"/>', "not read, so joints may move that these would hold: <flex> (1)"),
    "in a circle": ('<joint joint1="k" joint2="j"/><joint joint1="j" joint2="k"/>', "a further equality of joint 'j'"),
    "twice": ('<joint joint1="j" joint2="k"/><joint joint1="j" joint2="k"/>', "a further equality of joint 'j'"),
}


@pytest.mark.parametrize("case", EQUALITIES)
def test_equalities_that_a_skeleton_has_no_place_for_are_noted(parsed, case):
    text, note = EQUALITIES[case]
    rig = parsed(model(body('<joint name="j"/><joint name="k" axis="1 0 0"/>'), f"<equality>{text}</equality>"))
    assert note in "; ".join(rig.notes)
    assert (rig.skeleton["j"].coupling is None) == (case != "twice")


def test_a_follower_whose_range_leaves_its_leader_no_value(parsed):
    joints = '<joint name="j" range="-2 -1"/><joint name="k" range="1 2" axis="1 0 0"/>'
    rig = parsed(model(body(joints), '<equality><joint joint1="j" joint2="k"/></equality>'))
    (note,) = rig.notes
    assert "'j'" in note
    assert rig.skeleton["k"].limit == Range(1.0, 2.0)


def test_what_would_hold_joints_is_counted(parsed):
    held = '<equality><tendon tendon1="t"/><tendon tendon1="t"/><flexvert flex="f"/></equality>'
    (note,) = parsed(model(body('<joint name="j"/>'), held)).notes
    assert note.startswith("not read, so joints may move that these would hold: ")
    assert set(note.partition(": ")[2].split(", ")) == {"<tendon> (2)", "<flexvert> (1)"}


def test_a_slide_with_a_reference(parsed):
    rig = parsed(model(body('<joint name="j" type="slide" axis="0 0 1" ref="2"/>', more='pos="0 1 0"')))
    np.testing.assert_array_equal(rig.rest.q, [2.0])
    np.testing.assert_array_equal(rig.rest.world["a"].positions, [0, 1, 0])
    np.testing.assert_array_equal(Pose(rig.skeleton, np.array([5.0])).world["a"].positions, [0, 1, 3])


def test_an_equality_counts_from_the_references(parsed):
    joints = '<joint name="j" ref="0.3"/><joint name="k" ref="0.2"/>'
    equality = '<equality><joint joint1="j" joint2="k" polycoef="0.1 2 0 0 0"/></equality>'
    coupling = parsed(model(body(joints), equality)).skeleton["j"].coupling
    assert coupling.ratio * 0.2 + coupling.offset == pytest.approx(0.3 + 0.1)
    assert coupling.ratio == 2.0


def test_a_follower_that_would_freeze_its_leader_loses_its_range(parsed):
    joints = '<joint name="j" range="0 0.8"/><joint name="k" axis="1 0 0" range="0 0.9"/>'
    equality = '<equality><joint joint1="k" joint2="j" polycoef="0 -1 0 0 0"/></equality>'
    rig = parsed(model(body(joints), equality, attributes='autolimits="true"'))
    np.testing.assert_allclose(rig.skeleton.value_ranges, [[0.0, 0.8]])
    assert rig.notes[0].startswith("the range of 'k', 0 to 0.9, leaves 'j'")


def test_nothing_but_the_file_is_needed(parsed):
    """Meshes, height fields, textures, actuators, sensors and tendons may be anywhere, or nowhere."""
    text = model(
        body('<joint name="j"/><geom mesh="m"/><geom type="hfield" hfield="h"/><geom size="1" material="x"/><camera/>'),
        '<asset><mesh name="m" file="../m.stl"/><hfield name="h" file="/h.png"/><texture file="t.png"/></asset>'
        '<actuator><motor joint="j"/><position tendon="t"/></actuator><sensor><framepos objname="q"/></sensor>'
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><size nuser_body="1"/>'
        '<extension><plugin plugin="p"/></extension>',
    )
    rig = parsed(text)
    assert rig.skeleton.names == ("world", "j")
    assert [geom.kind for geom in rig.skeleton.source.geoms] == ["sphere"]
    assert rig.notes == ("not read, so joints may move that these would hold: tendons (1)",)


def test_replicate_frames_and_unknown_elements(parsed):
    inside = '<replicate count="3" euler="0 0 1"><body name="r" pos="1 0 0"><joint name="q"/></body></replicate>'
    rig = parsed(model(f'<frame pos="0 0 1">{body(inside)}</frame><spring/>'))
    assert rig.skeleton.names == ("world", "a", "q0", "q1", "q2")
    np.testing.assert_allclose(rig.rest.world["q1"].positions, [np.cos(1), np.sin(1), 1])
    assert rig.notes == ("unknown elements were ignored: spring (1)",)


def test_files_that_are_included(parsed, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "defaults.xml").write_text('<mujocoinclude><joint axis="1 0 0"/></mujocoinclude>')
    (tmp_path / "parts" / "arm.xml").write_text('<mujoco><include file="parts/hand.xml"/></mujoco>')
    (tmp_path / "parts" / "hand.xml").write_text("<mujoco><body><joint name='j'/></body></mujoco>")
    text = (
        '<mujoco><default><include file="parts/defaults.xml"/></default>'
        '<worldbody><include file="parts/arm.xml"/></worldbody></mujoco>'
    )
    assert parsed(text).skeleton["j"].axis == (1.0, 0.0, 0.0)
    (tmp_path / "parts" / "hand.xml").write_text("<mujoco>\n<body><joint name='j' rnage='1 2'/></body></mujoco>")
    with pytest.raises(poise.FileError, match=r"hand\.xml: line 2: <joint> 'j': Schema violation"):
        parsed(text)


INCLUDED = {
    "from the main file's folder": ("m/sub/a.xml", "b.xml", ["m/b.xml"], "m/b"),
    "from the including file's folder": ("m/sub/a.xml", "b.xml", ["m/sub/b.xml"], "m/sub/b"),
    "from the main file's folder first": ("m/sub/a.xml", "b.xml", ["m/sub/b.xml", "m/b.xml"], "m/b"),
    "a folder above the including file's": ("m/x/y/a.xml", "../b.xml", ["m/x/b.xml"], "m/x/b"),
    "with backslashes": ("m/sub/a.xml", "in\\b.xml", ["m/sub/in/b.xml"], "m/sub/in/b"),
    "with a percent sign": ("m/sub/a.xml", "%62.xml", ["m/b.xml", "m/%62.xml"], "m/%62"),
    "under another root element": ("m/sub/a.xml", "b.xml", ["m/b.xml"], "m/b"),
    "nowhere": ("m/x/y/a.xml", "b.xml", ["m/x/b.xml"], None),
}


def written(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("case", INCLUDED)
def test_files_are_included_from_where_mujoco_includes_them(case, tmp_path):
    first, second, files, wanted = INCLUDED[case]
    root, moving = "html" if "another" in case else "mujoco", '<joint/><geom size="1"/>'
    main = written(tmp_path, "m/main.xml", f'<mujoco><worldbody><include file="{first[2:]}"/></worldbody></mujoco>')
    written(tmp_path, first, f'<mujoco><include file="{second}"/></mujoco>')
    for name in files:
        written(tmp_path, name, f"<{root}>{body(moving, name[:-4])}</{root}>")
    if wanted is None:
        with pytest.raises(ValueError, match="Error opening file"):
            mujoco.MjModel.from_xml_path(str(main))
        with pytest.raises(poise.FileError, match="there is no file 'b.xml', neither from the main"):
            mjcf.read(main)
        return
    assert mujoco.MjModel.from_xml_path(str(main)).body(1).name == wanted
    assert mjcf.read(main).skeleton.names == ("world", wanted)


def test_a_sibling_folder_is_included_by_permission(tmp_path):
    main = written(tmp_path, "kit/models/main.xml", '<mujoco><include file="../parts/arm.xml"/></mujoco>')
    written(tmp_path, "kit/parts/arm.xml", model(body('<joint name="j"/>')))
    with pytest.raises(
        poise.FileError, match="permit a folder that holds it: include_root=DIR in Python, --include-root"
    ):
        poise.load(main)
    for root in (tmp_path / "kit", str(tmp_path / "kit" / "parts")):
        assert poise.load(main, include_root=root).skeleton.names == ("world", "j")
    outside = rf"leads out of the file's folder and of {tmp_path}/kit/other; it was not opened"
    (tmp_path / "kit" / "other").mkdir()
    with pytest.raises(poise.FileError, match=outside):
        poise.load(main, include_root=tmp_path / "kit" / "other")


def test_a_link_out_of_the_permitted_folder_is_not_followed(tmp_path):
    main = written(tmp_path, "kit/models/main.xml", '<mujoco><include file="../parts/arm.xml"/></mujoco>')
    written(tmp_path, "arm.xml", f"<mujoco><worldbody>{body('<joint/>')}</worldbody></mujoco>")
    (tmp_path / "kit" / "parts").mkdir()
    (tmp_path / "kit" / "parts" / "arm.xml").symlink_to(tmp_path / "arm.xml")
    with pytest.raises(poise.FileError, match="leads out of"):
        poise.load(main, include_root=tmp_path / "kit")


@pytest.mark.parametrize("root", ["missing", "file", 3, "a\0b", b"bytes"])
def test_a_permission_that_names_no_folder(tmp_path, root):
    (tmp_path / "a.xml").write_text(ARM)
    root = tmp_path / {"missing": "b", "file": "a.xml"}[root] if root in ("missing", "file") else root
    with pytest.raises(poise.InputError, match="include_root is"):
        poise.load(tmp_path / "a.xml", include_root=root)


def test_the_nearer_of_two_files_is_noted_where_the_other_may_not_be_looked_at(tmp_path):
    main = written(tmp_path, "m/main.xml", '<mujoco><worldbody><include file="sub/a.xml"/></worldbody></mujoco>')
    written(tmp_path, "m/sub/a.xml", '<mujoco><include file="../b.xml"/></mujoco>')
    written(tmp_path, "m/b.xml", f"<mujoco>{body('<joint/>')}</mujoco>")
    (note,) = mjcf.read(main).notes
    assert note == (
        "'../b.xml' was included from the folder of a.xml; the same path from the main file leads out of its folder "
        "and was not used"
    )
    assert not mjcf.read(main, include_root=tmp_path).notes


def test_saving_says_that_it_is_read_only(parsed, tmp_path):
    rig = parsed(ARM)
    with pytest.raises(poise.FileError, match="MJCF files are read, not written; save poses and clips as joint values"):
        poise.save(rig, tmp_path / "again.xml")


def test_mujoco_is_imported_when_it_is_used():
    code = "import sys; from poise.io.registry import list_formats; list_formats(); sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

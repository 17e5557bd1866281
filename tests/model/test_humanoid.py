from __future__ import annotations

import dataclasses
import json
import pickle
import random
import re
import shutil

import pytest

import poise
from poise.io import samples
from poise.model.roles.bone_names import BONES, REQUIRED_BONES, SIDES
from tests.command_line import run
from tests.model.humanoid_truth import CESIUM_MAN, HUMANOIDS, NO_FIGURES, QUADRUPEDS, truth

pytestmark = pytest.mark.filterwarnings("ignore::poise.PoiseWarning")


def load(data, name):
    return poise.load(samples.path(name.removeprefix("samples/")) if name.startswith("samples/") else data / name)


def expected(name):
    return CESIUM_MAN if HUMANOIDS[name] is None else truth(HUMANOIDS[name])


@pytest.mark.parametrize("name", HUMANOIDS)
def test_every_humanoid_of_the_data(data, name):
    found = poise.find_roles(load(data, name))
    known = expected(name)
    assert {role: found.joints.get(role) for role in known} == known
    assert found.missing == tuple(role for role in REQUIRED_BONES if role not in known)
    assert found.kind == "humanoid"


@pytest.mark.parametrize("name", HUMANOIDS)
def test_legs_are_those_of_the_roles(data, name):
    known = expected(name)
    parts = ("UpperLeg", "LowerLeg", "Foot", "Toes")
    legs = tuple(poise.Leg(side, *(known.get(f"{side}{part}") for part in parts)) for side in SIDES)
    found = poise.find_roles(load(data, name))
    assert found.legs == tuple(leg for leg in legs if leg.foot)
    assert found.left_out == {} or name == "glb/robot_quaternius.glb"


def test_feet_that_hang_apart_for_ik_have_no_role_and_stand_in_legs_of_their_own(data):
    found = poise.find_roles(poise.load(data / "glb/robot_quaternius.glb"))
    assert found.apart[0] == poise.Leg("left", "UpperLeg.L", "LowerLeg.L_1", "Foot.L_1", None)
    assert [leg.side for leg in found.apart] == ["left", "right"]
    assert found.left_out["leftFoot"] == "'Foot.L_1' is not below 'UpperLeg.L', the leftUpperLeg"


@pytest.mark.parametrize("name", HUMANOIDS)
def test_no_joint_has_two_roles_and_no_helper_has_one(data, name):
    found = poise.find_roles(load(data, name))
    assert len(set(found.joints.values())) == len(found.joints)
    helpers = re.compile(r"IK|twist|control|Pole|slot|_end|_leaf|RIGMESH|HipJoint|^__", re.IGNORECASE)
    assert [joint for joint in found.joints.values() if helpers.search(joint)] == []


@pytest.mark.parametrize("name", HUMANOIDS)
def test_every_role_has_a_confidence_and_a_reason(data, name):
    found = poise.find_roles(load(data, name))
    assert found.joints.keys() == found.confidence.keys() == found.reasons.keys()
    assert set(found.joints) <= set(BONES)
    assert all(0.0 < value <= 1.0 for value in found.confidence.values())
    assert all(reason and "\n" not in reason for reason in found.reasons.values())
    assert not any("other side" in reason for reason in found.reasons.values())


@pytest.mark.parametrize("name", QUADRUPEDS)
def test_every_quadruped_of_the_data(data, name):
    found = poise.find_roles(load(data, name))
    legs = {leg.name: (leg.upper, leg.lower, leg.foot, leg.toes) for leg in found.legs}
    assert legs == QUADRUPEDS[name]
    assert list(legs) == ["front left", "front right", "hind left", "hind right"]
    assert found.kind == "quadruped"
    assert not any(role.startswith(SIDES) for role in found.joints)


def test_the_trunk_of_a_quadruped(data):
    trunk = poise.find_roles(poise.load(data / "glb/fox.glb")).joints
    assert trunk == {
        "hips": "b_Hip_01", "spine": "b_Spine01_02", "chest": "b_Spine02_03", "neck": "b_Neck_04", "head": "b_Head_05",
    }  # fmt: skip


@pytest.mark.parametrize("name", NO_FIGURES)
def test_nothing_is_mapped_on_what_is_no_figure(data, name):
    found = poise.find_roles(load(data, name))
    assert (dict(found.joints), found.legs, found.kind, found.missing) == ({}, (), "other", REQUIRED_BONES)


# names of the first to third joint of the left thumb and little finger
FINGERS = {
    "glb/mixamo_human_makehuman.glb": ("mixamorig:LeftHandThumb{}", "mixamorig:LeftHandPinky{}", (1, 2, 3)),
    "glb/human_anim_m2m.glb": ("thumb_0{}_l", "pinky_0{}_l", (1, 2, 3)),
    "bvh/jesse_dance_rokoko.bvh": ("LeftHandThumb{}", "LeftHandPinky{}", (1, 2, 3)),
    "bvh/walk_makehuman_zup.bvh": ("Thumb{}_L", "Pinky{}_L", (1, 2, 3)),
    "glb/cryptovoxels.vrm": ("Thumb{}_L", "LittleFinger{}_L", (0, 1, 2)),
}


@pytest.mark.parametrize("name", FINGERS)
def test_fingers(data, name):
    joints = poise.find_roles(poise.load(data / name)).joints
    thumb, little, numbers = FINGERS[name]
    thumbs = [joints[f"leftThumb{part}"] for part in ("Metacarpal", "Proximal", "Distal")]
    littles = [joints[f"leftLittle{part}"] for part in ("Proximal", "Intermediate", "Distal")]
    assert thumbs == [thumb.format(number) for number in numbers]
    assert littles == [little.format(number) for number in (1, 2, 3)]


def test_eyes_and_jaw(data):
    joints = poise.find_roles(poise.load(data / "bvh/walk_makehuman_zup.bvh")).joints
    assert [joints[role] for role in ("leftEye", "rightEye", "jaw")] == ["Eye_L", "Eye_R", "Jaw"]


@pytest.mark.parametrize("name", ["glb/human_anim_m2m.glb", "bvh/cmu_12_01_walk.bvh", "glb/robot_quaternius.glb"])
def test_the_order_of_joints_does_not_matter(data, name):
    s = poise.load(data / name).skeleton
    rows = shuffled_rows(s.parents.tolist(), seed=3)
    assert rows != sorted(rows)
    place = {row: new for new, row in enumerate(rows)}
    mixed = poise.Skeleton.build(
        [s.names[row] for row in rows],
        [place.get(int(s.parents[row]), -1) for row in rows],
        [s.kinds[row] for row in rows],
        offsets=s.A[rows, :3],
        rotations=s.A[rows, 3:],
        up=s.up,
    )
    assert poise.find_roles(mixed).joints == poise.find_roles(s).joints


def shuffled_rows(parents, seed):
    """Rows in a random order with parents before children."""
    chance, rows = random.Random(seed), []
    free = [row for row, parent in enumerate(parents) if parent < 0]
    while free:
        row = free.pop(chance.randrange(len(free)))
        rows.append(row)
        free += [child for child, parent in enumerate(parents) if parent == row]
    return rows


def test_the_file_s_own_map_is_certain(data):
    found = poise.find_roles(poise.load(data / "glb/cryptovoxels.vrm"))
    assert found.confidence["hips"] == 1.0
    assert found.reasons["leftFoot"] == "the file's VRM map"


def test_a_map_wins_over_names(data):
    rig = poise.load(data / "glb/mixamo_human_makehuman.glb")
    other = dataclasses.replace(rig, humanoid={"hips": "mixamorig:Spine", "noSuchBone": "mixamorig:Head"})
    found = poise.find_roles(other)
    assert found.joints["hips"] == "mixamorig:Spine"
    assert found.joints.get("spine") != "mixamorig:Spine"
    assert found.joints["head"] == "mixamorig:Head"


def with_sidecar(tmp_path, text):
    for suffix in (".glb", ".bvh"):
        shutil.copy(samples.path(f"humanoid{suffix}"), tmp_path / f"rig{suffix}")
    (tmp_path / "rig.ik.toml").write_text(text)
    return tmp_path / "rig.bvh"


class TestSidecar:
    def test_it_wins(self, tmp_path):
        rig = poise.load(with_sidecar(tmp_path, '[humanoid]\nleftFoot = "LeftToe"\nhips = "Spine"'))
        found = poise.find_roles(rig)
        assert (found.joints["leftFoot"], found.confidence["leftFoot"]) == ("LeftToe", 1.0)
        assert found.reasons["hips"] == "the sidecar"
        assert found.legs[0] == poise.Leg("left", "LeftUpLeg", "LeftLeg", "LeftToe", None)
        assert found.joints["rightFoot"] == "RightFoot"

    def test_it_wins_over_the_file(self, data, tmp_path):
        shutil.copy(data / "glb/cryptovoxels.vrm", tmp_path / "a.vrm")
        (tmp_path / "a.ik.toml").write_text('[humanoid]\nhips = "Spine"')
        found = poise.find_roles(poise.load(tmp_path / "a.vrm"))
        assert (found.joints["hips"], found.reasons["hips"]) == ("Spine", "the sidecar")
        assert found.reasons["head"] == "the file's VRM map"
        assert "spine" not in found.joints

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('[humanoid]\nhip = "Hips"', r"humanoid.'hip': no role 'hip'; did you mean 'hips'"),
            ('[humanoid]\nhips = "Pelvis"', r"humanoid.'hips': no joint 'Pelvis'.*joints: Hips"),
            ("[humanoid]\nhips = 3", r"humanoid.'hips': no joint 3"),
            ('[humanoid]\nhips = ["Hips"]', r"humanoid.'hips': no joint"),
            ("humanoid = 3", "humanoid: must be a table"),
            ('[humanoid]\nhips = "Hips"\nspine = "Hips"', "humanoid: 'Hips' is given to hips and spine"),
        ],
    )
    def test_a_mistake_is_one_sentence(self, tmp_path, text, message):
        path = with_sidecar(tmp_path, text)
        with pytest.raises(poise.FileError, match=rf"rig.ik.toml: {message}"):
            poise.load(path)

    def test_at_the_command_line_it_is_code_2(self, tmp_path):
        done = run("info", with_sidecar(tmp_path, '[humanoid]\nhip = "Hips"'))
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_figure_without_its_clips_has_the_same_roles():
    rig = poise.load(samples.path("humanoid.bvh"))
    assert len(rig.clips) > 0
    assert poise.find_roles(dataclasses.replace(rig, clips=())) == poise.find_roles(rig)


class TestInfo:
    def test_people_read_roles_confidence_and_reasons(self):
        text = run("info", samples.path("humanoid.glb")).stdout
        assert re.search(r"^  leftUpperLeg +LeftUpLeg +0\.9 +named 'LeftUpLeg'", text, re.MULTILINE)
        assert "roles (humanoid, 21 of 55):" in text

    def test_json(self, data):
        known = json.loads(run("info", data / "urdf/solo12.urdf", "--json").stdout)["roles"]
        assert known["kind"] == "quadruped"
        assert known["legs"][0] == {
            "name": "front left", "upper": "FL_HFE", "lower": "FL_KFE", "foot": "FL_ANKLE", "toes": None,
        }  # fmt: skip
        assert known["joints"]["hips"]["joint"] == "base_link"

    def test_an_arm_has_no_roles_to_show(self):
        assert "roles (" not in run("info", samples.path("arm.urdf")).stdout


def test_only_rigs_and_skeletons_are_accepted():
    with pytest.raises(poise.InputError, match="takes a Rig or a Skeleton, not a Pose"):
        poise.find_roles(poise.load(samples.path("humanoid.bvh")).rest)


def test_no_joints():
    found = poise.find_roles(poise.Skeleton.build([], [], []))
    assert (dict(found.joints), found.legs, found.missing) == ({}, (), REQUIRED_BONES)


def test_a_rig_has_its_roles():
    rig = poise.load(poise.samples.path("humanoid.glb"))
    assert rig.roles == poise.find_roles(rig)
    assert rig.roles is rig.roles
    assert rig.roles.limits() == poise.find_roles(rig).limits()
    named = dataclasses.replace(rig, humanoid={"head": "Neck"}, sidecar_roles=frozenset({"head"}))
    assert named.roles.joints["head"] == "Neck"
    assert pickle.loads(pickle.dumps(rig)).roles == rig.roles  # noqa: S301  (our own bytes)

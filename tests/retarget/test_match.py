"""poise.match(): its table, its file, and what a wrong one says."""

from __future__ import annotations

import itertools
import random
import re
from contextlib import suppress

import numpy as np
import pytest

import poise
from poise import FileError, InputError, Match, PoiseError, UnknownNameError, UnsupportedError
from poise.io import samples
from tests.retarget.characters import build_character, build_clip, build_rig

ONE = [1.0] * 12


@pytest.fixture(scope="module")
def pair():
    return build_rig(build_character(ONE)), build_rig(build_character(ONE, names={"LeftArm": 'upper "arm".L'}))


def test_the_table_has_a_row_for_each_role(pair):
    found = poise.match(*pair)
    assert found["leftUpperArm"].target == 'upper "arm".L'
    text = str(found).splitlines()
    assert text[0].split() == ["role", "from", "to", "turn", "note"]
    assert len(text) == len(found) + 1


def test_a_saved_match_loads_as_it_was(pair, tmp_path):
    found = poise.match(*pair).with_joint("leftHand", turn=12.5).with_joint("rightHand", skip=True)
    found.save(tmp_path / "a.toml")
    loaded = Match.load(tmp_path / "a.toml")
    assert [(row.role, row.source, row.target, row.turn, row.skip) for row in loaded.joints] == [
        (row.role, row.source, row.target, row.turn, row.skip) for row in found.joints
    ]


def test_a_skipped_joint_stays_as_at_rest(pair):
    source, target = pair
    skipped = poise.match(source, target).with_joint("rightHand", skip=True)
    clip = build_clip(source.skeleton, 2)
    done = poise.retarget(clip, target, match=skipped, ground=False)
    start = int(target.skeleton.q_start[target.skeleton.index("RightHand")])
    assert done.poses.q[:, start : start + 4] == pytest.approx(
        target.skeleton.rest_q[start : start + 4][None].repeat(len(done), 0)
    )


def test_a_turn_rolls_a_segment_about_its_bone(pair):
    source, target = pair
    clip, found = build_clip(source.skeleton, 2), poise.match(source, target)
    done, turned = (
        poise.retarget(clip, target, match=one, ground=False, hands="directions")
        for one in (found, found.with_joint("leftLowerArm", turn=30))
    )
    assert turned.report.ok
    before, after = (one.poses.world["LeftForeArm"].rotations for one in (done, turned))
    between = poise.rotations.multiply(poise.rotations.inverse(before), after)
    assert poise.rotations.as_vector(between)[0] @ (0.25, 0.0, 0.005) == pytest.approx(0.52360 * 0.25, rel=1e-3)


def test_a_finger_without_a_partner_follows_its_neighbour(data):
    walk, target = (poise.load(data / name) for name in ("bvh/cmu_12_01_walk.bvh", "glb/mixamo_human_makehuman.glb"))
    found = poise.match(walk, target)
    assert found["leftRingProximal"].source == "LeftHandIndex1"
    assert found["leftRingProximal"].note == "follows leftIndexProximal"
    assert not found["leftThumbDistal"].is_used


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[leftHand", "is no TOML file"),
        ("leftHand = 3", "leftHand is no table"),
        ("[tail]\nfrom = 'a'", "tail"),
        ("[leftHand]\nfro = 'a'", "unknown entry 'fro'"),
        ("[leftHand]\nfrom = 3", "from of leftHand must be the name of a joint"),
        ("[leftHand]\nskip = 'yes'", "skip of leftHand must be true or false"),
        ("[leftHand]\nturn = 'yes'", "turn of leftHand"),
        ("[leftHand]\nturn = inf", "turn of leftHand"),
        ("[leftHand]\nturn = 999", "turn of leftHand must be from -360 to 360 degrees"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        Match.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_joints_of_a_match_exist_and_limbs_are_paired(pair):
    source, target = pair
    clip, found = build_clip(source.skeleton, 1), poise.match(source, target)
    with pytest.raises(UnknownNameError, match="no joint for leftLowerArm 'Elbow'"):
        poise.retarget(clip, target, match=found.with_joint("leftLowerArm", source="Elbow"))
    with pytest.raises(InputError, match="leftLowerLeg is not paired"):
        poise.retarget(clip, target, match=found.with_joint("leftLowerLeg", target=""))
    with pytest.raises(InputError, match="leftUpperArm is not paired"):
        poise.retarget(clip, target, match=found.with_joint("leftUpperArm", source=""))
    with pytest.raises(InputError, match="is not below"):
        poise.retarget(clip, target, match=found.with_joint("leftLowerArm", source="RightForeArm"))
    with pytest.raises(FileError, match=r"\.toml"):
        found.save("match.json")


def test_random_edits_give_a_result_or_an_error(tmp_path, pair):
    source, target = pair
    clip, path = build_clip(source.skeleton, 1, frames=4), tmp_path / "a.toml"
    poise.match(source, target).save(path)
    lines, chance = path.read_text().splitlines(), random.Random(5)
    names = [*source.skeleton.names, "", "nobody"]
    for _ in range(200):
        edited = list(lines)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(edited))
            edited[place] = chance.choice(
                [
                    f'from = "{chance.choice(names)}"', f'to = "{chance.choice(names)}"', "turn = 90", "skip = true",
                    edited[chance.randrange(len(edited))], edited[place][:-1], "",
                ]
            )  # fmt: skip
        path.write_text("\n".join(edited))
        with suppress(PoiseError):
            poise.retarget(clip, target, match=Match.load(path), ground=False)


def test_what_cannot_be_retargeted_is_refused_with_a_sentence(data):
    person = poise.load(samples.path("humanoid.bvh"))
    fox, hand = (poise.load(data / name) for name in ("glb/fox.glb", "glb/hand_left_webxr.glb"))
    with pytest.raises(UnsupportedError, match="animal on four legs"):
        poise.retarget(fox.clips[0], person, source=fox)
    with pytest.raises(UnsupportedError, match="the target has no known leftUpperLeg"):
        poise.retarget(person, hand)
    with pytest.raises(InputError, match="the rig has no clip"):
        poise.retarget(poise.load(samples.path("arm.urdf")), person)
    with pytest.raises(InputError, match="root"):
        poise.retarget(person, person, root="hover")
    with pytest.raises(InputError, match="the target must be a Rig"):
        poise.retarget(person, person.skeleton)


def test_bones_with_numbers_for_names_move_as_with_names(data, tmp_path):
    """Their roles are known with a confidence of 0.5, for which planting asked 0.8: feet slid, without a plant."""
    text = (data / "bvh/cmu_12_01_walk.bvh").read_text()
    numbers = itertools.count()
    path = tmp_path / "numbered.bvh"
    path.write_text(re.sub(r"(ROOT|JOINT) \S+", lambda found: f"{found[1]} bone{next(numbers)}", text))
    target = poise.load(data / "glb/mixamo_human_makehuman.glb")
    named, numbered = (poise.load(file) for file in (data / "bvh/cmu_12_01_walk.bvh", path))
    expected, done = (poise.retarget(source, target) for source in (named, numbered))
    assert done.planted is not None
    assert any("known with less confidence" in note for note in done.notes)
    assert len(done) == len(expected)
    legs = [done.bodies[1].rows[f"{side}{part}"] for side in ("left", "right") for part in ("LowerLeg", "Foot")]
    off = np.linalg.norm(done.poses.world.positions - expected.poses.world.positions, axis=-1)[:, legs]
    assert off.max() < 0.05 * done.bodies[1].leg_length

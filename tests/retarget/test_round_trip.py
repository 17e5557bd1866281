"""poise.retarget(): onto itself, and there and back."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.retarget.characters import (
    LIMBS,
    build_character,
    build_clip,
    build_rig,
    find_directions,
    measure_angles,
    measure_turns,
)


@pytest.mark.parametrize("name", ["cmu_12_01_walk", "jesse_dance_rokoko", "mocapbank"])
def test_a_character_onto_itself_changes_nothing(data, name):
    rig = poise.load(data / f"bvh/{name}.bvh")
    done = poise.retarget(rig, rig, ground=False, hands="directions", first="keep")
    source = rig.clips[0].poses.world
    size = np.ptp(source.positions[0], axis=0).max()
    assert np.abs(done.poses.world.positions - source.positions).max() < 1e-9 * size
    assert measure_turns(done.poses.world.rotations, source.rotations).max() < 1e-5  # arccos of nearly 1


def test_a_bundled_character_onto_itself_changes_nothing():
    rig = poise.load(samples.path("humanoid.bvh"))
    done = poise.retarget(rig, rig, ground=False)
    assert np.abs(done.poses.world.positions - rig.clips[0].poses.world.positions).max() < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_there_and_back_keeps_the_directions_of_limbs(seed):
    random = np.random.default_rng(seed)
    rig = build_rig(build_character(random.uniform(0.6, 1.6, 12), spine=3))
    other = build_rig(build_character(random.uniform(0.6, 1.6, 12), spine=int(random.integers(1, 6))))
    clip = build_clip(rig.skeleton, seed)
    there = poise.retarget(clip, other, source=rig, ground=False, hands="directions", first="keep")
    back = poise.retarget(there, rig, source=other, ground=False, hands="directions", first="keep")
    for role, end in LIMBS:
        before, after = (find_directions(one, rig.roles.joints, role, end) for one in (clip, back))
        assert measure_angles(before, after).max() < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("name", ["cmu_12_01_walk", "mocapbank", "jesse_dance_rokoko"])
@pytest.mark.parametrize("target", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb"])
def test_there_and_back_keeps_the_rotations_of_shared_roles(data, name, target):
    """A spine joint that carries the arms in one of both characters only is none of them."""
    rig, other = poise.load(data / f"bvh/{name}.bvh"), poise.load(data / "glb" / target)
    there = poise.retarget(rig, other, ground=False, hands="directions", first="keep")
    back = poise.retarget(there, rig, source=other, ground=False, hands="directions", first="keep")
    turns = measure_turns(rig.clips[0].poses.world.rotations, back.poses.world.rotations).max(axis=0)
    carriers = [
        body.skeleton.names[body.spine.rows[-1]] if len(body.spine.rows) != len(other_body.spine.rows) else ""
        for body, other_body in (there.bodies, there.bodies[::-1])
    ]
    for row in there.match.joints:
        if row.is_used and (row.source == carriers[0]) == (row.target == carriers[1]):
            assert turns[rig.skeleton.index(row.source)] < 2.0, row.role

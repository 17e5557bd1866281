"""VRM animations that are written play in three-vrm, the library of web pages: bones are and turn where Poise has them.

Needs node and the npm packages three, @pixiv/three-vrm and @pixiv/three-vrm-animation: POISE_THREE names a folder whose
node_modules has them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations
from poise.model.roles.bone_names import BONES
from tests.timeouts import PROCESS

FOLDER = os.environ.get("POISE_THREE", "")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
    pytest.mark.skipif(
        not (FOLDER and Path(FOLDER, "node_modules", "@pixiv", "three-vrm-animation").is_dir()),
        reason="POISE_THREE names no folder with @pixiv/three-vrm-animation",
    ),
]
FILES = ["humanoid.glb", "bvh/cmu_12_01_walk.bvh", "asf/02_03.amc", "fbx/pab_jog.fbx", "glb/human_anim_m2m.glb",
         "vrma/walk_cmu.vrma"]  # fmt: skip
SCRIPT = Path(__file__).with_name("three_vrm.mjs")


def played(model, animation, times):
    """What three-vrm shows: rest places, and for every time the place and the turn (w x y z) of each bone."""
    command = ["node", SCRIPT, FOLDER, model, animation, json.dumps(times.tolist())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROCESS, check=False)
    assert done.returncode == 0, done.stderr
    message = json.loads(done.stdout)
    bones = list(message["rest"])
    frames = np.array([[frame[bone] for bone in bones] for frame in message["frames"]])
    return np.array(list(message["rest"].values())), bones, frames[..., :3], frames[..., [6, 3, 4, 5]]


def above(bone, model, bones):
    """The nearest human bone of a model above another, of those in `bones`."""
    s, joints = model.skeleton, {joint: role for role, joint in model.humanoid.items() if role in bones}
    return next((joints[name] for name in reversed(s.ancestors(model.humanoid[bone])) if name in joints), None)


def wanted(own, model, rest, bones, times):
    """The same of Poise's own reading: turns from the T pose relative to the human bone above, on the model's bones."""
    poses, still = own.clips[0].at(times), own.rest.world
    world = {
        role: rotations.multiply(poses.world[joint].rotations, rotations.inverse(still[joint].rotations))
        for role, joint in own.humanoid.items()
    }
    local = {}
    for role, turn in world.items():
        up = above(role, own, own.humanoid)
        local[role] = turn if up is None else rotations.multiply(rotations.inverse(world[up]), turn)
    scale = rest[bones.index("hips"), 1] / still[own.humanoid["hips"]].positions[1]
    place, turned = {}, {}
    for role in (role for role in BONES if role in bones):
        up, own_turn = above(role, model, bones), local.get(role, np.tile(rotations.IDENTITY, (len(times), 1)))
        turned[role] = own_turn if up is None else rotations.multiply(turned[up], own_turn)
        place[role] = (
            scale * poses.world[own.humanoid["hips"]].positions
            if up is None
            else place[up] + rotations.rotate(turned[up], rest[bones.index(role)] - rest[bones.index(up)])
        )
    return np.stack([place[bone] for bone in bones], 1), np.stack([turned[bone] for bone in bones], 1)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize("file", FILES)
def test_bones_are_and_turn_as_here(file, data, tmp_path):
    path = tmp_path / "written.vrma"
    clips = poise.load(data / file if "/" in file else samples.path(file)).clips
    poise.save(clips[0], path)
    own, model = poise.load(path), poise.load(data / "glb" / "cryptovoxels.vrm")
    times = np.linspace(0.0, own.clips[0].duration, 12)[:-1]  # at its end three.js begins anew
    rest, bones, places, turns = played(data / "glb" / "cryptovoxels.vrm", path, times)
    assert set(bones) == set(model.humanoid)
    where, how = wanted(own, model, rest, bones, times)
    assert np.abs(places - where).max() < 1e-5  # [m] of a figure of 1.4 m; numbers of 32 bits
    apart = rotations.multiply(rotations.inverse(rotations.normalise(turns)), rotations.normalise(how))
    assert 2.0 * np.linalg.norm(apart[..., 1:], axis=-1).max() < 1e-5  # [rad]
    assert np.abs((how * rotations.IDENTITY).sum(axis=-1)).min() < 0.99  # something turns

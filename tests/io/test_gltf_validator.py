"""Khronos' validator finds no more errors in a written file than in the original, and none in a bare skeleton.

One file is looked at always, the others with --all. Needs node and the npm package `gltf-validator`: POISE_VALIDATOR
names a node_modules folder that has it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from poise.io.formats import bvh, gltf, urdf
from poise.maths import rotations
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from tests.io.gltf_samples import FILES, saved_arm
from tests.workload import draw

QUICK, LATER = "fox.glb", [name for name in FILES if name != "fox.glb"]
MODULES = os.environ.get("POISE_VALIDATOR", "")
needs_validator = pytest.mark.skipif(
    not (shutil.which("node") and MODULES and Path(MODULES, "gltf-validator").is_dir()),
    reason="node is not installed, or POISE_VALIDATOR names no node_modules folder with gltf-validator",
)
pytestmark = needs_validator
SCRIPT = """
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  const counts = {};
  for (const file of process.argv.slice(1)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {maxIssues: 0});
    counts[file] = report.issues.messages.filter(message => message.severity === 0).map(message => message.code);
  }
  console.log(JSON.stringify(counts));
})();
"""


def errors(*paths: Path) -> list[list[str]]:
    """Codes of the errors that the validator finds in each file."""
    command = ["node", "-e", SCRIPT, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, env=os.environ | {"NODE_PATH": MODULES})
    return list(json.loads(done.stdout).values())


def moved(skeleton, seed: int) -> Pose:
    q = skeleton.rest_q.copy()
    rows = np.flatnonzero(skeleton.kinds == Kind.BALL)
    turns = rotations.normalise(np.random.default_rng(seed).normal(size=(len(rows), 4)))
    q[skeleton.q_start[rows][:, None] + np.arange(4)] = turns
    return Pose(skeleton, q)


@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in draw("real files", LATER, 4))]
)
def test_real_files(data, tmp_path, name):
    rig = gltf.read(data / "glb" / name)
    s = rig.skeleton
    clip = Clip.at_rate(Pose(s, np.stack([moved(s, seed).q for seed in range(3)])), 30)
    paths = [tmp_path / f"{i}{suffix}" for i in range(4) for suffix in (".glb", ".gltf")]
    things = [rig, moved(s, 1), clip, rig.clips[0] if rig.clips else clip]
    for i, path in enumerate(paths):
        gltf.write(things[i // 2], path, s)
    before, *after = errors(data / "glb" / name, *paths)
    assert all(sorted(codes) == sorted(before) for codes in after)


@pytest.mark.long
def test_bare_skeletons(data, tmp_path):
    paths = []
    for source, reader in (("bvh/bvhio_example.bvh", bvh), ("bvh/mocapbank.bvh", bvh), ("urdf/panda.urdf", urdf)):
        rig = reader.read(data / source)
        for suffix in (".glb", ".gltf"):
            paths.append(tmp_path / (Path(source).stem + suffix))
            gltf.write(rig, paths[-1], rig.skeleton)
    paths.append(saved_arm(tmp_path / "arm.glb"))
    *bare, arm = errors(*paths)
    assert bare == [[]] * 6
    assert arm != []  # the sample's short quaternion: the validator does look

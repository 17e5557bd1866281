"""The bundled rigs: fresh, loadable, and with joints that bend the way people and robots do."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.maths import rotations

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "scripts" / "make_samples.py"


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--check", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module", params=["humanoid.glb", "humanoid.bvh"])
def humanoid(request) -> poise.Rig:
    return poise.load(samples.path(request.param))


def test_shipped_files_equal_freshly_made_ones():
    done = check()
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_check_notices_a_change(tmp_path):
    done = check("--folder", str(tmp_path))
    assert done.returncode == 1
    assert "humanoid.glb: differs" in done.stdout


def test_paths_exist_and_are_small():
    files = list(samples.path("humanoid.glb").parent.glob("*.*"))
    assert {samples.path(name) for name in samples.NAMES} <= set(files)
    assert sum(file.stat().st_size for file in files if file.suffix != ".py") < 1_000_000


def test_a_name_without_suffix_is_enough():
    assert samples.path("humanoid") == samples.path("humanoid.glb")
    assert samples.path("arm") == samples.path("arm.urdf")


def test_an_unknown_sample_is_named():
    with pytest.raises(poise.UnknownNameError, match=r"humanoid\.glb"):
        samples.path("knight.glb")


def test_the_humanoid_loads_without_notes(humanoid):
    assert humanoid.notes == ()
    joints = [name for name in humanoid.skeleton.names if humanoid.skeleton[name].kind == poise.Kind.BALL]
    assert len(joints) >= 20
    assert sorted(humanoid.skeleton.chains) == ["left_arm", "left_leg", "right_arm", "right_leg"]


def test_knees_bend_backwards_and_elbows_forwards(humanoid):
    rest = humanoid.rest
    for joint, tip, sign in [("Leg", "Foot", -1), ("ForeArm", "Hand", 1)]:
        for side in ("Left", "Right"):
            limit = humanoid.skeleton[side + joint].limit
            assert limit is not None
            assert (limit.low, limit.high) == (0.0, math.radians(150))
            bent = rest.replace({side + joint: rotations.about(np.array(limit.axis), 1.0)})
            moved = bent.world[side + tip].positions - rest.world[side + tip].positions
            assert sign * moved[2] > 0.15
            assert humanoid.skeleton.legal(bent.q)[1] == ()


def test_the_walk_is_a_legal_loop_on_the_ground(humanoid):
    clip = humanoid.clips[0]
    assert len(clip) == 31
    assert clip.fps == pytest.approx(30, rel=1e-5)
    assert humanoid.skeleton.legal(clip.poses.q)[1] == ()
    world = clip.poses.world
    np.testing.assert_allclose(world.positions[0], world.positions[-1], atol=1e-5)
    toes = np.minimum(world["LeftToe"].positions[:, 1], world["RightToe"].positions[:, 1])
    assert toes.min() > 0.01  # the toe joint lies 0.02 above the sole
    assert toes.max() < 0.08


def test_arms_swing_against_the_legs(humanoid):
    world = humanoid.clips[0].poses.world
    for side in ("Left", "Right"):
        hand = world[f"{side}Hand"].positions[:, 2]
        foot = world[f"{side}Foot"].positions[:, 2]
        assert np.corrcoef(hand, foot)[0, 1] < -0.8


def test_glb_and_bvh_hold_the_same_motion():
    glb, bvh = (poise.load(samples.path(f"humanoid.{suffix}")).clips[0] for suffix in ("glb", "bvh"))
    for name in glb.skeleton.names:
        if name in bvh.skeleton:
            np.testing.assert_allclose(
                glb.poses.world[name].positions, bvh.poses.world[name].positions, atol=2e-6, err_msg=name
            )


def test_the_skin_is_bound_in_the_rest_pose():
    rig = poise.load(samples.path("humanoid.glb"))
    (skin,) = rig.skins
    rows = [rig.skeleton.index(name) for name in skin.joints]
    np.testing.assert_allclose(skin.bind, rig.rest.world.matrices[rows], atol=1e-6)


def test_the_arm_has_six_limited_hinges_and_reaches_its_length():
    rig = poise.load(samples.path("arm.urdf"))
    hinges = [name for name in rig.skeleton.names if rig.skeleton[name].kind == poise.Kind.HINGE]
    assert len(hinges) == 6
    assert all(rig.skeleton[name].limit is not None for name in hinges)
    straight = rig.rest.replace({"elbow": -math.pi / 2, "wrist_bend": -math.pi / 2})
    world = straight.world
    reach = np.linalg.norm(world["tool"].positions - world["shoulder"].positions)
    assert reach == pytest.approx(0.9, abs=1e-9)
    assert rig.skeleton.legal(straight.q)[1] == ()
    down = rotations.rotate(rig.rest.world["tool"].rotations, np.array([1.0, 0, 0]))
    np.testing.assert_allclose(down, [0, 0, -1], atol=1e-9)


def test_a_package_in_an_archive_unpacks_its_samples_until_the_program_ends(tmp_path):
    package = Path(poise.__file__).parent
    with zipfile.ZipFile(tmp_path / "poise.zip", "w") as archive:
        files = [*package.rglob("*.py"), *(path for path in Path(samples.__file__).parent.iterdir() if path.is_file())]
        for path in dict.fromkeys(files):
            archive.write(path, path.relative_to(package.parent))
    code = (
        "import poise\n"
        "path = poise.samples.path('humanoid.glb')\n"
        "print(poise.__file__, path, poise.load(path).skeleton['LeftForeArm'].limit)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "poise.zip")},
    )  # fmt: skip
    place, path, limit = done.stdout.split(maxsplit=2)
    assert place == str(tmp_path / "poise.zip" / "poise" / "__init__.py")
    assert not Path(path).exists(), "a temporary file"
    assert limit.strip() == str(poise.load(samples.path("humanoid.glb")).skeleton["LeftForeArm"].limit) != "None"

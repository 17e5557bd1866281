"""Five clips onto the Unitree G1, beside GMR: both judged by MuJoCo with the robot's meshes, in one run.

    python benchmarks/retarget_peers.py

POISE_G1 is the folder of the G1 of the wheel example-robot-data (g1_description, with meshes), POISE_GMR that of
GMR (github.com/YanjieZe/GMR at GMR_COMMIT; its files are checked by hash). GMR has a table for BVH files of one kind:
here rotations, scales and places on the links come from Poise's match and motion without ground, so that both move the
same bodies. Without GMR its rows are left out.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import harness
import numpy as np
import robot_judge
from robot_judge import Motion
from robots import environments

import poise
from poise.maths import rotations
from poise.model.anatomy.rest_geometry import compute_rest_rotations

TITLE = "Clips of people on the Unitree G1, beside GMR"
CLIPS = ("bvh/cmu_12_01_walk.bvh", "bvh/jesse_dance_rokoko.bvh", "bvh/jumping_jacks_cmu1.bvh", "fbx/cmu_91_49_m2m.fbx",
         "bvh/mocapbank.bvh")  # fmt: skip
G1 = "urdf/g1_29dof.urdf"
ABOUT_MEASURES = (
    "Slides are those of ankles while heel and ball stand, by the contacts that Poise finds in the source, and while "
    "ankle and toes of the source are slower than 0.15 leg lengths a second. Soles are the lowest points of meshes and "
    "spheres while anything stands by those contacts, angles those between joints of source and robot. Self-contact is "
    "deeper than 2 mm. Milliseconds are those of the processor, the least of three runs after a warm-up, without "
    "reading files."
)
RUNS = 3  # of which the quickest counts
SLOW = 0.15  # leg lengths a second
GMR_COMMIT = "4f9e8b7b8b47"
ABOUT_GMR = (
    f"GMR is its own core at {GMR_COMMIT} with mink, MuJoCo and daqp, one frame after the other. By itself it has one "
    "table of names for BVH files: here rotations and scales come from Poise's match, and each link's place on its "
    "human body is the mean over Poise's motion of the clip without ground. Afterwards its motion is moved as a "
    "whole, so that half of its flat soles are on the ground. It neither plants feet nor keeps parts apart; its table "
    "asks for places and rotations of fourteen links."
)
GMR_FILES = {
    "general_motion_retargeting/motion_retarget.py": "397bfde539cdf00305145ddafec234f6011fcb9e64fd2aea590b2ac670a4171f",
    "general_motion_retargeting/params.py": "1f6997db96cb76960f45b017db0bab6b7066d347d3a1eb5cc4f5359ebd1ac34b",
    "general_motion_retargeting/ik_configs/bvh_to_g1.json":
        "cb4ef4bc38bf8c59aabddd4baeb261fb5d23e8628ac3793fc06a9ebf699aa320",
    "assets/unitree_g1/g1_mocap_29dof.xml": "85a25128d42ad3cc8dd071c089806a2773a59ee0689edcc646aeb0201ae8f4c8",
}  # fmt: skip
# GMR's name of a human body -> role, or none for the top of the trunk, and joint above the robot's link
BODIES = {
    "Hips": ("hips", "pelvis"),
    "Spine2": ("", "waist_pitch_joint"),
    **{
        f"{side}{name}": (f"{side.lower()}{part}", f"{side.lower()}_{joint}_joint")
        for side in ("Left", "Right")
        for name, part, joint in (
            ("UpLeg", "UpperLeg", "hip_yaw"), ("Leg", "LowerLeg", "knee"), ("FootMod", "Foot", "ankle_roll"),
            ("Arm", "UpperArm", "shoulder_yaw"), ("ForeArm", "LowerArm", "elbow"), ("Hand", "Hand", "wrist_yaw"),
        )
    },
}  # fmt: skip
_ARM_NAMES = ("Arm", "Hand")


def find_gmr() -> tuple[Path | None, str]:
    """Find the folder of GMR. Where it cannot be used, None and the reason."""
    named = os.environ.get("POISE_GMR")
    if named is None:
        return None, f"GMR is left out: set POISE_GMR to a checkout of github.com/YanjieZe/GMR at {GMR_COMMIT}"
    folder = Path(named)
    for name, expected in GMR_FILES.items():
        path = folder / name
        if not path.is_file():
            return None, f"GMR is left out: {path} is missing"
        if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            return None, f"GMR is left out: {name} is not that of {GMR_COMMIT}"
    return folder, ""


def build_motion(done: poise.Retargeted, qpos: np.ndarray, speeds: np.ndarray) -> Motion:
    """Build a motion to be judged, with the contacts and limbs of the source."""
    source = done.bodies[0]
    places = rotations.rotate(source.world_turn, done.source.poses.world.positions)
    ways = np.stack(
        [places[:, source.rows[last]] - places[:, source.rows[first]] for first, last in robot_judge.LIMB_ROLES], axis=1
    )
    feet = [[source.rows[role] for role in (f"{side}Foot", f"{side}Toes") if role in source.rows]
            for side in ("left", "right")]  # fmt: skip
    rates = np.linalg.norm(np.gradient(places, 1.0 / done.fps, axis=0), axis=-1) / source.leg_length
    still = np.stack([(rates[:, rows] < SLOW).all(axis=1) for rows in feet], axis=1)
    assert done.contacts is not None
    return Motion(
        qpos, done.fps, done.contacts.heel.copy(), done.contacts.ball.copy(), still,
        ways / np.linalg.norm(ways, axis=-1, keepdims=True), speeds,
    )  # fmt: skip


def order_configurations(done: poise.Retargeted, hinges: list[str]) -> np.ndarray:
    """Order configurations (F, 36) as MuJoCo does: place, rotation, hinges."""
    skeleton = done.skeleton
    columns = [int(skeleton.q_start[skeleton.index(name)]) for name in hinges]
    return np.concatenate([done.poses.q[:, :7], done.poses.q[:, columns]], axis=1)


def build_gmr_job(done: poise.Retargeted, ankle_height: float) -> dict[str, Any]:
    """Build GMR's input from a motion without ground: human bodies, offsets to its links, scales.

    Feet that lie flat are on its floor, at 0. A link's place on its human body is the mean over the motion: GMR takes
    one constant place, and proportions differ.
    """
    source, target = done.bodies
    world = done.source.poses.world
    places = rotations.rotate(source.world_turn, world.positions)
    rest_turns = rotations.from_matrix(compute_rest_rotations(target.skeleton))
    scales = {"leg": target.leg_length / source.leg_length, "arm": target.arm_length / source.arm_length}
    assert done.contacts is not None
    ankles = places[:, [source.rows["leftFoot"], source.rows["rightFoot"]], 2]
    floor = float(np.median(ankles[done.contacts.heel & done.contacts.ball])) - ankle_height / scales["leg"]
    moved = rotations.rotate(target.world_turn, done.poses.world.positions)
    job: dict[str, Any] = {}
    for name, (role, link) in BODIES.items():
        names = [role, role] if role else [f"joint {body.spine.rows[-1]}" for body in (source, target)]
        of_source, of_target = source.segments[names[0]], target.segments[names[1]]
        link_row = target.skeleton.index(link)
        axes = rotations.multiply(rest_turns[of_target.row], of_target.row_frame)
        link_frame = rotations.multiply(rotations.inverse(rest_turns[link_row]), axes)
        job[f"{name}_p"] = places[:, of_source.row] - [0.0, 0.0, floor]
        job[f"{name}_r"] = rotations.multiply(source.world_turn, world.rotations[:, of_source.carrier])
        job[f"{name}_offset"] = rotations.multiply(of_source.carrier_frame, rotations.inverse(link_frame))
        job[f"{name}_scale"] = scales["arm" if name.endswith(_ARM_NAMES) else "leg"]
        off = moved[:, link_row] - scale_places(job, name)
        link_turns = rotations.multiply(job[f"{name}_r"], job[f"{name}_offset"])
        job[f"{name}_place"] = rotations.rotate(rotations.inverse(link_turns), off).mean(axis=0)
    return job


def scale_places(job: dict[str, Any], name: str) -> np.ndarray:
    """Scale the places (F, 3) of a human body as GMR does: about the hips, whose own scale moves all."""
    hips = job["Hips_p"]
    return hips * job["Hips_scale"] + (job[f"{name}_p"] - hips) * job[f"{name}_scale"]


def run_gmr(folder: Path, job: dict[str, Any], hinges: list[str]) -> tuple[np.ndarray, float]:
    """Run GMR. Return its configurations (F, 36) and the seconds; RuntimeError where it cannot be run."""
    with tempfile.TemporaryDirectory() as name:
        given, out = Path(name) / "job.npz", Path(name) / "out.npz"
        np.savez(given, **job)
        command = [environments.python("gmr"), harness.HERE / "peers" / "gmr.py", folder, given, out, RUNS]
        tried = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if tried.returncode:
            raise RuntimeError(f"GMR stopped: {(tried.stderr.strip().splitlines() or ['no reason'])[-1]}")
        with np.load(out) as answers:
            names = answers["hinges"].tolist()
            q = answers["q"]
            columns = [7 + names.index(name) for name in hinges]
            return np.concatenate([q[:, :7], q[:, columns]], axis=1), float(answers["seconds"].min())


def judge_clip(data: Path, name: str, model: Any, gmr: Path | None) -> list[harness.Row]:
    """Judge a clip of Poise and of GMR."""
    source, robot = poise.load(data / name), poise.load(data / G1)
    done, seconds = harness.quickest(lambda: poise.retarget(source, robot), RUNS, 60.0)
    hinges = robot_judge.list_hinges(model)
    speeds = robot_judge.read_speeds(data / G1, hinges)
    answers = {"Poise": (order_configurations(done, hinges), seconds)}
    if gmr is not None:
        free = poise.retarget(source, robot, ground=False, clear=False)
        answers["GMR"] = run_gmr(gmr, build_gmr_job(free, robot_judge.measure_ankle_height(model)), hinges)
    rows = []
    for peer, (qpos, time) in answers.items():
        motion = build_motion(done, qpos, speeds)
        if peer == "GMR":
            motion = robot_judge.stand_on_floor(model, motion)
        judged = robot_judge.judge_motion(model, motion)
        row = {"clip": Path(name).stem, "frames": str(len(done)), "by": peer}
        rows.append(row | judged | {"ms a frame": 1000.0 * time / len(done)})
    return rows


def main() -> int:
    """Measure and write the table."""
    data, (model, missing) = harness.data_folder(), robot_judge.load_judge()
    if data is None:
        return harness.exit_code("retarget_peers needs the real clips: set POISE_DATA to their folder")
    if model is None:
        return harness.exit_code(f"retarget_peers is left out: {missing}")
    warnings.simplefilter("ignore")
    gmr, reason = find_gmr()
    poise.retarget(poise.load(poise.sample("humanoid.bvh")), poise.load(data / G1))  # kernels are loaded
    rows = [row for name in CLIPS for row in judge_clip(data, name, model, gmr)]
    notes = [ABOUT_GMR, ABOUT_MEASURES]
    if reason:
        notes.append(reason)
    harness.report("retarget_peers", TITLE, rows, notes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

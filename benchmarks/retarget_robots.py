"""Robots as targets of poise.retarget(), judged by MuJoCo: soles, self-contact, speeds of the G1 with its meshes.

    python benchmarks/retarget_robots.py              # five clips onto the G1, one onto other robots; the walk live
    python benchmarks/retarget_robots.py --clips jacks

POISE_DATA is the folder of real files, POISE_G1 that of the G1 of the wheel example-robot-data (g1_description, with
meshes). Without it, or without MuJoCo, self-contact is left out. Times are of this process, on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import harness
import numpy as np
import robot_judge

import poise

CLIPS = ("bvh/cmu_12_01_walk.bvh", "bvh/jesse_dance_rokoko.bvh", "bvh/jumping_jacks_cmu1.bvh", "fbx/cmu_91_49_m2m.fbx",
         "bvh/mocapbank.bvh")  # fmt: skip
G1 = "urdf/g1_29dof.urdf"
ROBOTS = ("robots/h1.urdf", "mjcf/h1.xml", "urdf/simple_humanoid/urdf/simple_humanoid.urdf", "mjcf/humanoid.xml",
          "mjcf/humanoid_CMU_V2020.xml", "usd/humanoid_mimickit.usd")  # fmt: skip
LIVE_ROUNDS = 5  # of a live clip; of each frame the shortest time counts


def describe_contacts(model: Any, done: poise.Retargeted) -> tuple[float, float, str]:
    """Describe contacts of the robot with itself: share of frames, largest depth [m], which parts most often."""
    hinges = robot_judge.list_hinges(model)
    columns = [int(done.skeleton.q_start[done.skeleton.index(name)]) for name in hinges]
    contacts = robot_judge.list_self_contacts(model, done.poses.q[:, columns])
    parts = [names for found in contacts for names in {names for names, _ in found}]
    most = max(parts, key=parts.count, default="")
    depth = max((depth for found in contacts for _, depth in found), default=0.0)
    return float(np.mean([bool(found) for found in contacts])), depth, most


def judge(data: Path, clip_name: str, robot_name: str, model: Any) -> None:
    """Retarget a clip and print its figures."""
    source, robot = poise.load(data / clip_name), poise.load(data / robot_name)
    clip = source.clips[0]
    start = time.process_time()
    done = poise.retarget(clip, robot, source=source)
    seconds = time.process_time() - start
    report, use = done.report, done.report.robot
    assert use is not None
    angles = np.concatenate(list(report.angles.values()))
    feet = report.feet or {"skate": np.nan, "depth": np.nan, "floating": np.nan}
    fast = use.fastest
    steps = np.abs(np.diff(done.poses.q[:, 7:], 2, axis=0))
    ms = 1000.0 * seconds / len(done)
    line = (
        f"{Path(clip_name).stem:<22} {Path(robot_name).stem:<18} {len(done):5d} frames {ms:6.2f} "
        f"ms/frame, {use.rounds:2d} rounds | directions p50 {np.median(angles):5.2f} "
        f"p95 {np.percentile(angles, 95.0):5.2f} | skate {feet['skate']:5.2f} cm/s, depth {feet['depth']:4.1f}, "
        f"floating {feet['floating']:4.1f} mm | {fast.joint} {fast.speed:.1f} of {fast.most} rad/s"
        f" | change of step p99.9 {np.percentile(steps, 99.9):.3f}"
    )
    if model is not None:
        share, depth, parts = describe_contacts(model, done)
        line += f" | self-contact {100.0 * share:.1f} %, {1000.0 * depth:.0f} mm {parts}"
    print(line, flush=True)


def time_live(data: Path, robot_name: str) -> None:
    """Move a robot live and print how long a frame takes. Frames that others of the machine break into are left out."""
    source, robot = poise.load(data / CLIPS[0]), poise.load(data / robot_name)
    clip = source.clips[0]
    for ground in (True, None):
        live, times = poise.Retargeter(source, robot, ground=ground), []
        for _ in range(LIVE_ROUNDS):
            live.reset()
            poses = [clip.poses[frame] for frame in range(len(clip))]  # without what a pose keeps of its first use
            live(poses[0])
            times.append([])
            for pose in poses[1:]:
                start = time.perf_counter()
                live(pose, 1.0 / clip.fps)
                times[-1].append(1000.0 * (time.perf_counter() - start))
        best = np.min(times, axis=0)
        where = "on the ground" if ground else "without ground"
        print(f"{Path(robot_name).stem}, live, {where}: p50 {np.median(best):.3f} ms a frame, "
              f"p99 {np.percentile(best, 99.0):.3f}", flush=True)  # fmt: skip


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", default="", help="a part of the names of clips")
    parser.add_argument("--robots", default="", help="a part of the names of robots")
    args = parser.parse_args()
    data = harness.data_folder()
    if data is None:
        return harness.exit_code("retarget_robots needs the real clips: set POISE_DATA to their folder")
    warnings.simplefilter("ignore")
    model, reason = robot_judge.load_judge()
    if reason:
        print(f"Self-contacts are not judged by MuJoCo: {reason}", file=sys.stderr)
    poise.retarget(poise.load(poise.sample("humanoid.bvh")), poise.load(data / G1))  # kernels are loaded
    for clip_name in CLIPS:
        if args.clips in clip_name and args.robots in G1:
            judge(data, clip_name, G1, model)
    if args.clips in CLIPS[0] and args.robots in G1:
        time_live(data, G1)
    for robot_name in ROBOTS:
        if args.clips in CLIPS[0] and args.robots in robot_name:
            judge(data, CLIPS[0], robot_name, None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Clips of other people on three characters: directions, feet, rest poses, round trips, speed.

Judged by forward kinematics of its own on the joints' transforms, not by the product's report. Angles are in degrees.
Legs are measured while their feet stand, arms while hands are apart; the slide is that of ankles while heel and ball
stand, in cm/s of a leg of 0.85 m. Seconds are those of the processor, without reading files.

    python benchmarks/retarget_proofs.py
    python benchmarks/retarget_proofs.py --clips cmu_12_01_walk --targets cryptovoxels
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import harness
import numpy as np

import poise
from poise.model.skeleton import Kind

CLIPS = (
    "bvh/cmu_12_01_walk.bvh", "bvh/jesse_dance_rokoko.bvh", "bvh/jumping_jacks_cmu1.bvh", "fbx/cmu_91_49_m2m.fbx",
    "bvh/mocapbank.bvh",
)  # fmt: skip
TARGETS = ("glb/mixamo_human_makehuman.glb", "glb/cryptovoxels.vrm", "glb/knight_kaykit.glb")
FACES_BACK = ("cryptovoxels",)  # a VRM 0 character faces -z, the others +z; y is up in all
PARTS = (("UpperArm", "LowerArm"), ("LowerArm", "Hand"), ("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"))
RESTS = ("A", "hang", "up", "rolled", "line")
LEG_M = 0.85


def compute_positions(clip: poise.Clip) -> np.ndarray:
    """Positions (F, n, 3) of joints of balls and free joints: world = parent . A . J . B."""
    skeleton, q = clip.skeleton, clip.poses.q
    maps = np.zeros((len(clip), len(skeleton), 3, 4))
    for row, parent in enumerate(skeleton.parents.tolist()):
        start, kind = int(skeleton.q_start[row]), skeleton.kinds[row]
        offset = np.broadcast_to(skeleton.A[row, :3], (len(clip), 3))
        if clip.poses.translations is not None and kind != Kind.FREE:
            offset = clip.poses.translations[:, row]
        turn = build_matrix(skeleton.A[row, 3:])
        if kind == Kind.FREE:
            offset = offset + q[:, start : start + 3] @ turn.T
        local = np.broadcast_to(turn, (len(clip), 3, 3))
        if kind in (Kind.BALL, Kind.FREE):
            start += 3 if kind == Kind.FREE else 0
            local = local @ build_matrix(q[:, start : start + 4])
        scale = skeleton.B[row, :, :3] if clip.poses.scales is None else clip.poses.scales[:, row, None] * np.eye(3)
        linear, place = local @ scale, offset + local @ skeleton.B[row, :, 3]
        if parent >= 0:
            place = (maps[:, parent, :, :3] @ place[:, :, None])[:, :, 0] + maps[:, parent, :, 3]
            linear = maps[:, parent, :, :3] @ linear
        maps[:, row, :, :3], maps[:, row, :, 3] = linear, place
    return maps[..., 3]


def build_matrix(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def measure_errors(done: poise.Retargeted, is_turned: bool) -> dict[str, np.ndarray]:
    """Angles (F,) between directions of source and target, by role."""
    points = compute_positions(done.source), compute_positions(done)
    errors: dict[str, np.ndarray] = {}
    for side in ("left", "right"):
        for start, end in PARTS:
            rows = done.match[side + start], done.match[side + end]
            names = [row.source for row in rows], [row.target for row in rows]
            ways = [
                place[:, clip.skeleton.index(last)] - place[:, clip.skeleton.index(first)]
                for clip, place, (first, last) in zip((done.source, done), points, names, strict=True)
            ]
            ways[1] = ways[1] * ([-1.0, 1.0, -1.0] if is_turned else [1.0, 1.0, 1.0])
            sine = np.linalg.norm(np.cross(*ways), axis=-1)
            errors[side + start] = np.degrees(np.arctan2(sine, (ways[0] * ways[1]).sum(axis=-1)))
    return errors


def measure_slide(done: poise.Retargeted) -> float:
    """Speed of ankles in flat stance, 95 % of frames [cm/s]."""
    points, speeds = compute_positions(done), [np.zeros(0)]
    shins = [done.match["left" + part].target for part in ("UpperLeg", "LowerLeg", "Foot")]
    hip, knee, ankle = (points[0, done.skeleton.index(name)] for name in shins)
    leg = np.linalg.norm(hip - knee) + np.linalg.norm(knee - ankle)
    for column, side in enumerate(done.contacts.legs):
        flat = done.contacts.heel[:, column] & done.contacts.ball[:, column]
        steps = np.linalg.norm(
            np.diff(points[:, done.skeleton.index(done.match[f"{side}Foot"].target)], axis=0), axis=-1
        )
        speeds.append((steps / np.diff(done.times))[flat[1:] & flat[:-1]])
    return float(np.percentile(np.concatenate([*speeds, [0.0]]), 95)) * 100.0 * LEG_M / leg


def judge_clips(data: Path, clips: list[str], targets: list[str]) -> None:
    """Print a row for each clip on each target."""
    print(f"{'clip':<22}{'target':<24}{'arms p95':>9}{'legs p95':>9}{'p99':>7}{'slide':>7}{'ok':>4}"
          f"{'frames/s':>10}{'unplanted':>10}")  # fmt: skip
    for path in clips:
        source = poise.load(data / path)
        for name in targets:
            rig = poise.load(data / name)
            started = time.process_time()
            done = poise.retarget(source, rig)
            planted = time.process_time() - started
            started = time.process_time()
            poise.retarget(source, rig, ground=False, hands="directions")
            unplanted = time.process_time() - started
            errors = measure_errors(done, name.split("/")[-1].split(".")[0] in FACES_BACK)
            apart = (done.touching == 0.0) & ~done.near_body.any(axis=1)
            arms = np.concatenate([values[apart] for role, values in errors.items() if "Arm" in role] + [np.zeros(1)])
            stands = {leg: done.contacts.any[:, column] for column, leg in enumerate(done.contacts.legs)}
            legs = np.concatenate(
                [errors[side + part][stands[side]] for side in stands for part in ("UpperLeg", "LowerLeg")]
            )
            print(
                f"{Path(path).stem:<22}{Path(name).stem:<24}"
                f"{np.percentile(arms, 95):9.4f}{np.percentile(legs, 95):9.2f}"
                f"{np.percentile(legs, 99):7.2f}{measure_slide(done):7.2f}{'yes' if done.report.ok else 'no':>4}"
                f"{len(done) / planted:10,.0f}{len(done) / unplanted:10,.0f}"
            )


def judge_rests(data: Path) -> None:
    """Print how far other rest poses of one motion move one character, of its height."""
    rig = poise.load(data / TARGETS[1])
    first = compute_positions(retarget_directions(poise.load(data / "bvh/rest/walk_T.bvh"), rig))
    for rest in RESTS:
        other = compute_positions(retarget_directions(poise.load(data / f"bvh/rest/walk_{rest}.bvh"), rig))
        print(f"rest {rest:<8} positions differ by {np.abs(other - first).max() / np.ptp(first[0], axis=0).max():.1e}")


def judge_round_trips(data: Path) -> None:
    """Print how far limbs are off after a way there and back."""
    for path in CLIPS[:2]:
        source, rig = poise.load(data / path), poise.load(data / TARGETS[0])
        there = retarget_directions(source, rig)
        back = poise.retarget(there, source, source=rig, ground=False, hands="directions", first="keep")
        before, after = compute_positions(there.source), compute_positions(back)
        angles = []
        for side in ("left", "right"):
            for start, end in PARTS:
                rows = [source.skeleton.index(source.roles.joints[side + part]) for part in (start, end)]
                ways = [place[:, rows[1]] - place[:, rows[0]] for place in (before, after)]
                angles.append(np.arctan2(np.linalg.norm(np.cross(*ways), axis=-1), (ways[0] * ways[1]).sum(axis=-1)))
        print(f"{Path(path).stem} there and back: limbs off by at most {np.degrees(np.max(angles)):.1e} degrees")


def retarget_directions(source: poise.Rig, rig: poise.Rig) -> poise.Retargeted:
    """Retarget directions alone, every frame."""
    return poise.retarget(source, rig, ground=False, hands="directions", first="keep")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", default="", help="a part of the names of clips")
    parser.add_argument("--targets", default="", help="a part of the names of targets")
    args = parser.parse_args()
    data = harness.data_folder()
    if data is None:
        return harness.exit_code("retarget_proofs needs the real clips: set POISE_DATA to their folder")
    warnings.simplefilter("ignore")
    poise.retarget(*(poise.load(poise.sample(name)) for name in ("humanoid.bvh", "humanoid.glb")))  # kernels are loaded
    judge_clips(
        data, [path for path in CLIPS if args.clips in path], [name for name in TARGETS if args.targets in name]
    )
    if not args.clips and not args.targets:
        judge_rests(data)
        judge_round_trips(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

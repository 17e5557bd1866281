"""Natural poses of pages that solve by themselves, beside those of Poise.

A page has natural poses as data and interpolates them. Node runs its modules: parts of figures are pulled to random
targets from the start pose, and so they are in Poise, without the gaze of the head. Told is the largest distance of the
hips, head, elbows, hands and knees between both answers, with natural poses and with the start pose preferred. Targets
that Poise does not reach are left out.

    python benchmarks/page_poses.py [FILE ...]
"""

from __future__ import annotations

import argparse
import sys

import harness
import numpy as np

import poise
from poise.io import samples
from poise.model.pose import Pose
from poise.viewer.document.document import Document, build_document
from poise.viewer.document.whole_body import find_gaze_axes
from poise.viewer.offline import body

sys.path.append(str(harness.HERE.parent))
from tests.viewer.page_pulls import answer_pulls, solve_pull

FILES = (
    "glb/knight_kaykit.glb", "glb/mixamo_human_makehuman.glb", "glb/mannequiny_gdquest.glb", "glb/cryptovoxels.vrm",
    "fbx/kenney_character.fbx", "bvh/walk_mass.bvh", "asf/02.asf", "usd/humanoid_mimickit.usd",
)  # fmt: skip
TARGETS = 40  # of each part
SEED = 5
BODY_HEIGHT_CM = 175.0  # distances are told for a figure of this height
REACHED = 1e-3  # of the height
# How far parts are pulled along each axis, in heights of the figure.
SPANS = {"leftHand": 0.45, "rightFoot": 0.3, "head": 0.25, "hips": 0.2, "chest": 0.25, "rightLowerArm": 0.3}
JUDGED = (
    "hips", "head", "leftHand", "rightHand", "leftLowerArm", "rightLowerArm", "leftLowerLeg", "rightLowerLeg",
)  # fmt: skip


def draw_targets(document: Document, height: float) -> list[tuple[str, np.ndarray]]:
    """Draw targets about the parts of a figure, above the floor."""
    rng, start, joints = np.random.default_rng(SEED), document.solver_start, document.rig.roles.joints
    axes, floor = find_gaze_axes(document.start), document.floor_height
    drawn = []
    for role, span in SPANS.items():
        if role in joints:
            offsets = span * height * rng.uniform(-1.0, 1.0, (TARGETS, 3))
            targets = start.world[joints[role]].positions + offsets @ axes
            drawn += [(joints[role], target) for target in targets if floor is None or axes[2] @ target > floor]
    return drawn


def measure(document: Document, mode: str, limited: Document) -> list[harness.Row]:
    """Measure the answers for one figure with some limits."""
    start, joints = limited.solver_start, limited.rig.roles.joints
    height = float(np.ptp(start.world.positions @ find_gaze_axes(limited.start)[2]))
    drawn = draw_targets(limited, height)
    solved = [solve_pull(limited, part, target) for part, target in drawn]
    is_reached = [
        np.linalg.norm(start.with_q(q).world[part].positions - target) < REACHED * height
        for q, (part, target) in zip(solved, drawn, strict=True)
    ]
    kept = [i for i, is_kept in enumerate(is_reached) if is_kept]
    rows = [start.skeleton.index(joints[role]) for role in JUDGED if role in joints]
    places = _place(start, np.array([solved[i] for i in kept]), rows)
    found = []
    for preference in ("natural", "start"):
        pulls = [
            {"joint": drawn[i][0], "targets": [drawn[i][1].tolist()], "preference": preference, "mode": mode}
            for i in kept
        ]
        q = np.concatenate(answer_pulls(document, pulls))
        apart = np.linalg.norm(_place(start, q, rows) - places, axis=-1).max(axis=1) / height * BODY_HEIGHT_CM
        left = [
            np.linalg.norm(start.with_q(each).world[drawn[i][0]].positions - drawn[i][1])
            for each, i in zip(q, kept, strict=True)
        ]
        found.append({
            "limits": mode, "prefers": preference, "targets": len(kept),
            "reached": int((np.array(left) < REACHED * height).sum()),
            "apart median [cm]": float(np.median(apart)), "p90 [cm]": float(np.percentile(apart, 90)),
        })  # fmt: skip
    return found


def _place(start: Pose, q: np.ndarray, rows: list[int]) -> np.ndarray:
    return start.with_q(q).world.positions[:, rows]


def main() -> int:
    """Measure all figures and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    data = harness.data_folder()
    found = [data / name for name in FILES if (data / name).is_file()] if data is not None else []
    rows: list[harness.Row] = []
    for path in parser.parse_args().files or [samples.path("humanoid.glb"), *found]:
        document = build_document(poise.load(path))
        for mode, _, limited in body.list_modes(document):
            for row in measure(document, mode, limited):
                rows.append({"figure": getattr(path, "name", path), **row})
                print(rows[-1], flush=True)
    harness.report("page_poses", "Natural poses of pages", rows, ["Distances are those of a figure 175 cm tall."])
    return 0


if __name__ == "__main__":
    sys.exit(main())

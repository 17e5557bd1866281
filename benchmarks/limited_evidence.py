"""Is a target that counts as `limited` really kept away by limits? Places out of reach or out of rank of four arms.

Each place has the position of a random configuration, or one moved outward to where some poses reach it no more, and a
random rotation. Places that are missed are searched for once more from 64 starts on the same arm without limits. A
status is wrong where it says `limited` and that search finds nothing.
"""

from __future__ import annotations

import sys
import warnings

import harness
import numpy as np

import poise

PLACES = 300
STARTS = 64
SEED = 21
# Name, file in the test data, tip, and by how much places are moved outward from the base.
ARMS = (
    ("five axes", ("field", "five_axis.urdf"), "tool", 1.0),
    ("SO-100", ("robots", "so100.urdf"), "wrist_roll", 1.0),
    ("UR5", ("urdf", "ur5.urdf"), "ee_fixed_joint", 1.1),
    ("Panda", ("urdf", "panda.urdf"), "panda_hand_tcp_joint", 1.15),
)


def places(skeleton: poise.Skeleton, tip: str, outward: float, count: int) -> poise.Place:
    """Make places (count,) for a tip, the same every time."""
    rng = np.random.default_rng(SEED)
    low, high = np.clip(skeleton.value_ranges, -np.pi, np.pi).T
    points = poise.Pose(skeleton, rng.uniform(low, high, (count, skeleton.nq))).world_of(tip).positions
    turns = rng.normal(size=(count, 4))
    return poise.Place(tip, points * outward, turns / np.linalg.norm(turns, axis=1)[:, None])


def run(name: str, arm: poise.Rig, goal: poise.Place) -> harness.Row:
    """Solve for all places, read the statuses, and search again without limits."""
    result, solving = harness.quickest(lambda: poise.solve(arm.rest, goal, threads=1))
    codes, reading = result.codes, _reading(arm, goal)
    missed = np.flatnonzero(codes != poise.Status.reached)
    free = arm.skeleton.with_limits({"*": None})
    part = goal.with_target(goal.rows()[missed])
    found = np.zeros(len(codes), dtype=np.bool_)
    found[missed] = poise.solve(poise.Pose(free, free.rest_q), part, prefer="closest", seeds=STARTS).reached
    row: harness.Row = {"arm": name, "places": len(codes)}
    for status in ("reached", "limited", "over_constrained", "out_of_reach", "stalled"):
        row[status] = int((codes == poise.Status[status]).sum())
    row["limited, and none found without limits"] = int(((codes == poise.Status.limited) & ~found).sum())
    row["solving [ms]"] = solving * 1000
    row["statuses [ms]"] = reading * 1000
    return row


def _reading(arm: poise.Rig, goal: poise.Place) -> float:
    """Processor time of the statuses alone, the best of three [s]."""
    results = [poise.solve(arm.rest, goal, threads=1) for _ in range(3)]
    return min(harness.worked(lambda result=result: result.codes)[1] for result in results)


def main(count: int | None = None) -> int:
    """Run all arms that the test data has, and write the table."""
    data = harness.data_folder()
    if data is None:
        return harness.exit_code("limited_evidence: skipped, the robots are not here: set POISE_DATA")
    rows: list[harness.Row] = []
    for name, path, tip, outward in ARMS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.PoiseWarning)
            arm = poise.load(data.joinpath(*path))
        rows.append(run(name, arm, places(arm.skeleton, tip, outward, count or PLACES)))
    note = (
        f"{count or PLACES} places each with a random rotation, out of reach or out of rank for many; missed ones are "
        f"searched for from {STARTS} starts without limits. Processor time, one thread, the best of three calls."
    )
    harness.report("limited_evidence", "Targets that limits keep away", rows, [note])
    return 1 if any(row["limited, and none found without limits"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The branches of a UR5: `prefer="all"` beside closed forms.

What share of the solutions that EAIK and ssik find does Poise find, and what do they miss? Close to a singular wrist
answers that differ by more than SAME still meet the tolerance: there an iteration counts several where a closed form
has one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np
from numpy.typing import NDArray
from robots import environments, models

import poise
from poise.maths import rotations

Floats = NDArray[np.float64]
ROBOT = "ur5"
PEERS = ("eaik", "ssik")
TARGETS = 500
SEEDS = (32, 128, None, 2048)  # starts of prefer="all"; None is its own choice
SAME = 1e-3  # [rad] branches that differ less, modulo whole turns, are the same
CORRECT = 1e-6  # [m and rad]
SEED = 21
TURN = 2 * np.pi


class Branches(NamedTuple):
    """Distinct branches (b, n) of each target, and the seconds that each took."""

    of: list[Floats]
    seconds: Floats

    @property
    def each(self) -> float:
        """How many a target has, on average."""
        return float(np.mean([len(found) for found in self.of]))


class Judge:
    """Knows the arm and its targets: FK of random configurations inside the limits."""

    def __init__(self, count: int) -> None:
        self.robot = models.load(ROBOT)
        self.skeleton = poise.load(self.robot.urdf).skeleton
        rng = np.random.default_rng(SEED)
        self.q = rng.uniform(self.robot.lower, self.robot.upper, (count, len(self.robot.joints)))
        world = poise.Pose(self.skeleton, self.q).world[self.robot.tip]
        self.positions, self.rotations = world.positions, world.rotations
        self.poses = np.tile(np.eye(4), (count, 1, 1))
        self.poses[:, :3, :4] = world.affine

    def correct(self, k: int, found: Floats) -> Floats:
        """Those of the branches (b, n) that reach target k and, at some whole turns, keep the limits; distinct."""
        low, high = self.robot.lower, self.robot.upper
        inside = found + TURN * np.ceil((low - found) / TURN - 1e-12)
        found = found[(inside <= high).all(axis=-1)] if len(found) else found
        if not len(found):
            return found.reshape(0, len(low))
        world = poise.Pose(self.skeleton, found).world[self.robot.tip]
        off = np.linalg.norm(world.positions - self.positions[k], axis=-1)
        left = rotations.multiply(rotations.inverse(world.rotations), self.rotations[k])
        angle = 2 * np.linalg.norm(left[:, 1:], axis=-1)
        return distinct(found[(off <= CORRECT) & (angle <= CORRECT)])


def away(found: Floats, q: Floats) -> Floats:
    """Largest difference of a joint, modulo whole turns [rad], of each branch (b, n) from q (n,)."""
    off = found - q
    return np.abs(off - TURN * np.round(off / TURN)).max(axis=-1, initial=0.0)


def distinct(found: Floats) -> Floats:
    """One of each kind, in the order given."""
    chosen: list[Floats] = []
    while len(found):
        chosen.append(found[0])
        found = found[away(found, found[0]) > SAME]
    return np.array(chosen)


def peers_branches(name: str, judge: Judge) -> Branches:
    """Ask a peer in its own environment. Raises RuntimeError with a sentence where that does not work."""
    python, worker = environments.python(name), harness.HERE / "peers" / "all_branches.py"
    with tempfile.TemporaryDirectory() as folder:
        targets, out = Path(folder) / "targets.npz", Path(folder) / "branches.npz"
        np.savez(targets, q=judge.q, T=judge.poses)
        command = [str(python), str(worker), name, ROBOT, str(targets), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            message = f"{name} failed: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
            raise RuntimeError(message)
        with np.load(out) as found:
            branches, of, seconds = found["branches"], found["of"], found["seconds"]
    return Branches([judge.correct(k, branches[of == k]) for k in range(len(judge.q))], seconds)


def our_branches(judge: Judge, seeds: int | None) -> Branches:
    """Ask prefer="all", one target at a time, from the middle of the ranges."""
    start = poise.Pose(judge.skeleton, judge.robot.mid)
    goals = [
        poise.Place(judge.robot.tip, position, turn)
        for position, turn in zip(judge.positions, judge.rotations, strict=True)
    ]
    found, seconds = [], []
    for k, goal in enumerate([goals[0], *goals]):
        answer, spent = harness.timed(
            lambda goal=goal: poise.solve(
                start, goal, prefer="all", seeds=seeds, tolerance=CORRECT, angle_tolerance=CORRECT, threads=1
            )
        )
        if k:  # the first is there to compile
            found.append(judge.correct(k - 1, answer.solutions.q))
            seconds.append(spent)
    return Branches(found, np.array(seconds))


def missing(wanted: Branches, had: Branches) -> list[tuple[int, Floats]]:
    """Branches of `wanted` that `had` lacks, with their targets."""
    return [
        (k, q)
        for k, (all_of, some) in enumerate(zip(wanted.of, had.of, strict=True))
        for q in all_of
        if not (away(some, q) <= SAME).any()
    ]


def compared(label: str, ours: Branches, name: str, theirs: Branches) -> harness.Row:
    """A row of the table."""
    lacking, extra = missing(theirs, ours), missing(ours, theirs)
    total = sum(len(found) for found in theirs.of)
    return {
        "seeds": label, "peer": name, "peer's branches": total,
        "found by Poise [%]": round(100 - 100 * len(lacking) / total, 2),
        "targets complete [%]": round(100 - 100 * len({k for k, _ in lacking}) / len(theirs.of), 2),
        "a target, peer": theirs.each, "a target, Poise": ours.each, "only Poise's": len(extra),
        "ms a target, peer": harness.spread(theirs.seconds, 1e-3)[0],
        "ms a target, Poise": harness.spread(ours.seconds, 1e-3)[0],
    }  # fmt: skip


def measure(count: int, seeds: tuple[int | None, ...]) -> tuple[list[harness.Row], list[str]]:
    """Ask everybody; rows, and a sentence for each peer that is not here."""
    judge = Judge(count)
    peers, notes = {}, []
    for name in PEERS:
        try:
            peers[name] = peers_branches(name, judge)
        except RuntimeError as error:
            notes.append(f"{name} left out: {error}")
    rows = []
    for number in seeds if peers else ():
        ours = our_branches(judge, number)
        label = "as it comes (512)" if number is None else str(number)
        rows += [compared(label, ours, name, theirs) for name, theirs in peers.items()]
    return rows, notes


def main(count: int = TARGETS, seeds: tuple[int | None, ...] = SEEDS) -> int:
    """Run everything and write the table."""
    try:
        rows, missing_peers = measure(count, seeds)
    except OSError as error:
        return harness.exit_code(f"multiple_solutions: skipped, {error}; set POISE_PEER_URDFS")
    if not rows:
        return harness.exit_code(f"multiple_solutions: skipped, {' '.join(missing_peers)}")
    note = (
        f"{count} poses of random configurations of a UR5, whose branches are at most eight. Counted are branches "
        f"that reach to {CORRECT:g} m and rad by forward kinematics and keep the limits, distinct modulo whole turns "
        f"by more than {SAME:g} rad; found is what is nearer than that. Times are medians, one target a call. Asked: "
        "99 %."
    )
    harness.report("multiple_solutions", "All branches of a UR5", rows, [note, *missing_peers])
    return 0


if __name__ == "__main__":
    sys.exit(main())

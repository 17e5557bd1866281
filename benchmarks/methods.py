"""Every method of Poise beside the libraries that have one like it: ten free bones to points.

methods_panda.py does the same for a robot. Poise is measured through solve(), judging included: in one call with all
targets, and one call a target (prepare()). Peers are measured around their solve call alone. Answers are judged here:
bone lengths, limits and what is left.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import classic_ccd
import harness
import numpy as np
from numpy.typing import NDArray
from robots import environments, suite

import poise
from poise import solvers
from poise.maths import rotations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BONES, LENGTH = 10, 1.0
TOLERANCE = 1e-3
SECONDS = 10.0  # of each peer; at least one target is solved
SINGLES = 200
FEWER = {"autodiff": 100, "anneal": 200, "jacobian_transpose": 200}  # targets of the slow ones
FEW_SINGLES = 20
CLOSED_CHAIN = "0.0.3"
LIKE = {  # the methods that do the same work as a peer's
    "pyfabrik": ("fabrik",),
    "three.js CCDIKSolver": ("ccd",),
    "closed-chain-ik": ("damped_least_squares",),
    "tinyik (BFGS)": ("autodiff", "damped_least_squares", "levenberg_marquardt"),
    "tinyik CCD": ("ccd",),
    "ikpy": ("damped_least_squares", "levenberg_marquardt", "pseudo_inverse", "selectively_damped"),
}


class Contest(NamedTuple):
    """A start, the goal for a target (...) or many (k, ...), which answers (k, nq) solve theirs, and how closely."""

    start: poise.Pose
    goal: Callable[[Floats], Any]
    solved: Callable[[Floats, Floats], Bools]
    tolerances: dict[str, float]


class Measured(NamedTuple):
    """Who solved which targets, and how long one took [us of processor time]: in a batch, and alone."""

    who: str
    solved: Bools
    batch: float
    single: float

    @property
    def share(self) -> float:
        """Of its targets."""
        return float(self.solved.mean())


# --- ours --------------------------------------------------------------------------------------------------------


def poise_rows(contest: Contest, targets: Floats) -> list[Measured]:
    """Each solver of the folder that takes the goal."""
    rows = []
    for name in solvers.names():
        try:
            rows.append(poise_row(name, contest, targets[: FEWER.get(name)]))
        except poise.UnsupportedError as error:
            print(f"{name}: {error}", flush=True)
    return rows


def poise_row(name: str, contest: Contest, targets: Floats) -> Measured:
    """One solver: the best of three calls with all targets; the median of single calls."""
    how: dict[str, Any] = {"solver": name, **contest.tolerances}
    poise.solve(contest.start, contest.goal(targets[:2]), **how)  # compiles, or loads the compiled kernels
    goal = contest.goal(targets)
    result, seconds = harness.quickest(lambda: poise.solve(contest.start, goal, threads=1, **how))
    reach = poise.prepare(contest.start, contest.goal(targets[0]), **how)
    reach(targets[0])
    alone = targets[: FEW_SINGLES if name in FEWER else SINGLES]
    singles = [harness.worked(lambda target=target: reach(target))[1] for target in alone]
    solved = contest.solved(result.pose.q.reshape(len(targets), -1), targets)
    return Measured(name, solved, seconds / len(targets) * 1e6, float(np.median(singles)) * 1e6)


# --- peers -------------------------------------------------------------------------------------------------------


def answer_of(who: str, command: Sequence[Any], task: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run a peer's script on a task; RuntimeError with a sentence where that does not work."""
    try:
        done = subprocess.run(
            [*map(str, command)], input=json.dumps(task), capture_output=True, text=True, check=False,
            env=suite.environment(), **options,
        )  # fmt: skip
    except OSError as error:
        raise RuntimeError(f"{who}: {error}") from error
    if done.returncode:
        raise RuntimeError(f"{who}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return json.loads(done.stdout)


def chain_task(targets: Floats) -> dict[str, Any]:
    """What the peers' scripts read."""
    return {"bones": BONES, "length": LENGTH, "tolerance": TOLERANCE, "seconds": SECONDS, "targets": targets.tolist()}


def near(tips: Floats, targets: Floats) -> Bools:
    """Whether each tip is at its target."""
    return np.linalg.norm(tips - targets[: len(tips)], axis=-1) <= TOLERANCE * (1 + 1e-6)


def python_row(peer: str, environment: str, targets: Floats) -> Measured:
    """A Python library in its own environment; RuntimeError with a sentence where it cannot be run."""
    command = [environments.python(environment), harness.HERE / "peers" / "chains.py"]
    answer = answer_of(peer, command, {"peer": peer, **chain_task(targets)})
    joints = np.array(answer["joints"])
    lengths = np.linalg.norm(np.diff(joints, axis=1), axis=-1)
    held = np.abs(lengths - LENGTH).max(axis=-1) <= 1e-5  # pyfabrik's bones stretch by 5e-7
    return Measured(
        peer, held & near(joints[:, -1], targets), float("nan"), float(np.mean(answer["microseconds"]))
    )  # fmt: skip


def three_row(targets: Floats) -> Measured:
    """three.js through node."""
    answers = classic_ccd.solve_with_three(BONES, LENGTH, {"ball": targets})["ball"]
    tips = classic_ccd.tips(answers.quaternions, LENGTH)
    return Measured("three.js CCDIKSolver", near(tips, targets), float("nan"), float(answers.seconds.mean()) * 1e6)


def closed_chain_row(targets: Floats) -> Measured:
    """closed-chain-ik through node."""
    who = "closed-chain-ik"
    folder = harness.npm_package(who, CLOSED_CHAIN)
    script = shutil.copy(harness.HERE / "peers" / "closed_chain.mjs", folder)  # node looks for packages beside it
    answer = answer_of(who, ["node", script], chain_task(targets), cwd=folder)
    turned = np.roll(np.array(answer["quaternions"]), 1, axis=-1)
    tips = rotations.rotate(turned, np.broadcast_to([0.0, LENGTH, 0.0], (*turned.shape[:-1], 3))).sum(axis=1)
    return Measured(who, near(tips, targets), float("nan"), float(np.mean(answer["microseconds"])))


def peers(targets: Floats, notes: list[str]) -> list[Measured]:
    """Every peer that can be run here."""
    return run_all([
        lambda: three_row(targets),
        lambda: closed_chain_row(targets),
        lambda: python_row("pyfabrik", "pyfabrik", targets),
        lambda: python_row("tinyik", "tinyik", targets)._replace(who="tinyik (BFGS)"),
        lambda: python_row("tinyik CCD", "tinyik", targets),
        lambda: python_row("ikpy", "ikpy", targets),
    ], notes)  # fmt: skip


def run_all(runs: Sequence[Callable[[], Measured]], notes: list[str]) -> list[Measured]:
    """The rows of all that work; the others leave a note."""
    rows = []
    for run in runs:
        try:
            rows.append(run())
        except RuntimeError as error:
            notes.append(f"left out: {error}")
    return rows


# --- the table ---------------------------------------------------------------------------------------------------


def per_solved(row: Measured, time_of_one: float) -> float:
    """Microseconds per target that was solved; infinite where none was."""
    return time_of_one / row.share if row.share else float("inf")


def compared(peer: Measured, own: Measured) -> str:
    """How many times longer the peer takes than our batch, per target solved; marked where we solve fewer."""
    both = min(len(peer.solved), len(own.solved))
    fewer = own.solved[:both].mean() < peer.solved[:both].mean()
    ratio = per_solved(peer, peer.single) / per_solved(own, own.batch)
    if not peer.solved.any():
        return f"{own.who} (it solves none)"
    return f"{ratio:,.0f} {own.who}{' (solves fewer)' if fewer else ''}"


def lines(
    name: str, ours: list[Measured], theirs: list[Measured], like: Mapping[str, tuple[str, ...]]
) -> list[harness.Row]:
    """The lines of the table; the last column is for the methods of ours that are like the peer's."""
    rows = []
    for row in [*ours, *theirs]:
        pairs = [compared(row, own) for own in ours if own.who in like.get(row.who, ())]
        rows.append({
            "targets": name, "solver": row.who, "solved [%]": round(100 * row.share, 2), "of": len(row.solved),
            "batch [us]": f"{row.batch:.3g}" if np.isfinite(row.batch) else "-", "one call [us]": row.single,
            "times slower than": ", ".join(pairs) or "-",
        })  # fmt: skip
    return rows


def ten_bones() -> Contest:
    """Ten balls, straight, and points for the tip."""
    return Contest(
        start=classic_ccd.chain(BONES, LENGTH),
        goal=lambda targets: poise.Position("tip", targets, root="bone_0"),
        solved=lambda q, targets: near(classic_ccd.tips(q.reshape(len(q), -1, 4), LENGTH), targets),
        tolerances={"tolerance": TOLERANCE},
    )


def main(limit: int | None = None, *, with_peers: bool = True) -> int:
    """Run everything and write the table."""
    began = time.perf_counter()
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("methods: skipped, the targets are not here: set POISE_DATA")
    document = json.loads((folder / "chain10" / "targets.json").read_text())
    rows: list[harness.Row] = []
    notes: list[str] = []
    for name in ("ball", "fk"):
        targets = np.array(document[name][:limit])
        ours = poise_rows(ten_bones(), targets)
        rows += lines(name, ours, peers(targets, notes) if with_peers else [], LIKE)
    notes.append(
        f"Ten free bones of length 1, tolerance {TOLERANCE:g}, from straight. Times are means of all targets, also of "
        f"those that are missed (our single calls: medians); the last column is per target solved, the peer's call "
        f"against our batch. A peer stops after {SECONDS:g} s. Processor time of all threads; in node, elapsed time. "
        "tinyik, ikpy and closed-chain-ik get three angles a bone and a start that is bent by 0.02 rad, pyfabrik one "
        f"bent by a thousandth: straight is a place where they cannot start. Made in {time.perf_counter() - began:.0f} "
        "s."
    )
    harness.report("methods", "Every method, beside libraries that have one like it", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

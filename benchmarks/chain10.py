"""Ten bones, five sets of targets, every solver that there is: share reached within 100 iterations, and the time.

Every answer is judged by forward kinematics written in classic_ccd.py. `path` is followed: each solve starts from the
answer before; the other sets start from the straight chain, all targets in one call.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import harness
import numpy as np
from classic_ccd import SETS, TOLERANCE, chain, tips
from numpy.typing import NDArray

import poise
from poise import solvers

CAP = 100
FEW = 100  # targets of what is slow
SLOW = ("autodiff", "jacobian_transpose")

# label, name of the solver, its options. Plain forms are those of the textbooks; what is not installed is left out
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("auto", "auto", {}),
    ("ccd", "ccd", {"iterations": CAP}),
    ("ccd, no finish", "ccd", {"iterations": CAP, "finish": False}),
    ("ccd, plain", "ccd", {"iterations": CAP, "finish": False, "order": "tip-first", "bend": 0, "restarts": 0}),
    ("fabrik", "fabrik", {"iterations": CAP}),
    ("anneal around ccd", "anneal", {"solver": poise.CCD(iterations=CAP)}),
    ("fabrik, plain", "fabrik", {"iterations": CAP, "finish": False}),
    ("levenberg_marquardt", "levenberg_marquardt", {}),
    ("damped_least_squares, by the error", "damped_least_squares", {"iterations": CAP}),
    ("damped_least_squares, constant", "damped_least_squares", {"iterations": CAP, "damping": "constant"}),
    ("damped_least_squares, constant, plain", "damped_least_squares",
     {"iterations": CAP, "damping": "constant", "bend": 0, "restarts": 0, "clamp": np.inf, "max_turn": np.inf}),
    ("pseudo_inverse", "pseudo_inverse", {"iterations": CAP}),
    ("pseudo_inverse, plain", "pseudo_inverse",
     {"iterations": CAP, "bend": 0, "restarts": 0, "clamp": np.inf, "max_turn": np.inf}),
    ("selectively_damped", "selectively_damped", {"iterations": CAP}),
    ("selectively_damped, plain", "selectively_damped", {"iterations": CAP, "bend": 0, "restarts": 0}),
    ("jacobian_transpose, 2000 steps", "jacobian_transpose", {}),
    ("jacobian_transpose, adaptive, 5000 steps", "jacobian_transpose", {"step": "adaptive", "iterations": 5000}),
    ("jacobian_transpose, adaptive, plain, 100 steps", "jacobian_transpose",
     {"step": "adaptive", "iterations": CAP, "bend": 0, "restarts": 0, "clamp": np.inf}),
    ("autodiff, levenberg_marquardt", "autodiff", {}),
    ("autodiff, lbfgs", "autodiff", {"method": "lbfgs"}),
)  # fmt: skip


def solve_all(start: poise.Pose, targets: NDArray[np.float64], solver: Any) -> tuple[NDArray, NDArray, float]:
    """Rotations (k, bones, 4), iterations (k,) and seconds for each target, of one call with all of them."""
    goal = poise.Position("tip", targets, root="bone_0")
    found, seconds = harness.quickest(
        lambda: poise.solve(start, goal, solver=solver, tolerance=TOLERANCE, threads=1), enough=1.0
    )
    return found.pose.q.reshape(len(targets), -1, 4), found.iterations, seconds / len(targets)


def follow(start: poise.Pose, targets: NDArray[np.float64], solver: Any) -> tuple[NDArray, NDArray, float]:
    """The same, one after the other, each from the answer before."""
    goal = poise.Position("tip", targets[0], root="bone_0")
    reach = poise.prepare(start, goal, solver=solver, tolerance=TOLERANCE)
    q, counts = [start.q], []

    def every() -> None:
        for target in targets:
            found = reach(target, start=q[-1])
            q.append(found.q)
            counts.append(int(found.iterations))

    seconds = harness.worked(every)[1] / len(targets)
    return np.array(q[1:]).reshape(len(targets), -1, 4), np.array(counts), seconds


def rows_of(
    label: str, solver: Any, start: poise.Pose, sets: dict[str, NDArray[np.float64]], length: float
) -> list[harness.Row]:
    """One line per set."""
    rows = []
    for name, targets in sets.items():
        q, counts, seconds = (follow if name == "path" else solve_all)(start, targets, solver)
        reached = np.linalg.norm(tips(q, length) - targets, axis=-1) <= TOLERANCE * (1 + 1e-6)
        rows.append({
            "solver": label, "targets": name, "reached [%]": round(100 * float(reached.mean()), 1), "of": len(targets),
            "iterations, mean": float(counts.mean()), "iterations, most": int(counts.max()), "each [us]": seconds * 1e6,
        })  # fmt: skip
    return rows


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("chain10: skipped, the targets are not here: set POISE_DATA")
    document = json.loads((folder / "chain10" / "targets.json").read_text())
    sets = {name: np.array(document[name][:limit]) for name in SETS}
    start = chain(document["n_bones"], document["bone_length"])
    rows, missing = [], []
    for label, name, options in CASES:
        solver = name if name == "auto" else solvers.make_solver(name, **options)
        try:
            solve_all(start, sets["ball"][:2], solver)  # compiles, or loads the compiled kernels
        except poise.UnsupportedError as error:  # an extra that is not installed
            missing.append(str(error))
            continue
        few = FEW if name in SLOW else None
        some = {which: targets[:few] for which, targets in sets.items()}
        rows += rows_of(label, solver, start, some, document["bone_length"])
    rows.sort(key=lambda line: SETS.index(line["targets"]))
    note = (
        f"{len(sets['ball'])} targets per set, the first {FEW} for what is slow, tolerance {TOLERANCE:g} on a chain of "
        f"{document['n_bones'] * document['bone_length']:g}. At most {CAP} iterations, restarts and undone steps "
        "included, but for the transpose (as said), anneal (so many an attempt), and levenberg_marquardt, autodiff and "
        "auto, which have their defaults. Times are those of one call with all targets of the set, one thread, the "
        "best of three, judging included; of `path`, of a prepared call for each target. Processor time. Plain: the "
        "textbook form, without restarts, bend, clamp or finish."
    )
    notes = [note, *(f"Left out: {reason}" for reason in dict.fromkeys(missing))]
    harness.report("chain10", "Ten bones, every solver: share of targets reached", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

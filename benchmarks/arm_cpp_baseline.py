"""Forward kinematics, one iteration and a batch of solves of a robot arm, as ratios to plain C++ in the same process.

Both run in turn, round after round, on the same numbers, and must agree before anything is timed. The C++ knows the
number of joints when it is compiled; it is built by every compiler that is here, with rotations as quaternions and as
matrices, and the fastest of those counts. The general tree is measured as well: on the same arm, and on a humanoid.
"""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from lane_drivers import FACTOR, FLOOR, Call, drivers, one_by_one, side_by_side, tree_call
from numpy.typing import NDArray
from robots import models

import poise
from poise import kernels, samples
from poise.kernels.lanes import LANES4, LANES8, SCALAR, LaneKind
from poise.kernels.layout import ARM_RESULT_ROW, ARM_WORKSPACE_PER_TARGET
from poise.maths import rotations
from poise.maths.arrays import allocate_aligned, find_simd_width
from poise.problem.arm_packing import Arm, find_arm, pack_for_u
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.lm_engine import pack_arm_settings
from poise.solvers.levenberg_marquardt import LevenbergMarquardt

Floats = NDArray[np.float64]
PROBLEMS = 2048  # of a kernel: small enough for the second-level cache
PASSES = 10  # of a timed call
TARGETS = 10_000
ROUNDS = 40
SEED = 11
SAME = 1e-9  # by how much the answers of both may differ
TOLERANCE = 1e-6
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fno-finite-math-only", "-std=c++17", "-fPIC")
LIMBS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")


# --- C++ ---------------------------------------------------------------------------------------------------------


class Settings(ctypes.Structure):
    """What the C++ batch reads; see arm_cpp_baseline.cpp."""

    _fields_ = (
        *((name, ctypes.c_double) for name in ("distance", "angle", "factor", "floor")),
        *((name, ctypes.c_int64) for name in ("iterations", "restarts", "candidates", "seeds")),
    )


def libraries(joints: int) -> dict[str, ctypes.CDLL]:
    """The baseline by every compiler that is here; RuntimeError says why there is none."""
    found = [shutil.which("clang++-19") or shutil.which("clang++"), shutil.which("g++")]
    compilers = [Path(path) for path in found if path]
    if not compilers:
        message = "no C++ compiler (clang++ or g++) is here, so there is no baseline to compare with"
        raise RuntimeError(message)
    return {compiler.name: compiled(compiler, joints) for compiler in compilers}


def compiled(compiler: Path, joints: int) -> ctypes.CDLL:
    """The baseline for an arm with so many joints."""
    return harness.compiled(harness.HERE / "peers" / "arm_cpp_baseline.cpp", compiler, [*FLAGS, f"-DJOINTS={joints}"])


def bound(function: Any, *arguments: Any) -> Call:
    """A call with fixed arguments: arrays as pointers (and kept alive), the rest as they are."""
    given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
    call = lambda: function(*given)  # noqa: E731 - carries what the library holds bare pointers to
    call.__dict__["keeps"] = arguments
    return call


# --- what is compared --------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """An arm, and what it is asked for. q (PROBLEMS, m) stand near those of `places` (PROBLEMS, 7), see serial.py."""

    name: str
    start: poise.Pose
    tip: str
    problem: Problem
    arm: Arm
    q: Floats
    places: Floats


def case() -> Case:
    """The Panda, or the sample arm where its URDF is not here."""
    try:
        robot = models.load("panda")
        name, tip, skeleton = "Panda", robot.tip, poise.load(robot.urdf).skeleton
    except OSError:
        name, skeleton = "sample arm", poise.load(samples.path("arm.urdf")).skeleton
        tip = skeleton.names[-1]
    ranges = skeleton.value_ranges
    start = poise.Pose(skeleton, ranges.mean(axis=1))
    problem = Problem(start, (poise.Place(tip, [0, 0, 0], [1, 0, 0, 0]),))
    arm = find_arm(problem)
    if arm is None or arm.links[:, 9].any() or arm.link_count != skeleton.nq:
        message = f"{name} is no serial arm of hinges alone"
        raise RuntimeError(message)
    rng = np.random.default_rng(SEED)
    q = rng.uniform(ranges[:, 0], ranges[:, 1], (PROBLEMS, arm.link_count))
    places = np.zeros((PROBLEMS, 7))
    kernels.arm_lm.compute_tip_transforms(
        arm.links, np.clip(q + rng.normal(scale=0.3, size=q.shape), *ranges.T), places
    )
    return Case(name, start, tip, problem, arm, q, places)


def repeated(call: Call) -> Call:
    """PASSES calls, so that the way into a kernel is a small part of what is timed."""

    def run() -> None:
        for _ in range(PASSES):
            call()

    return run


Contest = dict[str, Call]  # what takes part, by name


def kernel_contests(case: Case, libs: dict[str, ctypes.CDLL], kind: LaneKind) -> tuple[Contest, Contest, Contest]:
    """FK, an iteration and tree FK, in lanes of a kind, ours first. RuntimeError if answers differ."""
    w, arm, m = kind.width, case.arm, case.arm.link_count
    fk, lm, _ = drivers(kind)
    x, targets, weights = side_by_side(case.q, w), side_by_side(case.places, w), np.ones(2)
    ours_fk, ours_lm, blocks = allocate_aligned(7 * PROBLEMS), allocate_aligned(m * PROBLEMS), PROBLEMS // w
    chains: Contest = {"ours": lambda: fk(arm.links, x, ours_fk)}
    steps: Contest = {"ours": lambda: lm(arm.links, targets, x, weights, ours_lm)}
    on_tree, ours_tree = tree_call(case.problem, case.q, kind)
    for call in (chains["ours"], steps["ours"], on_tree):
        call()
    tips = _affine(one_by_one(ours_fk, 7, w))
    for library_name, library in libs.items():
        for turn, numbers in (("quaternion", 7), ("matrix", 12)):
            name, out, moved = (
                f"{library_name}, {turn}",
                allocate_aligned(numbers * PROBLEMS),
                allocate_aligned(m * PROBLEMS),
            )
            wanted = side_by_side(case.places if numbers == 7 else _affine(case.places), w)
            chains[name] = bound(getattr(library, f"fk_{turn}_{w}"), arm.links, x, blocks, out)
            steps[name] = bound(
                getattr(library, f"lm_{turn}_{w}"), arm.links, wanted, x, blocks,
                ctypes.c_double(FACTOR), ctypes.c_double(FLOOR), moved,
            )  # fmt: skip
            chains[name]()
            steps[name]()
            answer = one_by_one(out, numbers, w)
            _agree(f"FK, {name}", tips, answer if numbers == 12 else _affine(answer))
            _agree(f"iteration, {name}", one_by_one(ours_lm, m, w), one_by_one(moved, m, w))
    _agree("tree FK", _before_tool(case, tips), _affine(one_by_one(ours_tree, 7, w)))
    return chains, steps, {"tree": on_tree}


def _affine(places: Floats) -> Floats:
    """Places (n, 7) as position and matrix (n, 12)."""
    return np.concatenate([places[:, :3], rotations.as_matrix(places[:, 3:]).reshape(-1, 9)], axis=1)


def _before_tool(case: Case, tips: Floats) -> Floats:
    """From the tip back to the last moved frame: what a tree calls the place of its last node."""
    tool = _affine(case.arm.links[None, -1, :7])[0]
    turn = tips[:, 3:].reshape(-1, 3, 3) @ tool[3:].reshape(3, 3).T
    return np.concatenate([tips[:, :3] - turn @ tool[:3], turn.reshape(-1, 9)], axis=1)


def _agree(what: str, ours: Floats, theirs: Floats) -> None:
    off = float(np.abs(ours - theirs).max())
    if not off <= SAME:
        message = f"{what}: the baseline's answers are off by {off:.3g}"
        raise RuntimeError(message)


def batch_contest(case: Case, libs: dict[str, ctypes.CDLL], w: int, count: int) -> tuple[Contest, dict[str, Call]]:
    """A batch of targets by the public call, our kernel and C++; and what of them is reached, after how many steps."""
    arm, ranges = case.arm, case.start.skeleton.value_ranges
    q = np.random.default_rng(SEED + 1).uniform(*ranges.T, (count, arm.link_count))
    world = case.start.with_q(q).world[case.tip]
    goal = poise.Place(case.tip, world.positions, world.rotations)
    targets, options = case.problem.compute_kernel_targets(goal.rows()), LevenbergMarquardt().arm_options
    numbers = pack_arm_settings(arm, case.problem.plan.kernel_unit_in_world, Tolerance(TOLERANCE, TOLERANCE), options)
    packed, m = pack_for_u(case.problem, arm, numbers), arm.link_count
    found, work = np.zeros((count, m + ARM_RESULT_ROW)), np.zeros(count * (ARM_WORKSPACE_PER_TARGET + 2 * m))
    solve = kernels.arm_targets.solve_targets8 if w == 8 else kernels.arm_targets.solve_targets4
    start, rows, bases = case.start.q[None].copy(), goal.rows(), case.problem.rigid_base_transforms
    public = lambda: poise.solve(case.start, goal, tolerance=TOLERANCE, angle_tolerance=TOLERANCE, threads=1)  # noqa: E731

    def ours() -> None:
        found[:, :m] = start
        solve(*packed, rows, bases, found, 0, count, work, np.empty((0, 0)))

    contest: Contest = {"ours": ours, "public": public}
    done: dict[str, Call] = {"ours": lambda: (found[:, m + 2], found[:, m])}
    seeds = np.hstack([arm.seeds, arm.seed_tips.reshape(7, -1).T])
    settings = Settings(
        numbers[0], numbers[1], options.damping, options.min_damping, options.iterations, options.restarts,
        options.candidate_count, len(arm.seeds),
    )  # fmt: skip
    for name, library in libs.items():
        x, reached, spent = np.zeros((count, m)), np.zeros(count, np.int64), np.zeros(count, np.int64)
        call = bound(
            getattr(library, f"solve_{w}"), arm.links, seeds, targets, start, ctypes.c_int64(count),
            ctypes.byref(settings), x, reached, spent,
        )  # fmt: skip
        call.__dict__["settings"] = settings
        contest[name], done[name] = call, lambda reached=reached, spent=spent: (reached, spent)
    return contest, done


def humanoid_call(kind: LaneKind) -> tuple[Call, int]:
    """Tree FK of the sample humanoid with five goals and a free root, and how many joints move in it."""
    skeleton = poise.load(samples.path("humanoid.bvh")).skeleton.with_limits({"*": None})
    goals = [poise.Place(name, [0, 0, 0], [1, 0, 0, 0], root=skeleton.names[0]) for name in LIMBS]
    problem = Problem(poise.Pose(skeleton, skeleton.rest_q), tuple(goals), free_root=True)
    u = np.repeat(problem.start_u, PROBLEMS // 8, axis=0)
    return tree_call(problem, u, kind)[0], len(problem.joints)


# --- timing ------------------------------------------------------------------------------------------------------


def medians(contests: dict[str, Contest], rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of every call, the median over rounds in which all take their turn."""
    times: dict[tuple[str, str], list[float]] = {(c, n): [] for c, contest in contests.items() for n in contest}
    for contest in contests.values():
        for call in contest.values():
            call()
    for _ in range(rounds):
        for (title, name), seconds in times.items():
            seconds.append(harness.timed(contests[title][name])[1])
    return {c: {n: float(np.median(times[c, n])) for n in contest} for c, contest in contests.items()}


def row(what: str, ours: float, seconds: dict[str, float], unit: float, requested: str = "") -> harness.Row:
    """One comparison with the fastest C++; `unit` divides seconds."""
    theirs = {name: s for name, s in seconds.items() if name not in ("ours", "public", "tree")}
    best = min(theirs, key=theirs.__getitem__)
    return {
        "what": what, "ours [ns]": ours / unit * 1e9, "C++ [ns]": theirs[best] / unit * 1e9,
        "ratio": round(ours / theirs[best], 3), "asked": requested, "fastest C++": best,
    }  # fmt: skip


def measure(rounds: int, count: int) -> tuple[list[harness.Row], list[str]]:
    """Time everything; rows, and notes."""
    arm_case = case()
    libs, w = libraries(arm_case.arm.link_count), find_simd_width()
    lanes = LANES8 if w == 8 else LANES4
    contests: dict[str, Contest] = {}
    for kind in (SCALAR, lanes):
        chains, steps, on_tree = kernel_contests(arm_case, libs, kind)
        for title, contest in (("fk", {**chains, **on_tree}), ("lm", steps)):
            contests[f"{title} {kind.width}"] = {name: repeated(call) for name, call in contest.items()}
    on_humanoid, joints = humanoid_call(lanes)
    contests["humanoid"] = {"tree": repeated(on_humanoid)}
    contests["batch"], done = batch_contest(arm_case, libs, w, count)
    seconds = medians(contests, rounds)
    each, m = PROBLEMS * PASSES, arm_case.arm.link_count
    rows = []
    for kind, message_text in ((lanes, f"{w} lanes"), (SCALAR, "one at a time")):
        fk, lm = seconds[f"fk {kind.width}"], seconds[f"lm {kind.width}"]
        requested = "" if kind == SCALAR else "1.3"
        rows.append(row(f"FK of the chain, {message_text}", fk["ours"], fk, each, requested))
        rows.append(row(f"LM iteration, {message_text}", lm["ours"], lm, each, requested))
        rows.append(row(f"FK of the same arm as a tree, {message_text}", fk["tree"], fk, each))
    fk, batch = seconds[f"fk {w}"], seconds["batch"]
    per_joint = {name: s / m for name, s in fk.items()}
    rows.append(
        row("tree FK of a humanoid, per moving joint", 8 * seconds["humanoid"]["tree"] / joints, per_joint, each)
    )
    rows.append(row("batch solve, the kernel", batch["ours"], batch, count, "1.3"))
    rows.append(row("batch solve, poise.solve() with judging", batch["public"], batch, count))
    shares = ", ".join(
        f"{n} {100 * call()[0].mean():.2f} % in {call()[1].mean():.2f} iterations" for n, call in done.items()
    )
    tree_share = fk["tree"] / fk["ours"]
    humanoid_share = 8 * seconds["humanoid"]["tree"] / joints / (fk["ours"] / m)
    about = (
        f"{arm_case.name}, {m} joints, {w} lanes; per problem (of the humanoid per moving joint, it has {joints}). "
        f"{PROBLEMS} problems a call, {rounds} rounds interleaved in one process, one thread, medians. C++ is the "
        f"fastest of {', '.join(libs)}, each with quaternions and with matrices, {' '.join(FLAGS[:4])}; it knows the "
        "number of joints when it is compiled. All agree to 1e-9 before they are timed. Poise always solves in lanes."
    )
    trees = (
        f"Tree FK over the FK of the chain, both ours: {tree_share:.2f} for the arm, {humanoid_share:.2f} per joint "
        "for the humanoid (asked: at most 2.5). The tree keeps the places and axes of all nodes, the chain its tip's."
    )
    batches = (
        f"Batch: {count} targets that are FK of random configurations, from the middle of the ranges, 1e-6 m and "
        f"1e-6 rad, the same seeds for both. Solved: {shares}."
    )
    return rows, [about, trees, batches]


def main(rounds: int | None = None, count: int = TARGETS) -> int:
    """Run everything and write the table."""
    try:
        rows, notes = measure(rounds or ROUNDS, count)
    except RuntimeError as error:
        return harness.exit_code(f"arm_cpp_baseline: skipped, {error}")
    harness.report("arm_cpp_baseline", "A robot arm against plain C++", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

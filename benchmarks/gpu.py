"""The kernels of the pose engine on an NVIDIA GPU: a million targets each for two arms and a humanoid, evaluated.

    python benchmarks/gpu.py prepare FOLDER        here: compile the kernels to PTX, pack the problems (needs no GPU)
    python FOLDER/gpu.py solve FOLDER OUT          on a machine with a GPU: needs CuPy and NumPy, not Poise
    python benchmarks/gpu.py report FOLDER OUT     here: evaluate a sample by Poise and Pinocchio, write results/gpu.md

`solve` draws configurations, places their tips by forward kinematics of its own on the GPU, solves for these targets
from the rest pose, one thread a target, and evaluates all answers by the same forward kinematics. `report` draws the
same configurations again. Times are those of the kernel alone and with the copies to and from the GPU.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

TARGETS, SAMPLE = 1_000_000, 50_000  # targets of a problem; answers that come back for `report`
ORACLE = 2_000  # of these, by Pinocchio and solved on the CPU
THREADS = 64  # of a block: more registers for each thread than in larger blocks
TREE_CHUNK = 1 << 17  # targets in flight of a tree: each needs some 20 kB of work memory
DISTANCE_M, ANGLE_RAD = 1e-6, 1e-6  # tolerances of robots
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "panda": ("urdf/panda.urdf", ("panda_hand_tcp_joint",)),
    "ur5": ("urdf/ur5.urdf", ("wrist_3_link-tool0_fixed_joint",)),
    "g1": (
        "urdf/g1_29dof.urdf",
        ("left_hand_palm_joint", "right_hand_palm_joint", "left_ankle_roll_joint", "right_ankle_roll_joint"),
    ),
}
ENTRIES = ("solve_arms", "solve_trees")
_NO_LIBNVVM = 77  # exit status of tests/kernels/cuda_build.py


def draw(ranges: np.ndarray, count: int) -> np.ndarray:
    """Draw configurations (count, m) anywhere inside ranges (m, 2); the same on every machine."""
    low, high = np.maximum(ranges[:, 0], -np.pi), np.minimum(ranges[:, 1], np.pi)
    return np.random.default_rng(20261127).uniform(low, high, (count, len(low)))


# --- here: pack ------------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Write the PTX and the arrays of each problem into a folder."""
    import harness  # noqa: PLC0415  (not on the machine with the GPU)

    data = harness.data_folder()
    absent = sorted(file for file, _ in CASES.values() if not (data and (data / file).is_file()))
    if absent:
        _stop(f"not here: {', '.join(absent)}; `python benchmarks/fetch_data.py gpu` gets them")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(__file__, folder / "gpu.py")
    command = [sys.executable, "-m", "tests.kernels.cuda_build", "ptx", *(f"{entry}:9.0" for entry in ENTRIES)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    if done.returncode == _NO_LIBNVVM:
        _stop("NVIDIA's libnvvm is not here: pip install nvidia-cuda-nvcc-cu12, or CUDA's toolkit, has it")
    if done.returncode:
        _stop(f"the kernels were not compiled:\n{done.stderr}")
    for name, code in json.loads(done.stdout).items():
        (folder / f"{name.partition(':')[0]}.ptx").write_text(code, encoding="utf-8")
    for name in CASES:
        problem = problem_of(name)
        np.savez(folder / f"{name}.npz", **(pack_arm(problem) if len(CASES[name][1]) == 1 else pack_tree(problem)))


def problem_of(name: str) -> Any:
    """Build the problem of a case: the tip of an arm, or four limbs of a humanoid on a fixed pelvis."""
    import harness  # noqa: PLC0415

    import poise  # noqa: PLC0415

    file, tips = CASES[name]
    rest = poise.load(harness.data_folder() / file).rest
    at = [rest.world_of(tip) for tip in tips]
    goals = [poise.Place(tip, each.positions, each.rotations) for tip, each in zip(tips, at, strict=True)]
    solver = poise.LevenbergMarquardt()
    tolerances = {"tolerance": DISTANCE_M, "angle_tolerance": ANGLE_RAD}
    return poise.prepare(rest, goals if len(goals) > 1 else goals[0], solver=solver, **tolerances)


def pack_arm(prepared: Any) -> dict[str, np.ndarray]:
    """Pack a serial arm as the entry `solve_arms` takes it."""
    from poise.solvers.base.lm_engine import pack_arm_settings  # noqa: PLC0415

    problem, engine = prepared.problem, prepared.solver.engine(prepared.problem, prepared.tolerance)
    arm = engine.arm
    settings = pack_arm_settings(arm, problem.plan.kernel_unit_in_world, prepared.tolerance, engine.options)
    return {
        "links": arm.links, "seeds": arm.seeds, "poses": arm.seed_tips, "settings": settings,
        "starts": np.ascontiguousarray(problem.start_u), "ranges": arm.links[:-1, 7:9],
        "unit": np.array(problem.plan.kernel_unit_in_world),
        "columns": np.array([node.q_start for node in problem.plan.layout.nodes]),
    }  # fmt: skip


def pack_tree(prepared: Any) -> dict[str, np.ndarray]:
    """Pack a tree of hinges as the entry `solve_trees` takes it."""
    from poise.kernels.lane_workspace import MAX_LANES  # noqa: PLC0415
    from poise.kernels.layout import LIMIT_ROW  # noqa: PLC0415
    from poise.solvers.base import lm_engine as engines  # noqa: PLC0415

    problem, engine = prepared.problem, prepared.solver.engine(prepared.problem, prepared.tolerance)
    plan = problem.plan
    (nodes, frames, dofs, terms, effectors, paths, row_ranges), size = engines.pack_tree_arrays(
        plan, prepared.tolerance
    )
    numbers = {node.dof_start: node for node in plan.layout.nodes}
    return {
        "nodes": nodes, "frames": frames, "dofs": dofs, "terms": terms, "effectors": effectors, "paths": paths,
        "row_ranges": row_ranges, "starts": np.ascontiguousarray(problem.start_u), "seeds": engine.restart_draws,
        "near_u": np.zeros(plan.layout.nu), "near_on": np.zeros(len(dofs)), "limits": np.zeros((len(nodes), LIMIT_ROW)),
        "settings": engines.pack_tree_settings(engine.options, has_preference=False), "ranges": dofs[:, :2],
        "work": np.array(size // MAX_LANES), "unit": np.array(plan.kernel_unit_in_world),
        "columns": np.array([numbers[dof].q_start for dof in sorted(numbers)]),
    }  # fmt: skip


# --- there: solve ----------------------------------------------------------------------------------------------------


def multiply(xp: Any, p: Any, q: Any) -> Any:
    """Multiply quaternions (..., 4)."""
    a, b = (xp.moveaxis(each, -1, 0) for each in xp.broadcast_arrays(p, q))
    return xp.stack([
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ], axis=-1)  # fmt: skip


def rotate(xp: Any, q: Any, v: Any) -> Any:
    """Rotate vectors (..., 3) by quaternions (..., 4)."""
    t = 2 * xp.cross(q[..., 1:], v)
    return v + q[..., :1] * t + xp.cross(q[..., 1:], t)


def turn_z(xp: Any, q: Any, angle: Any) -> Any:
    """Rotate frames (k, 4) about their own z axis by angles (k,)."""
    zero = xp.zeros_like(angle)
    return multiply(xp, q, xp.stack([xp.cos(angle / 2), zero, zero, xp.sin(angle / 2)], axis=-1))


def place_tips(xp: Any, case: dict[str, Any], u: Any) -> list[tuple[Any, Any]]:
    """Place the tips at values u (k, m) by forward kinematics: positions (k, 3) and rotations (k, 4) of each goal."""
    k = len(u)
    if "links" in case:
        links, p, r = case["links"], xp.zeros((k, 3)), xp.tile(xp.asarray([1.0, 0, 0, 0]), (k, 1))
        for i in range(len(links)):
            p, r = p + rotate(xp, r, links[i, :3]), multiply(xp, r, links[i, 3:7])
            r = turn_z(xp, r, u[:, i]) if i < u.shape[1] else r
        return [(p, r)]
    nodes, frames, terms, effectors = case["nodes"].get(), case["frames"][0], case["terms"].get(), case["effectors"]
    placed: list[tuple[Any, Any]] = []
    for i, (parent, motion, at, _) in enumerate(nodes.tolist()):
        p, r = xp.tile(frames[i, :3], (k, 1)), xp.tile(frames[i, 3:7], (k, 1))
        if parent >= 0:
            before = placed[parent]
            p, r = before[0] + rotate(xp, before[1], p), multiply(xp, before[1], r)
        if motion:  # a hinge; FIXED is 0
            r = turn_z(xp, r, frames[i, 7] * u[:, at] + frames[i, 8])
        placed.append((p, r))
    out = []
    for t in range(0, len(terms), 2):  # a position and the rotation of the same joint
        p, r = placed[int(terms[t, 1])]
        out.append((p + rotate(xp, r, effectors[t, :3]), multiply(xp, r, effectors[t + 1, 3:7])))
    return out


def arguments_of(arrays: list[Any]) -> list[Any]:
    """Flatten arrays into the arguments of Numba's CUDA kernels: owner, parent, sizes, data, shape, strides."""
    out: list[Any] = []
    for each in arrays:
        out += [np.uint64(0), np.uint64(0), np.int64(each.size), np.int64(each.itemsize), np.uint64(each.data.ptr)]
        out += [np.int64(n) for n in (*each.shape, *each.strides)]
    return out


def load_kernel(cp: Any, folder: Path, entry: str) -> Any:
    """Load an entry of the PTX."""
    code = (folder / f"{entry}.ptx").read_text(encoding="utf-8")
    name = re.findall(rf"^\.visible \.entry (\w*{entry}\w*)\($", code, re.MULTILINE)[0]
    return cp.RawModule(path=str(folder / f"{entry}.ptx")).get_function(name)


def _stop(message: str) -> NoReturn:
    """End with a sentence and exit code 2."""
    sys.stderr.write(f"gpu: {message}\n")
    sys.exit(2)


def _require(folder: Path, step: str, *names: str) -> None:
    """End with a sentence where a step before has not written its files."""
    absent = [name for name in names if not (folder / name).is_file()]
    if absent:
        _stop(f"{folder} has no {', '.join(absent)}: the step before, `gpu.py {step}`, writes them there")


def solve(folder: Path, out: Path) -> None:
    """Solve every case on the GPU; write a JSON of figures and the first answers of each."""
    try:
        import cupy as cp  # pyright: ignore[reportMissingImports]  # noqa: PLC0415

        cp.cuda.runtime.getDeviceCount()
    except ImportError:
        _stop("CuPy is not here: run this on a machine with an NVIDIA GPU, after pip install cupy-cuda12x")
    except Exception as error:  # noqa: BLE001  (CUDARuntimeError is a name of CuPy)
        _stop(f"CUDA finds no NVIDIA GPU on this machine: {error}")
    _require(folder, "prepare", *(f"{name}.npz" for name in CASES))
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    figures: dict[str, Any] = {"device": device, "cases": {}}
    for name in CASES:
        with np.load(folder / f"{name}.npz") as file:
            case = {key: cp.asarray(value) for key, value in file.items()}
        x = cp.asarray(draw(case["ranges"].get(), TARGETS))
        wanted = place_tips(cp, case, x)
        run = run_arm if "links" in case else run_tree
        kernel = load_kernel(cp, folder, "solve_arms" if "links" in case else "solve_trees")
        targets = cp.concatenate([part for tip in wanted for part in tip], axis=1).get()
        run(cp, kernel, case, targets[:1024])  # loads the code
        best = min((run(cp, kernel, case, targets) for _ in range(3)), key=lambda each: each[0])
        seconds, with_copies, u, counts = best
        again = run(cp, kernel, case, targets)[2]
        distance, angle = errors_of(cp, case, wanted, cp.asarray(u))
        unit = float(case["unit"])
        met = (distance * unit <= DISTANCE_M) & (angle <= ANGLE_RAD)
        ranges = case["ranges"].get()
        outside = np.maximum(ranges[:, 0] - u, u - ranges[:, 1]).max()
        figures["cases"][name] = {
            "targets": TARGETS, "reached": int(met.sum()), "said": int((counts[:, 2] > 0).sum()),
            "seconds": seconds, "seconds with copies": with_copies, "iterations": float(counts[:, 0].mean()),
            "worst reached [m]": float(distance[met].max() * unit), "worst reached [rad]": float(angle[met].max()),
            "outside limits": float(max(outside, 0.0)), "same bits again": bool((again == u).all()),
        }  # fmt: skip
        np.save(out / f"{name}.npy", u[:SAMPLE])
        print(name, figures["cases"][name], flush=True)
        del wanted, x
        cp.get_default_memory_pool().free_all_blocks()
    (out / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


def errors_of(cp: Any, case: dict[str, Any], wanted: list[tuple[Any, Any]], u: Any) -> tuple[np.ndarray, np.ndarray]:
    """Largest distance [kernel units] and angle [rad] between wanted tips and those at u, for each target."""
    distance, angle = cp.zeros(len(u)), cp.zeros(len(u))
    for (p, r), (p_at, r_at) in zip(wanted, place_tips(cp, case, u), strict=True):
        distance = cp.maximum(distance, cp.linalg.norm(p - p_at, axis=1))
        off = multiply(cp, r * cp.asarray([1.0, -1, -1, -1]), r_at)
        angle = cp.maximum(angle, 2 * cp.arctan2(cp.linalg.norm(off[:, 1:], axis=1), cp.abs(off[:, 0])))
    return distance.get(), angle.get()


def run_arm(cp: Any, kernel: Any, case: dict[str, Any], targets: np.ndarray) -> tuple[float, float, Any, Any]:
    """Solve targets (k, 7) of an arm: seconds of the kernel, seconds with copies, values, counts."""
    k, m = len(targets), case["seeds"].shape[1]
    began = time.perf_counter()
    there = cp.asarray(targets)
    x, errors, counts = cp.zeros((k, m)), cp.zeros(k), cp.zeros((k, 3), dtype=cp.int64)
    arrays = [case["links"], case["seeds"], case["poses"], there, case["starts"], case["settings"], x, errors, counts]
    seconds = launch(cp, kernel, k, arrays)
    answers = x.get(), counts.get()
    return seconds, time.perf_counter() - began, *answers


def run_tree(cp: Any, kernel: Any, case: dict[str, Any], targets: np.ndarray) -> tuple[float, float, Any, Any]:
    """Solve targets (k, W) of a tree in chunks, as `run_arm`."""
    began, seconds, us, counted = time.perf_counter(), 0.0, [], []
    nu = case["near_u"].size
    work = cp.zeros((min(TREE_CHUNK, len(targets)), int(case["work"]) + 8))
    for first in range(0, len(targets), TREE_CHUNK):
        there = cp.asarray(targets[first : first + TREE_CHUNK])
        k = len(there)
        u, errors, counts = cp.zeros((k, nu)), cp.zeros(k), cp.zeros((k, 3), dtype=cp.int64)
        arrays = [case[key] for key in ("nodes", "frames", "dofs", "terms", "effectors", "paths", "row_ranges")]
        arrays += [there, *(case[key] for key in ("starts", "seeds", "near_u", "near_on", "limits", "settings"))]
        seconds += launch(cp, kernel, k, [*arrays, work[:k], u, errors, counts])
        us.append(u.get())
        counted.append(counts.get())
    return seconds, time.perf_counter() - began, np.concatenate(us), np.concatenate(counted)


def launch(cp: Any, kernel: Any, count: int, arrays: list[Any]) -> float:
    """Run a kernel for `count` targets; return the seconds that the GPU took."""
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    begin.record()
    kernel((-(-count // THREADS),), (THREADS,), tuple(arguments_of(arrays)))
    end.record()
    end.synchronize()
    return cp.cuda.get_elapsed_time(begin, end) / 1000.0


# --- here: evaluate --------------------------------------------------------------------------------------------------


def place_by_pinocchio(path: Path, rest: Any, tips: tuple[str, ...], q: np.ndarray) -> np.ndarray:
    """Place the tips (t, 3) at a configuration by Pinocchio."""
    import pinocchio as pin  # noqa: PLC0415

    model = read_by_pinocchio(path)
    rows = [rest.skeleton.names.index(model.names[i]) for i in range(1, model.njoints)]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q[[int(rest.skeleton.q_start[row]) for row in rows]])
    return np.array([data.oMf[model.getFrameId(tip)].translation for tip in tips])


@cache
def read_by_pinocchio(path: Path) -> Any:
    """Read a URDF by Pinocchio."""
    import pinocchio as pin  # noqa: PLC0415

    return pin.buildModelFromUrdf(str(path))


def report(folder: Path, out: Path) -> None:
    """Evaluate the answers that came back by Poise and Pinocchio, and write the table."""
    import harness  # noqa: PLC0415

    import poise  # noqa: PLC0415

    if find_spec("pinocchio") is None:
        _stop("Pinocchio is not here: pip install pin")
    _require(out, "solve", "figures.json")
    _require(folder, "prepare", *(f"{name}.npz" for name in CASES))
    figures, rows = json.loads((out / "figures.json").read_text(encoding="utf-8")), []
    for name, case in figures["cases"].items():
        file, tips = CASES[name]
        path = harness.data_folder() / file
        rest = poise.load(path).rest
        with np.load(folder / f"{name}.npz") as packed:
            columns, ranges = packed["columns"], packed["ranges"]
        q, wanted = np.tile(rest.q, (SAMPLE, 1)), np.tile(rest.q, (SAMPLE, 1))
        q[:, columns], wanted[:, columns] = np.load(out / f"{name}.npy"), draw(ranges, TARGETS)[:SAMPLE]
        reached = np.ones(SAMPLE, dtype=bool)
        for tip in tips:
            at, there = (poise.Pose(rest.skeleton, each).world_of(tip) for each in (q, wanted))
            reached &= np.linalg.norm(at.positions - there.positions, axis=1) <= DISTANCE_M
        some = np.flatnonzero(reached)[:ORACLE]
        worst = max(
            float(
                np.abs(
                    place_by_pinocchio(path, rest, tips, q[k]) - place_by_pinocchio(path, rest, tips, wanted[k])
                ).max()
            )
            for k in some
        )
        on_cpu = problem_of(name)
        at = [poise.Pose(rest.skeleton, wanted[:ORACLE]).world_of(tip) for tip in tips]
        rows_of = [np.concatenate([each.positions, each.rotations], axis=1) for each in at]
        cpu = [on_cpu([each[k] for each in rows_of] if len(tips) > 1 else rows_of[0][k]) for k in range(ORACLE)]
        counts = f"{sum(bool(each.reached) for each in cpu):,} / {int(reached[:ORACLE].sum()):,}"
        rows.append({
            "problem": f"{name}: {len(columns)} hinges, {len(tips)} place{'s' if len(tips) > 1 else ''}",
            "targets": case["targets"], "reached": case["reached"],
            "us a target": 1e6 * case["seconds"] / case["targets"],
            "us with copies": 1e6 * case["seconds with copies"] / case["targets"],
            "iterations": case["iterations"], "worst reached [m]": case["worst reached [m]"],
            "worst reached [rad]": case["worst reached [rad]"], "outside limits": case["outside limits"],
            "same bits again": case["same bits again"],
            f"of {SAMPLE:,} reached, by Poise": int(reached.sum()),
            f"worst of {ORACLE:,}, by Pinocchio [m]": worst,
            f"of {ORACLE:,} reached, on the CPU / on the GPU": counts,
        })  # fmt: skip
    harness.report(
        "gpu", f"The pose engine on {figures['device']}: a million targets, one thread each", rows,
        [
            (
                "Targets: forward kinematics of random configurations inside the limits, solved from the rest"
                " pose with all restarts of `LevenbergMarquardt()`. The kernels are those of the CPU, as PTX."
            )
        ],
    )  # fmt: skip


def main() -> None:
    """Run one of the three steps."""
    assert __doc__ is not None
    title, _, usage = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=title, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(required=True, metavar="STEP")
    for step, names in ((prepare, ("folder",)), (solve, ("folder", "out")), (report, ("folder", "out"))):
        step_parser = steps.add_parser(step.__name__, help=step.__doc__)
        for name in names:
            step_parser.add_argument(name, type=Path, metavar=name.upper())
        step_parser.set_defaults(step=step)
    arguments = vars(parser.parse_args())
    arguments.pop("step")(**arguments)


if __name__ == "__main__":
    main()

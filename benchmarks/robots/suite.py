"""Run the peers, each in its own process on one core, robot by robot and task by task; judge; write the tables."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np

from robots import environments, models, tables
from robots.registry import PEERS, TASKS

CORES = ("0", "1")
SECONDS = 10.0  # of one measurement; LEAST targets are solved in any case
GRACE = 290.0  # more seconds until a process is stopped
SETTLED = ("UnsupportedRobot", "stopped after")


class Run(NamedTuple):
    """One measurement."""

    robot: str
    task: str
    peer: str


class Plan(NamedTuple):
    """What is asked for on the command line."""

    targets: int
    seconds: float
    fresh: bool

    def file(self, run: Run) -> Path:
        """Where the raw result is kept: a run that was interrupted goes on with those that are missing."""
        return models.store() / "raw" / str(self.targets) / run.robot / run.task / f"{run.peer}.npz"


def main(arguments: Sequence[str] = ()) -> int:
    """Run what is asked for and write benchmarks/results/robots.md and .json."""
    wanted = parsed(arguments)
    robots, notes = models.available(tuple(wanted.robots))
    if not robots:
        return harness.exit_code(" ".join(["robots: skipped.", *notes]))
    try:
        oracle = environments.python("pin")
    except RuntimeError as error:
        return harness.exit_code(f"robots: skipped, there is nothing to judge with: {error}")
    plan = Plan(wanted.targets, wanted.seconds, wanted.fresh)
    pythons, missing = interpreters(wanted.peers)
    for robot in robots:
        make_targets(robot, oracle)
    for run in runs(robots, wanted.tasks, pythons):
        measure(run, plan, pythons[run.peer])
    rows = judged(plan, oracle)
    tables.write(rows, [*notes, *missing], wanted.targets)
    return 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; names that are unknown are refused."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    for option, names in (("peers", PEERS), ("robots", models.NAMES), ("tasks", TASKS)):
        parser.add_argument(f"--{option}", nargs="+", default=list(names), choices=list(names), metavar="NAME",
                            help=f"of {', '.join(names)}; all by default")  # fmt: skip
    parser.add_argument("--targets", type=int, default=10_000, help="targets per robot; slow peers get fewer")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="after which a slow peer is stopped")
    parser.add_argument("--fresh", action="store_true", help="measure again what is in the cache")
    return parser.parse_args(list(arguments))


def interpreters(peers: Iterable[str]) -> tuple[dict[str, Path], list[str]]:
    """The interpreter of each peer, and a sentence for each that cannot be installed."""
    pythons: dict[str, Path] = {}
    missing: list[str] = []
    for peer in peers:
        try:
            pythons[peer] = environments.python(PEERS[peer].environment)
        except RuntimeError as error:
            missing.append(f"{PEERS[peer].label} left out: {error}.")
    return pythons, missing


def runs(robots: Iterable[str], tasks: Iterable[str], peers: Iterable[str]) -> Iterable[Run]:
    """All measurements, peers innermost, so that the figures of one table are made one after the other."""
    for robot in robots:
        for task in (run for name in tasks for run in TASKS[name]):
            if task == "track" and robot in models.G1_CHAINS:
                continue  # no path is made for these
            for peer in peers:
                entry = PEERS[peer]
                if (not entry.robots or robot in entry.robots) and (entry.batch or not task.startswith("batch")):
                    yield Run(robot, task, peer)


def targets_file(robot: str) -> Path:
    """Where the targets of a robot are kept."""
    return models.store() / "targets" / f"{robot}.npz"


def make_targets(robot: str, oracle: Path) -> None:
    """Make the targets where they are missing."""
    out = targets_file(robot)
    if not out.is_file():
        out.parent.mkdir(exist_ok=True)
        command = [str(oracle), "-m", "robots.targets", robot, str(out)]
        subprocess.run(command, check=True, env=environment(), cwd=harness.HERE)


def environment() -> dict[str, str]:
    """One thread for every linear algebra library; this package importable, whatever else was so before."""
    single = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    return kept | dict.fromkeys(single, "1") | {"PYTHONPATH": str(harness.HERE)}


def finished(out: Path) -> bool:
    """Whether the cache has a result that stands: figures, a refusal or a peer that hangs; crashes are tried again."""
    if not out.is_file():
        return False
    with np.load(out) as file:
        return "error" not in file or str(file["error"]).startswith(SETTLED)


def measure(run: Run, plan: Plan, python: Path) -> None:
    """Measure in a process of its own, pinned to one core (two for two threads), unless the cache has it."""
    out = plan.file(run)
    if finished(out) and not plan.fresh:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    cores = ",".join(CORES) if run.task.endswith("_2") else CORES[0]
    worker = ["-m", "robots.worker", run.peer, run.robot, run.task, str(targets_file(run.robot)), str(out)]
    limits = ["--targets", str(plan.targets), "--seconds", str(plan.seconds)]
    command = ["taskset", "-c", cores, str(python), *worker, *limits]
    began, failure = time.time(), ""
    try:
        done = subprocess.run(
            command, env=environment(), cwd=harness.HERE, capture_output=True, text=True, check=False,
            timeout=2 * plan.seconds + GRACE,
        )  # fmt: skip
        if done.returncode:
            failure = f"ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"
    except subprocess.TimeoutExpired:
        failure = f"stopped after {2 * plan.seconds + GRACE:g} s"
    if failure:
        np.savez(out, when=began, error=failure)
    print(f"{run.robot:8} {run.task:13} {run.peer:15} {time.time() - began:6.1f} s {failure}", flush=True)


def judged(plan: Plan, oracle: Path) -> list[harness.Row]:
    """All results of the cache for this number of targets, judged by Pinocchio."""
    folder = models.store() / "raw" / str(plan.targets)
    out = folder / "judged.json"
    command = [str(oracle), "-m", "robots.judge", str(folder), str(models.store() / "targets"), str(out)]
    subprocess.run(command, check=True, env=environment(), cwd=harness.HERE)
    return json.loads(out.read_text(encoding="utf-8"))

"""Measure one peer on one robot and one task, in the peer's own environment and process.

`python -m robots.worker PEER ROBOT TASK TARGETS.npz OUT.npz --targets N --seconds S`. Nothing is judged here.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robots import models
from robots.models import Floats
from robots.peers import Peer
from robots.registry import PEERS

TOLERANCE = 1e-6  # m and rad
LEAST = 100  # targets that are solved however long they take
ROUNDS = 5  # of a batch; the best counts
EXAMPLES = 50
Measured = dict[str, Any]


class Stopwatch:
    """Wall and processor time of single calls [ns], into arrays made beforehand."""

    def __init__(self, calls: int, joints: int) -> None:
        self.wall, self.cpu = np.zeros(calls), np.zeros(calls)
        self.q = np.full((calls, joints), np.nan)
        self.reported = np.zeros(calls, dtype=bool)  # the peer says that it failed
        self.raised, self.reason = 0, ""
        self.calls = 0

    def solve(self, peer: Peer, target: Floats, start: Floats) -> Floats | None:
        """Time one call and keep its answer; an exception counts as a failure told."""
        cpu = time.process_time_ns()
        wall = time.perf_counter_ns()
        try:
            q = peer.solve(target, start)
        except Exception as error:  # noqa: BLE001 - some peers raise where there is no solution
            q = None
            self.raised, self.reason = self.raised + 1, f"{type(error).__name__}: {error}"
        k = self.calls
        self.wall[k] = time.perf_counter_ns() - wall
        self.cpu[k] = time.process_time_ns() - cpu
        self.calls = k + 1
        self.reported[k] = q is None
        if q is not None:
            self.q[k] = q
        return q

    def measured(self) -> Measured:
        """Arrays of the calls made, times in microseconds."""
        n = self.calls
        times = {"wall": self.wall[:n] * 1e-3, "cpu": self.cpu[:n] * 1e-3}
        return times | {"q": self.q[:n], "told": self.reported[:n], "raised": self.raised, "reason": self.reason}


class Nothing(Peer):
    """A peer that does nothing: what it takes is the cost of reading the clocks and of the call."""

    def solve(self, target: Floats, start: Floats) -> Floats | None:
        """Return the start."""
        return start


def each(peer: Peer, targets: Floats, starts: Floats, seconds: float) -> Measured:
    """Solve one target at a time until all are done, or time is up and LEAST are."""
    watch = Stopwatch(len(targets), starts.shape[-1])
    starts = np.broadcast_to(starts, (len(targets), starts.shape[-1])).copy(order="C")  # some peers ignore strides
    end = time.perf_counter() + seconds
    for k in range(len(targets)):
        if k >= LEAST and time.perf_counter() > end:
            break
        watch.solve(peer, targets[k], starts[k])
    return watch.measured()


def track(peer: Peer, path: Floats, start: Floats) -> Measured:
    """Follow a path: every waypoint starts from the answer before."""
    watch = Stopwatch(len(path), len(start))
    q = start.copy()
    for waypoint in path:
        answer = watch.solve(peer, waypoint, q)
        q = q if answer is None else np.array(answer, dtype=np.float64)
    return watch.measured() | {"loop": np.array([loop(peer, path, start)])}


def loop(peer: Peer, path: Floats, start: Floats) -> float:
    """Processor time [us] per waypoint of the quickest of several rounds, no clock read on the way.

    Reading a clock for every waypoint costs more than its own time: what the processor had in its caches is gone.
    """
    best = np.inf
    for _ in range(ROUNDS):
        q, began = start, time.process_time_ns()
        try:
            for waypoint in path:
                answer = peer.solve(waypoint, q)
                q = q if answer is None else answer
        except Exception:  # noqa: BLE001 - some peers raise where there is no solution
            return np.nan
        best = min(best, time.process_time_ns() - began)
    return best * 1e-3 / len(path)


def batch(peer: Peer, targets: Floats, starts: Floats, threads: int) -> Measured:
    """Solve all targets in one call, several times; mean times per target [us] of the quickest."""
    best: tuple[float, float] = (np.inf, np.inf)
    q = peer.batch(targets, starts, threads)  # warms up, and starts threads
    for _ in range(ROUNDS):
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        q = peer.batch(targets, starts, threads)
        best = min(best, (time.perf_counter_ns() - wall, time.process_time_ns() - cpu))
    wall, cpu = (np.array([value * 1e-3 / len(targets)]) for value in best)
    return {"wall": wall, "cpu": cpu, "q": q, "told": np.isnan(q).any(axis=1)}


def measure(peer: Peer, task: str, data: dict[str, Floats], count: int, seconds: float) -> Measured:
    """Do the task with the first `count` targets."""
    targets, mid, rand = data["T"], data["mid"], data["rand"]
    for k in range(-3, 0):
        peer.solve(targets[k], rand[k])  # warm-up, on targets that are seldom measured
    kind, *rest = task.split("_")
    starts = {"mid": mid, "rand": rand[:count]}.get(rest[0] if rest else "", mid)
    if kind == "solve":
        return each(peer, targets[:count], starts, seconds)
    if kind == "batch":
        return batch(peer, targets[:count], starts, int(rest[1]))
    if kind == "track":
        return track(peer, data["path"], data["path_start"])
    if kind == "unreachable":
        return each(peer, data["far"], mid, seconds)
    some = rand[: len(data["same"])]
    same, near = each(peer, data["same"], some, seconds), each(peer, data["near"], some, seconds)
    return same | {f"near_{key}": value for key, value in near.items()}


def clock(data: dict[str, Floats]) -> Measured:
    """Median cost of a measured call that does nothing [us]."""
    idle = each(Nothing(), data["T"][:2000], data["mid"], 1.0)
    return {"clock_wall": np.median(idle["wall"]), "clock_cpu": np.median(idle["cpu"])}


def outcome(action: Callable[[], Measured]) -> Measured:
    """Return what was measured, or the sentence why not."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - an exception of a peer is its result
        return {"error": f"{type(error).__name__.removesuffix('Error')}: {error}"}


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser()
    for name in ("peer", "robot", "task", "source", "out"):
        parser.add_argument(name)
    parser.add_argument("--targets", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    wanted = parser.parse_args()
    robot, entry = models.load(wanted.robot), PEERS[wanted.peer]
    with np.load(wanted.source) as file:
        data = dict(file)

    def action() -> Measured:
        module, name = entry.adapter.split(".")
        peer: Peer = getattr(importlib.import_module(f"robots.peers.{module}"), name)()
        began = time.perf_counter()
        peer.load(robot, TOLERANCE, data["q"][:EXAMPLES], data["T"][:EXAMPLES])
        ready = time.perf_counter() - began
        count = min(wanted.targets, entry.most)
        return measure(peer, wanted.task, data, count, wanted.seconds) | {"load_seconds": ready} | clock(data)

    result = outcome(action)
    part = Path(wanted.out).with_suffix(".part.npz")
    np.savez(part, when=time.time(), **result)
    part.replace(wanted.out)


if __name__ == "__main__":
    main()

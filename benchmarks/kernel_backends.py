"""Calls with kernels of the library beside calls with the JIT's, in one run.

Two processes, one for each, measure the same calls in turn, round after round. Both run the same machine code inside
the kernels, so the difference is the call of a kernel: arguments unpacked by a small C function, or by Numba.

    python benchmarks/kernel_backends.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np

ROUNDS = 12
CALLS = 400  # of each kind in a round
BACKENDS = "native", "jit"


def make_calls() -> dict[str, Callable[[int], Any]]:
    """Make the measured calls; each takes the number of the call."""
    import poise  # noqa: PLC0415  (in the processes that measure)

    arm, figure = poise.load(poise.sample("arm")).rest, poise.load(poise.sample("humanoid")).rest
    draw = np.random.default_rng(44)
    places = arm.with_q(draw.uniform(-1.0, 1.0, (CALLS, arm.q.size))).world["tool"]
    targets = [np.concatenate(pair) for pair in zip(places.positions, places.rotations, strict=True)]
    goal = poise.Place("tool", places.positions[0], places.rotations[0])
    goals = [goal.with_target(target) for target in targets]
    prepared = poise.prepare(arm, goal)
    foot = figure.world["LeftFoot"].positions
    feet = foot + draw.uniform(-0.1, 0.1, (CALLS, 3)) + (0.0, 0.15, 0.0)
    step = poise.Position("LeftFoot", foot, root="LeftUpLeg")
    limb = poise.prepare(figure, step, solver="two_bone")
    hand = figure.world["LeftHand"].positions
    hands = [poise.Position("LeftHand", hand + each) for each in draw.uniform(-0.2, 0.05, (CALLS, 3))]
    batch = goal.with_target(np.array(targets))
    return {
        "prepared arm, a target": lambda i: prepared(targets[i]),
        "solve(), an arm, goal made beforehand": lambda i: poise.solve(arm, goals[i]),
        "prepared limb of two bones, a target": lambda i: limb(feet[i]),
        "solve(), a hand by ccd": lambda i: poise.solve(figure, hands[i], solver="ccd"),
        "solve(), a hand by fabrik": lambda i: poise.solve(figure, hands[i], solver="fabrik"),
        "forward kinematics of a figure": lambda _: figure.with_q(figure.q).world.positions,
        "solve(), a batch of 400 places of an arm": lambda i: poise.solve(arm, batch) if i % 40 == 0 else None,
    }


def measure() -> None:
    """Answer each line of standard input by the times [s] of a round, as JSON."""
    calls = make_calls()
    for _ in sys.stdin:
        times = {}
        for name, call in calls.items():
            found = []
            for i in range(CALLS):
                began = time.perf_counter()
                if call(i) is not None:
                    found.append(time.perf_counter() - began)
            times[name] = found
        print(json.dumps(times), flush=True)


def main(rounds: int = ROUNDS) -> int:
    """Run both processes and write the table."""
    processes = {
        backend: subprocess.Popen(
            [sys.executable, __file__, "measure"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"POISE_KERNELS": backend},
        )
        for backend in BACKENDS
    }  # fmt: skip
    times: dict[str, dict[str, list[float]]] = {backend: {} for backend in BACKENDS}
    for round_index in range(rounds + 1):
        print(f"round {round_index} of {rounds}", file=sys.stderr, flush=True)
        for backend, process in processes.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            found = json.loads(process.stdout.readline())
            for name, values in found.items() if round_index else ():  # the first round compiles and fills caches
                times[backend].setdefault(name, []).extend(values)
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    rows = []
    for name in times["native"]:
        native, native_slow = harness.spread(times["native"][name], 1e-6)
        jit, jit_slow = harness.spread(times["jit"][name], 1e-6)
        rows.append({
            "call": name, "native, median [us]": native, "native, p99 [us]": native_slow, "jit, median [us]": jit,
            "jit, p99 [us]": jit_slow, "native / jit": native / jit,
        })  # fmt: skip
    note = f"Two processes in turn, {rounds} rounds of {CALLS} calls each; elapsed time, one thread."
    harness.report("kernel_backends", "Kernels of the library beside the JIT's", rows, [note])
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        sys.exit(main(*map(int, sys.argv[1:])))

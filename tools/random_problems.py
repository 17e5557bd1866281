"""Answers to random problems of a generator of its own, and whether they keep what Poise promises.

    python tools/random_problems.py                    50,000 problems
    python tools/random_problems.py --count 2000 --first 100000
    python tools/random_problems.py --seed 1234         one problem, and what is wrong with it

Trees of every kind of joint, limit and coupling, units from 1e-6 to 1e6, bases up to 1e5 lengths away, poses with
lengths and scales of their own, goals of every kind. Each problem is given to auto and to another solver, and judged
by a forward kinematics that shares nothing with Poise's (random_cases/). Faults are appended to a file, so that a run
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_harness import harness
from random_cases.checks import Fault, faults_of
from random_cases.problems import problem_of

from poise import solvers

OTHERS = tuple(name for name in solvers.names() if name != "autodiff")  # JAX compiles every problem anew
BLOCK = 250


def judged(seed: int) -> list[Fault] | None:
    """What is wrong with the answers to the problem of a seed; None where the draw gave no problem."""
    try:
        requested = problem_of(seed)
    except Exception as error:  # noqa: BLE001  (the making solves, too)
        return [(f"exception {type(error).__name__}", f"while it was made: {error}")]
    if requested is None:
        return None
    other = str(np.random.default_rng(seed + 1).choice(OTHERS))
    return list(faults_of(requested, ("auto", other), forms=seed % 3 == 0))


def block(seeds: Sequence[int]) -> dict[str, Any]:
    """The problems of some seeds: how many there were, the faults by name with the seeds and the first words."""
    count, faults = 0, []
    for seed in seeds:
        found = judged(seed)
        count += found is not None
        faults += [(name, seed, words[:300]) for name, words in found or []]
    return {"first": seeds[0], "seeds": len(seeds), "problems": count, "faults": faults}


def run(first: int, count: int, file: Path) -> list[dict[str, Any]]:
    """All blocks, those that the file has already not again."""
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    known, began, wanted = {(b["first"], b["seeds"]) for b in done}, time.perf_counter(), range(first, first + count)
    for at in range(0, count, BLOCK):
        seeds = wanted[at : at + BLOCK]
        if (seeds[0], len(seeds)) in known:
            continue
        done.append(block(seeds))
        with file.open("a") as out:
            out.write(json.dumps(done[-1]) + "\n")
        wrong = sum(len(b["faults"]) for b in done)
        bar = "#" * round(30 * (at + len(seeds)) / count)
        seconds = time.perf_counter() - began
        print(f"\r[{bar:30}] {at + len(seeds)} of {count}, {wrong} faults, {seconds:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [b for b in done if first <= b["first"] < first + count]


def reported(blocks: Sequence[dict[str, Any]]) -> str:
    """The table: each promise that was broken, how often, and a seed that shows it."""
    faults = [fault for b in blocks for fault in b["faults"]]
    count = Counter(name for name, _, _ in faults)
    rows = [
        {"what": name, "times": times, "a seed": next(s for n, s, _ in faults if n == name)}
        for name, times in count.most_common()
    ]
    total = sum(b["problems"] for b in blocks)
    notes = [f"{total:,} problems, {len({seed for _, seed, _ in faults}):,} of them with a fault."]
    notes.append("Each by auto and another solver, three targets each, every third problem in all forms of asking.")
    return harness.report("random_problems", "Random problems", rows, notes)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--file", type=Path, help="where blocks are kept; by default in the benchmarks' cache")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        found = judged(given.seed)
        print("\n".join(f"{name}: {words}" for name, words in found or []) or "nothing")
        return int(bool(found))
    blocks = run(given.first, given.count, given.file or harness.cache_folder() / "random_problems.jsonl")
    reported(blocks)
    return int(any(b["faults"] for b in blocks))


if __name__ == "__main__":
    sys.exit(main())

"""The gates of the rebuilt package: new poses, clips, many goals, calls, what seconds say, start-up; beside c3db658.

    python tools/regression_gates.py [--base DIR] [--rounds N] [GATE ...]

Both are measured in the same run, in turn, round after round, each in a process of its own (gates_work.py); times are
medians. Without --base the commit is taken from the repository into the cache (POISE_BENCH_CACHE), so that its kernels
are compiled once. Ends with 1 where a gate is not kept.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gates_work
import golden_rigs
import numpy as np
from benchmark_harness import harness
from start_up import NUMBA

import poise

HERE = Path(__file__).parent
BASE = "c3db658"
ROUNDS = 5
STARTS = 9  # rounds of fresh processes
LINES = {
    "new_poses": "1 new pose", "clips": "2 clip", "robot": "3 27 goals", "tracker": "3 tracker", "calls": "4 calls",
    "seconds": "5 seconds", "start": "6 start-up",
}  # fmt: skip
TEN, TENTH, TWICE, FIFTEENTH = 10.0, 0.1, 2.0, 1 / 15
TRACKER = {"Place": (1 / 30, 100.0), "Position": (TENTH, 100.0)}  # of the base; p99 [us]
CALLS = {"warm": 40, "first": 420}  # a tree packs what its kernel measures
APART = 0.2  # what Result.seconds may be off
IMPORT, FIRST = 0.06, 0.2  # [s] above NumPy and above Numba

_CLOCK = "\nimport time\nprint(time.process_time())"
_FIRST = f"""
import poise
arm = poise.load({str(golden_rigs.sample("arm.urdf"))!r})
tip = arm.skeleton.names[-1]
there = arm.rest.world[tip]
goal = poise.Place(tip, there.positions + [-0.05, 0.03, -0.04], there.rotations)
assert poise.solve(arm.rest, goal).reached
"""
_STARTS = {
    "numpy": "import numpy",
    "poise": "import poise",
    "names": "from poise import Position, Tracker, bake, load, prepare, solve",
    "numba": NUMBA,
    "bare numba": "import numba",
    "first": _FIRST,
}


class Side(NamedTuple):
    """What was measured with one Poise: times by name, a list for each round; and facts, true only if always."""

    times: dict[str, list[list[float]]]
    facts: dict[str, Any]

    def median(self, name: str) -> float:
        """The median of the rounds' medians; NaN for what was not measured."""
        return self._middle(name, 50.0)

    def slow(self, name: str) -> float:
        """The median of the rounds' 99th percentiles: a round that something else disturbed does not count."""
        return self._middle(name, 99.0)

    def _middle(self, name: str, percent: float) -> float:
        return float(np.median([np.percentile(one, percent) for one in self.times.get(name, [[np.nan]])]))


class Worker:
    """A process with one Poise that measures what it is asked for."""

    def __init__(self, checkout: Path) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else starting measures Python's own compiler
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "gates_work.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=self.environment,
        )  # fmt: skip

    def __call__(self, gate: str, round_: int) -> dict[str, Any]:
        """What it finds. RuntimeError where the process ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(gate, round_, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            message = f"the process that measures {gate!r} with {self.environment['PYTHONPATH']} failed"
            raise RuntimeError(message)
        return json.loads(line)

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def start(self) -> dict[str, float]:
        """Seconds of processor time of fresh processes."""
        spent: dict[str, float] = {}
        for name, code in _STARTS.items():
            done = subprocess.run(
                [sys.executable, "-c", code + _CLOCK],
                capture_output=True,
                text=True,
                check=False,
                env=self.environment,
            )
            if done.returncode:
                message = f"a fresh process failed: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
                raise RuntimeError(message)
            spent[name] = float(done.stdout.split()[-1])
        return spent


def base_checkout() -> Path:
    """The source of the commit that is compared with, in the cache. RuntimeError where the repository lacks it."""
    folder = harness.cache_folder() / f"poise-{BASE}"
    if not (folder / "src" / "poise").is_dir():
        command = ["git", "archive", BASE, "src"]
        done = subprocess.run(command, cwd=HERE.parent, capture_output=True, check=False)
        if done.returncode:
            message = f"{BASE} is not in this repository; give its checkout with --base DIR"
            raise RuntimeError(message)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder


@contextmanager
def workers(*checkouts: Path) -> Iterator[list[Worker]]:
    """A process for each checkout."""
    with ExitStack() as stack:
        made = [Worker(checkout) for checkout in checkouts]
        for worker in made:
            stack.callback(worker.close)
        yield made


def measured(gates: Sequence[str], checkouts: Sequence[Path], rounds: int) -> list[Side]:
    """Every gate with every checkout in turn; a first round is not counted, for it compiles."""
    sides = [Side({}, {}) for _ in checkouts]
    with workers(*checkouts) as made:
        for gate in gates:
            if gate == "start":
                _starts(made, sides)
                continue
            for round_ in range(-1, rounds):
                order = list(zip(made, sides, strict=True))
                for worker, side in order if round_ % 2 else order[::-1]:
                    found = worker(gate, max(round_, 0))
                    if "missing" in found:
                        print(f"{gate}: the test data lack {found['missing']}", file=sys.stderr)
                    elif round_ >= 0:
                        _keep(side, found)
    return sides


def _keep(side: Side, found: dict[str, Any]) -> None:
    for name, times in found["times"].items():
        side.times.setdefault(name, []).append(times)
    for name, fact in found["facts"].items():
        side.facts[name] = side.facts.get(name, True) and fact


def _starts(made: Sequence[Worker], sides: Sequence[Side]) -> None:
    for round_ in range(-1, STARTS):
        for worker, side in zip(made, sides, strict=True):
            for name, spent in worker.start().items():
                if round_ >= 0:
                    side.times.setdefault(f"start: {name}", []).append([spent])


def row(gate: str, what: str, now: float, base: float, requested: str, found: str, *, ok: bool) -> harness.Row:
    """A row of the table."""
    return {
        "gate": gate, "figure": what, "now": now, BASE: base, "ratio": now / base if base else float("nan"),
        "asked": requested, "found": found, "": "ok" if ok else "NOT OK",
    }  # fmt: skip


def new_poses(now: Side, base: Side) -> Iterator[harness.Row]:
    """solve() of a new pose beside what was prepared; prepared(target, start) beside what it was."""
    for label, _, solver in gates_work.REQUESTED:
        name = f"{label}, {solver}"
        fresh, quick = f"{name}: new pose", f"{name}: prepared"
        times, same = now.median(fresh) / now.median(quick), bool(now.facts.get(f"{name}: same bits"))
        reported = f"{times:.3g} times{'' if same else ', other bits'}"
        yield row(
            LINES["new_poses"], f"{name}: solve() [us]", now.median(fresh), base.median(fresh),
            f"<= {TEN:g} x prepared(), same bits", reported, ok=times <= TEN and same,
        )  # fmt: skip
        share = now.median(quick) / base.median(quick)
        requested = "<= 0.1 of base" if label == "figure" else "-"
        yield row(
            LINES["new_poses"], f"{name}: prepared(target, start) [us]", now.median(quick), base.median(quick),
            requested,
            f"{share:.2g} of base", ok=label != "figure" or share <= TENTH,
        )  # fmt: skip


def clips(now: Side, base: Side) -> Iterator[harness.Row]:
    """A clip whose hips move beside the same motion from BVH."""
    for solver in gates_work.CLIPS:
        for verb in ("bake()", "solve()"):
            glb, bvh = f"{solver}: {verb} of glb", f"{solver}: {verb} of bvh"
            times = now.median(glb) / now.median(bvh)
            same = all(now.facts.get(f"{solver}, {name}: same bits") for name in ("glb", "bvh"))
            yield row(
                LINES["clips"], f"{glb} [us a frame]", now.median(glb), base.median(glb),
                f"<= {TWICE:g} x bvh, bits of frame by frame", f"{times:.3g} times{'' if same else ', other bits'}",
                ok=times <= TWICE and same,
            )  # fmt: skip
            yield row(LINES["clips"], f"{bvh} [us a frame]", now.median(bvh), base.median(bvh), "-", "-", ok=True)


def robot(now: Side, base: Side) -> Iterator[harness.Row]:
    """Twenty-seven goals of a robot."""
    if "27 goals" not in now.times:
        return
    share, right = (
        now.median("27 goals") / base.median("27 goals"),
        now.facts["none reached"] and now.facts["goals"] == 27,
    )
    yield row(
        LINES["robot"], "27 goals on the G1, none reached [us]", now.median("27 goals"), base.median("27 goals"),
        "<= 1/15 of base", f"{share:.2g} of base", ok=share <= FIFTEENTH and bool(right),
    )  # fmt: skip


def tracker(now: Side, base: Side) -> Iterator[harness.Row]:
    """Steps of a tracker."""
    for kind, (most, slowest) in TRACKER.items():
        name = f"tracker step, {kind}"
        share, slow, lags = (
            now.median(name) / base.median(name),
            now.slow(name),
            bool(now.facts[f"tracker, {kind}: lags"]),
        )
        yield row(
            LINES["tracker"], f"{name} [us]", now.median(name), base.median(name), f"<= 1/{1 / most:g} of base",
            f"{share:.2g} of base", ok=share <= most and lags,
        )  # fmt: skip
        yield row(
            LINES["tracker"], f"{name}, p99 [us]", slow, base.slow(name), f"<= {slowest:g}", f"{slow:.3g}",
            ok=slow <= slowest,
        )  # fmt: skip


def calls(now: Side, base: Side) -> Iterator[harness.Row]:
    """Calls of Python functions inside poise."""
    for name, most in CALLS.items():
        count = now.median(name)
        yield row(
            LINES["calls"], f"solve() on a figure, {name} [calls]", count, base.median(name), f"<= {most}",
            f"{count:.0f}", ok=count <= most,
        )  # fmt: skip


def seconds(now: Side, base: Side) -> Iterator[harness.Row]:
    """Result.seconds beside a clock: the median call of each kind."""
    for label, _, solver in gates_work.REQUESTED:
        for kind in ("new pose", "batch", "prepared"):
            wall, reported = (f"{label}, {solver}, {kind}: {what}" for what in ("wall", "told"))
            share = now.median(reported) / now.median(wall)
            before = base.median(reported) / base.median(wall)
            yield row(
                LINES["seconds"], f"{label}, {solver}, {kind}: seconds / wall", share, before, "0.8 to 1.2",
                f"{share:.2g}", ok=abs(share - 1) <= APART,
            )  # fmt: skip


def start(now: Side, base: Side) -> Iterator[harness.Row]:
    """Processor time of fresh processes, above what NumPy and Numba need themselves."""
    for what, name, below, most in (
        ("import poise, above NumPy", "poise", "numpy", IMPORT),
        ("the names one solves with, above NumPy", "names", "numpy", None),
        ("first solve, above Numba made ready", "first", "numba", FIRST),
        ("first solve, above `import numba`", "first", "bare numba", None),
    ):
        above = [side.median(f"start: {name}") - side.median(f"start: {below}") for side in (now, base)]
        requested = "-" if most is None else f"<= {most:g}"
        yield row(
            LINES["start"],
            f"{what} [s of processor]",
            *above,
            requested,
            f"{above[0]:.2g}",
            ok=most is None or above[0] <= most,
        )


TABLES: dict[str, Callable[[Side, Side], Iterator[harness.Row]]] = {
    "new_poses": new_poses, "clips": clips, "robot": robot, "tracker": tracker, "calls": calls, "seconds": seconds,
    "start": start,
}  # fmt: skip


def main(gates: Sequence[str] = tuple(TABLES), base: Path | None = None, rounds: int = ROUNDS) -> int:
    """Measure, write the table, and say how many gates are not kept."""
    here = Path(poise.__file__).parent.parent.parent
    try:
        checkouts = [here, base or base_checkout()]
    except RuntimeError as error:
        return harness.exit_code(str(error))
    now, before = measured(gates, checkouts, rounds)
    rows = [line for gate in gates for line in TABLES[gate](now, before)]
    missed = [line for line in rows if line[""] != "ok"]
    note = (
        f"{len(rows) - len(missed)} of {len(rows)} rows are ok. Both were measured in turn in the same run, {rounds} "
        f"rounds ({STARTS} of fresh processes); medians of wall time, of processor time for start-up."
    )
    harness.report("regression_gates", f"Gates, beside {BASE}", rows, [note])
    return 1 if missed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gates", nargs="*", metavar="GATE", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--base", type=Path, metavar="DIR", help=f"a checkout of {BASE}")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    requested = parser.parse_args()
    if unknown := sorted(set(requested.gates) - set(TABLES)):
        parser.error(f"no gate {unknown[0]!r}; there are: {', '.join(TABLES)}")
    sys.exit(main(requested.gates or tuple(TABLES), requested.base, requested.rounds))

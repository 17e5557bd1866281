"""Small random faults put into the sources: and how many of them the tests see.

    python tools/mutations.py trace                which tests run which lines: once, an hour
    python tools/mutations.py run --workers 2      400 mutants, then results/mutations.md and .json
    python tools/mutations.py run --room ground    those of a room
    python tools/mutations.py trace --kernels compiled --tests tests/maths      after tests were added: those,
    python tools/mutations.py run --again survived maths/vectors.py               and what survived, once more
    python tools/mutations.py show KEY             the change as a diff

A mutant is one change of one expression (mutation/mutants.py), drawn with a fixed seed, so many from each room
(mutation/rooms.py). It is judged by those tests of its room that run the changed line, quickest first, for at most
60 seconds: it is killed by a test that fails, or when the tests hang that do not without it. A mutated kernel runs as
plain Python, with the tests that pass so. Everything is appended to files in the benchmarks' cache, so that a run that
was interrupted goes on where it stopped. Why a survivor may survive stands in mutation/reasons.toml.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmark_harness import harness
from mutation.mutants import Mutant
from mutation.rooms import ROOMS, Room, drawn, is_plain
from mutation.trial import FIRST, HERE, ROOT, Runner, Traces, copy_of, tried

PACKAGE = ROOT / "src" / "poise"
COUNT, SEED = 400, 1
LONGEST = {False: 20, True: 5}  # [s] of work of a test, with plain kernels or without; a longer one judges nothing
CASES = {False: 5, True: 1}  # of a test


def trace(scratch: Path, tests: Sequence[str], *, plain: bool, repeat: bool = False) -> None:
    """Run the tests of all rooms and note the lines that each runs."""
    package = copy_of(ROOT / "src", scratch)
    environment = os.environ | {
        "PYTHONPATH": f"{package.parent}{os.pathsep}{HERE.parent}",
        "MUTATION_SOURCE": str(package),
        "MUTATION_TRACE": str(trace_file(scratch, plain=plain)),
        "MUTATION_LONGEST": str(LONGEST[plain]),
        "MUTATION_CASES": str(CASES[plain]),
        "POISE_KERNELS": "plain" if plain else "",
    }
    if repeat:
        environment["MUTATION_REPEAT"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation.traced", *tests]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


def trace_file(scratch: Path, *, plain: bool) -> Path:
    return scratch / f"lines{'_plain' * plain}.jsonl"


def run(scratch: Path, wanted: Sequence[tuple[Room, Mutant]], file: Path, again: str | None, workers: int) -> None:
    """Try all mutants that the file does not have, or those whose outcome was `again`."""
    known = outcomes(file)
    left = [
        (room, mutant)
        for room, mutant in wanted
        if mutant.key not in known or (again is not None and known[mutant.key]["outcome"] == again)
    ]
    if not left:
        return
    random.Random(SEED).shuffle(left)  # noqa: S311  (the first ones are of all rooms, if the run is interrupted)
    began, done, survived = time.perf_counter(), 0, 0
    for plain in (False, True):
        some = [(room, mutant) for room, mutant in left if is_plain(mutant.path) is plain]
        if not some:
            continue
        if not trace_file(scratch, plain=plain).is_file():
            print("\nno trace yet: mutations.py trace", file=sys.stderr)
            return
        for row in rows_of(scratch, some, plain=plain, workers=workers):
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            done, survived = done + 1, survived + (row["outcome"] == "survived")
            bar, seconds = "#" * round(30 * done / len(left)), time.perf_counter() - began
            words = f"[{bar:30}] {done} of {len(left)}, {survived} survived, {seconds:.0f} s"
            print(f"\r{words}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def rows_of(
    scratch: Path, some: Sequence[tuple[Room, Mutant]], *, plain: bool, workers: int
) -> Iterator[dict[str, Any]]:
    """What became of each mutant, as they are done: every worker has a copy of the sources and takes the next one."""
    traces, queue = Traces(trace_file(scratch, plain=plain), PACKAGE), iter(some)
    lock = threading.Lock()
    done = SimpleQueue[dict[str, Any] | BaseException | None]()

    def work(folder: Path) -> None:
        try:
            copy_of(ROOT / "src", folder)
            with Runner(folder, plain=plain) as runner:
                runner.control(next(filter(None, (traces.chosen(room, mutant)[:FIRST] for room, mutant in some))))
                while True:
                    with lock:
                        pair = next(queue, None)
                    if pair is None:
                        break
                    done.put(tried(runner, *pair, traces))
            done.put(None)
        except BaseException as error:  # noqa: BLE001  (it is raised again below)
            done.put(error)

    for i in range(workers):
        threading.Thread(target=work, args=(scratch / f"worker{i}",), daemon=True).start()
    left = workers
    while left:
        row = done.get()
        if isinstance(row, BaseException):
            raise row
        if row is None:
            left -= 1
        else:
            yield row


def outcomes(file: Path) -> dict[str, dict[str, Any]]:
    """What is known of each mutant: the last word of the file."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    return {row["key"]: row for row in rows}


def reported(wanted: Sequence[tuple[Room, Mutant]], known: dict[str, dict[str, Any]]) -> str:
    """The table of rooms, and every survivor with its reason."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    tried_ = [(room, mutant) for room, mutant in wanted if mutant.key in known]
    alive = [(room, mutant) for room, mutant in tried_ if known[mutant.key]["outcome"] == "survived"]
    count, left = Counter(room.name for room, _ in tried_), Counter(room.name for room, _ in alive)
    rows = [
        {"room": r.name, "mutants": count[r.name], "killed": count[r.name] - left[r.name], "survived": left[r.name]}
        for r in ROOMS
    ]
    share = f" ({100 * len(alive) / len(tried_):.1f} %)" if tried_ else ""
    notes = [f"{len(tried_)} mutants of {len(wanted)}, {len(alive)} survived{share}."]
    survivors = [
        {
            "where": f"{m.path}:{m.line}",
            "was": f"`{short(m.old)}`" if m.old else "nothing",
            "is": f"`{short(m.new)}`" if m.new else "nothing",
            "reason": reasons.get(m.key, "?"),
        }
        for _, m in alive
    ]
    if survivors:
        notes.append(harness.table(survivors))
    notes.append("Each was judged by the tests of its room that run the changed line, at most 60 s.")
    return harness.report("mutations", "Mutations", rows, notes)


def short(text: str) -> str:
    """A piece of code in one row of a table."""
    words = " ".join(text.split()).replace("|", "\\|")
    return words if len(words) <= 60 else f"{words[:57]}..."


def shown(mutant: Mutant) -> str:
    """The change as a diff."""
    text = (PACKAGE / mutant.path).read_text(encoding="utf-8")
    old, new = text.splitlines(keepends=True), mutant.apply(text).splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, mutant.path, mutant.path, n=4))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("trace", "run", "report", "show"))
    parser.add_argument("key", nargs="?", default="", help="a part of a mutant's key: a file, a function, its sign")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--room", choices=[room.name for room in ROOMS])
    parser.add_argument("--again", choices=("survived", "killed"), help="try those with this outcome once more")
    parser.add_argument("--kernels", choices=("compiled", "plain"), help="trace with these only; by default with both")
    parser.add_argument("--tests", nargs="*", help="trace these tests only, and anew")
    parser.add_argument("--workers", type=int, default=1, help="mutants tried at once, each with sources of its own")
    parser.add_argument("--folder", type=Path, help="where traces and outcomes are kept; by default in the cache")
    given = parser.parse_intermixed_args(arguments)
    scratch = given.folder or harness.cache_folder() / "mutations"
    scratch.mkdir(parents=True, exist_ok=True)
    if given.what == "trace":
        for plain in {None: (False, True), "compiled": (False,), "plain": (True,)}[given.kernels]:
            tests = dict.fromkeys(test for r in ROOMS if r.plain >= plain for test in r.tests)
            trace(scratch, given.tests or list(tests), plain=plain, repeat=bool(given.tests))
        return 0
    everything = drawn(PACKAGE, given.count, given.seed)
    if given.what == "show":
        print("\n".join(shown(m) for _, m in everything if given.key in m.key))
        return 0
    wanted = [
        (room, m) for room, m in everything if given.key in m.key and (given.room is None or room.name == given.room)
    ]
    file = scratch / "outcomes.jsonl"
    if given.what == "run":
        run(scratch, wanted, file, given.again, given.workers)
    reported(everything, outcomes(file))
    return 0


if __name__ == "__main__":
    sys.exit(main())

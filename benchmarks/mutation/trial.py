"""One trial: a copy of the sources with one file changed, and the tests that meet the change."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .mutants import Mutant
from .rooms import Room, is_plain

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 60.0  # [s] of one trial
BUDGET = 40.0  # [s] that the tests of one trial took when nothing was changed; the rest is for starting and slowness
FIRST = 12  # so many of the quickest tests come before those of whole files
NAME = re.compile(r"[A-Za-z_]\w*")


class Traces:
    """Which tests run a line, and how long they take: what `traced.py` wrote."""

    def __init__(self, file: Path, package: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.package = package
        for text in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            row = json.loads(text)
            self.seconds[row["test"]] = row["seconds"]
            for path, lines in row["lines"].items():
                for line in lines:
                    self.tests[path, line].append(row["test"])

    def meeting(self, mutant: Mutant) -> set[str]:
        """The tests that run a changed line; for what is worked out on import, those that run a line with its name."""
        found = set[str]()
        if not mutant.names:
            found = self._of(mutant.path, range(mutant.lines[0], mutant.lines[1] + 1))
            if not found and mutant.function:
                found = self._of(mutant.path, range(mutant.function[0], mutant.function[1] + 1))
        for path in sorted(self.package.rglob("*.py")) if mutant.names else ():
            rows = path.read_text(encoding="utf-8").splitlines()
            where = [i + 1 for i, row in enumerate(rows) if not set(mutant.names).isdisjoint(NAME.findall(row))]
            found |= self._of(path.relative_to(self.package).as_posix(), where)
        if not found:
            count = (self.package / mutant.path).read_text(encoding="utf-8").count("\n")
            found = self._of(mutant.path, range(1, count + 2))
        return found

    def _of(self, path: str, lines: Sequence[int]) -> set[str]:
        return {test for line in lines for test in self.tests.get((path, line), ())}

    def chosen(self, room: Room, mutant: Mutant) -> list[str]:
        """Tests of the room that meet a mutant: the quickest, then the rest file by file, as far as the time goes."""
        own = [test for test in self.meeting(mutant) if test.startswith(room.tests)]
        own.sort(
            key=lambda test: (not test.startswith(room.tests[0]), self.seconds[test] > 1, self.seconds[test], test)
        )
        quick, kept, left = own[:FIRST], [], BUDGET
        for test in sorted(own, key=lambda test: (self.seconds[test], test)):
            left -= self.seconds[test] + 0.002
            if left > 0:
                kept.append(test)
        files: dict[str, float] = defaultdict(float)
        for test in kept:
            files[test.split("::")[0]] += self.seconds[test]
        quick = [test for test in quick if test in set(kept)]
        first = set(quick)
        rest = [test for test in kept if test not in first]
        rest.sort(
            key=lambda test: (not test.startswith(room.tests[0]), files[test.split("::")[0]], test.split("::")[0])
        )
        return quick + rest


def run(scratch: Path, tests: Sequence[str], *, plain: bool, limit: float = LIMIT) -> tuple[str, float, str]:
    """Run tests with the sources in `scratch/src`: passed, failed or hangs; the seconds; the last lines."""
    chosen = scratch / "chosen.json"
    chosen.write_text(json.dumps(list(tests)))
    environment = os.environ | {
        "PYTHONPATH": f"{scratch / 'src'}{os.pathsep}{HERE.parent}",
        "MUTATION_TESTS": str(chosen),
        "NUMBA_DISABLE_JIT": str(int(plain)),
        "CI": "1",  # the same examples every time
    }
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutation.chosen", *files]
    began = time.perf_counter()
    with (scratch / "output.txt").open("w+") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.perf_counter() - began
        out.seek(0)
        words = out.read()
    if process.returncode == -signal.SIGKILL:
        return "hangs", seconds, words[-2000:]
    if process.returncode == 0 and f"package {scratch / 'src'}" not in words:
        raise RuntimeError(f"other sources were tested:\n{words[-2000:]}")
    return ("passed" if process.returncode == 0 else "failed"), seconds, words[-4000:]


def copy_of(source: Path, scratch: Path) -> Path:
    """The sources with their compiled kernels, copied; the package in there."""
    shutil.copytree(source, scratch / "src", dirs_exist_ok=True, copy_function=shutil.copy2)
    return scratch / "src" / "poise"


def tried(scratch: Path, room: Room, mutant: Mutant, traces: Traces, limit: float = LIMIT) -> dict[str, Any]:
    """Change one file, run what meets the change, and put the file back."""
    file, plain = scratch / "src" / "poise" / mutant.path, is_plain(mutant.path)
    tests, before = traces.chosen(room, mutant), file.stat()
    text = file.read_text(encoding="utf-8")
    row: dict[str, Any] = {"room": room.name, "key": mutant.key, "plain": plain, "tests": len(tests)}
    if not tests:
        return row | {"outcome": "survived", "seconds": 0.0, "by": "no test of the room runs this line"}
    try:
        file.write_text(mutant.apply(text), encoding="utf-8")
        forget(file)
        outcome, seconds, words = run(scratch, tests, plain=plain, limit=limit)
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        forget(file)
    if outcome == "hangs" and run(scratch, tests, plain=plain, limit=limit)[0] != "passed":
        outcome = "passed"  # as slow without the change: this trial says nothing
        words = "the tests take too long without the change, too"
    by = next((line for line in words.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    by = {"passed": words if words.startswith("the tests") else "", "hangs": "it hangs"}.get(
        outcome, by or words[-300:]
    )
    return row | {
        "outcome": "survived" if outcome == "passed" else "killed",
        "seconds": round(seconds, 1),
        "by": by[:300],
    }


def forget(file: Path) -> None:
    """Take away what Python compiled of a file: two versions of one second and size would be mixed up."""
    for made in file.parent.glob(f"__pycache__/{file.stem}.cpython-*.pyc"):
        made.unlink()

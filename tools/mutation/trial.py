"""One trial: a copy of the sources with one file changed, and the tests that meet the change."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from .mutants import Mutant
from .rooms import Room

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 60.0  # [s] of one trial
BUDGET = 30.0  # [s] that the tests of one trial took when nothing was changed; the rest is for starting and slowness
FIRST = 12  # so many of the quickest tests come before those of whole files
NAME = re.compile(r"[A-Za-z_]\w*")


class Traces:
    """Which tests run a line, and how long they take: what `traced.py` wrote."""

    def __init__(self, file: Path, package: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.package = package
        rows = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
        for row in {row["test"]: row for row in rows}.values():
            self.seconds[row["test"]] = row["seconds"]
            for path, lines in row["lines"].items():
                for line in lines:
                    self.tests[path, line].append(row["test"])

    def meeting(self, mutant: Mutant) -> set[str]:
        """The tests that run a changed line; for what is worked out on import, those that run a line with its name.

        What runs in processes of its own leaves no trace: then those that run any line of its folder.
        """
        found = set[str]()
        if not mutant.names:
            found = self._of(mutant.path, range(mutant.lines[0], mutant.lines[1] + 1))
            if not found and mutant.function:
                found = self._of(mutant.path, range(mutant.function[0], mutant.function[1] + 1))
        for path in sorted(self.package.rglob("*.py")) if mutant.names else ():
            rows = path.read_text(encoding="utf-8").splitlines()
            where = [i + 1 for i, row in enumerate(rows) if not set(mutant.names).isdisjoint(NAME.findall(row))]
            found |= self._of(path.relative_to(self.package).as_posix(), where)
        return found or self._under(mutant.path) or self._under(mutant.path.rpartition("/")[0] + "/")

    def _under(self, place: str) -> set[str]:
        """Those that run any line of a file, or of the files of a folder."""
        return {test for (path, _), tests in self.tests.items() if path.startswith(place) for test in tests}

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


class Runner:
    """Runs tests with the sources in `scratch/src`, with compiled kernels or with plain ones."""

    def __init__(self, scratch: Path, *, plain: bool, limit: float = LIMIT) -> None:
        self.scratch, self.plain, self.limit = scratch, plain, limit
        environment = os.environ | {
            "PYTHONPATH": f"{scratch / 'src'}{os.pathsep}{HERE.parent}",
            "PYTHONUNBUFFERED": "1",
            "MUTATION_TESTS": str(scratch / "chosen.json"),
            "POISE_KERNELS": "plain" if plain else "",
            "CI": "1",  # the same examples every time
        }
        command = [sys.executable, "-m", "mutation.server"]
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.communicate()

    def run(self, tests: Sequence[str]) -> tuple[str, float, str]:
        """What became of them: passed, failed, hangs or crashes; the seconds; the words."""
        (self.scratch / "chosen.json").write_text(json.dumps(list(tests)))
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "mutation.chosen", *files]
        output, began = self.scratch / "output.txt", time.perf_counter()
        requested = {"arguments": arguments, "output": str(output), "limit": self.limit}
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(requested) + "\n")
        self.server.stdin.flush()
        code = json.loads(self.server.stdout.readline())
        seconds, words = time.perf_counter() - began, output.read_text(encoding="utf-8", errors="replace")
        if code == 0 and f"package {self.scratch / 'src'}" not in words:
            raise RuntimeError(f"other sources were tested:\n{words[-2000:]}")
        if code is not None and code < 0:
            return "crashes", seconds, words
        if code not in {None, 0} and not blamed(words):  # a test has to fail, not the machinery
            raise RuntimeError(f"pytest ended with {code}, and no test failed:\n{words[-2000:]}")
        return {None: "hangs", 0: "passed"}.get(code, "failed"), seconds, words

    def control(self, tests: Sequence[str]) -> None:
        """Tests have to pass while nothing is changed, else a trial says nothing."""
        if (outcome := self.run(tests))[0] != "passed":
            raise RuntimeError(f"nothing is changed, but the tests end with {outcome[0]}:\n{outcome[2][-2000:]}")


def blamed(words: str) -> str:
    """The line that names the test that failed, or the file that could not be imported."""
    return next((line for line in words.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))), "")


def copy_of(source: Path, scratch: Path) -> Path:
    """The sources with their compiled kernels, copied; the package in there."""
    shutil.copytree(source, scratch / "src", dirs_exist_ok=True, copy_function=shutil.copy2)
    return scratch / "src" / "poise"


def tried(runner: Runner, room: Room, mutant: Mutant, traces: Traces) -> dict[str, Any]:
    """Change one file, run what meets the change, and put the file back."""
    file, tests = runner.scratch / "src" / "poise" / mutant.path, traces.chosen(room, mutant)
    text, before = file.read_text(encoding="utf-8"), file.stat()
    row: dict[str, Any] = {"room": room.name, "key": mutant.key, "plain": runner.plain, "tests": len(tests)}
    if not tests:
        return row | {"outcome": "survived", "seconds": 0.0, "by": "no test of the room runs this line"}
    try:
        file.write_text(mutant.apply(text), encoding="utf-8")
        forget(file)
        outcome, seconds, words = runner.run(tests[:FIRST])  # most mutants fall here, before other files are imported
        if outcome == "passed" and len(tests) > FIRST:
            outcome, more, words = runner.run(tests[FIRST:])
            seconds += more
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        forget(file)
    by = blamed(words)
    if outcome in {"hangs", "crashes"}:
        by = f"it {outcome}"
        control, spent, _ = runner.run(tests)
        if control != "passed" or spent > LIMIT / 2:
            outcome, by = "passed", f"it {outcome} without the change, too, or nearly so"
    outcome = "survived" if outcome == "passed" else "killed"
    return row | {"outcome": outcome, "seconds": round(seconds, 1), "by": by[:300]}


def forget(file: Path) -> None:
    """Take away what Python compiled of a file: two versions of one second and size would be mixed up."""
    for made in file.parent.glob(f"__pycache__/{file.stem}.cpython-*.pyc"):
        made.unlink()

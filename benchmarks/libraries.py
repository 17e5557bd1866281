"""A library of clips by `poise lock`: with one process, with two, and killed ten times while it runs.

Every clip is a walk of its own. What counts: the same bytes from every run, no file lost or told twice, memory that
does not grow with the number of files, and two processes that are nearly twice as fast as one.

    python benchmarks/libraries.py [JOBS]
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np

import poise
from poise.io import samples

JOBS, KILLS, SHARE = 2500, 10, 5
FRAMES = 90


class Ran(NamedTuple):
    """What a run took: wall clock and processor time of all its processes [s], the largest of them [MB]."""

    seconds: float
    work: float
    largest: float


def library(folder: Path, jobs: int) -> Path:
    """Make the clips: the sample's walk, at another pace and another length each."""
    folder.mkdir()
    clip = poise.load(samples.path("humanoid.bvh")).clips[0]
    for i in range(jobs):
        times = np.linspace(0.0, clip.duration, FRAMES + i % 50)
        poise.save(poise.Clip.at_rate(clip.at(times), 60.0 + i % 7), folder / f"{i:05}.bvh")
    return folder


def begun(clips: Path, out: Path, processes: int) -> subprocess.Popen[bytes]:
    """Start a run."""
    command = [sys.executable, "-m", "poise", "lock", str(clips), "-o", str(out), "--processes", str(processes)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ended(process: subprocess.Popen[bytes], began: float) -> Ran:
    """Wait for the end of a run that is not disturbed."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"poise lock ended with {process.returncode}"
        raise RuntimeError(message)
    return Ran(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def quiet(clips: Path, out: Path, processes: int) -> Ran:
    """A run from its start to its end."""
    began = time.perf_counter()
    return ended(begun(clips, out, processes), began)


def killed(clips: Path, out: Path, kills: int, jobs: int) -> tuple[int, Ran]:
    """A run that is killed again and again, each time after some more files; how often it was, and its last part."""
    chosen = np.random.default_rng(3)
    count = 0
    for k in range(kills):
        wanted = (k + chosen.uniform(0.3, 0.9)) * jobs / kills
        process = begun(clips, out, 2)
        while process.poll() is None and len(list(out.glob("[0-9]*.bvh"))) < wanted:
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            count += 1
    return count, quiet(clips, out, 2)


def contents(out: Path) -> dict[str, bytes]:
    """Every new file, and the table without the folder's own name."""
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    return {name: data.replace(str(out).encode(), b"OUT") for name, data in files.items()}


def rows_of(out: Path) -> list[dict[str, str]]:
    """The rows of the table."""
    return list(csv.DictReader((out / "poise-lock.csv").read_text(encoding="utf-8").splitlines()))


def main(jobs: int = JOBS, kills: int = KILLS) -> int:
    """Run everything and write the table; 1 where a run gave other bytes, or lost a file."""
    poise.warmup("feet")
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        clips, few = library(top / "clips", jobs), library(top / "few", jobs // SHARE)
        ran = {
            f"two processes, {jobs // SHARE} files": quiet(few, top / "less", 2),
            "one process": quiet(clips, top / "one", 1),
            "two processes": quiet(clips, top / "two", 2),
        }
        count, last = killed(clips, top / "killed", kills, jobs)
        ran[f"two processes, the last part after {count} kills"] = last
        first = contents(top / "one")
        same = [contents(top / name) == first for name in ("two", "killed")]
        names = [row["file"] for row in rows_of(top / "killed")]
        whole = len(names) == len(set(names)) == jobs
    _report(jobs, ran, same=all(same), whole=whole)
    return 0 if all(same) and whole else 1


def _report(jobs: int, ran: dict[str, Ran], *, same: bool, whole: bool) -> None:
    table = [
        {"run": name, "wall clock [s]": one.seconds, "processor [s]": one.work, "largest process [MB]": one.largest}
        for name, one in ran.items()
    ]
    pace = ran["one process"].seconds / ran["two processes"].seconds
    load = os.getloadavg()[1]
    clips = (
        f"{jobs} clips of {FRAMES} to {FRAMES + 49} frames by `poise lock`. Two processes were {pace:.2f} times as "
        f"fast as one by the wall clock; {load:.1f} processes wanted the {os.cpu_count()} cores meanwhile, these among "
        "them."
    )
    kept = (
        f"The same bytes from all runs: {'yes' if same else 'no'}. Every file once in the table after the kills: "
        f"{'yes' if whole else 'no'}."
    )
    notes = [clips, kept]
    harness.report("libraries", "Whole libraries", table, notes)


def _counts(words: Sequence[str]) -> list[int]:
    return [int(word) for word in words]


if __name__ == "__main__":
    sys.exit(main(*_counts(sys.argv[1:])))

"""A library of clips by `poise convert` and `poise plant`: with one process, with two, and killed ten times meanwhile.

The clips are parts of those of the test data (POISE_DATA), of other paces and lengths each. What counts: the same bytes
from every run, no file lost or told twice, memory that does not grow with the number of files, and two processes that
are nearly twice as fast as one.

    python benchmarks/libraries.py [JOBS [KILLS]]
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np

import poise
from poise.io import samples

JOBS, KILLS, SHARE = 2500, 10, 5
VERBS = {"convert": ("--format", "glb"), "plant": ("--terrain", "slope:5")}
SOURCES, FROM_ONE, SHORTEST = 40, 12, 24  # clips that the library is made of; of one file at most; frames at least
FRAMES, SPREAD = 120, 100  # a clip of the library has at least so many, and fewer than so many more
KINDS = ("bvh/*.bvh", "bvh/rest/*.bvh", "fbx/*.fbx", "glb/*.glb", "glb/*.vrm")


class Ran(NamedTuple):
    """What a run took: wall clock and processor time of all its processes [s], the largest of them [MB]."""

    seconds: float
    work: float
    largest: float


def usable(path: Path, tried: Path) -> Iterator[poise.Clip]:
    """The clips of a file that can be planted and be written as BVH."""
    try:
        rig = poise.load(path)
    except poise.PoiseError:
        return  # a file that needs the library of an extra
    found = 0
    for clip in rig.clips:
        if found < FROM_ONE and len(clip) >= SHORTEST:
            try:
                poise.save(part_of(clip, 0), tried)
                written = poise.load(tried)
                poise.save(poise.plant_feet(written.clips[0], poise.Terrain.slope(5.0)), tried, like=written)
            except poise.PoiseError:
                continue  # a hand, a dance that never stands, a joint that is stretched along one axis
            found += 1
            yield clip


def sources(tried: Path) -> list[poise.Clip]:
    """The clips that the library is made of: those of the test data, the sample's where there are none."""
    data = harness.data_folder()
    files = [path for kind in KINDS for path in sorted(data.glob(kind) if data else ())] or [
        samples.path("humanoid.bvh")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        return [clip for path in files for clip in usable(path, tried)][:SOURCES]


def part_of(clip: poise.Clip, i: int) -> poise.Clip:
    """The i-th variant of a clip: a part of it, at another pace and another length."""
    frames, longest = FRAMES + i % SPREAD, 3.0
    begin = max(clip.duration - longest, 0.0) * (i * 0.381 % 1.0)
    times = np.linspace(begin, min(begin + longest, clip.duration), frames)
    return poise.Clip.at_rate(clip.at(times), 60.0 + i % 7)


def library(folder: Path, clips: Sequence[poise.Clip], files: int) -> Path:
    """Make the files."""
    folder.mkdir()
    for i in range(files):
        poise.save(part_of(clips[i % len(clips)], i), folder / f"{i:05}.bvh")
    return folder


def begun(verb: str, clips: Path, out: Path, processes: int) -> subprocess.Popen[bytes]:
    """Start a run."""
    command = [sys.executable, "-m", "poise", verb, str(clips), *VERBS[verb], "-o", str(out)]
    command += ["--processes", str(processes)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ended(process: subprocess.Popen[bytes], began: float) -> Ran:
    """Wait for the end of a run that is not disturbed."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"a run ended with {process.returncode}"
        raise RuntimeError(message)
    return Ran(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def quiet(verb: str, clips: Path, out: Path, processes: int) -> Ran:
    """A run from its start to its end."""
    began = time.perf_counter()
    return ended(begun(verb, clips, out, processes), began)


def killed(verb: str, clips: Path, out: Path, kills: int, files: int) -> tuple[int, Ran]:
    """A run that is killed again and again, each time after some more files; how often it was, and its last part."""
    chosen = np.random.default_rng(3)
    count = 0
    for k in range(kills):
        wanted = (k + chosen.uniform(0.3, 0.9)) * files / kills
        process = begun(verb, clips, out, 2)
        while process.poll() is None and len(list(out.glob("[0-9]*.*"))) < wanted:
            time.sleep(0.05)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            count += 1
    return count, quiet(verb, clips, out, 2)


def contents(out: Path) -> dict[str, bytes]:
    """Every new file, and the table without the folder's own name."""
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    return {name: data.replace(str(out).encode(), b"OUT") for name, data in files.items()}


def rows_of(out: Path, verb: str) -> list[dict[str, str]]:
    """The rows of the table."""
    return list(csv.DictReader((out / f"poise-{verb}.csv").read_text(encoding="utf-8").splitlines()))


def measured(top: Path, verb: str, clips: Path, few: Path, kills: int) -> tuple[dict[str, Ran], bool, bool]:
    """All runs of a verb; whether their bytes are the same, and whether every file is once in the table."""
    files = len(list(clips.iterdir()))
    ran = {
        f"two processes, {files // SHARE} files": quiet(verb, few, top / "less", 2),
        "one process": quiet(verb, clips, top / "one", 1),
        "two processes": quiet(verb, clips, top / "two", 2),
    }
    count, last = killed(verb, clips, top / "killed", kills, files)
    ran[f"two processes, the last part after {count} kills"] = last
    first = contents(top / "one")
    same = [contents(top / name) == first for name in ("two", "killed")]
    names = [row["file"] for row in rows_of(top / "killed", verb)]
    return ran, all(same), len(names) == len(set(names)) == files


def main(jobs: int = JOBS, kills: int = KILLS) -> int:
    """Run everything and write the table; 1 where a run gave other bytes, or lost a file."""
    poise.warmup("feet")
    files, table, right = jobs // len(VERBS), [], True
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        made = sources(top / "tried.bvh")
        notes = [f"{files} files for each command, parts of {len(made)} clips."]
        clips, few = library(top / "clips", made, files), library(top / "few", made, files // SHARE)
        for verb in VERBS:
            (top / verb).mkdir()
            ran, same, whole = measured(top / verb, verb, clips, few, kills)
            table += _rows(verb, ran)
            notes.append(_reported(verb, ran, same=same, whole=whole))
            right = right and same and whole
    harness.report("libraries", "Whole libraries", table, notes)
    return 0 if right else 1


def _rows(verb: str, ran: dict[str, Ran]) -> list[dict[str, object]]:
    return [
        {
            "command": verb, "run": name, "wall clock [s]": one.seconds, "processor [s]": one.work,
            "largest process [MB]": one.largest,
        }
        for name, one in ran.items()
    ]  # fmt: skip


def _reported(verb: str, ran: dict[str, Ran], *, same: bool, whole: bool) -> str:
    pace = ran["one process"].seconds / ran["two processes"].seconds
    return (
        f"{verb}: two processes were {pace:.2f} times as fast as one by the wall clock, with "
        f"{os.getloadavg()[1]:.1f} processes on {os.cpu_count()} cores at the end, these among them; the same bytes "
        f"from all runs: {'yes' if same else 'no'}; every file once in the table after the kills: "
        f"{'yes' if whole else 'no'}."
    )


def _counts(words: Sequence[str]) -> list[int]:
    return [int(word) for word in words]


if __name__ == "__main__":
    sys.exit(main(*_counts(sys.argv[1:])))

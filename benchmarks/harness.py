"""What the benchmarks share: where data and caches are, percentiles, tables, results as Markdown and JSON."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE / "results"
Row = dict[str, Any]


def data_folder() -> Path | None:
    """Folder of the test data (POISE_DATA), else what fetch_data.py has fetched, or None."""
    if "POISE_DATA" in os.environ:
        folders = [Path(os.environ["POISE_DATA"])]
    else:
        folders = [HERE.parent.parent / "shared" / "data", fetched_folder()]
    return next((folder for folder in folders if folder.is_dir()), None)


def fetched_folder() -> Path:
    """Folder that fetch_data.py fills."""
    return cache_folder() / "data"


def cache_folder() -> Path:
    """Where peers are installed and compiled: POISE_BENCH_CACHE, by default ~/.cache/poise-benchmarks."""
    folder = Path(os.environ.get("POISE_BENCH_CACHE", Path.home() / ".cache" / "poise-benchmarks"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Run once; return the answer and the seconds it took."""
    began = time.perf_counter()
    answer = action()
    return answer, time.perf_counter() - began


def worked(action: Callable[[], Any]) -> tuple[Any, float]:
    """Run once; return the answer and the seconds of processor time that all threads of this process took."""
    began = time.process_time()
    answer = action()
    return answer, time.process_time() - began


def quickest(action: Callable[[], Any], runs: int = 3, enough: float = 3.0) -> tuple[Any, float]:
    """The answer of the first of several runs and the least processor time; no more runs once `enough` seconds went."""
    answer, least = worked(action)
    spent = least
    for _ in range(runs - 1):
        if spent > enough:
            break
        seconds = worked(action)[1]
        least, spent = min(least, seconds), spent + seconds
    return answer, least


def spread(seconds: Sequence[float] | np.ndarray, unit: float) -> tuple[float, float]:
    """Median and 99th percentile of times, in the unit (1e-6: microseconds)."""
    scaled = np.asarray(seconds, dtype=np.float64) / unit
    return float(np.median(scaled)), float(np.percentile(scaled, 99))


def table(rows: Sequence[Row]) -> str:
    """Format rows with the same keys as a Markdown table; numbers get three significant digits."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join("---" for _ in heads) + "|"]
    lines += ["| " + " | ".join(_cell(row[head]) for head in heads) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def report(name: str, title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """Print a table and write it to results/NAME.md and results/NAME.json; return the Markdown."""
    text = "\n\n".join([f"## {title}", *([table(rows)] if rows else []), *notes]) + "\n"
    print(text, flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    document = {"title": title, "machine": machine(), "rows": list(rows), "notes": list(notes)}
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return text


def machine() -> dict[str, str]:
    """Name what the figures depend on: processor, versions."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    packages = {name: version(name) for name in ("numpy", "numba")}
    return {"cpu": cpu, "cores": str(os.cpu_count()), "python": platform.python_version(), **packages}


def compiled(source: Path, compiler: str | Path, flags: Sequence[str]) -> ctypes.CDLL:
    """A shared library of a C++ source, compiled into the cache once per source, compiler, flags and processor.

    Linked without -ffast-math: with it, g++ adds a start-up routine that makes the whole process flush small numbers.
    Raises RuntimeError where it cannot be compiled.
    """
    words = " ".join([str(compiler), *flags, machine()["cpu"]])
    stamp = hashlib.sha256(source.read_bytes() + words.encode()).hexdigest()[:16]
    library = cache_folder() / f"{source.stem}-{stamp}.so"
    if not library.is_file():
        thing = library.with_suffix(".o")
        steps = [[*flags, "-c", str(source), "-o", str(thing)], ["-shared", str(thing), "-o", str(library)]]
        for step in steps:
            done = subprocess.run([str(compiler), *step], capture_output=True, text=True, check=False)
            if done.returncode:
                message = f"{Path(compiler).name} could not compile {source.name}: {done.stderr[-500:]}"
                raise RuntimeError(message)
    return ctypes.CDLL(str(library))


def compiler() -> str:
    """The C++ compiler of the machine; RuntimeError where there is none."""
    found = shutil.which("g++") or shutil.which("clang++")
    if not found:
        message = "no C++ compiler (g++ or clang++) is here, so there is no baseline to compare with"
        raise RuntimeError(message)
    return found


def npm_package(name: str, release: str) -> Path:
    """Folder holding node_modules with an npm package, installed into the cache on first use.

    Raises RuntimeError with a sentence where node or npm are missing or the installation fails.
    """
    folder = cache_folder() / f"npm-{name}-{release}"
    if not (folder / "node_modules" / name).is_dir():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        command = ["npm", "install", f"{name}@{release}", "--no-audit", "--no-fund"]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            message = f"cannot install {name} with npm: {error}"
            raise RuntimeError(message) from error
    return folder


def exit_code(sentence: str) -> int:
    """Say why a benchmark was skipped; skipping is no failure."""
    print(sentence, file=sys.stderr)
    return 0

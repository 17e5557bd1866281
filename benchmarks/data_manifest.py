"""Files and requirements of the benchmarks: what stands in manifest.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

MANIFEST = Path(__file__).parent / "manifest.toml"
_MEGABYTE = 1e6


class DataFile(NamedTuple):
    """A file of the test data. `source` is empty where it cannot be had, and `lacks` says why."""

    name: str
    source: str
    licence: str
    sha256: str
    size: int
    lacks: str


class Benchmark(NamedTuple):
    """A benchmark or measuring tool: its question, patterns of its files, other requirements, commands."""

    name: str
    question: str
    files: tuple[str, ...]
    requires: tuple[str, ...]
    commands: tuple[str, ...]


@cache
def read_files() -> tuple[DataFile, ...]:
    """Read every file of the manifest."""
    return tuple(
        DataFile(row["name"], row.get("from", ""), row["licence"], row["sha256"], row["size"], row.get("lacks", ""))
        for row in _read()["file"]
    )


@cache
def read_benchmarks() -> dict[str, Benchmark]:
    """Read every benchmark, by its name."""
    return {row["name"]: _read_benchmark(row) for row in _read()["benchmark"]}


def _read_benchmark(row: dict) -> Benchmark:
    name, commands = row["name"], row.get("commands", (f"python benchmarks/run.py {row['name']}",))
    return Benchmark(name, row["question"], tuple(row["files"]), tuple(row["requires"]), tuple(commands))


@cache
def _read() -> dict[str, list[dict]]:
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def select_files(patterns: Sequence[str]) -> list[DataFile]:
    """Select the files whose names match a pattern. A star does not match a slash."""
    return [file for file in read_files() if any(_matches(file.name, pattern) for pattern in patterns)]


def _matches(name: str, pattern: str) -> bool:
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def is_repeatable(name: str) -> bool:
    """Say whether anyone can have everything that a benchmark reads."""
    return not any(file.lacks for file in select_files(read_benchmarks()[name].files))


def find_absent(name: str, folder: Path | None) -> list[DataFile]:
    """Find the files of a benchmark that can be had and are not in the folder of test data."""
    files = select_files(read_benchmarks()[name].files)
    return [file for file in files if not file.lacks and not (folder and (folder / file.name).is_file())]


def describe_short(name: str) -> str:
    """Describe in a few words who can repeat a benchmark."""
    benchmark = read_benchmarks()[name]
    files = select_files(benchmark.files)
    lacking = sum(bool(file.lacks) for file in files)
    needs = [*benchmark.requires]
    if len(files) > lacking:
        needs.insert(0, "`fetch_data.py`")
    text = "anyone" + (f"; needs {', '.join(needs)}" if needs else "")
    return text if not lacking else f"in part: lacks {lacking} of {len(files)} files" + _join_needs(needs)


def _join_needs(needs: Sequence[str]) -> str:
    return f"; needs {', '.join(needs)}" if needs else ""


def describe(name: str) -> str:
    """Describe in Markdown who can repeat a benchmark, and how."""
    benchmark = read_benchmarks()[name]
    files = select_files(benchmark.files)
    lacking = [file for file in files if file.lacks]
    found = [file for file in files if not file.lacks]
    parts = ["**Repeatable in part.**" if lacking else "**Repeatable by anyone.**"]
    if benchmark.requires:
        parts.append(f"It needs {', '.join(benchmark.requires)}.")
    if found:
        made = [file for file in found if file.source == "made"]
        megabytes = sum(file.size for file in found) / _MEGABYTE
        some = "1 file" if len(found) == 1 else f"{len(found)} files"
        parts.append(f"`python benchmarks/fetch_data.py {name}` gets {some} ({megabytes:.2g} MB).")
        if any(file.name.startswith("chain10/") for file in made):
            parts.append("The targets are another draw of the same sets than those of this table.")
    if lacking:
        parts.append(f"It lacks {len(lacking)} of {len(files)} files: {'; '.join(_describe_lacks(lacking))}.")
    if not benchmark.requires and not files:
        parts.append("It needs only Poise.")
    return " ".join(parts)


def _describe_lacks(files: Sequence[DataFile]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for file in files:
        reasons.setdefault(file.lacks, []).append(f"`{file.name}`")
    return [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]

"""Files of five packages on PyPI: each loads, or is refused with the reason that the format's own library gives.

    python benchmarks/package_files.py                        fetches 400 MB of wheels, unpacks 1.2 GB; some minutes
    python benchmarks/package_files.py --wheels FOLDER        with wheels that are there already
    python benchmarks/package_files.py --only 'robosuite/*'

Every URDF, MJCF, USD and glTF file of the wheels is read by Poise and by a library of its format: MuJoCo, Pinocchio,
usd-core, trimesh. The wheels are fetched as files; nothing of them is installed or run. An `.xml` file is MJCF where
its root element is <mujoco> or <mujocoinclude>. What a wheel does not ship does not count.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import harness

PACKAGES = (  # the versions that were newest in November 2026
    "robosuite==1.5.2", "gymnasium-robotics==1.4.2", "genesis-world==1.4.5", "example-robot-data==6.0.0",
    "newton==1.8.0",
)  # fmt: skip
ORACLES = {"URDF": "Pinocchio", "MJCF": "MuJoCo", "USD": "usd-core", "glTF": "trimesh"}
SUFFIXES = {
    ".urdf": "URDF", ".usd": "USD", ".usda": "USD", ".usdc": "USD", ".usdz": "USD", ".gltf": "glTF", ".glb": "glTF",
    ".mjcf": "MJCF",
}  # fmt: skip
SECONDS = 60  # a file may take; the largest takes 4
_ROOT = re.compile(rb"<([A-Za-z_][\w:.-]*)")
_ASIDE = re.compile(rb"<!--.*?-->|<\?.*?\?>", re.DOTALL)
Answer = dict[str, Any]


class File(NamedTuple):
    """A file of a package: its path below the package's folder `root`."""

    package: str
    format: str
    root: Path
    path: Path

    @property
    def name(self) -> str:
        """PACKAGE/PATH, as it is told."""
        return f"{self.package}/{self.path.relative_to(self.root).as_posix()}"


def fetched(wheels: Path) -> dict[str, Path]:
    """The wheel of each package, fetched with pip where it is not there."""
    found: dict[str, Path] = {}
    for wanted in PACKAGES:
        package, release = wanted.split("==")
        pattern = f"{package.replace('-', '_')}-{release}-*.whl"
        if not any(wheels.glob(pattern)):
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(wheels), wanted]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found[package] = next(wheels.glob(pattern))
    return found


def unpacked(wheel: Path, folder: Path) -> Path:
    """The folder with everything of a wheel."""
    root = folder / wheel.stem
    if not root.is_dir():
        part = root.with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part)
        part.rename(root)
    return root


def format_of(path: Path) -> str:
    """The format of a file; empty for what is none of the four."""
    if path.suffix.lower() != ".xml":
        return SUFFIXES.get(path.suffix.lower(), "")
    root = _ROOT.search(_ASIDE.sub(b"", path.read_bytes()))
    return "MJCF" if root and root[1] in (b"mujoco", b"mujocoinclude") else ""


def files_of(package: str, root: Path) -> list[File]:
    """The files of a package, in the order of their names."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return [File(package, kind, root, path) for path in paths if (kind := format_of(path))]


def answers(reader: str, files: Sequence[File]) -> list[Answer]:
    """What a reader says of each file; it is started again after a file that ends it."""
    found: list[Answer] = []
    while len(found) < len(files):
        found += _some_answers(reader, files[len(found) :])
    return found


def _some_answers(reader: str, files: Sequence[File]) -> Iterator[Answer]:
    command = [sys.executable, str(harness.HERE / "package_readers.py"), reader]
    tasks = [{"path": str(file.path), "root": str(file.root), "seconds": SECONDS} for file in files]
    text = "".join(json.dumps(task) + "\n" for task in tasks)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    yield from map(json.loads, lines)
    if len(lines) < len(files):
        yield {"ok": False, "says": f"its process ended with {done.returncode}", "by_permission": False}


def compared(files: Sequence[File]) -> list[Answer]:
    """Each file with what Poise and the format's library say."""
    rows: list[Answer] = []
    for kind, oracle in ORACLES.items():
        some = [file for file in files if file.format == kind]
        both = zip(some, answers("Poise", some), answers(oracle, some), strict=True)
        rows += [
            {"package": file.package, "format": kind, "file": file.name, "poise": ours, "library": oracle, "its": its}
            for file, ours, its in both
        ]
    return rows


def table_of(rows: Sequence[Answer]) -> list[harness.Row]:
    """A row for each package and format."""
    groups = dict.fromkeys((row["package"], row["format"]) for row in rows)
    return [_counts([row for row in rows if (row["package"], row["format"]) == group]) for group in sorted(groups)]


def _counts(rows: Sequence[Answer]) -> harness.Row:
    how = Counter((row["poise"]["ok"], row["its"]["ok"]) for row in rows)
    return {
        "package": rows[0]["package"], "format": rows[0]["format"], "library": rows[0]["library"], "files": len(rows),
        "both load": how[True, True], "Poise alone": how[True, False], "both refuse": how[False, False],
        "the library alone": how[False, True],
        "by permission": sum(row["poise"]["by_permission"] for row in rows),
    }  # fmt: skip


def refused(rows: Sequence[Answer]) -> str:
    """The files that Poise refuses, grouped by both reasons; numbers in a reason are those of the first file."""
    groups: dict[str, list[Answer]] = {}
    for row in rows:
        if not row["poise"]["ok"]:
            message = f"{row['format']} {_reason(row, 'poise')} {_reason(row, 'its')}"
            groups.setdefault(re.sub(r"\d+", "0", message), []).append(row)
    if not groups:
        return "Poise refuses none."
    return "\n\n".join(["Refused by Poise, with both reasons:", *map(_reported, groups.values())])


def _reported(rows: Sequence[Answer]) -> str:
    first = rows[0]
    names = ", ".join(f"`{row['file']}`" for row in rows)
    reasons = f"Poise: {_reason(first, 'poise')}. {first['library']}: {_reason(first, 'its')}."
    return f"- {reasons.replace('<', '&lt;')} ({len(rows)})\n  {names}"


def _reason(row: Answer, who: str) -> str:
    """What a reader says, without the file's own name."""
    path = row["file"].partition("/")[2]
    return row[who]["says"].removeprefix(f"{path}: ").replace(f" {path} ", " ").removesuffix(".")


def main(arguments: Sequence[str] = ()) -> int:
    """Fetch, read and write the table; 1 where a library loads a file that Poise refuses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, help="folder of the wheels; default: in the cache of the benchmarks")
    parser.add_argument("--only", default="*", help="a pattern of names, PACKAGE/PATH; nothing is written then")
    requested = parser.parse_args(arguments)
    wheels = requested.wheels or harness.cache_folder() / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    folder = harness.cache_folder() / "packages"
    try:
        found = fetched(wheels)
    except subprocess.CalledProcessError:
        return harness.exit_code(
            "package_files is skipped: pip cannot fetch the wheels; give those you have: --wheels FOLDER"
        )
    files = [file for package, wheel in found.items() for file in files_of(package, unpacked(wheel, folder))]
    rows = compared([file for file in files if fnmatch(file.name, requested.only)])
    alone = [row for row in rows if row["its"]["ok"] and not row["poise"]["ok"]]
    if requested.only == "*":
        how = (
            f"Packages: {', '.join(PACKAGES)}. By permission: with the package's folder as `include_root`. "
            "A stage counts as loaded by usd-core where it has a skeleton or a joint."
        )
        harness.report("package_files", "Files of packages on PyPI", table_of(rows), [how, refused(rows)])
    for row in rows if requested.only != "*" else alone:
        print(row["file"], "Poise:", row["poise"]["says"], f"{row['library']}:", row["its"]["says"], sep="\n    ")
    return 1 if alone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

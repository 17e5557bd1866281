"""Fetch the JavaScript of others that the viewer's page is built on: `python scripts/refresh_third_party.py [--check]`.

Writes src/poise/viewer/web/third_party: the files named below from the npm registry, unchanged but for their imports,
which become the bare names of the page's import map. Nothing is unpacked whose hash is not the one written here. With
--check nothing is fetched; the exit code says whether the shipped files are the ones that VERSIONS.json lists.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import posixpath
import re
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "src" / "poise" / "viewer" / "web" / "third_party"
ADDONS = (
    "controls/OrbitControls.js",
    "controls/TransformControls.js",
    "loaders/GLTFLoader.js",
    "utils/BufferGeometryUtils.js",
    "utils/SkeletonUtils.js",
)
_IMPORT = re.compile(r"""((?:\bfrom|^import)\s*)(['"])(\.{1,2}/[^'"]+)\2""", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """A package of the registry: its hash as npm gives it, and what is taken.

    files   path in the package -> path in third_party
    names   path in the package -> the bare name by which the page imports it
    """

    name: str
    version: str
    licence: str
    integrity: str
    files: dict[str, str]
    names: dict[str, str]

    @property
    def source(self) -> str:
        """Where the registry has it."""
        return f"https://registry.npmjs.org/{self.name}/-/{self.name}-{self.version}.tgz"


THREE = Package(
    name="three",
    version="0.187.0",
    licence="MIT",
    integrity="sha512-Qiu7R+Cmh8CstZsY1uJOSWnVlfo7ZtNLV7mF8Jltk3LB3AtDu9cRZlcnRKkAk8Y4z6KKw35z7Y7Urd7jWY8etA==",
    files={
        "LICENSE": "three/LICENSE",
        "build/three.module.js": "three/three.module.js",
        "build/three.core.js": "three/three.core.js",
        **{f"examples/jsm/{addon}": f"three/addons/{addon}" for addon in ADDONS},
    },
    names={
        "build/three.module.js": "three",
        "build/three.core.js": "three/core",
        **{f"examples/jsm/{addon}": f"three/addons/{addon}" for addon in ADDONS},
    },
)
UPLOT = Package(
    name="uplot",
    version="1.6.32",
    licence="MIT",
    integrity="sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
    files={
        "LICENSE": "uplot/LICENSE",
        "dist/uPlot.esm.js": "uplot/uPlot.esm.js",
        "dist/uPlot.min.css": "uplot/uPlot.min.css",
    },
    names={"dist/uPlot.esm.js": "uplot"},
)
PACKAGES = (THREE, UPLOT)


def fetched(package: Package) -> bytes:
    """The package's archive from the registry; SystemExit if its hash is another one."""
    with urllib.request.urlopen(package.source, timeout=120) as answer:  # noqa: S310 (https only)
        data: bytes = answer.read()
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")
    if found != package.integrity:
        sys.exit(f"{package.source}: its hash is {found}, not {package.integrity}; nothing was written")
    return data


def taken(package: Package, archive: bytes) -> dict[str, bytes]:
    """The files to ship, path in third_party -> bytes, with their imports renamed."""
    result: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for path, target in package.files.items():
            member = tar.extractfile(f"package/{path}")
            if member is None:
                sys.exit(f"{package.source}: {path} is no file")
            data = member.read()
            result[target] = renamed(package, path, data) if path.endswith(".js") else data
    return result


def renamed(package: Package, path: str, data: bytes) -> bytes:
    """A module whose relative imports are bare names: relative ones cannot be followed out of a data: URL."""

    def bare(found: re.Match[str]) -> str:
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[3]))
        if wanted not in package.names:
            sys.exit(f"{package.name}: {path} imports {wanted}, which is not shipped; add it to this script")
        return f"{found[1]}{found[2]}{package.names[wanted]}{found[2]}"

    return _IMPORT.sub(bare, data.decode("utf-8")).encode("utf-8")


def digest(data: bytes) -> str:
    """The sha256 of a file, as VERSIONS.json lists it."""
    return hashlib.sha256(data).hexdigest()


def entry(package: Package, files: dict[str, bytes]) -> dict[str, object]:
    """What VERSIONS.json says of a package."""
    return {
        "name": package.name,
        "version": package.version,
        "licence": package.licence,
        "source": package.source,
        "integrity": package.integrity,
        "imports": {bare: package.files[path] for path, bare in package.names.items()},
        "files": {path: digest(data) for path, data in files.items()},
    }


def differing(folder: Path) -> list[str]:
    """What is wrong in the folder: files that are missing, changed or not listed, and versions other than these."""
    versions = json.loads((folder / "VERSIONS.json").read_text(encoding="utf-8"))
    listed = {path: sha for each in versions["packages"] for path, sha in each["files"].items()}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    wrong = [f"{path}: is missing" for path in sorted(listed.keys() - there)]
    wrong += [f"{path}: is not listed" for path in sorted(there - listed.keys() - {"VERSIONS.json", "README.md"})]
    for path in sorted(listed.keys() & there):
        if digest((folder / path).read_bytes()) != listed[path]:
            wrong.append(f"{path}: is not what was fetched")
    shipped = {each["name"]: each["integrity"] for each in versions["packages"]}
    if shipped != {package.name: package.integrity for package in PACKAGES}:
        wrong.append("VERSIONS.json: lists other versions than this script")
    return wrong


def write(folder: Path) -> None:
    """Fetch everything first, then write it; what the last refresh wrote and this one does not take is removed."""
    made = [(package, taken(package, fetched(package))) for package in PACKAGES]
    for package, files in made:
        for old in (folder / package.name).rglob("*"):
            if old.is_file() and old.relative_to(folder).as_posix() not in files:
                old.unlink()
        for path, data in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            print(f"{target}: {len(data)} bytes")
    versions = {"packages": [entry(package, files) for package, files in made]}
    (folder / "VERSIONS.json").write_text(json.dumps(versions, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Fetch the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the shipped files, fetch nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args()
    if not options.check:
        write(options.folder)
        return 0
    wrong = differing(options.folder)
    for sentence in wrong:
        print(f"{options.folder}: {sentence}; run scripts/refresh_third_party.py without --check")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Robots that others made: URDFs of the test data and of packages on PyPI, and the tips that somebody would move."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import poise
from poise import Kind

PACKAGES = ("rtb-data", "icub-models", "airo-models", "dexmate-urdf")
AGAIN = ".collision.urdf"  # a robot that stands in the package already, with other shapes for collisions


class File(NamedTuple):
    """A URDF: who has it, what it is called there, and where it lies."""

    package: str
    name: str
    path: Path


def of_data(folder: Path) -> list[File]:
    """Every URDF of the test data."""
    return [File("test data", path.stem, path) for path in sorted(folder.rglob("*.urdf"))]


def of_packages(folder: Path | None) -> list[File]:
    """Every URDF of the packages: of the environment's own, or of a folder filled by `pip install --target`."""
    found = []
    for package in distributions(path=[str(folder)]) if folder else distributions():
        name = package.name.replace("_", "-").lower()
        if name not in PACKAGES:
            continue
        for file in _listed(package):
            if file.suffix != ".urdf" or file.name.endswith(AGAIN):
                continue
            # With --target the data of a package lies in the folder, not where its list says.
            inside = Path(*[part for part in file.parts if part != ".."])
            path = folder / inside if folder else Path(str(package.locate_file(file)))
            found.append(File(name, inside.parent.name if file.stem == "model" else file.stem, path))
    return sorted(found)


def _listed(package: Distribution) -> list[PurePosixPath]:
    """The files that a package lists, whether or not they lie where it says."""
    return [PurePosixPath(row[0]) for row in csv.reader((package.read_text("RECORD") or "").splitlines()) if row]


def read(path: Path) -> poise.Pose:
    """The robot at rest; poise's own errors where the file cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of meshes that the package leaves out
        return poise.load(path).rest


def tips(skeleton: poise.Skeleton) -> list[str]:
    """One joint for each body that something moves and that ends in the air or forks: tools, feet, fingers, palms.

    A body is a joint that moves and all that is fixed to it. Of a body that ends in several frames the last is taken.
    """
    return [name for name in _tips(skeleton) if moved_by(skeleton, name)]


def moved_by(skeleton: poise.Skeleton, tip: str) -> list[int]:
    """Rows of the joints that move a tip where no root is named, itself included."""
    kinds = skeleton.kinds
    rows = [skeleton.index(name) for name in (*skeleton.chain(None, tip), tip)]
    return [row for row in rows if kinds[row] not in {Kind.FIXED, Kind.FREE}]


def _tips(skeleton: poise.Skeleton) -> Iterator[str]:
    body: dict[int, list[int]] = {}
    of: list[int] = []
    for row, kind in enumerate(skeleton.kinds):
        of.append(of[skeleton.parents[row]] if kind == Kind.FIXED and skeleton.parents[row] >= 0 else row)
        body.setdefault(of[row], []).append(row)
    for rows in body.values():
        ends = [row for row in rows if not skeleton.children[row]]
        leads_on = [child for row in rows for child in skeleton.children[row] if of[child] == child]
        if ends or len(leads_on) > 1:
            yield skeleton.names[(ends or rows)[-1]]

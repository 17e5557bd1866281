"""Joint value reader for a known skeleton."""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from poise.errors import FileError, UnknownNameError, listed
from poise.io.files import read_bytes
from poise.io.numbers import LARGEST, shown, table
from poise.io.paths import as_path
from poise.io.plain_json import read_json
from poise.io.values.rows import TABLE_COLUMNS, columns_of, joint_numbers, moving_rows
from poise.kernels.codes import UNIT_SLACK
from poise.maths import rotations
from poise.maths.arguments import require
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_AGREES = 1e-6  # [rad, file units] maximum error of a coupled joint's value, which is only checked


def read_values(path: str | PathLike[str], skeleton: Skeleton) -> Pose:
    """Read a pose or a batch of joint values. A pose is JSON with "joints", a batch JSON with "poses", or CSV.

    Parameters
    ----------
    path
        The file.
    skeleton
        The skeleton. The file must have exactly its joints with numbers of their own; coupled joints may be left out.

    Raises
    ------
    FileError
        Naming the file, the place and the reason.

    Notes
    -----
    A column `time`, the list "times" and the columns of `poise solve --targets` before the joint values (x y z qw qx qy
    qz status error angle_error iterations) are ignored. Quaternions are scaled to unit length. Limits are not applied.
    If the file has a position for a root that is a ball or fixed joint in the skeleton, the pose is on
    `skeleton.with_free_root()`.
    """
    path = as_path(path)
    require(skeleton, Skeleton, "the skeleton of read_values()")
    return values_in(path, read_bytes(path), skeleton)


def values_in(path: Path, data: bytes, skeleton: Skeleton) -> Pose:
    """Parse the bytes of a joint value file."""
    reader = _RowReader(path, skeleton)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from error
    return reader.csv(text) if path.suffix.lower() == ".csv" else reader.json(text)


def poses_of(path: Path, skeleton: Skeleton, header: list[str], values: Floats) -> Pose:
    """Build poses from numbers (k, columns) and column names.

    The names are those of a .csv file; FileError names the place.
    """
    return _RowReader(path, skeleton).named(header, values)


def _places(document: Any) -> list[str]:
    """Find joints with a position and a rotation, seven numbers. The first pose of a JSON document is searched."""
    first: Any = document.get("joints", document.get("poses")) if isinstance(document, dict) else None
    first = first[0] if isinstance(first, list) and first else first
    values = cast("dict[str, Any]", first) if isinstance(first, dict) else {}
    return [name for name, value in values.items() if isinstance(value, list) and len(value) == Kind.FREE.nq]


class _RowReader:
    def __init__(self, path: Path, skeleton: Skeleton) -> None:
        self.path = path
        self.skeleton = skeleton
        names, couplings = skeleton.names, skeleton.couplings
        self.sizes = {names[i]: size for i, size in moving_rows(skeleton)}
        self.columns = columns_of(skeleton)
        self.needed = [names[i] for i, _ in moving_rows(skeleton) if not couplings[i]]
        self.coupled = {name for name, coupling in zip(names, couplings, strict=True) if coupling}

    def _free(self, names: list[str]) -> None:
        """Free the root where the file has a position for it. The skeleton itself only rotates it or holds it fixed."""
        own = self.skeleton
        found = [name for name in names if name in own.names and own[name].kind in (Kind.BALL, Kind.FIXED)]
        if len(found) == 1 and own.freed is None:
            self.__init__(self.path, own.with_free_root(found[0]))

    def _fail(self, reason: str, place: str = "") -> NoReturn:
        raise FileError(self.path, reason, place=place)

    # --- JSON ------------------------------------------------------------------------------------

    def json(self, text: str) -> Pose:
        """Parse {"joints": ...} or {"poses": [...]}."""
        document = read_json(self.path, text)
        keys = set(cast("dict[str, Any]", document)) if isinstance(document, dict) else set[str]()
        self._free(_places(document))
        if keys == {"joints"}:
            return Pose(self.skeleton, self._q(self._numbers(document["joints"], "joints")[None], ["joints"])[0])
        if keys not in ({"poses"}, {"poses", "times"}) or not isinstance(document["poses"], list):
            self._fail('joint values are {"joints": {name: value}} or {"poses": [{name: value}, ...]}')
        places = [f"poses[{k}]" for k in range(len(document["poses"]))]
        rows = [self._numbers(pose, place) for pose, place in zip(document["poses"], places, strict=True)]
        return self._poses(rows, places)

    def _numbers(self, given: Any, place: str) -> Floats:
        """Parse the numbers (columns,) of an object. NaN where a coupled joint is left out."""
        if not isinstance(given, dict):
            self._fail("must be an object with a value per joint", place)
        values = cast("dict[str, Any]", given)
        if values.keys() != self.sizes.keys():
            self._check(list(values), list(self.sizes), self.needed, place)
        numbers: list[float] = []
        for name, size in self.sizes.items():
            numbers += self._value(values[name], size, place, name) if name in values else [np.nan] * size
        return np.array(numbers)

    def _value(self, value: Any, size: int, place: str, name: str) -> list[float]:
        numbers = [value] if size == 1 else value
        if not isinstance(numbers, list) or len(numbers) != size:
            self._fail(f"needs {'a number' if size == 1 else f'a list of {size} numbers'}", f"{place}: {name!r}")
        for one in numbers:
            if (type(one) is not float and type(one) is not int) or not abs(one) <= LARGEST:
                self._fail(f"{shown(str(one))} is not a joint value", f"{place}: {name!r}")
        return numbers

    def _check(self, names: list[str], known: list[str], needed: list[str], place: str) -> None:
        known_set = set(known)
        for name in names:
            if name not in known_set:
                self._fail(str(UnknownNameError("joint value", name, known)), place)
        have = set(names)
        missing = [name for name in needed if name not in have]
        if missing:
            self._fail(f"no value for: {listed(missing)}", place)

    # --- CSV -------------------------------------------------------------------------------------

    def csv(self, text: str) -> Pose:
        """Parse a header and a row per pose. Columns may be in any order."""
        try:
            lines = list(enumerate(csv.reader(io.StringIO(text), strict=True), start=1))
        except csv.Error as error:
            raise FileError(self.path, f"not a CSV file: {error}") from error
        lines = [(k, row) for k, row in lines if row]
        if not lines:
            self._fail("the header is missing")
        header = lines[0][1]
        order = self._order(header)
        places = [f"row {k}" for k, _ in lines[1:]]
        rows = [self._row(row, header, order, place) for (_, row), place in zip(lines[1:], places, strict=True)]
        return self._poses(rows, places)

    def named(self, header: list[str], values: Floats) -> Pose:
        """Build poses from numbers (k, columns) under these names."""
        order = self._order(header)
        rows = np.full((len(values), len(self.columns)), np.nan)
        rows[:, list(order)] = values[:, list(order.values())]
        return Pose(self.skeleton, self._q(rows, [f"frame {k}" for k in range(len(rows))]))

    def _order(self, header: list[str]) -> dict[int, int]:
        """Match the skeleton's columns to those of the file. A coupled joint may be left out."""
        self._free([column.removesuffix(".px") for column in header if column.endswith(".px")])
        place_of = {name: k for k, name in enumerate(header)}
        if len(place_of) < len(header):
            self._fail("two columns have the same name", "header")
        known = set(self.columns)
        names = [name for name in header if name not in ("time", *TABLE_COLUMNS) or name in known]
        needed = [column for column in self.columns if column not in self.coupled]
        self._check(names, self.columns, needed, "header")
        return {k: place_of[column] for k, column in enumerate(self.columns) if column in place_of}

    def _row(self, row: list[str], header: list[str], order: dict[int, int], place: str) -> Floats:
        if len(row) != len(header):
            self._fail(f"{len(row)} values under {len(header)} columns", place)
        numbers = np.full(len(self.columns), np.nan)
        try:
            numbers[list(order)] = table([[row[k] for k in order.values()]])[0]
        except ValueError as error:
            raise FileError(self.path, str(error), place=place) from error
        return numbers

    # --- both ------------------------------------------------------------------------------------

    def _poses(self, rows: list[Floats], places: list[str]) -> Pose:
        return Pose(self.skeleton, self._q(np.array(rows).reshape(len(rows), len(self.columns)), places))

    def _q(self, numbers: Floats, places: list[str]) -> Floats:
        """Compute configurations (k, nq) from numbers (k, columns).

        A coupled joint's number must agree with its leader's.
        """
        skeleton = self.skeleton
        q = np.zeros((len(numbers), skeleton.nq))
        start = 0
        for i, size in moving_rows(skeleton):
            part = numbers[:, start : start + size].copy()
            start += size
            if skeleton.kinds[i] in (Kind.BALL, Kind.FREE):
                part[:, -4:] = self._unit(part[:, -4:], skeleton.names[i], places)
            if not skeleton.couplings[i]:
                at = int(skeleton.q_start[i])
                q[:, at : at + size] = part
        off = np.abs(joint_numbers(skeleton, q) - numbers) > _AGREES
        column_of = {name: k for k, name in enumerate(self.columns)}
        for i, coupling in enumerate(skeleton.couplings):
            if coupling and off[:, column_of[skeleton.names[i]]].any():
                leader = skeleton.names[coupling.leader]
                place = places[int(off[:, column_of[skeleton.names[i]]].argmax())]
                self._fail(f"{skeleton.names[i]!r} follows {leader!r} and its value does not agree", place)
        return q

    def _unit(self, q: Floats, name: str, places: list[str]) -> Floats:
        zero = ~q.any(axis=1)
        if zero.any():
            self._fail(f"{name!r} has a quaternion of zero length", places[int(zero.argmax())])
        off = np.abs((q * q).sum(axis=1, keepdims=True) - 1.0) > UNIT_SLACK
        return np.where(off, rotations.normalised(q), q)  # unit quaternions to rounding stay bit for bit

"""Reader of joint values in JSON and CSV files.

It needs the skeleton. `formats/joint_values.py` writes the files.
"""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from poise.calls.argument_checks import check_type
from poise.errors import FileError, UnknownNameError, join_names
from poise.io.files import as_path, read_bytes
from poise.io.joint_value_columns import TABLE_COLUMNS, compute_joint_numbers, list_columns, list_movable_joints
from poise.io.text_parsing import MAX_NUMBER, parse_json, parse_table, quote_excerpt
from poise.kernels.thresholds import UNIT_SLACK
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton

_MAX_COUPLING_ERROR = 1e-6  # [rad, file units] maximum error of a coupled joint's value, which is only checked


def load_values(path: str | PathLike[str], skeleton: Skeleton) -> Pose:
    """Load a pose or a batch of joint values. A pose is JSON with "joints", a batch JSON with "poses", or CSV.

    `save(pose, path)` writes such a file.

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
    check_type(skeleton, Skeleton, "the skeleton of load_values()")
    return parse_values(path, read_bytes(path), skeleton)


def parse_values(path: Path, data: bytes, skeleton: Skeleton) -> Pose:
    """Parse the bytes of a joint value file."""
    reader = _ValueReader(path, skeleton)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from error
    return reader.parse_csv(text) if path.suffix.lower() == ".csv" else reader.parse_json(text)


def build_poses(path: Path, skeleton: Skeleton, header: list[str], values: Floats) -> Pose:
    """Build poses from numbers (k, columns) and column names.

    The names are those of a .csv file; FileError names the place.
    """
    return _ValueReader(path, skeleton).build_named(header, values)


def _find_free_joints(document: Any) -> list[str]:
    """Find joints with a position and a rotation, seven numbers. The first pose of a JSON document is searched."""
    first_pose: Any = document.get("joints", document.get("poses")) if isinstance(document, dict) else None
    first_pose = first_pose[0] if isinstance(first_pose, list) and first_pose else first_pose
    values = cast("dict[str, Any]", first_pose) if isinstance(first_pose, dict) else {}
    return [name for name, value in values.items() if isinstance(value, list) and len(value) == Kind.FREE.nq]


class _ValueReader:
    def __init__(self, path: Path, skeleton: Skeleton) -> None:
        self.path = path
        self.skeleton = skeleton
        names, couplings = skeleton.names, skeleton.couplings
        self.count_by_name = {names[joint.row]: joint.value_count for joint in list_movable_joints(skeleton)}
        self.columns = list_columns(skeleton)
        self.needed_names = [names[joint.row] for joint in list_movable_joints(skeleton) if not couplings[joint.row]]
        self.coupled_names = {name for name, coupling in zip(names, couplings, strict=True) if coupling}

    def _free_root(self, names: list[str]) -> None:
        """Free the root where the file has a position for it. The skeleton itself only rotates it or holds it fixed."""
        skeleton = self.skeleton
        candidates = [
            name for name in names if name in skeleton.names and skeleton[name].kind in (Kind.BALL, Kind.FIXED)
        ]
        if len(candidates) == 1 and skeleton.freed is None:
            self.__init__(self.path, skeleton.with_free_root(candidates[0]))

    def _fail(self, reason: str, place: str = "") -> NoReturn:
        raise FileError(self.path, reason, place=place)

    # --- JSON ------------------------------------------------------------------------------------

    def parse_json(self, text: str) -> Pose:
        """Parse {"joints": ...} or {"poses": [...]}."""
        document = parse_json(self.path, text)
        keys = set(cast("dict[str, Any]", document)) if isinstance(document, dict) else set[str]()
        self._free_root(_find_free_joints(document))
        if keys == {"joints"}:
            return Pose(
                self.skeleton, self._compute_q(self._parse_object(document["joints"], "joints")[None], ["joints"])[0]
            )
        if keys not in ({"poses"}, {"poses", "times"}) or not isinstance(document["poses"], list):
            self._fail('joint values are {"joints": {name: value}} or {"poses": [{name: value}, ...]}')
        places = [f"poses[{k}]" for k in range(len(document["poses"]))]
        rows = [self._parse_object(pose, place) for pose, place in zip(document["poses"], places, strict=True)]
        return self._build_poses(rows, places)

    def _parse_object(self, data: Any, place: str) -> Floats:
        """Parse the numbers (columns,) of an object. NaN where a coupled joint is left out."""
        if not isinstance(data, dict):
            self._fail("must be an object with a value per joint", place)
        values = cast("dict[str, Any]", data)
        if values.keys() != self.count_by_name.keys():
            self._check_names(list(values), list(self.count_by_name), self.needed_names, place)
        numbers: list[float] = []
        for name, value_count in self.count_by_name.items():
            numbers += (
                self._parse_value(values[name], value_count, place, name) if name in values else [np.nan] * value_count
            )
        return np.array(numbers)

    def _parse_value(self, value: Any, value_count: int, place: str, name: str) -> list[float]:
        numbers = [value] if value_count == 1 else value
        if not isinstance(numbers, list) or len(numbers) != value_count:
            self._fail(
                f"needs {'a number' if value_count == 1 else f'a list of {value_count} numbers'}", f"{place}: {name!r}"
            )
        for number in numbers:
            if (type(number) is not float and type(number) is not int) or not abs(number) <= MAX_NUMBER:
                self._fail(f"{quote_excerpt(str(number))} is not a joint value", f"{place}: {name!r}")
        return numbers

    def _check_names(self, names: list[str], known_names: list[str], needed_names: list[str], place: str) -> None:
        known_set = set(known_names)
        for name in names:
            if name not in known_set:
                self._fail(str(UnknownNameError("joint value", name, known_names)), place)
        present_names = set(names)
        missing_names = [name for name in needed_names if name not in present_names]
        if missing_names:
            self._fail(f"no value for: {join_names(missing_names)}", place)

    # --- CSV -------------------------------------------------------------------------------------

    def parse_csv(self, text: str) -> Pose:
        """Parse a header and a row per pose. Columns may be in any order."""
        try:
            lines = list(enumerate(csv.reader(io.StringIO(text), strict=True), start=1))
        except csv.Error as error:
            raise FileError(self.path, f"not a CSV file: {error}") from error
        lines = [(k, row) for k, row in lines if row]
        if not lines:
            self._fail("the header is missing")
        header = lines[0][1]
        file_columns = self._match_columns(header)
        places = [f"row {k}" for k, _ in lines[1:]]
        rows = [
            self._parse_row(row, header, file_columns, place) for (_, row), place in zip(lines[1:], places, strict=True)
        ]
        return self._build_poses(rows, places)

    def build_named(self, header: list[str], values: Floats) -> Pose:
        """Build poses from numbers (k, columns) under these names."""
        file_columns = self._match_columns(header)
        rows = np.full((len(values), len(self.columns)), np.nan)
        rows[:, list(file_columns)] = values[:, list(file_columns.values())]
        return Pose(self.skeleton, self._compute_q(rows, [f"frame {k}" for k in range(len(rows))]))

    def _match_columns(self, header: list[str]) -> dict[int, int]:
        """Match the skeleton's columns to those of the file. A coupled joint may be left out."""
        self._free_root([column.removesuffix(".px") for column in header if column.endswith(".px")])
        column_by_name = {name: k for k, name in enumerate(header)}
        if len(column_by_name) < len(header):
            self._fail("two columns have the same name", "header")
        known_columns = set(self.columns)
        names = [name for name in header if name not in ("time", *TABLE_COLUMNS) or name in known_columns]
        needed_columns = [column for column in self.columns if column not in self.coupled_names]
        self._check_names(names, self.columns, needed_columns, "header")
        return {k: column_by_name[column] for k, column in enumerate(self.columns) if column in column_by_name}

    def _parse_row(self, row: list[str], header: list[str], file_columns: dict[int, int], place: str) -> Floats:
        if len(row) != len(header):
            self._fail(f"{len(row)} values under {len(header)} columns", place)
        numbers = np.full(len(self.columns), np.nan)
        try:
            numbers[list(file_columns)] = parse_table([[row[k] for k in file_columns.values()]])[0]
        except ValueError as error:
            raise FileError(self.path, str(error), place=place) from error
        return numbers

    # --- both ------------------------------------------------------------------------------------

    def _build_poses(self, rows: list[Floats], places: list[str]) -> Pose:
        return Pose(self.skeleton, self._compute_q(np.array(rows).reshape(len(rows), len(self.columns)), places))

    def _compute_q(self, numbers: Floats, places: list[str]) -> Floats:
        """Compute configurations (k, nq) from numbers (k, columns).

        A coupled joint's number must agree with its leader's.
        """
        skeleton = self.skeleton
        q = np.zeros((len(numbers), skeleton.nq))
        column = 0
        for i, value_count in list_movable_joints(skeleton):
            joint_numbers = numbers[:, column : column + value_count].copy()
            column += value_count
            if skeleton.kinds[i] in (Kind.BALL, Kind.FREE):
                joint_numbers[:, -4:] = self._normalize(joint_numbers[:, -4:], skeleton.names[i], places)
            if not skeleton.couplings[i]:
                start_column = int(skeleton.q_start[i])
                q[:, start_column : start_column + value_count] = joint_numbers
        is_conflicting = np.abs(compute_joint_numbers(skeleton, q) - numbers) > _MAX_COUPLING_ERROR
        column_by_name = {name: k for k, name in enumerate(self.columns)}
        for i, coupling in enumerate(skeleton.couplings):
            if coupling and is_conflicting[:, column_by_name[skeleton.names[i]]].any():
                leader = skeleton.names[coupling.leader]
                place = places[int(is_conflicting[:, column_by_name[skeleton.names[i]]].argmax())]
                self._fail(f"{skeleton.names[i]!r} follows {leader!r} and its value does not agree", place)
        return q

    def _normalize(self, quaternions: Floats, name: str, places: list[str]) -> Floats:
        is_zero = ~quaternions.any(axis=1)
        if is_zero.any():
            self._fail(f"{name!r} has a quaternion of zero length", places[int(is_zero.argmax())])
        is_off = np.abs((quaternions * quaternions).sum(axis=1, keepdims=True) - 1.0) > UNIT_SLACK
        return np.where(
            is_off, rotations.normalise(quaternions), quaternions
        )  # unit quaternions to rounding stay bit for bit

"""Accessors: typed views of buffer bytes, decoded together to float64.

Every accessor is checked against the existing bytes before an array is allocated. The total decoded size is bounded by
the bytes of the buffers, so overlapping accessors cannot fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from poise.io.gltf.container import Buffers
from poise.io.gltf.json_checks import BrokenError, Json, check_index, read_natural, read_object, read_objects
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints

FLOAT_TYPE = 5126
_DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", FLOAT_TYPE: "<f4"}
_COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, FLOAT_TYPE: 4}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_MESHOPT_EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_MIN_NUMBER_BUDGET = 1_000_000  # minimum budget of decoded numbers; small files may share bytes between accessors


class _BufferView(NamedTuple):
    """Buffer view inside its buffer. `stride` is 0 when elements are tightly packed.

    `compression_extension` names the compressing extension, if reading the document needs that extension.
    """

    buffer: int
    start: int
    length: int
    stride: int
    compression_extension: str


class Accessor(NamedTuple):
    """Checked accessor: position, shape and type of its elements. Without a view they are zeros."""

    view: _BufferView | None
    byte_offset: int
    element_count: int
    component_count: int
    component_type: int
    is_normalised: bool
    sparse: Json | None

    @property
    def is_packed_float(self) -> bool:
        """Return whether the elements are packed floats."""
        return self.view is not None and self.component_type == FLOAT_TYPE and not self.view.stride and not self.sparse


class Accessors:
    """The accessors of a document."""

    def __init__(self, document: Json, buffers: Buffers, required_extensions: Iterable[str]) -> None:
        self._accessors = read_objects(document, "accessors")
        self._views = read_objects(document, "bufferViews")
        self._buffers = buffers
        self._buffer_sizes: dict[int, int] = {}
        self._required_compressions = [name for name in _MESHOPT_EXTENSIONS if name in required_extensions]
        self._checked_views: dict[int, _BufferView] = {}
        self._checked_accessors: dict[int, Accessor] = {}
        self._decoded: dict[int, Floats] = {}
        self._decoded_count = 0

    def __len__(self) -> int:
        return len(self._accessors)

    def check_all(self) -> None:
        """Check every buffer, view and accessor. This includes those that only meshes use."""
        for i in range(len(self._buffers)):
            if i not in self._buffer_sizes:
                self._buffer_sizes[i] = self._buffers.check_size(i)
        for i in range(len(self._views)):
            self._find_view(i, "")
        for i in range(len(self._accessors)):
            self.find_accessor(i)

    def find_accessor(self, i: int) -> Accessor:
        """Find accessor `i`, checked against its bytes."""
        accessor = self._checked_accessors.get(i)
        if accessor is None:
            accessor = self._checked_accessors[i] = self._check_accessor(i)
        return accessor

    def decode(self, indices: Iterable[int]) -> dict[int, Floats]:
        """Decode accessors to read-only float64 arrays (count, components). Numbers that are not finite are refused."""
        new_accessors = {i: self.find_accessor(i) for i in dict.fromkeys(indices) if i not in self._decoded}
        for view in {accessor.view for accessor in new_accessors.values() if accessor.view is not None}:
            self._read_view_bytes(view)
        self._decoded_count += sum(
            accessor.element_count * accessor.component_count for accessor in new_accessors.values()
        )
        if self._decoded_count > _MIN_NUMBER_BUDGET + self._buffers.bytes_read:
            raise BrokenError("accessors", "claim more numbers than the file's bytes can hold")
        self._decode_packed({i: accessor for i, accessor in new_accessors.items() if accessor.is_packed_float})
        for i in new_accessors:
            if i not in self._decoded:
                self._decoded[i] = self._decode_accessor(i)
        return self._decoded

    # --- checking --------------------------------------------------------------------------------

    def _check_accessor(self, i: int) -> Accessor:
        accessor, place = self._accessors[i], f"accessors[{i}]"
        component_type, element_type = accessor.get("componentType"), accessor.get("type")
        if (
            type(component_type) is not int
            or component_type not in _COMPONENT_BYTES
            or not isinstance(element_type, str)
            or element_type not in _COMPONENTS
        ):
            raise BrokenError(place, "its componentType or type is unknown")
        component_bytes, component_count = _COMPONENT_BYTES[component_type], _COMPONENTS[element_type]
        element_count = read_natural(accessor, "count", place)
        byte_offset = read_natural(accessor, "byteOffset", place, 0)
        sparse = read_object(accessor, "sparse", place) if "sparse" in accessor else None
        view = None
        if "bufferView" in accessor:
            view = self._find_view(accessor["bufferView"], place)
            if view.stride == component_bytes * component_count:
                view = view._replace(stride=0)
            _check_fits(view, byte_offset, element_count, component_bytes, component_count, place)
        is_normalised = bool(accessor.get("normalized", False))
        return Accessor(view, byte_offset, element_count, component_count, component_type, is_normalised, sparse)

    def _find_view(self, value: Any, place: str) -> _BufferView:
        i = check_index(value, len(self._views), place, "bufferView")
        view = self._checked_views.get(i)
        if view is None:
            view = self._checked_views[i] = self._check_view(i)
        return view

    def _check_view(self, i: int) -> _BufferView:
        view, place = self._views[i], f"bufferViews[{i}]"
        compressions = (
            [name for name in self._required_compressions if name in read_object(view, "extensions", place)]
            if self._required_compressions
            else []
        )
        buffer = check_index(view.get("buffer"), len(self._buffers), place, "buffer")
        buffer_size = self._buffer_sizes.get(buffer)
        if buffer_size is None:
            buffer_size = self._buffer_sizes[buffer] = self._buffers.check_size(buffer)
        start = read_natural(view, "byteOffset", place, 0)
        length = read_natural(view, "byteLength", place)
        if start + length > buffer_size:
            raise BrokenError(place, f"ends at byte {start + length:,}; its buffer has {buffer_size:,}")
        return _BufferView(
            buffer, start, length, read_natural(view, "byteStride", place, 0), compressions[0] if compressions else ""
        )

    # --- decoding --------------------------------------------------------------------------------

    def _read_view_bytes(self, view: _BufferView) -> bytes:
        """Return the bytes of a view's buffer."""
        if view.compression_extension:
            raise BrokenError(
                "", f"the skeleton's data is compressed with {view.compression_extension}, which poise cannot read"
            )
        return self._buffers[view.buffer]

    def _decode_packed(self, accessors: dict[int, Accessor]) -> None:
        """Decode packed floats together. A rig usually has thousands of small accessors."""
        memory_by_buffer = {
            packed.view.buffer: memoryview(self._read_view_bytes(packed.view))
            for packed in accessors.values()
            if packed.view
        }
        byte_runs: list[memoryview] = []
        number_counts: list[int] = []
        for accessor in accessors.values():
            view, number_count = accessor.view, accessor.element_count * accessor.component_count
            if view is not None:
                start = view.start + accessor.byte_offset
                byte_runs.append(memory_by_buffer[view.buffer][start : start + 4 * number_count])
                number_counts.append(number_count)
        values = np.frombuffer(b"".join(byte_runs), dtype="<f4").astype(np.float64)
        values.setflags(write=False)
        bad_indices = np.flatnonzero(~np.isfinite(values))
        if len(bad_indices):
            i = list(accessors)[int(np.searchsorted(np.cumsum(number_counts), bad_indices[0], side="right"))]
            raise BrokenError(f"accessors[{i}]", f"holds {values[bad_indices[0]]}, which is not a finite number")
        start = 0
        for (i, accessor), number_count in zip(accessors.items(), number_counts, strict=True):
            self._decoded[i] = values[start : start + number_count].reshape(
                accessor.element_count, accessor.component_count
            )
            start += number_count

    def _decode_accessor(self, i: int) -> Floats:
        accessor, place = self.find_accessor(i), f"accessors[{i}]"
        values = np.zeros((accessor.element_count, accessor.component_count), dtype=_DTYPES[accessor.component_type])
        if accessor.view is not None:
            values[:] = self._view_strided(
                accessor.view,
                accessor.byte_offset,
                accessor.element_count,
                accessor.component_count,
                accessor.component_type,
            )
        if accessor.sparse is not None:
            self._apply_sparse(values, accessor, place)
        decoded_values = values.astype(np.float64)
        if not np.isfinite(decoded_values).all():
            raise BrokenError(place, "holds a number that is not finite")
        if accessor.is_normalised and accessor.component_type != FLOAT_TYPE:
            decoded_values = np.maximum(decoded_values / np.iinfo(values.dtype).max, -1.0)
        decoded_values.setflags(write=False)
        return decoded_values

    def _apply_sparse(self, values: np.ndarray, accessor: Accessor, place: str) -> None:
        sparse = accessor.sparse or {}
        place = f"{place}.sparse"
        replaced_count = read_natural(sparse, "count", place)
        if replaced_count > accessor.element_count:
            raise BrokenError(place, f"replaces {replaced_count:,} elements of {accessor.element_count:,}")
        rows = self._read_sparse_part(sparse, "indices", replaced_count, 1, f"{place}.indices")[:, 0].astype(np.int64)
        if len(rows) and (rows.max() >= accessor.element_count or (np.diff(rows) <= 0).any()):
            raise BrokenError(f"{place}.indices", "must increase and stay below the accessor's count")
        component_type = accessor.component_type
        values[rows] = self._read_sparse_part(
            sparse, "values", replaced_count, accessor.component_count, f"{place}.values", component_type
        )

    def _read_sparse_part(
        self, sparse: Json, key: str, count: int, components: int, place: str, component_type: int | None = None
    ) -> np.ndarray:
        sparse_part = read_object(sparse, key, place.rpartition(".")[0])
        if component_type is None:
            component_type = sparse_part.get("componentType")
            if type(component_type) is not int or component_type not in (5121, 5123, 5125):
                raise BrokenError(place, "its componentType must be 5121, 5123 or 5125")
        view = self._find_view(sparse_part.get("bufferView"), place)._replace(stride=0)
        offset = read_natural(sparse_part, "byteOffset", place, 0)
        _check_fits(view, offset, count, _COMPONENT_BYTES[component_type], components, place)
        return self._view_strided(view, offset, count, components, component_type)

    def _view_strided(
        self, view: _BufferView, offset: int, count: int, components: int, component_type: int
    ) -> np.ndarray:
        """View the elements in place. Their bounds are checked already."""
        dtype = np.dtype(_DTYPES[component_type])
        stride = view.stride or dtype.itemsize * components
        if not count:
            return np.zeros((0, components), dtype)
        strides = (stride, dtype.itemsize)
        return np.ndarray((count, components), dtype, self._read_view_bytes(view), view.start + offset, strides)


def _check_fits(view: _BufferView, offset: int, count: int, component_bytes: int, components: int, place: str) -> None:
    element_bytes = component_bytes * components
    stride = view.stride or element_bytes
    if stride < element_bytes:
        raise BrokenError(place, f"its elements of {element_bytes} bytes overlap: the byteStride is {stride}")
    if (offset % component_bytes) or (view.start % component_bytes) or (stride % component_bytes):
        raise BrokenError(place, f"its numbers of {component_bytes} bytes are not aligned")
    needed_bytes = offset + (stride * (count - 1) + element_bytes if count else 0)
    if needed_bytes > view.length:
        raise BrokenError(
            place, f"needs {needed_bytes:,} bytes for {count:,} elements; its bufferView has {view.length:,}"
        )


def normalise_quaternions(values: Floats, labels: Iterable[str] = ()) -> Floats:
    """Normalise quaternions (k, 4). Unit quaternions stay bit for bit.

    A quaternion of zero length is refused; `labels` may name the rows.
    """
    zero_rows: Ints = np.flatnonzero(~values.any(axis=1))
    if len(zero_rows):
        names = list(labels)
        place = names[int(zero_rows[0])] if names else ""
        raise BrokenError(place, "a rotation of zero length is no rotation")
    return rotations.unit(values)

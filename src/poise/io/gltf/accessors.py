"""Accessors: typed views of buffer bytes, decoded together to float64.

Every accessor is checked against the existing bytes before an array is allocated. The total decoded size is bounded by
the bytes of the buffers, so overlapping accessors cannot fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from poise.io.gltf.container import BrokenError, Buffers, Json, check_index, read_natural, read_object, read_objects
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

    `compression` names the compressing extension, if reading the document needs that extension.
    """

    buffer: int
    start: int
    length: int
    stride: int
    compression: str


class Accessor(NamedTuple):
    """Checked accessor: position, shape and type of its elements. Without a view they are zeros."""

    view: _BufferView | None
    offset: int
    elements: int
    components: int
    component_type: int
    normalised: bool
    sparse: Json | None

    @property
    def is_packed_float(self) -> bool:
        """Return whether the elements are packed floats."""
        return self.view is not None and self.component_type == FLOAT_TYPE and not self.view.stride and not self.sparse


class Accessors:
    """The accessors of a document."""

    def __init__(self, document: Json, buffers: Buffers, required: Iterable[str]) -> None:
        self._accessors = read_objects(document, "accessors")
        self._views = read_objects(document, "bufferViews")
        self._buffers = buffers
        self._sizes: dict[int, int] = {}
        self._compressions = [name for name in _MESHOPT_EXTENSIONS if name in required]
        self._checked: dict[int, _BufferView] = {}
        self._layouts: dict[int, Accessor] = {}
        self._decoded: dict[int, Floats] = {}
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._accessors)

    def check_all(self) -> None:
        """Check every buffer, view and accessor. This includes those that only meshes use."""
        for i in range(len(self._buffers)):
            if i not in self._sizes:
                self._sizes[i] = self._buffers.check_size(i)
        for i in range(len(self._views)):
            self._find_view(i, "")
        for i in range(len(self._accessors)):
            self.read_layout(i)

    def read_layout(self, i: int) -> Accessor:
        """Check accessor `i` against its bytes and return its layout."""
        accessor = self._layouts.get(i)
        if accessor is None:
            accessor = self._layouts[i] = self._check_accessor(i)
        return accessor

    def decode(self, indices: Iterable[int]) -> dict[int, Floats]:
        """Decode accessors to read-only float64 arrays (count, components). Numbers that are not finite are refused."""
        new = {i: self.read_layout(i) for i in dict.fromkeys(indices) if i not in self._decoded}
        for view in {layout.view for layout in new.values() if layout.view is not None}:
            self._read_view_bytes(view)
        self._numbers += sum(layout.elements * layout.components for layout in new.values())
        if self._numbers > _MIN_NUMBER_BUDGET + self._buffers.bytes_read:
            raise BrokenError("accessors", "claim more numbers than the file's bytes can hold")
        self._decode_packed({i: layout for i, layout in new.items() if layout.is_packed_float})
        for i in new:
            if i not in self._decoded:
                self._decoded[i] = self._decode_accessor(i)
        return self._decoded

    # --- checking --------------------------------------------------------------------------------

    def _check_accessor(self, i: int) -> Accessor:
        accessor, place = self._accessors[i], f"accessors[{i}]"
        kind, shape = accessor.get("componentType"), accessor.get("type")
        if (
            type(kind) is not int
            or kind not in _COMPONENT_BYTES
            or not isinstance(shape, str)
            or shape not in _COMPONENTS
        ):
            raise BrokenError(place, "its componentType or type is unknown")
        size, components = _COMPONENT_BYTES[kind], _COMPONENTS[shape]
        count = read_natural(accessor, "count", place)
        offset = read_natural(accessor, "byteOffset", place, 0)
        sparse = read_object(accessor, "sparse", place) if "sparse" in accessor else None
        view = None
        if "bufferView" in accessor:
            view = self._find_view(accessor["bufferView"], place)
            if view.stride == size * components:
                view = view._replace(stride=0)
            _check_fits(view, offset, count, size, components, place)
        normalised = bool(accessor.get("normalized", False))
        return Accessor(view, offset, count, components, kind, normalised, sparse)

    def _find_view(self, value: Any, place: str) -> _BufferView:
        i = check_index(value, len(self._views), place, "bufferView")
        view = self._checked.get(i)
        if view is None:
            view = self._checked[i] = self._check_view(i)
        return view

    def _check_view(self, i: int) -> _BufferView:
        view, place = self._views[i], f"bufferViews[{i}]"
        compressions = (
            [name for name in self._compressions if name in read_object(view, "extensions", place)]
            if self._compressions
            else []
        )
        buffer = check_index(view.get("buffer"), len(self._buffers), place, "buffer")
        size = self._sizes.get(buffer)
        if size is None:
            size = self._sizes[buffer] = self._buffers.check_size(buffer)
        start = read_natural(view, "byteOffset", place, 0)
        length = read_natural(view, "byteLength", place)
        if start + length > size:
            raise BrokenError(place, f"ends at byte {start + length:,}; its buffer has {size:,}")
        return _BufferView(
            buffer, start, length, read_natural(view, "byteStride", place, 0), compressions[0] if compressions else ""
        )

    # --- decoding --------------------------------------------------------------------------------

    def _read_view_bytes(self, view: _BufferView) -> bytes:
        """Return the bytes of a view's buffer."""
        if view.compression:
            raise BrokenError("", f"the skeleton's data is compressed with {view.compression}, which poise cannot read")
        return self._buffers[view.buffer]

    def _decode_packed(self, layouts: dict[int, Accessor]) -> None:
        """Decode packed floats together. A rig usually has thousands of small accessors."""
        memory = {l.view.buffer: memoryview(self._read_view_bytes(l.view)) for l in layouts.values() if l.view}
        runs: list[memoryview] = []
        sizes: list[int] = []
        for layout in layouts.values():
            view, size = layout.view, layout.elements * layout.components
            if view is not None:
                start = view.start + layout.offset
                runs.append(memory[view.buffer][start : start + 4 * size])
                sizes.append(size)
        values = np.frombuffer(b"".join(runs), dtype="<f4").astype(np.float64)
        values.setflags(write=False)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            i = list(layouts)[int(np.searchsorted(np.cumsum(sizes), bad[0], side="right"))]
            raise BrokenError(f"accessors[{i}]", f"holds {values[bad[0]]}, which is not a finite number")
        start = 0
        for (i, layout), size in zip(layouts.items(), sizes, strict=True):
            self._decoded[i] = values[start : start + size].reshape(layout.elements, layout.components)
            start += size

    def _decode_accessor(self, i: int) -> Floats:
        layout, place = self.read_layout(i), f"accessors[{i}]"
        values = np.zeros((layout.elements, layout.components), dtype=_DTYPES[layout.component_type])
        if layout.view is not None:
            values[:] = self._view_strided(
                layout.view, layout.offset, layout.elements, layout.components, layout.component_type
            )
        if layout.sparse is not None:
            self._apply_sparse(values, layout, place)
        result = values.astype(np.float64)
        if not np.isfinite(result).all():
            raise BrokenError(place, "holds a number that is not finite")
        if layout.normalised and layout.component_type != FLOAT_TYPE:
            result = np.maximum(result / np.iinfo(values.dtype).max, -1.0)
        result.setflags(write=False)
        return result

    def _apply_sparse(self, values: np.ndarray, layout: Accessor, place: str) -> None:
        sparse = layout.sparse or {}
        place = f"{place}.sparse"
        count = read_natural(sparse, "count", place)
        if count > layout.elements:
            raise BrokenError(place, f"replaces {count:,} elements of {layout.elements:,}")
        rows = self._read_sparse_part(sparse, "indices", count, 1, f"{place}.indices")[:, 0].astype(np.int64)
        if len(rows) and (rows.max() >= layout.elements or (np.diff(rows) <= 0).any()):
            raise BrokenError(f"{place}.indices", "must increase and stay below the accessor's count")
        kind = layout.component_type
        values[rows] = self._read_sparse_part(sparse, "values", count, layout.components, f"{place}.values", kind)

    def _read_sparse_part(
        self, sparse: Json, key: str, count: int, components: int, place: str, kind: int | None = None
    ) -> np.ndarray:
        part = read_object(sparse, key, place.rpartition(".")[0])
        if kind is None:
            kind = part.get("componentType")
            if type(kind) is not int or kind not in (5121, 5123, 5125):
                raise BrokenError(place, "its componentType must be 5121, 5123 or 5125")
        view = self._find_view(part.get("bufferView"), place)._replace(stride=0)
        offset = read_natural(part, "byteOffset", place, 0)
        _check_fits(view, offset, count, _COMPONENT_BYTES[kind], components, place)
        return self._view_strided(view, offset, count, components, kind)

    def _view_strided(self, view: _BufferView, offset: int, count: int, components: int, kind: int) -> np.ndarray:
        """View the elements in place. Their bounds are checked already."""
        dtype = np.dtype(_DTYPES[kind])
        stride = view.stride or dtype.itemsize * components
        if not count:
            return np.zeros((0, components), dtype)
        strides = (stride, dtype.itemsize)
        return np.ndarray((count, components), dtype, self._read_view_bytes(view), view.start + offset, strides)


def _check_fits(view: _BufferView, offset: int, count: int, size: int, components: int, place: str) -> None:
    element = size * components
    stride = view.stride or element
    if stride < element:
        raise BrokenError(place, f"its elements of {element} bytes overlap: the byteStride is {stride}")
    if (offset % size) or (view.start % size) or (stride % size):
        raise BrokenError(place, f"its numbers of {size} bytes are not aligned")
    needed = offset + (stride * (count - 1) + element if count else 0)
    if needed > view.length:
        raise BrokenError(place, f"needs {needed:,} bytes for {count:,} elements; its bufferView has {view.length:,}")


def normalize_quaternions(values: Floats, labels: Iterable[str] = ()) -> Floats:
    """Normalize quaternions (k, 4). Unit quaternions stay bit for bit.

    A quaternion of zero length is refused; `labels` may name the rows.
    """
    zero: Ints = np.flatnonzero(~values.any(axis=1))
    if len(zero):
        names = list(labels)
        place = names[int(zero[0])] if names else ""
        raise BrokenError(place, "a rotation of zero length is no rotation")
    return rotations.unit(values)

"""Accessors: typed views of buffer bytes, decoded together to float64.

Every accessor is checked against the existing bytes before an array is allocated. The total decoded size is bounded by
the bytes of the buffers, so overlapping accessors cannot fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from poise.io.gltf.buffers import Buffers
from poise.io.gltf.json import BrokenError, Json, index, mapping, natural, objects
from poise.maths import rotations
from poise.maths.arrays import Floats, Ints

FLOAT = 5126
_DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", FLOAT: "<f4"}
_SIZES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, FLOAT: 4}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_ALWAYS_ALLOWED = 1_000_000  # minimum budget of decoded numbers; small files may share bytes between accessors


class _BufferView(NamedTuple):
    """Buffer view inside its buffer. `stride` is 0 when elements are tightly packed.

    `compression` names the compressing extension, if reading the document needs that extension.
    """

    buffer: int
    start: int
    length: int
    stride: int
    packed: str


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
    def plain(self) -> bool:
        """Return whether the elements are packed floats."""
        return self.view is not None and self.component_type == FLOAT and not self.view.stride and not self.sparse


class Accessors:
    """The accessors of a document."""

    def __init__(self, document: Json, buffers: Buffers, required: Iterable[str]) -> None:
        self._accessors = objects(document, "accessors")
        self._views = objects(document, "bufferViews")
        self._buffers = buffers
        self._sizes: dict[int, int] = {}
        self._packed = [name for name in _MESHOPT if name in required]
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
                self._sizes[i] = self._buffers.size(i)
        for i in range(len(self._views)):
            self._view(i, "")
        for i in range(len(self._accessors)):
            self.layout(i)

    def layout(self, i: int) -> Accessor:
        """Check accessor `i` against its bytes and return its layout."""
        found = self._layouts.get(i)
        if found is None:
            found = self._layouts[i] = self._check(i)
        return found

    def floats(self, indices: Iterable[int]) -> dict[int, Floats]:
        """Decode accessors to read-only float64 arrays (count, components). Numbers that are not finite are refused."""
        new = {i: self.layout(i) for i in dict.fromkeys(indices) if i not in self._decoded}
        for view in {layout.view for layout in new.values() if layout.view is not None}:
            self._bytes(view)
        self._numbers += sum(layout.elements * layout.components for layout in new.values())
        if self._numbers > _ALWAYS_ALLOWED + self._buffers.bytes_read:
            raise BrokenError("accessors", "claim more numbers than the file's bytes can hold")
        self._decode_plain({i: layout for i, layout in new.items() if layout.plain})
        for i in new:
            if i not in self._decoded:
                self._decoded[i] = self._decode(i)
        return self._decoded

    # --- checking --------------------------------------------------------------------------------

    def _check(self, i: int) -> Accessor:
        accessor, place = self._accessors[i], f"accessors[{i}]"
        kind, shape = accessor.get("componentType"), accessor.get("type")
        if type(kind) is not int or kind not in _SIZES or not isinstance(shape, str) or shape not in _COMPONENTS:
            raise BrokenError(place, "its componentType or type is unknown")
        size, components = _SIZES[kind], _COMPONENTS[shape]
        count = natural(accessor, "count", place)
        offset = natural(accessor, "byteOffset", place, 0)
        sparse = mapping(accessor, "sparse", place) if "sparse" in accessor else None
        view = None
        if "bufferView" in accessor:
            view = self._view(accessor["bufferView"], place)
            if view.stride == size * components:
                view = view._replace(stride=0)
            _check_fits(view, offset, count, size, components, place)
        normalised = bool(accessor.get("normalized", False))
        return Accessor(view, offset, count, components, kind, normalised, sparse)

    def _view(self, value: Any, place: str) -> _BufferView:
        i = index(value, len(self._views), place, "bufferView")
        found = self._checked.get(i)
        if found is None:
            found = self._checked[i] = self._check_view(i)
        return found

    def _check_view(self, i: int) -> _BufferView:
        view, place = self._views[i], f"bufferViews[{i}]"
        packed = [name for name in self._packed if name in mapping(view, "extensions", place)] if self._packed else []
        buffer = index(view.get("buffer"), len(self._buffers), place, "buffer")
        size = self._sizes.get(buffer)
        if size is None:
            size = self._sizes[buffer] = self._buffers.size(buffer)
        start = natural(view, "byteOffset", place, 0)
        length = natural(view, "byteLength", place)
        if start + length > size:
            raise BrokenError(place, f"ends at byte {start + length:,}; its buffer has {size:,}")
        return _BufferView(buffer, start, length, natural(view, "byteStride", place, 0), packed[0] if packed else "")

    # --- decoding --------------------------------------------------------------------------------

    def _bytes(self, view: _BufferView) -> bytes:
        """Return the bytes of a view's buffer."""
        if view.packed:
            raise BrokenError("", f"the skeleton's data is compressed with {view.packed}, which poise cannot read")
        return self._buffers[view.buffer]

    def _decode_plain(self, layouts: dict[int, Accessor]) -> None:
        """Decode packed floats together. A rig usually has thousands of small accessors."""
        memory = {l.view.buffer: memoryview(self._bytes(l.view)) for l in layouts.values() if l.view}
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

    def _decode(self, i: int) -> Floats:
        layout, place = self.layout(i), f"accessors[{i}]"
        values = np.zeros((layout.elements, layout.components), dtype=_DTYPES[layout.component_type])
        if layout.view is not None:
            values[:] = self._strided(
                layout.view, layout.offset, layout.elements, layout.components, layout.component_type
            )
        if layout.sparse is not None:
            self._substitute(values, layout, place)
        result = values.astype(np.float64)
        if not np.isfinite(result).all():
            raise BrokenError(place, "holds a number that is not finite")
        if layout.normalised and layout.component_type != FLOAT:
            result = np.maximum(result / np.iinfo(values.dtype).max, -1.0)
        result.setflags(write=False)
        return result

    def _substitute(self, values: np.ndarray, layout: Accessor, place: str) -> None:
        sparse = layout.sparse or {}
        place = f"{place}.sparse"
        count = natural(sparse, "count", place)
        if count > layout.elements:
            raise BrokenError(place, f"replaces {count:,} elements of {layout.elements:,}")
        rows = self._sparse_part(sparse, "indices", count, 1, f"{place}.indices")[:, 0].astype(np.int64)
        if len(rows) and (rows.max() >= layout.elements or (np.diff(rows) <= 0).any()):
            raise BrokenError(f"{place}.indices", "must increase and stay below the accessor's count")
        kind = layout.component_type
        values[rows] = self._sparse_part(sparse, "values", count, layout.components, f"{place}.values", kind)

    def _sparse_part(
        self, sparse: Json, key: str, count: int, components: int, place: str, kind: int | None = None
    ) -> np.ndarray:
        part = mapping(sparse, key, place.rpartition(".")[0])
        if kind is None:
            kind = part.get("componentType")
            if type(kind) is not int or kind not in (5121, 5123, 5125):
                raise BrokenError(place, "its componentType must be 5121, 5123 or 5125")
        view = self._view(part.get("bufferView"), place)._replace(stride=0)
        offset = natural(part, "byteOffset", place, 0)
        _check_fits(view, offset, count, _SIZES[kind], components, place)
        return self._strided(view, offset, count, components, kind)

    def _strided(self, view: _BufferView, offset: int, count: int, components: int, kind: int) -> np.ndarray:
        """View the elements in place. Their bounds are checked already."""
        dtype = np.dtype(_DTYPES[kind])
        stride = view.stride or dtype.itemsize * components
        if not count:
            return np.zeros((0, components), dtype)
        strides = (stride, dtype.itemsize)
        return np.ndarray((count, components), dtype, self._bytes(view), view.start + offset, strides)


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


def unit_rows(values: Floats, where: Iterable[str] = ()) -> Floats:
    """Normalize quaternions (k, 4). Unit quaternions stay bit for bit.

    A quaternion of zero length is refused; `labels` may name the rows.
    """
    zero: Ints = np.flatnonzero(~values.any(axis=1))
    if len(zero):
        names = list(where)
        place = names[int(zero[0])] if names else ""
        raise BrokenError(place, "a rotation of zero length is no rotation")
    return rotations.unit(values)

"""Programs of kernel calls, packed for the page.

A program is what Python does around the kernels for one target: arrays, and the calls on them in order. Constant arrays
have their numbers; all others belong to one solve, and begin with zeros. The page's program.js runs it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from poise.kernels import entries
from poise.maths.arrays import Bools, Floats, Ints

_TYPE_LETTERS = {"float64": "F", "int64": "I", "bool": "B"}
_ITEM_ALIGNMENT = 8  # bytes: offsets of arrays among the numbers of the page


class Buffer(NamedTuple):
    """Array of a program, or a part of one in another shape.

    number  of the array in its program
    start   first item
    shape   of the part
    """

    number: int
    start: int
    shape: tuple[int, ...]

    def take(self, start: int, *shape: int) -> Self:
        """Return the part from an item on, in any shape."""
        return self._replace(start=self.start + start, shape=shape)


class ArrayStore:
    """Numbers of all constant arrays of the page. Equal arrays are stored once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._offsets: dict[tuple[str, bytes], int] = {}
        self._size = 0

    def add(self, array: Floats | Ints | Bools | np.ndarray) -> int:
        """Add an array and return the offset of its numbers."""
        data = array.tobytes()
        key = (array.dtype.str, data)
        if key not in self._offsets:
            self._offsets[key] = self._size
            self._parts += [data, bytes(-len(data) % _ITEM_ALIGNMENT)]
            self._size += len(data) + len(self._parts[-1])
        return self._offsets[key]

    def get_bytes(self) -> bytes:
        """Return the numbers of all arrays."""
        return b"".join(self._parts)


class Program:
    """Kernel calls on arrays. Methods that make an array return it; methods that work add a step."""

    def __init__(self, store: ArrayStore) -> None:
        self._store = store
        self._arrays: list[dict[str, Any]] = []
        self._constants: dict[int, tuple[Any, Buffer]] = {}  # by identity; the array is kept alive
        self._steps: list[dict[str, Any]] = []
        self._row_steps: list[dict[str, Any]] = []
        self._current_steps = self._steps
        self._outputs: dict[str, Any] = {}

    def make_constant(self, array: Floats | Ints | Bools) -> Buffer:
        """Make an array with fixed numbers."""
        if id(array) not in self._constants:
            contents: Any = np.ascontiguousarray(array)
            description = {"type": _TYPE_LETTERS[contents.dtype.name], "shape": contents.shape}
            buffer = self._add_array(description | {"data": self._store.add(contents)})
            self._constants[id(array)] = array, buffer
        return self._constants[id(array)][1]

    def make_array(self, *shape: int, letter: str = "F") -> Buffer:
        """Make an array of a solve, filled with zeros before each one."""
        return self._add_array({"type": letter, "shape": shape})

    def make_scratch(self, number_count: int) -> Buffer:
        """Make scratch memory of float64."""
        return self._add_array({"type": "F", "shape": (number_count,), "scratch": True})

    def _add_array(self, description: dict[str, Any]) -> Buffer:
        self._arrays.append(description)
        return Buffer(len(self._arrays) - 1, 0, tuple(description["shape"]))

    def call(self, kernel: Any, *arguments: Any, expected: tuple[int, ...] | None = None) -> None:
        """Call a kernel. Its first returned number must be one of `expected`, if given."""
        name = next(name for name, entry in entries.ENTRIES.items() if entry.call is kernel)
        words = entries.ENTRIES[name].signature.partition("->")[0].split()
        packed = [self._pack_argument(word, value) for word, value in zip(words, arguments, strict=True)]
        self._current_steps.append(
            {"call": name, "with": packed} | ({} if expected is None else {"expected": expected})
        )

    def _pack_argument(self, word: str, value: Any) -> Any:
        if word in ("f", "i", "b"):
            return {word: float(value) if word == "f" else int(value)}
        return list(value if isinstance(value, Buffer) else self.make_constant(value))

    def copy(self, source: Buffer, target: Buffer, count: int) -> None:
        """Copy the first items of a float64 array to another one."""
        self._current_steps.append({"copy": count, "from": source, "to": target})

    def set_flag(self, flag: Buffer, counts: Buffer, column: int) -> None:
        """Set a bool to whether a count is above 0. `counts` is the array of the kernel."""
        self._current_steps.append({"flag": flag, "counts": counts.take(column, 1)})

    def begin_row_steps(self) -> None:
        """Begin the steps from one row of a trace to a pose. A solve leaves them out."""
        self._current_steps = self._row_steps

    def output(self, **values: Any) -> None:
        """Name arrays and numbers for the page."""
        self._outputs |= values

    def pack(self) -> dict[str, Any]:
        """Pack the program for JSON."""
        rows = {"row_steps": self._row_steps} if self._row_steps else {}
        return {"arrays": self._arrays, "steps": self._steps, **rows, **self._outputs}

"""Random arguments for native kernels: the right answer, or a TypeError. Nothing else, and no crash.

Each call begins as a recorded one, so all arguments but the changed ones fit.
"""

from __future__ import annotations

import operator
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from poise.kernels import levels, native
from tests.conftest import ROOT
from tests.timeouts import PROCESS

CALLS = 100_000  # three seconds
TOOL = ROOT / "tools" / "native" / "recorded_calls.py"
KINDS = {"F": np.dtype(np.float64), "I": np.dtype(np.int64), "B": np.dtype(np.bool_)}

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not native.get_library_path().exists(), reason="this platform has no library of kernels: they are compiled"
    ),
]


class Rows(np.ndarray):
    """A subclass of NumPy's array."""


class Number:
    """An object that is a number to Python."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> list[tuple[str, Callable, list[str], tuple]]:
    """The smallest recorded call of each kernel, as (name, kernel, words of its signature, call)."""
    file = tmp_path_factory.mktemp("fuzz") / "calls.pickle"
    subprocess.run(
        [sys.executable, TOOL, "record", file], check=True, capture_output=True, timeout=PROCESS,
        env=os.environ | {"POISE_KERNELS": "native"},
    )  # fmt: skip
    recorded = pickle.loads(file.read_bytes())  # noqa: S301  (written above)
    kernels = native.load_library().list_kernels(levels.find_level())
    found = []
    for name, kernel in kernels.items():
        if recorded.get(name):
            call = min(recorded[name], key=lambda call: sum(np.asarray(each).nbytes for each in call[0]))
            found.append((name, kernel, kernel.__doc__.partition("->")[0].split(), call))
    return found


def make_values() -> list[object]:
    """Make values of all kinds for arguments, most of them wrong ones."""
    values: list[object] = [None, "x", b"1", 1, 2.5, True, 1j, 1 << 70, -(1 << 63) - 1, float("nan"), [0.0], (0,), {}]
    values += [
        object(),
        int,
        np.float64,
        Decimal(1),
        Fraction(1, 2),
        Number(1),
        lambda: 0.0,
        range(3),
        memoryview(b"1"),
    ]
    values += [np.float64(1.0), np.float32(1.0), np.int64(1), np.int8(1), np.uint64(1), np.bool_(1), np.str_("1")]
    values += [np.array(1.0), np.array(1), np.array(None), np.datetime64("2026-01-01")]
    types = (float, int, bool, np.float32, np.int32, np.uint64, complex, object, ">f8", ">i8", "M8[s]", "U3", "V8")
    for dimension_count in range(1, 7):
        for extent in (0, 2):
            shape = (extent,) * dimension_count
            values += [np.zeros(shape, dtype) for dtype in types]
            values += [np.zeros(shape, dtype).view(Rows) for dtype in (float, int, bool)]
            for dtype in (float, int, bool):
                wide = np.zeros((*shape[:-1], 2 * extent), dtype)
                read_only = np.zeros(shape, dtype)
                read_only.flags.writeable = False
                values += [wide[..., ::2], np.asfortranarray(np.zeros(shape, dtype)), read_only]
            memory = np.zeros(8 * extent**dimension_count + 1, np.uint8)
            values += [memory[1:].view(float).reshape(shape), np.zeros(shape, [("x", float)])]
    return values


def can_fit(word: str, value: object) -> bool:
    """Return whether a kernel takes a value for a word of its signature."""
    if word in "fib":
        if isinstance(value, np.bool_):
            return word != "i"
        try:
            return (float if word == "f" else operator.index)(value) is not None  # type: ignore[operator,arg-type]
        except (TypeError, ValueError):
            return False
    letters = word.lstrip("wsa")
    if not isinstance(value, np.ndarray) or value.dtype != KINDS[letters[0]] or value.ndim != int(letters[1]):
        return False
    flags = value.flags
    is_aligned = not (word[0] == "a" and value.size and value.ctypes.data % 64)
    return flags.c_contiguous and flags.aligned and is_aligned and (word[0] not in "wsa" or flags.writeable)


def align(array: np.ndarray) -> np.ndarray:
    """Copy an array to memory aligned to 64 bytes."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    aligned = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def vary(draw: random.Random, word: str, value: object) -> object:
    """Return another form of an argument that fits."""
    if word == "f":
        return draw.choice((value, np.float64(value), Number(value), np.array(value)))
    if word == "i":
        return draw.choice((value, np.int64(value), Number(value), np.array(value)))
    if word == "b":
        return draw.choice((value, np.bool_(value), int(value)))
    array = align(value)
    form = draw.randrange(4)
    if form == 1:
        return array.view(Rows)
    if form == 2 and not array.dtype.hasobject:
        return array.view(pickle.loads(pickle.dumps(array.dtype)).newbyteorder("="))  # noqa: S301  (a type of its own)
    if form == 3 and word[0] not in "wsa":
        array.flags.writeable = False
    return array


def find_error(kernel: Callable, arguments: list) -> type[Exception] | None:
    """Find the kind of error that a call raises. pytest.raises would take ten times as long."""
    try:
        kernel(*arguments)
    except Exception as error:  # noqa: BLE001  (any)
        return type(error)
    return None


def test_wrong_arguments_raise_type_errors(calls):
    draw, values, refused = random.Random(44), make_values(), 0
    for _ in range(CALLS):
        name, kernel, words, (before, _, _) = draw.choice(calls)
        arguments = list(before)
        index = draw.randrange(-1, len(words))
        if index < 0:
            arguments = (
                arguments[: draw.randrange(len(words))] if draw.random() < 0.5 else [*arguments, draw.choice(values)]
            )
        else:
            arguments[index] = draw.choice(values)
            if can_fit(words[index], arguments[index]):
                continue  # of another extent, which kernels do not check
            if words[index] == "i" and isinstance(arguments[index], np.bool_):
                continue  # NumPy 1 takes it for a number, with a warning
        error = find_error(kernel, arguments)
        if error is OverflowError and index >= 0:
            assert abs(arguments[index]) > 1 << 62
        else:
            assert error is TypeError, f"{name}: argument {index} is {arguments[index]!r}"
        refused += 1
    assert refused > 0.8 * CALLS


def test_other_forms_of_arguments_give_the_same_answer(calls):
    draw = random.Random(45)
    for _ in range(CALLS // 20):
        name, kernel, words, (before, after, result) = draw.choice(calls)
        if sum(np.asarray(each).nbytes for each in before) > 100_000:
            continue
        arguments = [vary(draw, word, value) for word, value in zip(words, before, strict=True)]
        given = kernel(*arguments)
        assert repr(given) == repr(result), name
        for word, argument, expected in zip(words, arguments, after, strict=True):
            if word[0] not in "sa" and len(word) > 1:
                assert argument.tobytes() == expected.tobytes(), name


def test_every_kernel_is_called(calls):
    kernels = native.load_library().list_kernels(levels.find_level())
    other_lanes = {name for name in kernels if name.endswith(("4", "8"))}
    assert {name for name, *_ in calls} >= set(kernels) - other_lanes

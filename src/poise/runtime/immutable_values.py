"""Base of immutable values with read-only arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from poise.runtime.result_cache import select_own_fields

Value = TypeVar("Value")


class FrozenValue:
    """Base of immutable values.

    Their arrays are read-only. Copies and pickles also have read-only arrays, and hold the constructor fields only.
    """

    def __getstate__(self) -> dict[str, Any]:
        return select_own_fields(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_arrays(state.values())


def freeze_arrays(values: Iterable[object]) -> None:
    """Make arrays read-only, also those in named tuples. Pickle and deepcopy make them writable."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        elif isinstance(value, tuple):
            freeze_arrays(value)


def freeze(value: Value) -> Value:
    """Make all arrays of a value read-only, and return it.

    Results that are kept for later calls are frozen: who edits one would change the next. Arrays in tuples, mappings
    and dataclasses count, too.
    """
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple):
        for part in value:
            freeze(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            freeze(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, FrozenValue | type):
        for field in dataclasses.fields(value):
            freeze(getattr(value, field.name))
    return value

"""Base of immutable values with read-only arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from poise.runtime.result_cache import select_own_fields

Value = TypeVar("Value")

_PLAIN_TYPES = frozenset((type(None), bool, int, float, str))
_MAX_TYPES = 256  # whose fields are kept: there are some 60


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
    values: list[Any] = [value]
    while values:
        each = values.pop()
        if isinstance(each, np.ndarray):
            each.setflags(write=False)
            continue
        if isinstance(each, tuple):
            parts: Iterable[Any] = each
        elif _is_mapping(type(each)):
            parts = each.values()
        else:
            parts = [getattr(each, name) for name in _list_field_names(type(each))]
        values += [part for part in parts if type(part) not in _PLAIN_TYPES]  # most parts are names and numbers
    return value


@lru_cache(maxsize=_MAX_TYPES)
def _is_mapping(value_type: type) -> bool:
    """Return whether a type is one of mappings. Asking for each value takes ten times as long."""
    return issubclass(value_type, Mapping)


@lru_cache(maxsize=_MAX_TYPES)
def _list_field_names(value_type: type) -> tuple[str, ...]:
    """List the fields of a dataclass. A frozen value has none to freeze."""
    if not dataclasses.is_dataclass(value_type) or issubclass(value_type, FrozenValue):
        return ()
    return tuple(field.name for field in dataclasses.fields(value_type))

"""Cache of results derived from immutable values.

Skeletons, poses and plans are immutable, so derived results stay valid. They are stored in the value's own `__dict__`
and freed with it, but neither compared nor pickled (`select_own_fields`, `FrozenValue`). Functions of options alone,
such as a row of settings, use functools for caching.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from poise.maths.forks import survive_forks

Found = TypeVar("Found")

_NAME = "_remembered"
_MOST = 128  # keys per subject; bounds the memory of varying keys, such as an offset per frame


def remember(owner: object, subject: str, key: Hashable, make: Callable[[], Found], most: int = _MOST) -> Found:
    """Return the cached result for owner, subject and key. Calls `make()` where there is none yet.

    Each subject has at most `max_keys` keys; the oldest is removed first. Concurrent threads may both compute a result;
    one of the two is stored.
    """
    memory: dict[str, dict[Hashable, Any]] = owner.__dict__.setdefault(_NAME, {})
    known = memory.get(subject)
    if known is None:
        known = memory.setdefault(subject, {})
    found = known.get(key, _NAME)
    if found is _NAME:
        found = make()
        while len(known) >= most:
            known.pop(next(iter(tuple(known)), None), None)  # of a copy: other threads may add keys
        known[key] = found
    return found


def own_fields(owner: Any) -> dict[str, Any]:
    """Return the constructor fields of a value, for pickling. Cached results are left out."""
    kind = type(owner)
    return {
        name: value
        for name, value in owner.__dict__.items()
        if name != _NAME and not isinstance(getattr(kind, name, None), cached_property)
    }


class FrozenValue:
    """Base of immutable values.

    Their arrays are read-only. Copies and pickles also have read-only arrays, and hold the constructor fields only.
    """

    def __getstate__(self) -> dict[str, Any]:
        return own_fields(self)

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


survive_forks()  # here, because every module with kernels or cached properties imports this one

"""Cache of results derived from immutable values.

Skeletons, poses and plans are frozen, so that what follows from one stays true as long as it lives. It is kept with
the value itself and goes when that goes; it is no part of it: not compared, not pickled (`select_own_fields`,
`FrozenValue`). Functions of options alone, such as a row of settings, keep their last answers with functools.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from poise.maths.forks import survive_forks

Found = TypeVar("Found")

_NAME = "_remembered"
_MOST = 128  # of one subject, so that endless new questions (another offset in each frame) do not fill the memory


def remember(owner: object, subject: str, key: Hashable, make: Callable[[], Found], most: int = _MOST) -> Found:
    """Return the cached result for owner, subject and key. Calls `make()` where there is none yet.

    Of each subject `max_keys` keys are kept; then the oldest makes room. Threads that ask for the same
    thing at once may both make it, and one of the two is kept.
    """
    memory: dict[str, dict[Hashable, Any]] = owner.__dict__.setdefault(_NAME, {})
    known = memory.get(subject)
    if known is None:
        known = memory.setdefault(subject, {})
    found = known.get(key, _NAME)
    if found is _NAME:
        found = make()
        while len(known) >= most:
            known.pop(next(iter(tuple(known)), None), None)  # of a copy: other threads may put something in
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

    Copies and pickles have read-only arrays, too, and hold the constructor fields only. Its copies and pickles are so,
    too, and hold nothing but what it is.
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


survive_forks()  # here, since whatever works something out, with a kernel or in a property, imports this

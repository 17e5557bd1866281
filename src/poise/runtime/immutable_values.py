"""Base of immutable values with read-only arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from poise.runtime.result_cache import select_own_fields


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

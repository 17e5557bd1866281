"""The one way in which Poise keeps what it worked out from a value that never changes.

Skeletons, poses and plans are frozen, so that what follows from one stays true as long as it lives. It is kept with
the value itself and goes when that goes; it is no part of it: not compared, not pickled (`own_fields`).
Functions of options alone, such as a row of settings, keep their last answers with functools.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Found = TypeVar("Found")

_NAME = "_remembered"
_MOST = 128  # of one subject, so that endless new questions (another offset in each frame) do not fill the memory


def remember(owner: object, subject: str, key: Hashable, make: Callable[[], Found], most: int = _MOST) -> Found:
    """Return what `make()` gave for this owner, subject and key, calling it where that is not known yet.

    Of each subject `most` keys are kept; then the oldest makes room. Threads that ask for the same
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
            known.pop(next(iter(known), None), None)
        known[key] = found
    return found


def own_fields(owner: Any) -> dict[str, Any]:
    """What is pickled of a value with fields: these, not what was worked out from them."""
    return {field.name: getattr(owner, field.name) for field in dataclasses.fields(owner)}

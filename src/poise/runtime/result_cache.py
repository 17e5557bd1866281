"""Cache of results derived from immutable values.

Skeletons, poses and plans are immutable, so derived results stay valid. They are stored in the value's own `__dict__`
and freed with it, but neither compared nor pickled (`select_own_fields`). Functions of options alone, such as a row of
settings, use functools for caching.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property, lru_cache
from sys import getsizeof
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from poise.runtime.fork_handlers import register_fork_handlers

Computed = TypeVar("Computed")
Value = TypeVar("Value")

_CACHE_ATTRIBUTE = "_remembered"
_MAX_KEYS = 128  # keys per subject; bounds the memory of varying keys, such as a pose of the spine per frame
_MAX_BYTES = 1 << 24  # bytes per subject, about; with fewer, large problems are packed again more often


def get_or_compute(
    owner: object, subject: str, key: Hashable, compute: Callable[[], Computed], max_keys: int | None = None
) -> Computed:
    """Return the cached result for owner, subject and key. Calls `compute()` where there is none yet.

    Each subject has at most `max_keys` keys, by default the `max_cached_keys` of the owner's class. Where there is
    neither, it has at most 128 keys and 16 MB. The oldest is removed first. Concurrent threads may both compute a
    result; one of the two is stored.
    """
    try:
        return owner.__dict__[_CACHE_ATTRIBUTE][subject][key]
    except KeyError:
        pass  # compute() runs outside: its errors do not name this one
    caches: dict[str, _SubjectCache] = owner.__dict__.setdefault(_CACHE_ATTRIBUTE, {})
    results_by_key = caches.get(subject)
    if results_by_key is None:
        results_by_key = caches.setdefault(subject, _SubjectCache())
    result = compute()
    if results_by_key:
        results_by_key.make_room(owner, max_keys or getattr(owner, "max_cached_keys", None))
    results_by_key[key] = result
    return result


def forget(owner: object, subject: str) -> None:
    """Remove all cached results of a subject."""
    owner.__dict__.get(_CACHE_ATTRIBUTE, {}).pop(subject, None)


def is_cached(owner: object, subject: str, key: Hashable) -> bool:
    """Return whether a result for owner, subject and key is cached."""
    return key in owner.__dict__.get(_CACHE_ATTRIBUTE, {}).get(subject, ())


class _SubjectCache(dict[Hashable, Any]):
    """Results of a subject by key, the oldest first.

    byte_counts  sizes of all results but the newest [bytes]. A result is measured when the next one comes, because by
                 then its own cached properties are computed.
    turn         number of results measured, which tells the one to be measured again
    """

    byte_counts: dict[Hashable, int] | None = None
    turn: int = 0

    def make_room(self, owner: object, max_keys: int | None) -> None:
        """Remove the oldest results until one more is allowed. Bytes count only without `max_keys`."""
        keys = list(self)  # a copy: other threads may add and remove keys
        if max_keys is not None:
            for key in keys[: max(len(keys) - max_keys + 1, 0)]:
                self.pop(key, None)
            return
        if not keys:
            return
        if self.byte_counts is None:  # most subjects have one key only
            self.byte_counts = {}
        byte_counts = self.byte_counts
        self.turn += 1
        for key in (keys[-1], keys[self.turn % len(keys)]):  # an older one in turn, because results grow with use
            byte_counts[key] = _count_bytes(self.get(key), owner)
        for key in byte_counts.keys() - self.keys():  # removed by another thread
            byte_counts.pop(key, None)
        kept_bytes = sum(list(byte_counts.values()))
        for key in keys:
            if len(self) < _MAX_KEYS and kept_bytes <= _MAX_BYTES:
                return
            self.pop(key, None)
            kept_bytes -= byte_counts.pop(key, 0)


_UNCOUNTED_TYPES = frozenset((type(None), bool, int, float, str, bytes, ModuleType, FunctionType, _SubjectCache))


def _count_bytes(result: object, owner: object) -> int:
    """Count the bytes of a result's arrays and rows.

    Those in fields of its values count, too. A plain tuple or list counts as many times the size of its first item. The
    owner is left out, and so are cached results of the values, which may be the owner's, but for classes with
    `max_cached_keys`.
    """
    byte_count, counted = 0, {id(owner)}
    values: list[Any] = [result]
    while values:
        value = values.pop()
        value_type = type(value)
        if value_type in _UNCOUNTED_TYPES or id(value) in counted:
            continue
        counted.add(id(value))
        if value_type is np.ndarray:
            byte_count += value.nbytes
        elif value_type is dict:
            values += value.values()
        elif value_type is tuple or value_type is list:
            byte_count += len(value) * getsizeof(value[0]) if value else 0
        elif isinstance(value, tuple):
            values += value
        elif not isinstance(value, type):
            fields = getattr(value, "__dict__", None)
            values += fields.values() if isinstance(fields, dict) else ()  # a library of C finds a function of any name
            if hasattr(value_type, "max_cached_keys"):
                for results_by_key in list(getattr(value, _CACHE_ATTRIBUTE, {}).values()):  # threads may add some
                    values += results_by_key.values()
    return byte_count


if TYPE_CHECKING:
    quick_property = cached_property
else:

    class quick_property(cached_property):  # noqa: N801  (named like its base class)
        """Cached property without a lock, as in Python 3.12. For values computed in a few microseconds."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute the value and keep it. Python finds the kept value without this call."""
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def select_own_fields(owner: Any) -> dict[str, Any]:
    """Return the constructor fields of a value, for pickling. Cached results are left out."""
    cached_names = _list_cached_names(type(owner))
    return {name: value for name, value in owner.__dict__.items() if name not in cached_names}


def copy_own_fields(value: Value) -> Value:
    """Copy a value without its cached results. The arrays are shared.

    A class uses it to change a field of the copy: that takes a tenth of the time of `copy.copy`.
    """
    owner_class = type(value)
    value_copy = object.__new__(owner_class)
    fields = value_copy.__dict__
    fields.update(value.__dict__)
    for name in _list_cached_names(owner_class):
        fields.pop(name, None)
    return value_copy


@lru_cache(maxsize=_MAX_KEYS)
def _list_cached_names(owner_class: type) -> frozenset[str]:
    """List the attributes of a class with cached results."""
    names = {name for each in owner_class.__mro__ for name in vars(each)}
    cached_names = {name for name in names if isinstance(getattr(owner_class, name, None), cached_property)}
    return frozenset({*cached_names, _CACHE_ATTRIBUTE})


def copy_with(owner: Computed, changes: Mapping[str, Any], shared_properties: Iterable[str]) -> Computed:
    """Copy a value with other constructor fields. Some cached properties are computed and shared."""
    copied = copy_own_fields(owner)
    copied.__dict__.update({name: getattr(owner, name) for name in shared_properties} | dict(changes))
    return copied


register_fork_handlers()  # here, because every module with kernels or cached properties imports this one

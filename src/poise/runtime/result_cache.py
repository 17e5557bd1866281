"""Cache of results derived from immutable values.

Skeletons, poses and plans are immutable, so derived results stay valid. They are stored in the value's own `__dict__`
and freed with it, but neither compared nor pickled (`select_own_fields`). Functions of options alone, such as a row of
settings, use functools for caching.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from poise.runtime.fork_handlers import register_fork_handlers

Computed = TypeVar("Computed")
Value = TypeVar("Value")

_CACHE_ATTRIBUTE = "_remembered"
_MAX_KEYS = 128  # keys per subject; bounds the memory of varying keys, such as an offset per frame


def get_or_compute(
    owner: object, subject: str, key: Hashable, compute: Callable[[], Computed], max_keys: int = _MAX_KEYS
) -> Computed:
    """Return the cached result for owner, subject and key. Calls `compute()` where there is none yet.

    Each subject has at most `max_keys` keys; the oldest is removed first. Concurrent threads may both compute a result;
    one of the two is stored.
    """
    try:
        return owner.__dict__[_CACHE_ATTRIBUTE][subject][key]
    except KeyError:
        pass  # compute() runs outside: its errors do not name this one
    caches: dict[str, dict[Hashable, Any]] = owner.__dict__.setdefault(_CACHE_ATTRIBUTE, {})
    results_by_key = caches.get(subject)
    if results_by_key is None:
        results_by_key = caches.setdefault(subject, {})
    result = compute()
    while len(results_by_key) >= max_keys:
        results_by_key.pop(next(iter(tuple(results_by_key)), None), None)  # of a copy: other threads may add keys
    results_by_key[key] = result
    return result


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

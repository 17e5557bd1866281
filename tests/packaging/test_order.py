"""The tests that take longest are begun first, each by a worker of its own as far as there are workers."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from tests.conftest import LONGEST, ROOT, longest_first

NAMES = [(names,) if isinstance(names, str) else names for names in LONGEST]
FIRST = [names[0] for names in NAMES]  # of each group


class Item(SimpleNamespace):
    """A test, of which only the name counts."""

    __hash__ = object.__hash__


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("short", [0, 1, 5, 100, 101])
def test_every_share_begins_with_what_takes_longest(workers, short):
    few = [f"a.py::test_{i}" for i in range(short)]
    given = [Item(nodeid=name) for name in (*few, *(f"{name}[{i}]" for name in reversed(FIRST) for i in range(2)))]
    found = longest_first(given, workers)
    assert sorted(map(id, found)) == sorted(map(id, given))
    if short > 99:  # as worksteal gives them out: to each worker its part of what is left
        heads, left = [], found
        for worker in range(workers):
            share = len(left) // (workers - worker)
            heads.append(left[0].nodeid)
            left = left[share:]
        assert heads == [f"{name}[0]" for name in FIRST[:workers]]
    assert [item.nodeid for item in found if item.nodeid in few] == few


def test_what_takes_longest_is_there():
    for name in itertools.chain.from_iterable(NAMES):
        path, _, test = name.partition("::")
        assert f"def {test}" in (ROOT / path).read_text(encoding="utf-8")

"""Constant tables of a kernel, packed one behind the other.

A call from Python costs about 30 ns an array, a small solve one or two microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats, Ints


class PackedTables(NamedTuple):
    """Tables as numbers, and their layout.

    The layout has a head; then, for each table, its first position, rows and columns; then further lists.
    """

    tables: Floats
    layout: Ints


def pack_tables(head: Sequence[int], tables: Sequence[Floats | Ints], *lists: Ints) -> PackedTables:
    """Pack tables of one or two axes."""
    shapes = [(*table.shape, 1)[:2] for table in tables]
    starts = np.cumsum([0, *[table.size for table in tables[:-1]]])
    positions = np.column_stack([starts, shapes]).ravel()
    layout = np.concatenate([head, positions, *lists]).astype(np.int64)
    return PackedTables(np.concatenate([table.ravel() for table in tables], dtype=np.float64), layout)

# pyright: standard
"""Symmetric band matrices, solved by Cholesky factors.

A panel is as many rows as a tile has lanes, four or eight, which begin at the same column: H[i, j] of j >= i stands at
rows[i, j - i + i % lanes]. So factors are computed a tile at a time. What stands before the diagonal has no meaning.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.device_functions import device_function, inline, inline_ordered
from poise.kernels.lanes import SCALAR, broadcast, count_lanes, get_lane, set_lane, stack_matrix, view_lanes

_MOST_LANES = 8
_MIN_PIVOT = 1e-12
# An index with this mask is not negative, so compiled code doesn't ask whether it counts from the end: a tenth of the
# time. Sums are ordered for the same: a product joins its sum in one operation.
_PLAIN = (1 << 40) - 1


class Band(NamedTuple):
    """A symmetric band matrix in scratch memory, or a column of numbers.

    Its n rows are those of whole panels; rows to spare are those of the unit matrix.

    rows   (n, w) numbers; (1, n) of a column
    tiles  (n, w / lanes) the same numbers by tiles
    """

    rows: Any
    tiles: Any


@inline
def compute_width(lane_kind, reach):
    """Compute the width w of rows. From its diagonal on, a row has at most `reach` numbers."""
    lanes = count_lanes(lane_kind)
    return lanes * ((reach + 2 * lanes - 2) // lanes)


@inline
def round_up(lane_kind, count):
    """Return the rows of whole panels for so many rows."""
    lanes = count_lanes(lane_kind)
    return lanes * ((count + lanes - 1) // lanes)


@inline
def view_band(lane_kind, work, start, count, width):
    """View a band in scratch memory. `start` and `width` are multiples of the lanes."""
    tiles = width // count_lanes(lane_kind)
    return Band(view_lanes(SCALAR, work, start, count, width), view_lanes(lane_kind, work, start, count, tiles))


@device_function
def clear_band(lane_kind, band, reaches):
    """Write the unit matrix."""
    clear_panels(lane_kind, band, reaches, 0, len(reaches))


@device_function
def clear_panels(lane_kind, band, reaches, start, stop):
    """Write the unit matrix to panels from `start` to `stop`."""
    zero, lanes = broadcast(lane_kind, 0.0), count_lanes(lane_kind)
    for panel in range(start, stop):
        for k in range(lanes):
            i = lanes * panel + k
            for e in range(int(reaches[panel]) // lanes):
                band.tiles[i, e] = zero
            band.rows[i, k] = 1.0


@device_function
def copy_band(lane_kind, band, reaches, copied):
    """Write a band to another one."""
    lanes = count_lanes(lane_kind)
    for panel in range(len(reaches)):
        for i in range(lanes * panel, lanes * (panel + 1)):
            for e in range(int(reaches[panel]) // lanes):
                copied.tiles[i, e] = band.tiles[i, e]


@inline
def invert_root(pivot):
    """Compute 1 / sqrt(pivot). Too small pivots count as the smallest one."""
    return 1.0 / math.sqrt(max(pivot, _MIN_PIVOT))


@inline
def read_tiles(lane_kind, band, panel, e, sums, line):
    """Read a tile of each row of a panel."""
    lanes = count_lanes(lane_kind)
    i = (lanes * panel) & _PLAIN
    for r in range(lanes):
        sums[line, r] = band.tiles[i + r, e]


@inline_ordered
def subtract_panels(lane_kind, band, first, last, panel, e, sums):
    """Subtract earlier panels from a tile of each row.

    They are those from `first` to `last`.
    """
    lanes = count_lanes(lane_kind)
    for before in range(first & _PLAIN, last & _PLAIN):
        at, beside = (lanes * (panel - before)) & _PLAIN, (panel - before + e) & _PLAIN
        for k in range(lanes):
            own, ahead = band.rows[lanes * before + k], band.tiles[lanes * before + k, beside]
            for r in range(lanes):
                sums[0, r] = sums[0, r] - own[at + r] * ahead


@inline_ordered
def subtract_from_two(lane_kind, band, first, panel, e, sums):
    """Subtract earlier panels from two tiles of each row.

    The tiles are e and e + 1, the panels those from `first` on.
    """
    lanes = count_lanes(lane_kind)
    for before in range(first & _PLAIN, panel & _PLAIN):
        at, beside = (lanes * (panel - before)) & _PLAIN, (panel - before + e) & _PLAIN
        for k in range(lanes):
            own, line = band.rows[lanes * before + k], band.tiles[lanes * before + k]
            ahead, beyond = line[beside], line[beside + 1]
            for r in range(lanes):
                sums[0, r] = sums[0, r] - own[at + r] * ahead
                sums[1, r] = sums[1, r] - own[at + r] * beyond


@inline_ordered
def subtract_from_corner(lane_kind, band, first, panel, right, sums):
    """Subtract earlier panels from the first tile of each row.

    They are those from `first` on. Also from the right side, whose tile stands behind them.
    """
    lanes = count_lanes(lane_kind)
    for before in range(first & _PLAIN, panel & _PLAIN):
        at, beside = (lanes * (panel - before)) & _PLAIN, (panel - before) & _PLAIN
        for k in range(lanes):
            own, ahead = band.rows[lanes * before + k], band.tiles[lanes * before + k, beside]
            sums[1, 0] = sums[1, 0] - right.rows[0, lanes * before + k] * ahead
            for r in range(lanes):
                sums[0, r] = sums[0, r] - own[at + r] * ahead


@inline_ordered
def write_factors(lane_kind, band, panel, e, sums, line):
    """Write a tile of each row, divided by the panel's factors."""
    lanes = count_lanes(lane_kind)
    i = (lanes * panel) & _PLAIN
    for k in range(lanes):
        tile = sums[line, k]
        for m in range(k):
            tile = tile - band.rows[i + m, k] * sums[line, m]
        tile = tile * band.rows[i + k, k]
        sums[line, k] = tile
        band.tiles[i + k, e] = tile


@device_function
def factor_corner(lane_kind, band, first, panel, right):
    """Factor the first tiles of a panel and its right side.

    Panels from `first` on reach them. Numbers on the diagonal become inverse.
    """
    lanes = count_lanes(lane_kind)
    sums, i = stack_matrix(lane_kind, 2, _MOST_LANES), (lanes * panel) & _PLAIN
    read_tiles(lane_kind, band, panel, 0, sums, 0)
    sums[1, 0] = right.tiles[0, panel & _PLAIN]
    subtract_from_corner(lane_kind, band, first, panel, right, sums)
    for k in range(lanes):
        inverse = invert_root(get_lane(sums[0, k], k))
        line = inverse * sums[0, k]
        y = inverse * get_lane(sums[1, 0], k)
        right.rows[0, i + k] = y
        sums[1, 0] = sums[1, 0] - y * line
        for r in range(k + 1, lanes):
            sums[0, r] = sums[0, r] - get_lane(line, r) * line
        band.tiles[i + k, 0] = set_lane(line, k, inverse)


@device_function
def factor_two_tiles(lane_kind, band, first, second, panel, e):
    """Factor the tiles e and e + 1 of a panel.

    Two at a time keep a processor busy. Panels from `first` on reach the one, from `second` on the other as well.
    """
    sums = stack_matrix(lane_kind, 2, _MOST_LANES)
    read_tiles(lane_kind, band, panel, e, sums, 0)
    read_tiles(lane_kind, band, panel, e + 1, sums, 1)
    subtract_panels(lane_kind, band, first, second, panel, e, sums)
    subtract_from_two(lane_kind, band, second, panel, e, sums)
    write_factors(lane_kind, band, panel, e, sums, 0)
    write_factors(lane_kind, band, panel, e + 1, sums, 1)


@device_function
def factor_tile(lane_kind, band, first, panel, e):
    """Factor a tile of a panel. Panels from `first` on reach it."""
    sums = stack_matrix(lane_kind, 1, _MOST_LANES)
    read_tiles(lane_kind, band, panel, e, sums, 0)
    subtract_panels(lane_kind, band, first, panel, panel, e, sums)
    write_factors(lane_kind, band, panel, e, sums, 0)


@inline
def find_first_panel(lane_kind, reaches, first, panel, e):
    """Find the first panel to reach a tile of a later one. It is `first` or behind it."""
    lanes = count_lanes(lane_kind)
    while first < panel and lanes * first + reaches[first] <= lanes * (panel + e):
        first += 1
    return first


@device_function
def factor_panel(lane_kind, band, reaches, first, panel, right):
    """Factor a panel. `first` is the first of the panels that reach it."""
    factor_corner(lane_kind, band, first, panel, right)
    count = int(reaches[panel]) // count_lanes(lane_kind)
    for e in range(1, count - 1, 2):
        first = find_first_panel(lane_kind, reaches, first, panel, e)
        second = find_first_panel(lane_kind, reaches, first, panel, e + 1)
        factor_two_tiles(lane_kind, band, first, second, panel, e)
    if count % 2 == 0:
        first = find_first_panel(lane_kind, reaches, first, panel, count - 1)
        factor_tile(lane_kind, band, first, panel, count - 1)


@device_function
def substitute_panel(lane_kind, band, panel, tile_count, right):
    """Solve for the rows of a panel.

    All rows behind it are known.
    """
    lanes, zero = count_lanes(lane_kind), broadcast(lane_kind, 0.0)
    sums, i = stack_matrix(lane_kind, 1, _MOST_LANES), (lanes * panel) & _PLAIN
    for r in range(lanes):
        sums[0, r] = zero
    for e in range(1, tile_count):
        ahead = right.tiles[0, (panel + e) & _PLAIN]
        for r in range(lanes):
            sums[0, r] = sums[0, r] + band.tiles[i + r, e] * ahead
    rows, y = band.rows, right.rows[0]
    for k in range(lanes - 1, -1, -1):
        rest = y[i + k] - add_lanes(lane_kind, sums[0, k])
        for r in range(k + 1, lanes):
            rest -= rows[i + k, r] * y[i + r]
        y[i + k] = rows[i + k, k] * rest


@inline
def add_lanes(lane_kind, tile):
    """Add the numbers of a tile."""
    total = 0.0
    for k in range(count_lanes(lane_kind)):
        total += get_lane(tile, k)
    return total


@device_function
def factor_panels(lane_kind, band, reaches, first, start, stop, right):
    """Factor panels from `start` to `stop`. Those before are factored; see `solve_band`.

    `first` is at most the first panel that reaches them; returns this for the panels to come.
    """
    for panel in range(start, stop):
        first = find_first_panel(lane_kind, reaches, first, panel, 0)
        factor_panel(lane_kind, band, reaches, first, panel, right)
    return first


@device_function
def substitute_panels(lane_kind, band, reaches, right):
    """Solve for all rows, from the last one on. All panels are factored."""
    for panel in range(len(reaches) - 1, -1, -1):
        substitute_panel(lane_kind, band, panel, int(reaches[panel]) // count_lanes(lane_kind), right)


@device_function
def solve_band(lane_kind, band, reaches, right):
    """Solve H y = right in place. The matrix is replaced by its factors, with inverse numbers on their diagonal.

    reaches  (n / lanes,) columns of each panel from its first on, a multiple of the lanes
    right    a column
    """
    factor_panels(lane_kind, band, reaches, 0, 0, len(reaches), right)
    substitute_panels(lane_kind, band, reaches, right)

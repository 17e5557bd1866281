# pyright: standard
"""Symmetric band matrices, solved by Cholesky factors.

Four rows are a panel, and begin at the same column: H[i, j] of j >= i stands at rows[i, j - i + i % 4]. So factors are
computed four numbers at a time. What stands before the diagonal has no meaning.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.lanes import LANES4, SCALAR, broadcast, get_lane, view_lanes

PANEL = 4  # rows, and numbers of a tile
_MIN_PIVOT = 1e-12


class Band(NamedTuple):
    """A symmetric band matrix in scratch memory, or a column of numbers.

    Its n rows are those of whole panels; rows to spare are those of the unit matrix.

    rows   (n, w) numbers; (1, n) of a column
    tiles  (n, w / 4) the same numbers, four at a time
    """

    rows: Any
    tiles: Any


@inline
def compute_width(reach):
    """Compute the width w of rows. From its diagonal on, a row has at most `reach` numbers."""
    return PANEL * ((reach + 2 * PANEL - 2) // PANEL)


@inline
def round_up(count):
    """Return the rows of whole panels for so many rows."""
    return PANEL * ((count + PANEL - 1) // PANEL)


@inline
def view_band(work, start, count, width):
    """View a band in scratch memory. `start` and `width` are multiples of four."""
    return Band(view_lanes(SCALAR, work, start, count, width), view_lanes(LANES4, work, start, count, width // PANEL))


@device_function
def clear_band(band, reaches):
    """Write the unit matrix."""
    zero = broadcast(LANES4, 0.0)
    for panel in range(len(reaches)):
        for i in range(PANEL * panel, PANEL * (panel + 1)):
            for e in range(int(reaches[panel]) // PANEL):
                band.tiles[i, e] = zero
            band.rows[i, i % PANEL] = 1.0


@device_function
def copy_band(band, reaches, copied):
    """Write a band to another one."""
    for panel in range(len(reaches)):
        for i in range(PANEL * panel, PANEL * (panel + 1)):
            for e in range(int(reaches[panel]) // PANEL):
                copied.tiles[i, e] = band.tiles[i, e]


class Corner(NamedTuple):
    """Factors of four rows on the diagonal and beside it.

    Numbers on the diagonal are inverse.
    """

    a: float
    b: float
    c: float
    d: float
    ab: float
    ac: float
    ad: float
    bc: float
    bd: float
    cd: float


@inline
def invert_root(pivot):
    """Compute 1 / sqrt(pivot). Too small pivots count as the smallest one."""
    return 1.0 / math.sqrt(max(pivot, _MIN_PIVOT))


@inline
def factor_corner(a, b, c, d):
    """Factor four rows of a symmetric matrix, given as tiles."""
    one = invert_root(get_lane(a, 0))
    ab, ac, ad = one * get_lane(a, 1), one * get_lane(a, 2), one * get_lane(a, 3)
    two = invert_root(get_lane(b, 1) - ab * ab)
    bc, bd = two * (get_lane(b, 2) - ab * ac), two * (get_lane(b, 3) - ab * ad)
    three = invert_root(get_lane(c, 2) - ac * ac - bc * bc)
    cd = three * (get_lane(c, 3) - ac * ad - bc * bd)
    four = invert_root(get_lane(d, 3) - ad * ad - bd * bd - cd * cd)
    return Corner(one, two, three, four, ab, ac, ad, bc, bd, cd)


@inline
def divide(corner, a, b, c, d):
    """Divide columns of four rows by their factors.

    A column is a number or a tile of each row.
    """
    a = corner.a * a
    b = corner.b * (b - corner.ab * a)
    c = corner.c * (c - corner.ac * a - corner.bc * b)
    d = corner.d * (d - corner.ad * a - corner.bd * b - corner.cd * c)
    return a, b, c, d


@inline
def subtract_panels(band, first, panel, e):
    """Subtract panels from a tile of each row of a later panel.

    They are those from `first` on. Returns the four tiles.
    """
    rows, tiles, i = band.rows, band.tiles, PANEL * panel
    a, b, c, d = tiles[i, e], tiles[i + 1, e], tiles[i + 2, e], tiles[i + 3, e]
    for before in range(first, panel):
        at = i - PANEL * before
        for k in range(PANEL):
            own, ahead = rows[PANEL * before + k], tiles[PANEL * before + k, panel - before + e]
            a = a - own[at] * ahead
            b = b - own[at + 1] * ahead
            c = c - own[at + 2] * ahead
            d = d - own[at + 3] * ahead
    return a, b, c, d


@device_function
def factor_panel(band, reaches, first, panel, right):
    """Factor a panel. `first` is the first of the panels that reach it."""
    tiles, i = band.tiles, PANEL * panel
    rest = right.tiles[0, panel]
    for before in range(first, panel):
        for k in range(PANEL):
            rest = rest - right.rows[0, PANEL * before + k] * tiles[PANEL * before + k, panel - before]
    a, b, c, d = subtract_panels(band, first, panel, 0)
    corner = factor_corner(a, b, c, d)
    y = divide(corner, get_lane(rest, 0), get_lane(rest, 1), get_lane(rest, 2), get_lane(rest, 3))
    for k in range(PANEL):
        right.rows[0, i + k] = y[k]
    band.rows[i, 0], band.rows[i, 1], band.rows[i, 2], band.rows[i, 3] = corner.a, corner.ab, corner.ac, corner.ad
    band.rows[i + 1, 1], band.rows[i + 1, 2], band.rows[i + 1, 3] = corner.b, corner.bc, corner.bd
    band.rows[i + 2, 2], band.rows[i + 2, 3], band.rows[i + 3, 3] = corner.c, corner.cd, corner.d
    for e in range(1, int(reaches[panel]) // PANEL):
        while first < panel and PANEL * first + reaches[first] <= i + PANEL * e:
            first += 1
        a, b, c, d = subtract_panels(band, first, panel, e)
        tiles[i, e], tiles[i + 1, e], tiles[i + 2, e], tiles[i + 3, e] = divide(corner, a, b, c, d)


@device_function
def substitute_panel(band, panel, tile_count, right):
    """Solve for the rows of a panel.

    All rows behind it are known.
    """
    i, zero = PANEL * panel, broadcast(LANES4, 0.0)
    a, b, c, d = zero, zero, zero, zero
    for e in range(1, tile_count):
        ahead = right.tiles[0, panel + e]
        a = a + band.tiles[i, e] * ahead
        b = b + band.tiles[i + 1, e] * ahead
        c = c + band.tiles[i + 2, e] * ahead
        d = d + band.tiles[i + 3, e] * ahead
    rows, y = band.rows, right.rows[0]
    y[i + 3] = rows[i + 3, 3] * (y[i + 3] - add_lanes(d))
    y[i + 2] = rows[i + 2, 2] * (y[i + 2] - add_lanes(c) - rows[i + 2, 3] * y[i + 3])
    y[i + 1] = rows[i + 1, 1] * (y[i + 1] - add_lanes(b) - rows[i + 1, 2] * y[i + 2] - rows[i + 1, 3] * y[i + 3])
    rest = y[i] - add_lanes(a) - rows[i, 1] * y[i + 1] - rows[i, 2] * y[i + 2] - rows[i, 3] * y[i + 3]
    y[i] = rows[i, 0] * rest


@inline
def add_lanes(tile):
    """Add the numbers of a tile."""
    return (get_lane(tile, 0) + get_lane(tile, 1)) + (get_lane(tile, 2) + get_lane(tile, 3))


@device_function
def solve_band(band, reaches, right):
    """Solve H y = right in place. The matrix is replaced by its factors, with inverse numbers on their diagonal.

    reaches  (n / 4,) columns of each panel from its first on, a multiple of four
    right    a column
    """
    first = 0
    for panel in range(len(reaches)):
        while first < panel and PANEL * first + reaches[first] <= PANEL * panel:
            first += 1
        factor_panel(band, reaches, first, panel, right)
    for panel in range(len(reaches) - 1, -1, -1):
        substitute_panel(band, panel, int(reaches[panel]) // PANEL, right)

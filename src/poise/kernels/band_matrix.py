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
    clear_panels(band, reaches, 0, len(reaches))


@device_function
def clear_panels(band, reaches, start, stop):
    """Write the unit matrix to panels from `start` to `stop`."""
    zero = broadcast(LANES4, 0.0)
    for panel in range(start, stop):
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
def subtract_panels(band, first, last, panel, e, tiles):
    """Subtract panels from a tile of each row of a later panel.

    They are those from `first` to `last`. Takes the four tiles, and returns them.
    """
    a, b, c, d = tiles
    rows, i = band.rows, PANEL * panel
    for before in range(first, last):
        at = i - PANEL * before
        for k in range(PANEL):
            own, ahead = rows[PANEL * before + k], band.tiles[PANEL * before + k, panel - before + e]
            a = a - own[at] * ahead
            b = b - own[at + 1] * ahead
            c = c - own[at + 2] * ahead
            d = d - own[at + 3] * ahead
    return a, b, c, d


@inline
def read_tiles(band, panel, e):
    """Read a tile of each row of a panel."""
    tiles, i = band.tiles, PANEL * panel
    return tiles[i, e], tiles[i + 1, e], tiles[i + 2, e], tiles[i + 3, e]


@inline
def write_tiles(band, panel, e, corner, a, b, c, d):
    """Write a tile of each row of a panel, factored."""
    tiles, i = band.tiles, PANEL * panel
    tiles[i, e], tiles[i + 1, e], tiles[i + 2, e], tiles[i + 3, e] = divide(corner, a, b, c, d)


@device_function
def factor_two_tiles(band, first, second, panel, e, corner):
    """Factor the tiles e and e + 1 of a panel.

    Two at a time keep a processor busy. Panels from `first` on reach the one, from `second` on the other as well.
    """
    rows, i = band.rows, PANEL * panel
    a, b, c, d = subtract_panels(band, first, second, panel, e, read_tiles(band, panel, e))
    next_a, next_b, next_c, next_d = read_tiles(band, panel, e + 1)
    for before in range(second, panel):
        at = i - PANEL * before
        for k in range(PANEL):
            own, line = rows[PANEL * before + k], band.tiles[PANEL * before + k]
            ahead, beyond = line[panel - before + e], line[panel - before + e + 1]
            a, next_a = a - own[at] * ahead, next_a - own[at] * beyond
            b, next_b = b - own[at + 1] * ahead, next_b - own[at + 1] * beyond
            c, next_c = c - own[at + 2] * ahead, next_c - own[at + 2] * beyond
            d, next_d = d - own[at + 3] * ahead, next_d - own[at + 3] * beyond
    write_tiles(band, panel, e, corner, a, b, c, d)
    write_tiles(band, panel, e + 1, corner, next_a, next_b, next_c, next_d)


@inline
def find_first_panel(reaches, first, panel, e):
    """Find the first panel to reach a tile of a later one. It is `first` or behind it."""
    while first < panel and PANEL * first + reaches[first] <= PANEL * (panel + e):
        first += 1
    return first


@device_function
def factor_panel(band, reaches, first, panel, right):
    """Factor a panel. `first` is the first of the panels that reach it."""
    i, rest = PANEL * panel, right.tiles[0, panel]
    a, b, c, d = read_tiles(band, panel, 0)
    for before in range(first, panel):
        at = i - PANEL * before
        for k in range(PANEL):
            own, ahead = band.rows[PANEL * before + k], band.tiles[PANEL * before + k, panel - before]
            rest = rest - right.rows[0, PANEL * before + k] * ahead
            a = a - own[at] * ahead
            b = b - own[at + 1] * ahead
            c = c - own[at + 2] * ahead
            d = d - own[at + 3] * ahead
    corner = factor_corner(a, b, c, d)
    y = divide(corner, get_lane(rest, 0), get_lane(rest, 1), get_lane(rest, 2), get_lane(rest, 3))
    for k in range(PANEL):
        right.rows[0, i + k] = y[k]
    band.rows[i, 0], band.rows[i, 1], band.rows[i, 2], band.rows[i, 3] = corner.a, corner.ab, corner.ac, corner.ad
    band.rows[i + 1, 1], band.rows[i + 1, 2], band.rows[i + 1, 3] = corner.b, corner.bc, corner.bd
    band.rows[i + 2, 2], band.rows[i + 2, 3], band.rows[i + 3, 3] = corner.c, corner.cd, corner.d
    count = int(reaches[panel]) // PANEL
    for e in range(1, count - 1, 2):
        first = find_first_panel(reaches, first, panel, e)
        factor_two_tiles(band, first, find_first_panel(reaches, first, panel, e + 1), panel, e, corner)
    if count % 2 == 0:
        e = count - 1
        first = find_first_panel(reaches, first, panel, e)
        a, b, c, d = subtract_panels(band, first, panel, panel, e, read_tiles(band, panel, e))
        write_tiles(band, panel, e, corner, a, b, c, d)


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
def factor_panels(band, reaches, first, start, stop, right):
    """Factor panels from `start` to `stop`. Those before are factored; see `solve_band`.

    `first` is at most the first panel that reaches them; returns this for the panels to come.
    """
    for panel in range(start, stop):
        first = find_first_panel(reaches, first, panel, 0)
        factor_panel(band, reaches, first, panel, right)
    return first


@device_function
def substitute_panels(band, reaches, right):
    """Solve for all rows, from the last one on. All panels are factored."""
    for panel in range(len(reaches) - 1, -1, -1):
        substitute_panel(band, panel, int(reaches[panel]) // PANEL, right)


@device_function
def solve_band(band, reaches, right):
    """Solve H y = right in place. The matrix is replaced by its factors, with inverse numbers on their diagonal.

    reaches  (n / 4,) columns of each panel from its first on, a multiple of four
    right    a column
    """
    factor_panels(band, reaches, 0, 0, len(reaches), right)
    substitute_panels(band, reaches, right)

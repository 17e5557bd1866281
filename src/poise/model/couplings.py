"""Couplings of joints: resolved chains, and ranges blocking a leader."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

from poise.errors import InputError
from poise.maths.arguments import require, several
from poise.maths.arrays import Ints, real, short
from poise.maths.options import whole_number
from poise.model.joints import COUPLED, Coupling
from poise.model.limits import Limit, Range

_Ends: TypeAlias = tuple[float, float]

# fraction of the leader's own range: a smaller rest blocks it; files of grippers leave 0, or a tenth and more
_LEAST_SHARE = 0.01
_ANY: _Ends = (-math.inf, math.inf)
_NOTHING: _Ends = (math.inf, -math.inf)


def check_couplings(couplings: Any, count: int) -> tuple[Coupling | None, ...]:
    """Check one coupling or None per joint; return a tuple.

    None stands for no couplings at all.

    Raises
    ------
    InputError
        For a wrong number of couplings, for a value that is no Coupling, and for numbers that are not finite.
    """
    if couplings is None:
        return (None,) * count
    found = tuple(several(couplings, "the couplings of joints", "[None, poise.Coupling(0, 1.0, 0.0)]"))
    if len(found) != count:
        raise InputError(f"the couplings of {count} joints are {count} couplings or None, not {len(found)}")
    return tuple([None if one is None else _checked(one) for one in found])


def _checked(coupling: Any) -> Coupling:
    leader, ratio, offset = require(coupling, Coupling, "a coupling of a joint")
    numbers = real(ratio, "the ratio of a coupling"), real(offset, "the offset of a coupling")
    if not all(map(math.isfinite, numbers)):
        raise InputError(f"the ratio and the offset of a coupling are finite, not {short(numbers)}")
    return Coupling(whole_number(leader, "the leader of a coupling, a row,"), *numbers)


def composed(names: Sequence[str], kinds: Ints, couplings: Sequence[Coupling | None]) -> tuple[Coupling | None, ...]:
    """Resolve each coupling to a leader with its own values.

    Ratios and offsets of chained couplings are composed.
    """
    for i, coupling in enumerate(couplings):
        exists = coupling is None or 0 <= coupling.leader < len(names)
        if coupling and not (exists and {int(kinds[i]), int(kinds[coupling.leader])} <= COUPLED):
            raise InputError(f"joint {names[i]!r} is coupled to row {coupling.leader}; both must be hinges or slides")
    done: list[Coupling | None] = [None] * len(couplings)
    is_done = [coupling is None for coupling in couplings]
    for i in range(len(couplings)):
        line: dict[int, None] = {}  # unfinished followers, in order: each is visited once
        row = i
        while not is_done[row]:
            if row in line:
                raise InputError(f"joint {names[i]!r} is coupled in a cycle through {names[row]!r}")
            line[row] = None
            row = _own(couplings, row).leader
        for follower in reversed(line):
            own = _own(couplings, follower)
            further = done[own.leader]
            if further is not None:
                own = Coupling(further.leader, own.ratio * further.ratio, own.ratio * further.offset + own.offset)
            done[follower], is_done[follower] = own, True
    return tuple(done)


def _own(couplings: Sequence[Coupling | None], row: int) -> Coupling:
    coupling = couplings[row]
    assert coupling is not None  # checked by the caller
    return coupling


def drop_blocking_ranges(
    names: Sequence[str], kinds: Ints, limits: Sequence[Limit | None], couplings: Sequence[Coupling | None]
) -> tuple[tuple[Limit | None, ...], list[str]]:
    """Drop ranges of followers blocking their leader.

    File readers call it.

    Parameters
    ----------
    names, kinds, limits, couplings
        Of all n joints, in the order of the rows; a follower may follow a follower.

    Returns
    -------
    limits
        The limits without ranges of followers that leave their leader no value, or less than a hundredth of its own
        range. Files with such ranges were written for programs that ignore ranges of followers.
    notes
        One sentence for each dropped range.
    """
    kept, notes = list(limits), list[str]()
    own = {row: (limit.low, limit.high) for row, limit in enumerate(limits) if _is_hard(limit)}
    left = dict(own)  # remaining range of each leader, after the followers so far
    for row, coupling in enumerate(composed(names, kinds, couplings)):
        if coupling is None or row not in own:
            continue
        low, high = own[row]
        before = left.get(coupling.leader, _ANY)
        after = _carried(coupling, low, high, before)
        width = (high - low) / abs(coupling.ratio) if coupling.ratio else math.inf
        if _blocks(before, after, own.get(coupling.leader, _ANY), width):
            kept[row] = None
            leader, terms = names[coupling.leader], f"ratio {coupling.ratio:g} and offset {coupling.offset:g}"
            notes.append(
                f"the range of {names[row]!r}, {low:g} to {high:g}, leaves {leader!r}, which it follows with {terms}, "
                "no range of motion: it is ignored"
            )
        else:
            left[coupling.leader] = after
    return tuple(kept), notes


def _is_hard(limit: Limit | None) -> TypeGuard[Range]:
    """Return whether a limit is a hard range of one value."""
    return isinstance(limit, Range) and limit.axis is None and not limit.soft


def _carried(coupling: Coupling, low: float, high: float, before: _Ends) -> _Ends:
    """Intersect the ranges of a leader and its follower.

    Return (low, high); low is above high where the intersection is empty.
    """
    if coupling.ratio == 0.0:
        return before if low <= coupling.offset <= high else _NOTHING
    ends = sorted([(low - coupling.offset) / coupling.ratio, (high - coupling.offset) / coupling.ratio])
    return max(before[0], ends[0]), min(before[1], ends[1])


def _blocks(before: _Ends, after: _Ends, own: _Ends, follower: float) -> bool:
    """Return whether a follower's range blocks its leader.

    `follower` is the width of that range in the leader's values.
    """
    if after[0] > after[1] or after[0] == math.inf or after[1] == -math.inf:
        return True
    if before[0] == before[1]:
        return False  # the leader is fixed without it
    width = own[1] - own[0]
    width = width if math.isfinite(width) else follower
    return after[0] == after[1] or (math.isfinite(width) and after[1] - after[0] < _LEAST_SHARE * width)

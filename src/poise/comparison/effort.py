"""Amount of measurement in a comparison."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from poise.comparison.trials.growth import FULL_SIZES, SIZES
from poise.comparison.trials.targets import Sizes
from poise.errors import InputError
from poise.maths.arrays import short


@dataclass(frozen=True)
class Effort:
    """Amount of measurement in a comparison.

    sizes    number of targets in each set
    joints   chain lengths for the scaling measurement; () for none
    batches  sizes of batches
    rounds   number of interleaved timing rounds
    timed    targets of a round
    traced   targets with traced iterations; 0 for none
    seconds  approximate time for each method in each part; a slow method gets fewer targets
    """

    sizes: Sizes
    joints: tuple[int, ...]
    batches: tuple[int, ...]
    rounds: int
    timed: int
    traced: int
    seconds: float


QUICK = Effort(Sizes(20, 20, 10), joints=(), batches=(1, 10), rounds=5, timed=5, traced=3, seconds=0.3)
NORMAL = Effort(
    Sizes(200, 120, 50), joints=SIZES, batches=(1, 10, 100, 1000), rounds=45, timed=20, traced=20, seconds=2.0
)
FULL = Effort(
    Sizes(1000, 240, 200),
    joints=FULL_SIZES,
    batches=(1, 10, 100, 1000, 10_000),
    rounds=101,
    timed=50,
    traced=50,
    seconds=10.0,
)
_LEAST = 4  # frames: jerk needs at least these
EFFORTS = {"quick": QUICK, "normal": NORMAL, "full": FULL}


def checked_effort(effort: Any) -> Effort:
    """Return the Effort of a name or value. Raises InputError for anything else."""
    if isinstance(effort, str) and effort in EFFORTS:
        return EFFORTS[effort]
    if not isinstance(effort, Effort):
        raise InputError(f"effort is one of {', '.join(map(repr, EFFORTS))} or an Effort, not {short(effort)}")
    counts = [*effort.sizes, effort.rounds, effort.timed, *effort.joints, *effort.batches]
    if min(counts) < 1 or effort.traced < 0 or not effort.seconds > 0 or effort.sizes.path < _LEAST:
        raise InputError(
            f"the numbers of an effort are at least 1, its path at least {_LEAST}; only traced may be 0: {effort}"
        )
    return effort


def checked_seed(seed: Any) -> int:
    """Check for a whole number of 0 or more.

    Raises InputError for anything else, None included, so that a comparison can be repeated.
    """
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(f"seed must be a whole number of 0 or more, not {short(seed)}")
    return number

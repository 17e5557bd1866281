"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass

from poise.comparison.growth import FULL_SIZES, SIZES
from poise.comparison.targets import Sizes


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    sizes    targets of each set
    joints   lengths of the chains on which times grow; () for none
    batches  sizes of batches
    rounds   in which times are taken in turns
    timed    targets of a round
    traced   targets whose iterations are followed
    seconds  about so long for each method in each part: a slow one gets fewer targets
    """

    sizes: Sizes
    joints: tuple[int, ...]
    batches: tuple[int, ...]
    rounds: int
    timed: int
    traced: int
    seconds: float


QUICK = Effort(Sizes(20, 20, 10), joints=(), batches=(1, 10), rounds=3, timed=5, traced=3, seconds=0.3)
NORMAL = Effort(
    Sizes(200, 120, 50), joints=SIZES, batches=(1, 10, 100, 1000), rounds=9, timed=20, traced=20, seconds=2.0
)
FULL = Effort(
    Sizes(1000, 240, 200),
    joints=FULL_SIZES,
    batches=(1, 10, 100, 1000, 10_000),
    rounds=15,
    timed=50,
    traced=50,
    seconds=10.0,
)
EFFORTS = {"quick": QUICK, "normal": NORMAL, "full": FULL}

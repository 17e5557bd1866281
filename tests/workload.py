"""How much is tried of what only repeats: all by `scripts/test --long`, else what a run of CI has time for.

Seconds of fuzz and of soak are variables of the environment: POISE_FUZZ_SECONDS, POISE_SOAK_SECONDS.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
LONG = "POISE_LONG" in os.environ


def amount(usual: T, full: T) -> T:
    """The usual amount, or the full one where all the time that it takes was asked for."""
    return full if LONG else usual

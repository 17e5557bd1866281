"""How a solve is to be done, whatever the solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Prefer = Literal["first", "closest", "all"]


@dataclass(frozen=True)
class Request:
    """How a solve is to be done, whatever the solver; what one cannot do it refuses.

    prefer   "first": the first pose found that meets the goals. "closest": of all found, the one nearest to the
             start. "all": every distinct one
    seeds    how many starts to try for "closest" and "all"; None is the solver's own choice
    threads  how many at once
    trace    keep the iterations of a single target
    progress called with the number of targets done since the last call
    """

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int = 1
    trace: bool = False
    progress: Callable[[int], None] | None = None

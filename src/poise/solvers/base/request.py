"""How a solve is to be done, whatever the solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Prefer = Literal["first", "closest", "all"]


@dataclass(frozen=True)
class Request:
    """How a solve is to be done, whatever the solver. A solver refuses what it cannot do.

    Parameters
    ----------
    prefer
        "first": the first pose found that meets the goals. "closest": of all poses found, the one nearest to the start.
        "all": every distinct pose.
    seeds
        How many starts to try for "closest" and "all". None: the solver's own choice.
    threads
        How many threads may run at once.
    trace
        Whether the iterations of a single target are kept.
    progress
        A function that is called with the number of targets done since the last call.
    """

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int = 1
    trace: bool = False
    progress: Callable[[int], None] | None = None

"""Settings of solve() and prepare() besides the solver and the tolerances."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from poise.calls.argument_checks import check_bool
from poise.errors import InputError
from poise.solvers.base.interface import Prefer, Request
from poise.solving.arguments import check_request


@dataclass(frozen=True)
class SolveSettings:
    """Solve settings shared by solve() and prepare(). They do not depend on the solver."""

    prefer: Prefer = "first"
    seeds: int | None = None
    threads: int | None = None
    trace: bool = False
    progress: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        check_request(prefer=self.prefer, seeds=self.seeds, threads=self.threads)
        object.__setattr__(self, "trace", check_bool(self.trace, "trace"))
        for name in ("seeds", "threads"):  # as plain numbers: arrays without axes have no hash
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else int(value))

    def make_request(self, target_count: int) -> Request:
        """Make the request for `target_count` targets.

        Chooses the number of threads; InputError for options of single targets only.
        """
        if self.trace and target_count != 1:
            raise InputError(f"trace=True keeps the iterations of one target; there are {target_count}")
        if self.prefer == "all" and target_count != 1:
            raise InputError(f'prefer="all" lists the solutions of one target; there are {target_count}')
        threads = self.threads
        if threads is None:
            threads = (os.cpu_count() or 1) if target_count > 1 else 1  # solvers start them where the work is long
        return Request(self.prefer, self.seeds, threads, self.trace, self.progress)

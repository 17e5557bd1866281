"""The engine as it goes on from a pose: no restarts, and what is missed comes to rest where it is missed least."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from poise.solvers.base.contract import engine_of
from poise.solvers.base.engine import Options
from poise.solvers.levenberg_marquardt import LevenbergMarquardt

_RESTING = 200  # most iterations until a pose that misses its goals has come to rest


@dataclass(frozen=True, kw_only=True)
class Settled(LevenbergMarquardt):
    """The engine without restarts: of what is missed the nearest pose in the basin of the start, come to rest.

    Parameters
    ----------
    pulled
        Whether what Near and soft limits prefer counts; without, a start that meets its goals stays as it is.
    """

    pulled: bool = True

    @cached_property
    def arm_options(self) -> Options:
        """How it iterates on a serial arm."""
        return replace(super().arm_options, restarts=0, polish=_RESTING)

    @cached_property
    def tree_options(self) -> Options:
        """How it iterates on anything else."""
        options = replace(super().tree_options, restarts=0, polish=_RESTING)
        return options if self.pulled else replace(options, pull=0.0)


def settled(solver: Any, *, pulled: bool = True) -> Settled:
    """The engine behind a solver with its options, or the usual one, as it goes on from a pose."""
    own: Any = engine_of(solver)
    given = {each.name: getattr(own, each.name) for each in fields(own)} if type(own) is LevenbergMarquardt else {}
    return Settled(**given, pulled=pulled)

"""Solve and measure batches of targets.

A local refinement from a given pose serves problems with optional goals, which are solved in several stages, and clips.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from poise.solvers.base.contract import engine_of
from poise.solvers.base.engine import Options
from poise.solvers.levenberg_marquardt import LevenbergMarquardt

_RESTING = 200  # iterations of the polish until a missed pose converges


@dataclass(frozen=True, kw_only=True)
class Settled(LevenbergMarquardt):
    """Levenberg-Marquardt without restarts, run to convergence.

    A missed goal ends at the nearest pose in the basin of the start.

    Parameters
    ----------
    with_preferences
        Whether Near and soft limits count. Without them, a start that meets its goals does not change.
    """

    pulled: bool = True

    @cached_property
    def arm_options(self) -> Options:
        """Engine options for serial arms."""
        return replace(super().arm_options, restarts=0, polish=_RESTING)

    @cached_property
    def tree_options(self) -> Options:
        """Engine options for all other skeletons."""
        options = replace(super().tree_options, restarts=0, polish=_RESTING)
        return options if self.pulled else replace(options, pull=0.0)


def settled(solver: Any, *, pulled: bool = True) -> Settled:
    """Build the local refinement of a solver.

    It takes the options of its Levenberg-Marquardt engine, or the defaults for other solvers.
    """
    own: Any = engine_of(solver)
    given = {each.name: getattr(own, each.name) for each in fields(own)} if type(own) is LevenbergMarquardt else {}
    return Settled(**given, pulled=pulled)

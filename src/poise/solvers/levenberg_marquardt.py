"""Levenberg-Marquardt with limits and restarts, for all goals.

Step: dq = J^T (J J^T + l I)^-1 e with l = damping |e|^2: the error-scaled damping of Chan and Lawrence, "General
inverse kinematics with the error damped pseudoinverse", ICRA 1988, in the form of Sugihara, IEEE Trans. Robotics
27(5), 2011. Values at a limit that the gradient pushes against take no part in a step. An attempt that stalls is
given up for another start inside the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats, real, short
from poise.maths.by_name import options_by_name
from poise.maths.options import count, truth
from poise.problem.arm import Arm, arm_of
from poise.problem.problem import Problem, Tolerance
from poise.problem.reach import stretches
from poise.solvers.base.alternatives import closest, every
from poise.solvers.base.balanced import balanced
from poise.solvers.base.capabilities import Capabilities
from poise.solvers.base.contract import Answer, Request
from poise.solvers.base.engine import ArmEngine, Options, TreeEngine, answer_of, standing_still, trace_rows
from poise.solvers.base.stiffness import Stiffness, checked_stiffness, eases
from poise.solvers.base.stretched import stretched

_ARM_RESTARTS, _RESTARTS = 250, 120


@options_by_name
@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt:
    """Damped least squares for all goals, joints and limits.

    Any number of goals is solved, on hinges, slides, balls and a free root.

    Parameters
    ----------
    iterations
        Largest number of steps in one attempt; an attempt ends sooner where it stalls.
    restarts
        How often to start again from other poses inside the limits after an attempt that missed its goals. None: 250
        times on a serial arm, where of a million places one is missed at most, and 120 times otherwise. A target out of
        reach of the chain's lengths gets only a few restarts.
    damping
        `l / |e|^2`, lengths in units of the rig's size: more is slower and steadier.
    apart
        Two solutions count as different where some joint differs by more than this [rad, file units]. None: 1e-3, or
        0.5 where there are more degrees of freedom than goals fix and solutions are whole families.
    stiffness
        mu >= 0 for every joint, or for some by name, role or a glob of names ("*Spine*"): what such a joint turns or
        moves in a step is divided by 1 + mu, and the others do more. Of two joints that could do the same, one of
        mu = 3 does a quarter of what the other does. 0 is no stiffness.
    race
        Of a single target for an arm of hinges and slides: whether the attempt that arrives first wins. Quicker by a
        quarter where the target lies anywhere, but then another pose may be found than in a batch. By default the first
        attempt that succeeds wins in the order in which a batch makes them.

    Notes
    -----
    Step: `dq = J^T (J J^T + l I)^-1 e` with `l = damping |e|^2`. Values that stand at a limit and would be pushed
    beyond it take no part in a step. Where more than 16 joints lead to a goal, l is larger and restarts turn the joints
    less, in proportion to their number. With stiffness `dq = W J^T (J W J^T + l I)^-1 e`, W the diagonal of
    1 / (1 + mu): of the steps that do as much, the one with the least sum of (1 + mu) dq^2.

    A target beyond the reach of a chain of balls without limits is answered in closed form: the chain is stretched
    towards it. Any other that is missed is answered by the pose nearest to it in the start's own basin, unless another
    attempt leaves less by a thousandth of the rig's size.

    Many targets are solved side by side, each from its own start, and give the same bits whatever the batch. A single
    target of an arm makes several attempts at once, and gives the same bits as in a batch, unless `race` is set.

    References
    ----------
    Error-scaled damping: Chan and Lawrence, "General inverse kinematics with the error damped pseudoinverse", ICRA
    1988, in the form of Sugihara, IEEE Trans. Robotics 27(5), 2011.
    """

    iterations: int = 30
    restarts: int | None = None
    damping: float = 0.04
    apart: float | None = None
    stiffness: Stiffness | Mapping[str, float] = 0.0
    race: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", count("iterations", self.iterations))
        if self.restarts is not None:
            object.__setattr__(self, "restarts", count("restarts", self.restarts))
        for name in ("damping", "apart"):
            value: Any = getattr(self, name)
            if value is None and name == "apart":
                continue
            number = real(value, name)
            if not 0 < number < np.inf:
                raise InputError(f"{name} must be a finite number above 0, not {short(value)}")
            object.__setattr__(self, name, number)
        object.__setattr__(self, "race", truth("race", self.race))
        object.__setattr__(self, "stiffness", checked_stiffness(self.stiffness))

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "levenberg_marquardt"

    @property
    def handles(self) -> Capabilities:
        """All goals, joints and limits."""
        return Capabilities(soft=True)

    @cached_property
    def arm_options(self) -> Options:
        """Iteration options for a serial arm."""
        return self._options(_ARM_RESTARTS)

    @cached_property
    def tree_options(self) -> Options:
        """Iteration options for all other problems."""
        return self._options(_RESTARTS)

    def _options(self, usual: int) -> Options:
        restarts = usual if self.restarts is None else self.restarts
        polish = 60 if self.iterations and restarts else 0
        return Options(self.iterations, restarts, self.damping, 1e-8, 16, polish, self.race)

    def arm(self, problem: Problem) -> Arm | None:
        """Return the packed serial arm, or None. Its kernels do not know stiffness."""
        return arm_of(problem) if self.stiffness in (0.0, ()) else None

    def engine(self, problem: Problem, tolerance: Tolerance) -> ArmEngine | TreeEngine:
        """Return the engine for the problem."""
        arm = self.arm(problem)
        if arm is not None:
            return ArmEngine(problem, arm, tolerance, self.arm_options)
        return TreeEngine(problem, tolerance, self.tree_options, checked_stiffness(self.stiffness))

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        if self.stiffness not in (0.0, ()):
            eases(problem.skeleton, checked_stiffness(self.stiffness))  # raises for unknown names
        if problem.balances:
            return balanced(self, problem, targets, tolerance, request)
        if not problem.joints:
            return standing_still(problem, targets, tolerance, request)
        engine = self.engine(problem, tolerance)
        if request.prefer == "closest":
            return closest(engine, targets, request)
        if request.prefer == "all":
            return every(engine, targets, request, self.apart)
        far = stretches(problem, targets, tolerance)
        if far is not None:
            return stretched(self, problem, targets, tolerance, request, far)
        rows = trace_rows(problem, engine.options) if request.trace else 0
        found = engine.first(
            engine.kernel_targets(targets), problem.starts, threads=request.threads, trace=rows,
            progress=request.progress,
        )  # fmt: skip
        return answer_of(problem, found)


Solver = LevenbergMarquardt

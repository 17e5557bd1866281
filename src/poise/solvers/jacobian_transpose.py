"""Jacobian transpose: gradient steps J^T e with a step length rule.

Wolovich and Elliott, "A computational technique for inverse kinematics", CDC 1984; the optimal factor is that of
Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods",
2004, equation 8. The steps are cheap but many: gradient descent is slow for badly conditioned goals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poise.calls.argument_checks import check_choice, require_keywords
from poise.kernels.layout import RULE_ADAPTIVE_TRANSPOSE, RULE_OPTIMAL_TRANSPOSE
from poise.solvers.base.jacobian_method import JacobianMethod, StepRule

_INITIAL_GAIN, _GAIN_FACTOR = 0.02, 7.0
_PATIENCE_STEPS = 60


@require_keywords
@dataclass(frozen=True, kw_only=True)
class JacobianTranspose(JacobianMethod):
    """Jacobian transpose for all goals but Near and Balance.

    It takes any number of goals, and all kinds of joints and limits.

    Parameters
    ----------
    iterations
        Largest number of steps, those of restarts included. Gradient descent needs many, most near full extension.
    restarts
        Largest number of restarts from other poses within limits after stalling, followed by one run from the best
        pose. 0: a single run with all iterations.
    bend
        [rad] Angle by which all joints are bent first, always to the same side, where no joint can lower the error of
        unmet goals, as on a straight chain with the target on its own line. 0 switches it off.
    clamp
        Largest error used in one step (Buss's D_max): of a position in lengths of its chain, of a rotation in half
        turns. inf: no bound.
    max_turn
        [rad] Largest rotation of a joint in one step. For slides the rig's size counts as one radian.
    jacobian
        "analytic", or "numeric": central differences of the residual, with three degrees of freedom for each ball.
        "numeric" costs two more forward kinematics for each degree of freedom.
    step
        "optimal": the best factor for linearized goals, `e . J J^T e / |J J^T e|^2`. "adaptive": a factor of
        0.02 at first, multiplied by 7 after the error fell and divided by 7 after it rose. Steps raising the error are
        undone, and count. "adaptive" needs five to ten times as many steps.

    Notes
    -----
    Step: `dq = a J^T e`, along the gradient of the squared error. `JacobianTranspose(step="adaptive", bend=0,
    restarts=0, clamp=inf, max_turn=inf)` is the textbook form, with Poise's adaptive gain.

    References
    ----------
    Wolovich and Elliott, "A computational technique for inverse kinematics", CDC 1984. The optimal factor: Buss,
    "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods", 2004.
    """

    iterations: int = 2000
    restarts: int = 4
    jacobian: Literal["analytic", "numeric"] = "analytic"
    step: Literal["optimal", "adaptive"] = "optimal"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.jacobian, "jacobian", ("analytic", "numeric"))
        check_choice(self.step, "step", ("adaptive", "optimal"))

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "jacobian_transpose"

    @property
    def rule(self) -> StepRule:
        """Step rule `dq = a J^T e`."""
        rule_code = RULE_ADAPTIVE_TRANSPOSE if self.step == "adaptive" else RULE_OPTIMAL_TRANSPOSE
        return StepRule(
            rule_code=rule_code,
            rule_settings=(_INITIAL_GAIN, _GAIN_FACTOR),
            patience_steps=_PATIENCE_STEPS,
            uses_finite_differences=self.jacobian == "numeric",
        )


Solver = JacobianTranspose

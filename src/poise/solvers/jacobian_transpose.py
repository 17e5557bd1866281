"""Jacobian transpose: step along the gradient of the squared error, J^T e, as far as a rule for its length says.

Wolovich and Elliott, "A computational technique for inverse kinematics", CDC 1984; the optimal factor is that of
Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods",
2004, equation 8. Cheap steps, many of them: gradient descent, slow where the goals are badly conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poise.maths.options import one_of
from poise.solvers.base.jacobian import JacobianMethod, Rule

_ADAPTIVE, _OPTIMAL = 0, 1  # as in kernels/tree/steps.py
_BEGIN, _TIMES = 0.02, 7.0
_PATIENCE = 60


@dataclass(frozen=True, kw_only=True)
class JacobianTranspose(JacobianMethod):
    """Jacobian transpose for any goals but Near, any number of them, on all joints and limits.

    iterations  most steps, those of restarts included; gradient descent needs many, most of all near full extension
    jacobian    "analytic", or "numeric": central differences of the residual, three degrees of freedom for each ball.
                It is slower by twice as many forward kinematics as there are degrees of freedom
    step        "optimal": the factor that would be best if the goals moved as J says, e . J J^T e / |J J^T e|^2.
                "adaptive": the classic one, which grows by 7 where the error fell and shrinks by 7 where it rose, that
                rise being undone; a step that is undone counts. It needs five to ten times as many steps
    restarts    how often to start again from elsewhere inside the limits, where the error hardly falls any more, and
                then once from the best pose. 0: one attempt, to its last iteration
    bend        [rad] where no joint lowers the error and goals are unmet, as on a straight chain with the target on
                its own line, all joints are bent by it first, always to the same side. 0 switches it off
    clamp       most of an error that one step looks at (Buss's D_max): of a position in lengths of its chain, of a
                rotation in half turns; inf: all of it
    max_turn    [rad] most that a joint turns in one step; slides count the rig's size as a radian

    `JacobianTranspose(step="adaptive", bend=0, restarts=0, clamp=inf, max_turn=inf)` is the textbook form.
    """

    iterations: int = 2000
    restarts: int = 4
    jacobian: Literal["analytic", "numeric"] = "analytic"
    step: Literal["optimal", "adaptive"] = "optimal"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("jacobian", self.jacobian, ("analytic", "numeric"))
        one_of("step", self.step, ("adaptive", "optimal"))

    @property
    def name(self) -> str:
        """The solver's name."""
        return "jacobian_transpose"

    @property
    def rule(self) -> Rule:
        """y = a e."""
        number = _ADAPTIVE if self.step == "adaptive" else _OPTIMAL
        return Rule(number, _BEGIN, _TIMES, _PATIENCE, self.jacobian == "numeric")


Solver = JacobianTranspose

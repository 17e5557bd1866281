"""Jacobian transpose: gradient steps J^T e with a step length rule.

Wolovich and Elliott, "A computational technique for inverse kinematics", CDC 1984; the optimal factor is that of
Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods",
2004, equation 8. Cheap steps, many of them: gradient descent, slow where the goals are badly conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poise.kernels.codes import ADAPTIVE, OPTIMAL
from poise.maths.by_name import options_by_name
from poise.maths.options import one_of
from poise.solvers.base.jacobian import JacobianMethod, Rule

_BEGIN, _TIMES = 0.02, 7.0
_PATIENCE = 60


@options_by_name
@dataclass(frozen=True, kw_only=True)
class JacobianTranspose(JacobianMethod):
    """Jacobian transpose for all goals but Near and Balance. Any number of goals is solved, on all joints and limits.

    Parameters
    ----------
    iterations
        Largest number of steps, those of restarts included. Gradient descent needs many, most of all near full
        extension.
    restarts
        How often to start again from other poses inside the limits where the error hardly falls any more, and then once
        from the best pose. 0: one attempt, to its last iteration.
    bend
        [rad] Where no joint lowers the error but goals are unmet, as on a straight chain with the target on its own
        line, all joints are bent by this angle first, always to the same side. 0 switches it off.
    clamp
        Largest error that one step works on (Buss's D_max): of a position in lengths of its chain, of a rotation in
        half turns. inf: all of it.
    max_turn
        [rad] Largest turn of a joint in one step. Of a slide the rig's size counts as one radian.
    jacobian
        "analytic", or "numeric": central differences of the residual, with three degrees of freedom for each ball.
        "numeric" costs two more forward kinematics for each degree of freedom.
    step
        "optimal": the factor that would be best if the goals moved as J says, `e . J J^T e / |J J^T e|^2`. "adaptive":
        the classic one, which grows by 7 where the error fell and shrinks by 7 where it rose. A step that raises the
        error is undone, and counts. "adaptive" needs five to ten times as many steps.

    Notes
    -----
    Step: `dq = a J^T e`, along the gradient of the squared error. `JacobianTranspose(step="adaptive", bend=0,
    restarts=0, clamp=inf, max_turn=inf)` is the textbook form.

    References
    ----------
    Wolovich and Elliott, "A computational technique for inverse kinematics", CDC 1984. The optimal factor: Buss,
    "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least squares methods", 2004,
    equation 8.
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
        """Name of the solver."""
        return "jacobian_transpose"

    @property
    def rule(self) -> Rule:
        """y = a e."""
        number = ADAPTIVE if self.step == "adaptive" else OPTIMAL
        return Rule(number, _BEGIN, _TIMES, _PATIENCE, self.jacobian == "numeric")


Solver = JacobianTranspose

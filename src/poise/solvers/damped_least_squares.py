"""Damped least squares: each step minimizes the error and its own length.

Step: dq = J^T (J J^T + l I)^-1 e. Constant l: Wampler, IEEE Trans. Systems, Man and Cybernetics 16(1), 1986. l
proportional to the squared error: Chan and Lawrence, ICRA 1988; Sugihara, IEEE Trans. Robotics 27(5), 2011. The latter
is stable far from the goal and converges quadratically near it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from poise.calls.argument_checks import check_choice, check_positive, require_keywords
from poise.errors import InputError
from poise.kernels.layout import RULE_DAMPED
from poise.solvers.base.jacobian_method import JacobianMethod, StepRule

_DEFAULT_CONSTANT_DAMPING, _DEFAULT_DAMPING_PER_ERROR, _MIN_DAMPING = 0.01, 0.04, 1e-8
_PATIENCE_STEPS = 8


@require_keywords
@dataclass(frozen=True, kw_only=True)
class DampedLeastSquares(JacobianMethod):
    """Damped least squares for all goals but Near and Balance.

    It takes any number of goals, and all kinds of joints and limits.

    Parameters
    ----------
    iterations
        Largest number of steps, those of restarts included.
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
    damping
        "error": the damping l is proportional to the squared error. "constant": it stays the same.
    amount
        `l / |e|^2` with damping="error", l with damping="constant". The unit of length is the smallest power of two
        not below the largest coordinate of an offset. More damping is slower and more stable. None: 0.04 and 0.01.

    Notes
    -----
    Step: `dq = J^T (J J^T + l I)^-1 e`. `DampedLeastSquares(damping="constant", bend=0, restarts=0, clamp=inf,
    max_turn=inf)` is the textbook form.

    References
    ----------
    Constant damping: Wampler, IEEE Trans. Systems, Man and Cybernetics 16(1), 1986. Damping by the squared error: Chan
    and Lawrence, ICRA 1988; Sugihara, IEEE Trans. Robotics 27(5), 2011.
    """

    damping: Literal["error", "constant"] = "error"
    amount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.damping, "damping", ("error", "constant"))
        if self.amount is not None:
            object.__setattr__(self, "amount", check_positive(self.amount, "amount"))
            if not math.isfinite(self.amount):
                raise InputError("amount must be a finite number above 0, not inf")

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "damped_least_squares"

    @property
    def rule(self) -> StepRule:
        """Step rule `dq = J^T (J J^T + l I)^-1 e`."""
        if self.damping == "constant":
            return StepRule(
                rule_code=RULE_DAMPED,
                rule_settings=(self.amount or _DEFAULT_CONSTANT_DAMPING, 0.0),
                patience_steps=_PATIENCE_STEPS,
            )
        return StepRule(
            rule_code=RULE_DAMPED,
            rule_settings=(_MIN_DAMPING, self.amount or _DEFAULT_DAMPING_PER_ERROR),
            patience_steps=_PATIENCE_STEPS,
        )


Solver = DampedLeastSquares

"""Selectively damped least squares: separate damping of each singular direction.

Buss and Kim, "Selectively damped least squares for inverse kinematics", Journal of Graphics Tools 10(3), 2005. The
bound on the joint rotations of a singular direction depends on the ratio of its gain to the motion of the goals'
points. So there is no damping to choose, and no oscillation near singular poses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poise.calls.argument_checks import require_keywords
from poise.kernels.layout import RULE_SELECTIVELY_DAMPED
from poise.solvers.base.jacobian_method import JacobianMethod, StepRule

_PATIENCE_STEPS = 12


@require_keywords
@dataclass(frozen=True, kw_only=True)
class SelectivelyDamped(JacobianMethod):
    """Selectively damped least squares for all goals but Near and Balance.

    Any number of goals is solved, on all joints and limits. Every singular direction of the Jacobian has its own
    damping, so there is no damping to choose.

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
        Largest error used in one step (the paper's D_max): of a position in lengths of its chain, of a rotation in half
        turns. inf: no bound.
    max_turn
        [rad] Largest rotation of a joint in one step, and in one singular direction of it (gamma_max of the paper). For
        slides the rig's size counts as one radian.

    Notes
    -----
    The bound on the joint rotations of a singular direction depends on the ratio of its gain to the motion of the
    goals' points, which prevents oscillation near singular poses. `SelectivelyDamped(bend=0, restarts=0)` is the
    paper's form.

    References
    ----------
    Buss and Kim, "Selectively damped least squares for inverse kinematics", Journal of Graphics Tools 10(3), 2005.
    """

    max_turn: float = math.pi / 4

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "selectively_damped"

    @property
    def rule(self) -> StepRule:
        """y = sum_i k_i (u_i . e) / s_i^2 u_i."""
        return StepRule(
            rule_code=RULE_SELECTIVELY_DAMPED, rule_settings=(self.max_turn, 0.0), patience_steps=_PATIENCE_STEPS
        )


Solver = SelectivelyDamped

"""Selectively damped least squares: separate damping of each singular direction.

Buss and Kim, "Selectively damped least squares for inverse kinematics", Journal of Graphics Tools 10(3), 2005. What
a direction may turn the joints by depends on how far it would swing the goals' points on the way to what it gains, so
that there is no damping to choose and nothing shakes near singular poses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poise.kernels.codes import SELECTIVE
from poise.maths.by_name import options_by_name
from poise.solvers.base.jacobian import JacobianMethod, Rule

_PATIENCE = 12


@options_by_name
@dataclass(frozen=True, kw_only=True)
class SelectivelyDamped(JacobianMethod):
    """Selectively damped least squares for all goals but Near and Balance.

    Any number of goals is solved, on all joints and limits.

    Every singular direction of the Jacobian has a damping of its own, so that there is no damping to choose.

    Parameters
    ----------
    iterations
        Largest number of steps, those of restarts included.
    restarts
        How often to start again from other poses inside the limits where the error hardly falls any more, and then once
        from the best pose. 0: one attempt, to its last iteration.
    bend
        [rad] Where no joint lowers the error but goals are unmet, as on a straight chain with the target on its own
        line, all joints are bent by this angle first, always to the same side. 0 switches it off.
    clamp
        Largest error that one step works on (the paper's D_max): of a position in lengths of its chain, of a rotation
        in half turns. inf: all of it.
    max_turn
        [rad] Largest turn of a joint in one step, and in one singular direction of it (gamma_max of the paper). Of a
        slide the rig's size counts as one radian.

    Notes
    -----
    How far a singular direction may turn the joints depends on how far it would swing the goals' points for what it
    gains, so that nothing shakes near singular poses. `SelectivelyDamped(bend=0, restarts=0)` is the paper's form.

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
    def rule(self) -> Rule:
        """y = sum_i k_i (u_i . e) / s_i^2 u_i."""
        return Rule(SELECTIVE, self.max_turn, 0.0, _PATIENCE)


Solver = SelectivelyDamped

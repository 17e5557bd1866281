"""Pseudo-inverse: shortest step to cancel the linearized error.

dq = J^+ e, Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans. Man-Machine
Systems 10(2), 1969. Its steps would grow without bound near singular poses, so small singular values are truncated
(after Golub and Van Loan).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poise.calls.argument_checks import require_keywords
from poise.errors import InputError
from poise.kernels.layout import RULE_PSEUDO_INVERSE
from poise.maths.arrays import check_real
from poise.solvers.base.jacobian_method import JacobianMethod, StepRule

_PATIENCE_STEPS = 8


@require_keywords
@dataclass(frozen=True, kw_only=True)
class PseudoInverse(JacobianMethod):
    """Truncated pseudo-inverse for all goals but Near and Balance.

    Any number of goals is solved, on all joints and limits.

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
    cut
        Singular values below this share of the largest are left out; below a hundredth in the final run from the best
        pose, after restarts without success.

    Notes
    -----
    Step: `dq = J^+ e`, the shortest step that cancels the linearized error. It would grow without bound near singular
    poses, so small singular values are left out. It oscillates for targets out of reach; the answer is the best pose
    found. `PseudoInverse(bend=0, restarts=0, clamp=inf, max_turn=inf)` is the textbook form.

    References
    ----------
    Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans. Man-Machine Systems 10(2),
    1969. Truncation of singular values: Golub and Van Loan.
    """

    cut: float = 1e-4
    max_turn: float = math.pi / 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cut", check_real(self.cut, "cut"))
        if not 0 <= self.cut < 1:
            raise InputError(f"cut must be a share of the largest singular value, from 0 up to 1, not {self.cut!r}")

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "pseudo_inverse"

    @property
    def rule(self) -> StepRule:
        """y = (J J^T)^+ e."""
        return StepRule(rule_code=RULE_PSEUDO_INVERSE, rule_settings=(self.cut, 0.0), patience_steps=_PATIENCE_STEPS)


Solver = PseudoInverse

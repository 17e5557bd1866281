"""Pseudo-inverse: shortest step to cancel the linearized error.

dq = J^+ e, Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans. Man-Machine
Systems 10(2), 1969. Near singular poses its steps would grow without bound, so that small singular values are left out
(truncated, after Golub and Van Loan).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poise.errors import InputError
from poise.kernels.codes import PSEUDO_INVERSE
from poise.maths.arrays import real
from poise.maths.by_name import options_by_name
from poise.solvers.base.jacobian import JacobianMethod, Rule

_PATIENCE = 8


@options_by_name
@dataclass(frozen=True, kw_only=True)
class PseudoInverse(JacobianMethod):
    """Truncated pseudo-inverse for all goals but Near and Balance.

    Any number of goals is solved, on all joints and limits.

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
        Largest error that one step works on (Buss's D_max): of a position in lengths of its chain, of a rotation in
        half turns. inf: all of it.
    max_turn
        [rad] Largest turn of a joint in one step. Of a slide the rig's size counts as one radian.
    cut
        Singular values below this share of the largest are left out; below a hundredth where no restart has met the
        goals and the best pose is brought to rest.

    Notes
    -----
    Step: `dq = J^+ e`, the shortest one that takes the whole error away as far as the Jacobian tells. Near singular
    poses it would grow without bound, which is why small singular values are left out. Where targets are out of reach
    it shakes; the answer is the best pose seen. `PseudoInverse(bend=0, restarts=0, clamp=inf, max_turn=inf)` is the
    textbook form.

    References
    ----------
    Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans. Man-Machine Systems 10(2),
    1969. Truncation of singular values: Golub and Van Loan.
    """

    cut: float = 1e-4
    max_turn: float = math.pi / 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cut", real(self.cut, "cut"))
        if not 0 <= self.cut < 1:
            raise InputError(f"cut must be a share of the largest singular value, from 0 up to 1, not {self.cut!r}")

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "pseudo_inverse"

    @property
    def rule(self) -> Rule:
        """y = (J J^T)^+ e."""
        return Rule(PSEUDO_INVERSE, self.cut, 0.0, _PATIENCE)


Solver = PseudoInverse

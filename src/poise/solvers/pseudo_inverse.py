"""Pseudo-inverse: the shortest step that takes the whole error away, as far as the Jacobian tells.

dq = J^+ e, Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans. Man-Machine
Systems 10(2), 1969. Near singular poses its steps would grow without bound, so that small singular values are left out
(truncated, after Golub and Van Loan).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from poise.errors import InputError
from poise.maths.arrays import real
from poise.solvers.base.jacobian import JacobianMethod, Rule

_PSEUDO_INVERSE = 2  # as in kernels/tree/steps.py
_PATIENCE = 8


@dataclass(frozen=True, kw_only=True)
class PseudoInverse(JacobianMethod):
    """Truncated pseudo-inverse for any goals but Near, any number of them, on all joints and limits.

    iterations  most steps, those of restarts included
    cut         singular values below this share of the largest are left out; below a hundredth where restarts have
                found nothing and the best pose is brought to rest
    restarts    how often to start again from elsewhere inside the limits, where the error hardly falls any more, and
                then once from the best pose. 0: one attempt, to its last iteration
    bend        [rad] where no joint lowers the error and goals are unmet, as on a straight chain with the target on
                its own line, all joints are bent by it first, always to the same side. 0 switches it off
    clamp       most of an error that one step looks at (Buss's D_max): of a position in lengths of its chain, of a
                rotation in half turns; inf: all of it
    max_turn    [rad] most that a joint turns in one step; slides count the rig's size as a radian

    It shakes where targets are out of reach; the answer is the best pose seen. `PseudoInverse(bend=0, restarts=0,
    clamp=inf, max_turn=inf)` is the textbook form.
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
        """The solver's name."""
        return "pseudo_inverse"

    @property
    def rule(self) -> Rule:
        """y = (J J^T)^+ e."""
        return Rule(_PSEUDO_INVERSE, self.cut, 0.0, _PATIENCE)


Solver = PseudoInverse

"""A race of six methods: one rope, one target."""

from __future__ import annotations

from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.scene_rigs import build_rope

TITLE = "Race of methods"
TEXT = (
    "Six methods bend the same rope, iteration by iteration: drag the target, then press Space to see the race again."
)
HINT = "Drag the cube: each method shows its iterations"
ORDER = 85

_RACED_SOLVERS = (
    "ccd", "fabrik", "jacobian_transpose", "levenberg_marquardt", "damped_least_squares", "selectively_damped",
)  # fmt: skip
_TARGET_POSITION_M = (0.75, 0.95, 0.35)


def make() -> Document:
    """Build six views of the rope."""
    rig = build_rope()
    chain = build_chain(rig.pose, "rope", "hook", "tip").replace(position=_TARGET_POSITION_M)
    solvers = tuple(SolverChoice(name) for name in _RACED_SOLVERS)
    return build_document(
        rig, chains=(chain,), solvers=solvers, view_count=len(solvers), limit_mode="plain", pace="race"
    )

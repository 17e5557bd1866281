"""Answers of every solver on an arm and a figure, as JSON, for comparing processors and levels.

    python tools/native/answers.py     with the Poise that Python finds

Each answer has `reached`, `errors` and a hash of q. An unsupported goal has the reason.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import poise
from poise import solvers
from poise.kernels import entries, levels


def list_cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """List the solves as (name, function)."""
    arm, figure = poise.load(poise.sample("arm.urdf")).rest, poise.load(poise.sample("humanoid.glb")).rest
    target = np.add(figure.world_of("LeftHand").positions, (-0.2, 0.1, 0.15))
    near = target + np.linspace(-0.05, 0.05, 9)[:, None]
    right = poise.Position("RightHand", (-0.5, 1.2, 0.2))
    problems = {
        "limb": (figure, poise.Position("LeftHand", target, root="LeftArm")),
        "limbs": (figure, poise.Position("LeftHand", near, root="LeftArm")),
        "far": (figure, poise.Position("LeftHand", (9.0, 9.0, 9.0), root="LeftArm")),
        "chain": (figure, poise.Position("LeftHand", target)),
        "tree": (figure, [poise.Position("LeftHand", target), right]),
        "arm": (arm, poise.Position("tool", (0.2, 0.2, 0.4))),
        "arms": (arm, poise.Position("tool", np.linspace((0.2, 0.2, 0.4), (0.4, -0.2, 0.2), 9))),
        "place": (arm, poise.Place("tool", (0.2, 0.2, 0.4), np.eye(3))),
        "direction": (arm, poise.Direction("tool", (0.0, 0.6, 0.8))),
    }
    for problem_name, (start, goals) in problems.items():
        for solver in ("auto", *solvers.names()):
            if solver != "autodiff":  # of the extra jax
                yield f"{problem_name}, {solver}", lambda s=start, g=goals, m=solver: poise.solve(s, g, solver=m)
    hands = [poise.Position("LeftHand", target), right, poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
    yield "natural", lambda: poise.solve(figure, hands, natural=True, free_root=True)


def describe(solve: Callable[[], Any]) -> dict[str, Any]:
    """Describe the answer of a solve."""
    try:
        result = solve()
    except poise.PoiseError as error:
        return {"reason": str(error)}
    q = np.ascontiguousarray(result.q)
    return {
        "reached": np.atleast_1d(result.reached).tolist(),
        "errors": np.atleast_1d(result.error).tolist(),
        "q": hashlib.sha256(q.tobytes()).hexdigest()[:16],
        "q without signs of zero": hashlib.sha256((q + 0.0).tobytes()).hexdigest()[:16],
    }


def main() -> int:
    """Run the command."""
    answers = {name: describe(solve) for name, solve in list_cases()}
    used = {str(each.backend) for name, each in entries.ENTRIES.items() if not levels.has_eight_lanes(name)}
    print(
        json.dumps(
            {
                "machine": platform.machine(),
                "folder": poise.__file__,
                "level": levels.find_level(),
                "backends": sorted(used),
                "has Numba": "numba" in sys.modules,
                "answers": answers,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Ways of racing methods by Python, to compare with a page's: `python -m tests.viewer.race_cases`.

POISE_LEVEL=portable has to be set: the level is chosen once in a process. Poses of a way are given by their SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import Any

import numpy as np

import poise
from poise.comparison.live import LiveComparison
from poise.comparison.metrics import compute_smoothness
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.offline.body import RESTARTS
from poise.viewer.offline.methods import METHODS
from poise.viewer.offline.program import ArrayStore
from poise.viewer.offline.races import export_race, list_races
from poise.viewer.session.state_messages import describe_chain
from poise.viewer.view_solver import ViewSolver
from tests.viewer.body_cases import encode

SCENES = ("race", "ccd", "ccd_hinge_range", "robot_arm")
MOVES = 4  # of the target


def build_races() -> dict[str, Document]:
    """Build the documents of races: scenes, and a limb of a whole body."""
    documents = {name: scenes.build_scene(name) for name in SCENES}
    documents["body"] = build_document(poise.load(samples.path("humanoid.glb")))
    return {name: list_races(document)[0] for name, document in documents.items()}


def compute_cases(document: Document, methods: list[str]) -> list[dict[str, Any]]:
    """Move the target and trace all methods, from the start pose and from others."""
    rng, start = np.random.default_rng(3), document.solver_start
    size = float(np.ptp(start.world.positions, axis=0).max())
    choices = {name: SolverChoice(name) for name in methods}
    if document.scope == "limbs":  # a tree, in which the engine of a page restarts less often
        choices["levenberg_marquardt"] = SolverChoice("levenberg_marquardt", (("restarts", RESTARTS),))
    solvers = {name: ViewSolver(document, start, choice) for name, choice in choices.items()}
    cases: list[dict[str, Any]] = []
    for move in range(2 * MOVES):
        if move >= MOVES:  # every joint is elsewhere, that which the chain hangs from too
            q = start.skeleton.legal(start.q + 0.1 * rng.normal(size=start.q.size))[0]
            start = poise.Pose(start.skeleton, q)
        chain = document.active_chains[0]
        position = tuple((np.array(chain.position) + 0.08 * size * rng.normal(size=3)).tolist())
        document = document.with_chain(chain.replace(position=position))
        chains, case = document.active_chains, {"position": position, "start": encode(start.q), "paths": {}}
        for name, solver in solvers.items():
            outcome, path = solver(chains, start.q[None]), solver.trace_path(chains, start.q[None])
            case["paths"][name] = {
                "last": path.last, "poses": hashlib.sha256(path.q.tobytes()).hexdigest(),
                "left": outcome.position_error, "met": outcome.is_reached,
            }  # fmt: skip
        cases.append(case)
    return cases


def compute_smoothness_case(document: Document) -> dict[str, Any]:
    """Compute the smoothness of the poses on a way to a target."""
    chain, start = document.active_chains[0], document.solver_start
    place = np.array(chain.position) + 0.1 * np.ptp(start.world.positions, axis=0).max()
    goal = chain.replace(position=tuple(place.tolist())).build_goals(start.skeleton)[0]
    trace = poise.solve(start, goal, solver=poise.JacobianTranspose(iterations=20), trace=True).trace
    assert trace is not None
    task = LiveComparison(start, goal, [poise.JacobianTranspose()]).task
    return {"poses": [encode(q) for q in trace.q[:20]], "smoothness": list(compute_smoothness(task, trace.q[:20]))}


def main() -> None:
    """Print the packed races, and their ways."""
    answers = {}
    for name, document in build_races().items():
        store = ArrayStore()
        packed = export_race(document, store)
        assert packed is not None
        (mode,) = packed["solved"]["modes"].values()
        methods = [method for method in METHODS if "refusal" not in mode["methods"][method]]
        answers[name] = {
            "packed": {"chain": describe_chain(document, document.active_chains[0]), **packed, "raced": methods},
            "numbers": base64.b64encode(store.get_bytes()).decode(),
            "cases": compute_cases(document, methods),
            "moved": compute_smoothness_case(document),
        }
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

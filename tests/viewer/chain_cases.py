"""Answers of Python for chains of documents, to compare with a page's: `python -m tests.viewer.chain_cases COUNT`.

POISE_LEVEL=portable has to be set: the level is chosen once in a process. Numbers are base64 of float64.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

import numpy as np

import poise
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.document import Document, build_document
from poise.viewer.offline.chains import build_setup, choose_method, export_chains
from poise.viewer.offline.program import ArrayStore
from poise.viewer.session.state_messages import describe_chain
from poise.viewer.view_solver import plan_chains
from tests.viewer.body_cases import encode

SCENES = ("ccd", "ccd_hinge_range", "five_axes", "robot_arm")


def build_documents() -> dict[str, Document]:
    """Build the documents: scenes, and a figure with its limbs."""
    documents = {name: scenes.build_scene(name) for name in SCENES}
    return documents | {"limbs": build_document(poise.load(samples.path("humanoid.glb")), scope="limbs")}


def compute_cases(document: Document, method: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Drag targets from the start on. Each answer is the next start."""
    rng, start = np.random.default_rng(seed), document.solver_start
    size = float(np.ptp(start.world.positions, axis=0).max())
    plan = plan_chains(choose_method(document, method), start, document.active_chains, free_root=document.free_root)
    chains = document.active_chains
    roots = {chains[i].name: root for i, root in plan.roots.items()}
    groups = [[chains[i].name for i in group] for group in plan.groups]
    pose, cases = start, []
    for _ in range(count):
        number = int(rng.integers(len(document.active_chains)))
        chain = document.active_chains[number]
        position = tuple((np.array(chain.position) + 0.15 * size * rng.normal(size=3)).tolist())
        document = document.with_chain(chain.replace(position=position))
        iterations = 0
        for names in groups:
            setup = build_setup(document, names, roots, free_root=plan.free_root)
            solver = choose_method(document, method, setup)
            result = poise.solve(
                pose, setup.goals, solver=solver, free_root=plan.free_root, natural=False,
                tolerance=setup.tolerance.distance, angle_tolerance=setup.tolerance.angle,
            )  # fmt: skip
            pose, iterations = result.pose, iterations + int(result.iterations)
        cases.append({"chain": chain.name, "position": position, "q": encode(pose.q), "iterations": iterations})
    return cases


def main() -> None:
    """Print the packed chains of all documents, and answers."""
    answers = {}
    for name, document in build_documents().items():
        store = ArrayStore()
        packed = export_chains(document, store)
        assert packed is not None
        cases = {
            mode: {
                method: compute_cases(document.replace(limit_mode=mode), method, int(sys.argv[1]), seed=len(method))
                for method, described in modes["methods"].items()
                if "refusal" not in described
            }
            for mode, modes in packed["modes"].items()
        }
        answers[name] = {
            "packed": packed,
            "numbers": base64.b64encode(store.get_bytes()).decode(),
            "chains": [describe_chain(document, chain) for chain in document.active_chains],
            "cases": cases,
        }
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

"""Answers of Python for the page's scenes, to compare with the page's: `python -m tests.docs.try_cases COUNT`.

POISE_LEVEL=portable has to be set: the level is chosen once in a process. Numbers are base64 of float64.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import poise

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from try_page import export

_WARM_STEP = 0.03  # ratio of a dragged target's step to the reach
_RUN_LENGTH = 10  # targets of a drag


def list_targets(scene: export.Scene, count: int, seed: int) -> Iterator[list[tuple[Any, ...]]]:
    """List runs of targets (point, direction): single ones everywhere, and drags, which go on from the last answer."""
    rng, problem = np.random.default_rng(seed), scene.problem
    reach = problem.plan.term_reaches[0].max_distance * problem.plan.kernel_unit_in_world
    base = np.array([0.0, 0.2, 0.0])
    special = [
        base - 0.01,
        *(base + reach * np.array(offset) for offset in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 3, 0))),
    ]
    special += [problem.build_target_rows([goal.rows() for goal in scene.goals], ())[0, :3]]
    solved = poise.solve(scene.start, scene.goals, solver="levenberg_marquardt").pose
    special += [solved.world[problem.skeleton.names[problem.measures[0].row]].positions]
    for point in special:
        yield [(point, _draw_direction(rng))]
    done = len(special)
    while done < count:
        length = 1 if rng.random() < 0.5 else _RUN_LENGTH
        point, direction = base + rng.normal(size=3) * reach * 0.5, _draw_direction(rng)
        run = []
        for _ in range(length):
            run.append((point, direction))
            point = point + rng.normal(size=3) * reach * _WARM_STEP
            direction = direction + rng.normal(size=3) * _WARM_STEP
        yield run
        done += length


def _draw_direction(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=3)


def compute_answers(name: str, method: str, count: int) -> list[dict[str, Any]]:
    """Solve for runs of targets. Each run begins at the start of the scene."""
    scene, runs = export.build_scene(name), []
    for run in list_targets(scene, count, seed=len(name)):
        pose, answers = scene.start, []
        for point, direction in run:
            goals = tuple(
                replace(goal, target=point) if isinstance(goal, poise.Position) else replace(goal, direction=direction)
                for goal in scene.goals
            )
            result = poise.solve(pose, goals, solver=poise.solvers.make_solver(method))
            target = np.concatenate([point, direction])[: len(goals) * 3]
            answers.append({
                "target": encode(target),
                "q": encode(result.q),
                "errors": encode(np.array(result.errors)),
                "reached": bool(result.reached),
                "iterations": int(result.iterations),
            })  # fmt: skip
            pose = result.pose
        runs.append({"scene": name, "method": method, "answers": answers})
    return runs


def encode(numbers: Any) -> str:
    """Encode numbers as base64."""
    return base64.b64encode(np.asarray(numbers, dtype=np.float64).tobytes()).decode()


def main() -> None:
    """Print the answers of all scenes and methods."""
    runs: list[dict[str, Any]] = []
    for name in export.SCENE_NAMES:
        for method in export.METHODS:
            if not (name == "five_axes" and method == "fabrik"):
                runs += compute_answers(name, method, int(sys.argv[1]))
    json.dump(runs, sys.stdout)


if __name__ == "__main__":
    main()

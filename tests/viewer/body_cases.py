"""Answers of Python for the parts of a body, to compare with a page's: `python -m tests.viewer.body_cases FILE COUNT`.

POISE_LEVEL=portable has to be set: the level is chosen once in a process. Numbers are base64 of float64.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

import numpy as np

import poise
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.viewer.document.document import Document, build_document
from poise.viewer.document.whole_body import find_root
from poise.viewer.offline import body
from poise.viewer.offline.program import ArrayStore

_PREFERENCE = 0.5  # weight of the start pose where it is preferred
_MAX_GOALS = 5


def compute_cases(document: Document, packed: dict[str, Any], count: int, seed: int) -> list[dict[str, Any]]:
    """Solve for random goals on random parts, from the start and from other poses."""
    rng, start = np.random.default_rng(seed), document.solver_start
    size = float(np.ptp(start.world.positions, axis=0).max())
    solver = LevenbergMarquardt(restarts=body.RESTARTS)
    options: dict[str, Any] = {"free_root": document.free_root, "natural": False}
    cases = []
    for number in range(count):
        parts = rng.choice(len(packed["names"]), int(rng.integers(1, _MAX_GOALS + 1)), replace=False)
        goals, described = [], []
        for part in parts.tolist():
            joint, turns, weight = packed["names"][part], bool(rng.random() < 0.5), float(rng.choice([1.0, 30.0, 0.3]))
            offset = tuple((0.02 * size * rng.normal(size=3)).tolist())
            row = start.skeleton.index(joint)
            position = start.world.positions[row] + 0.2 * size * rng.normal(size=3)
            rotation = start.world.rotations[row] + 0.3 * rng.normal(size=4)
            given = {"root": find_root(start.skeleton, joint), "weight": weight, "offset": offset}
            if turns:
                goals.append(poise.Place(joint, position, rotation / np.linalg.norm(rotation), **given))
            else:
                goals.append(poise.Position(joint, position, **given))
            described.append({"part": part, "turns": turns, "weight": weight, "offset": offset})
        pose = start
        if number % 2:
            pose = poise.solve(start, goals[:1], solver=solver, **options).pose
        near = [poise.Near(start, weight=_PREFERENCE)] if number % 3 == 0 else []
        result = poise.solve(
            pose,
            [*goals, *near],
            solver=solver,
            tolerance=packed["tolerance"],
            angle_tolerance=packed["angle"],
            **options,
        )
        cases.append({
            "goals": described,
            "preference": _PREFERENCE if near else 0.0,
            "targets": encode(np.concatenate([goal.rows() for goal in goals])),
            "start": encode(pose.q),
            "q": encode(result.q),
            "iterations": int(result.iterations),
            "reached": bool(result.reached),
        })  # fmt: skip
    return cases


def compute_gaze_cases(document: Document, packed: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Let the head look at random points, from random poses with head and neck at rest."""
    rng, start, goal = np.random.default_rng(count), document.solver_start, body.build_gaze(document)
    if packed["gaze"] is None or goal is None:
        return []
    size = float(np.ptp(start.world.positions, axis=0).max())
    cases = []
    for _ in range(count):
        q = start.with_q(start.skeleton.legal(start.q + 0.2 * rng.normal(size=start.q.size))[0]).q
        posed = q.copy()
        for first, end in packed["gaze"]["columns"]:
            posed[first:end] = start.q[first:end]
        target = start.world[goal.joint].positions + size * rng.normal(size=3)
        solver = LevenbergMarquardt(restarts=body.GAZE_RESTARTS)
        result = poise.solve(start.with_q(posed), goal.with_target(target), solver=solver, natural=False)
        cases.append({
            "start": encode(q), "target": target.tolist(), "q": encode(result.q),
            "moved": bool((result.q != posed).any()),
        })  # fmt: skip
    return cases


def encode(numbers: Any) -> str:
    """Encode numbers as base64."""
    return base64.b64encode(np.asarray(numbers, dtype=np.float64).tobytes()).decode()


def main() -> None:
    """Print the arrays of a body and answers for each of its modes."""
    document, store = build_document(poise.load(sys.argv[1])), ArrayStore()
    packed = body.export_body(document, store)
    assert packed is not None
    cases, gazes = {}, {}
    for name, _, limited in body.list_modes(document):
        cases[name] = compute_cases(limited, packed["modes"][name], int(sys.argv[2]), seed=len(name))
        gazes[name] = compute_gaze_cases(limited, packed["modes"][name], int(sys.argv[2]))
    numbers = base64.b64encode(store.get_bytes()).decode()
    json.dump({"body": packed, "numbers": numbers, "cases": cases, "gazes": gazes}, sys.stdout)


if __name__ == "__main__":
    main()

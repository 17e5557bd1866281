"""Races of methods, packed for a page.

Each chain races alone, from the pose that the page shows.

web/js/engine/race.js runs them. Their figures are those of `poise compare`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.model.skeleton import Kind
from poise.problem.problem import Problem
from poise.viewer.document.document import Document, build_scope
from poise.viewer.offline.chains import export_chains
from poise.viewer.offline.program import ArrayStore

_MIN_METHODS = 2  # that take a chain


def list_races(document: Document) -> list[Document]:
    """List the documents of races, each with one active chain.

    Of a whole body they are its limbs.
    """
    if document.is_driven or len(document.character_positions) > 1:
        return []
    if document.free_root:  # q has the columns of the whole body then, and a race begins at its pose
        skeleton = document.skeleton.with_free_root()
        document = document.replace(skeleton=skeleton, start=document.start.on(skeleton))
    if document.scope == "body":
        document = document.replace(**build_scope(document.rig, document.start, "limbs"))
    document = document.replace(clip_name=None, plants_feet=False, free_root=False)
    raced = [chain for chain in document.chains if chain.kind != "pin"]
    return [
        document.replace(chains=tuple(chain.replace(enabled=chain is one) for chain in document.chains))
        for one in sorted(raced, key=lambda chain: not chain.enabled)
    ]


def export_race(document: Document, store: ArrayStore) -> dict[str, Any] | None:
    """Pack the race of a document. None where fewer than two methods take its chain."""
    mode = document.limit_mode
    solved = export_chains(document, store, [mode])
    if solved is None:
        return None
    usable = [name for name, packed in solved["modes"][mode]["methods"].items() if "refusal" not in packed]
    if len(usable) < _MIN_METHODS:
        return None
    chosen = [choice.name for choice in document.solvers[: document.view_count]]
    start, chain = document.solver_start, document.active_chains[0]
    problem = Problem(start, tuple(chain.build_goals(start.skeleton)))
    return {
        "solved": solved,
        "raced": [name for name in chosen if name in usable] if document.view_count > 1 else [],
        "tolerance": problem.complete_tolerance(document.tolerance, None).distance,
        "joints": _list_joints(problem),
    }


def _list_joints(problem: Problem) -> list[dict[str, Any]]:
    """List how displacements of joints are computed. See `compute_displacements` in comparison/metrics.py."""
    skeleton = problem.skeleton
    length = problem.plan.max_reach or 1.0
    joints: list[dict[str, Any]] = []
    for name in problem.joints:
        kind, columns = skeleton[name].kind, skeleton.q_slice(name)
        coupling = skeleton.couplings[skeleton.index(name)]
        factor = 1.0 if coupling is None else coupling.ratio
        if kind in (Kind.BALL, Kind.FREE):
            joints.append({"quaternion": columns.stop - 4})
        elif kind in (Kind.HINGE, Kind.SLIDE):
            turns = kind == Kind.HINGE and factor == 1.0 and np.isinf(skeleton.value_ranges[columns.start]).all()
            joints.append({
                "column": columns.start, "factor": factor if kind == Kind.HINGE else factor / length,
                "turns": bool(turns),
            })  # fmt: skip
    return joints

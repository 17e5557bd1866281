"""Chains of a document, packed for a page.

They are packed for each method, with limits and without.

A method of one chain at a time has a group for each; others have one group. See `plan_chains`.
"""

from __future__ import annotations

from typing import Any

from poise import solvers
from poise.errors import PoiseError
from poise.problem.problem import Problem
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.viewer.document.document import AUTO_SOLVER, Document
from poise.viewer.offline.body import RESTARTS, export_maps
from poise.viewer.offline.methods import MAX_CURVE, METHODS, Setup, export_method
from poise.viewer.offline.program import ArrayStore
from poise.viewer.view_solver import plan_chains

_ENGINE = "levenberg_marquardt"
_MODE_TITLES = {"limits": "Limits", "hinge": "Hinges without ends", "plain": "No limits"}


def export_chains(document: Document, store: ArrayStore, names: list[str] | None = None) -> dict[str, Any] | None:
    """Pack the chains of a document. None where a page cannot solve them.

    `names` are the limit modes. By default they are all that differ.
    """
    is_alone = len(document.character_positions) == 1 and not document.is_driven
    if not document.active_chains or not is_alone or document.clip_name is not None:
        return None
    names = names or _list_modes(document)
    try:
        modes = {name: _export_mode(document.replace(limit_mode=name), store) for name in names}
    except PoiseError:
        return None
    chosen = document.solvers[0].name
    usable = [name for name, method in modes[names[0]]["methods"].items() if "refusal" not in method]
    if not usable:
        return None
    default = _ENGINE if chosen == AUTO_SOLVER or chosen not in usable else chosen
    return {"modes": modes, "free_root": document.free_root, "method": default if default in usable else usable[0]}


def _list_modes(document: Document) -> list[str]:
    """List the limit modes of a page. That of the document comes first."""
    names = [document.limit_mode, *(name for name in ("limits", "plain") if name != document.limit_mode)]
    reasons = document.list_limit_modes()
    has_limits = reasons["limits"] is None
    return [name for name in names if reasons[name] is None and (has_limits or name == names[0])] or names[:1]


def _export_mode(document: Document, store: ArrayStore) -> dict[str, Any]:
    start = document.solver_start
    return {
        "title": _MODE_TITLES[document.limit_mode],
        "start": start.q.tolist(),
        "rows": {chain.tip: start.skeleton.index(chain.tip) for chain in document.active_chains},
        "maps": export_maps(start, store).pack(),
        "methods": {name: {"title": title} | _export_groups(document, name, store) for name, title in METHODS.items()},
    }


def build_setup(document: Document, chain_names: list[str], roots: dict[str, str], *, free_root: bool) -> Setup:
    """Build the solve of some chains."""
    start = document.solver_start
    chains = [chain for chain in document.active_chains if chain.name in chain_names]
    chains = [chain.replace(root=roots.get(chain.name, chain.root)) for chain in chains]
    goals = tuple(goal for chain in chains for goal in chain.build_goals(start.skeleton))
    problem = Problem(start, goals, free_root)
    return Setup(start, goals, problem, problem.complete_tolerance(document.tolerance, None))


def choose_method(document: Document, name: str, setup: Setup | None = None) -> solvers.Solver:
    """Choose the solver of a name.

    The document's own solver has its options.

    The engine of a tree gets few restarts: a drag does not wait.
    """
    choice = document.solvers[0]
    if choice.name == name and choice.options:
        return solvers.make_solver(name, **dict(choice.options))
    if name == _ENGINE and setup is not None and LevenbergMarquardt().arm(setup.problem) is None:
        return LevenbergMarquardt(restarts=RESTARTS)
    return solvers.make_solver(name)


def _export_groups(document: Document, name: str, store: ArrayStore) -> dict[str, Any]:
    """Pack a method's groups of chains, or the reason against it."""
    chains = document.active_chains
    plan = plan_chains(choose_method(document, name), document.solver_start, chains, free_root=document.free_root)
    if plan.refusal is not None:
        return {"refusal": plan.refusal}
    roots = {chains[i].name: root for i, root in plan.roots.items()}
    groups: list[dict[str, Any]] = []
    for group in plan.groups:
        chain_names = [chains[i].name for i in group]
        setup = build_setup(document, chain_names, roots, free_root=plan.free_root)
        packed = export_method(choose_method(document, name, setup), setup, store, max_curve=MAX_CURVE)
        if "refusal" in packed:
            return packed
        groups.append({"chains": chain_names, **packed})
    left_out = [{"chain": chains[i].name, "reason": reason} for i, reason in plan.left_out.items()]
    return {"groups": groups, "left_out": left_out}

"""Which solvers cannot take the chains of a document, each with its own sentence: the page greys them."""

from __future__ import annotations

from typing import Any

from poise import solvers
from poise.errors import PoiseError, UnsupportedError
from poise.maths.remember import remember
from poise.model import plain
from poise.problem.goals import Goal
from poise.problem.problem import Problem
from poise.solvers.base.contract import Request
from poise.viewer.document.document import Document
from poise.viewer.solving import groups_of


def refusals(document: Document) -> dict[str, str]:
    """The sentence of each solver that refuses the chains that are switched on; nothing is solved or compiled for it.

    What only an option or a target makes impossible is said when it is solved. A start pose remembers its last answer.
    """
    if document.driven or not document.active:
        return {}
    key = (tuple(chain.shape for chain in document.active), document.free_root, plain.waits())
    return remember(document.started, "refusals of solvers", key, lambda: _refusals(document), most=1)


def _refusals(document: Document) -> dict[str, str]:
    goals = [chain.goals(document.working) for chain in document.active]
    told = {name: _refusal(document, name, goals) for name in solvers.names()}
    return {name: sentence for name, sentence in told.items() if sentence is not None}


def _refusal(document: Document, name: str, goals: list[list[Goal]]) -> str | None:
    try:
        made: Any = solvers.named(name)
    except UnsupportedError:  # an extra that is not installed: the list says so already
        return None
    try:
        for group in groups_of(made, goals):
            problem = Problem(document.started, tuple(goal for i in group for goal in goals[i]), document.free_root)
            solvers.check(made, problem, Request())
            if hasattr(made, "refuse") and not plain.waits():  # what it takes depends on more than kinds: it measures
                made.refuse(problem)
    except PoiseError as error:
        return str(error)
    return None

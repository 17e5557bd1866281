"""Refusal messages of solvers for the current chains. The page greys these solvers."""

from __future__ import annotations

from poise import solvers
from poise.errors import PoiseError, UnsupportedError
from poise.maths.remember import remember
from poise.model import plain
from poise.viewer.abilities import plan_chains
from poise.viewer.document.document import Document


def refusals(document: Document) -> dict[str, str]:
    """Find the message of each unusable solver. Nothing is solved for it.

    Disabled chains do not count. A solver may take some chains only; it reports the others when it solves. Reasons in
    options or targets appear at the solve only. The last result is cached per start pose.
    """
    if document.driven or not document.active:
        return {}
    key = (tuple(chain.shape for chain in document.active), document.free_root, plain.waits())
    return remember(document.started, "refusals of solvers", key, lambda: _refusals(document), most=1)


def _refusals(document: Document) -> dict[str, str]:
    told = {name: _refusal(document, name) for name in solvers.names()}
    return {name: sentence for name, sentence in told.items() if sentence is not None}


def _refusal(document: Document, name: str) -> str | None:
    try:
        made = solvers.named(name)
    except UnsupportedError:  # a missing extra: the list of solvers reports it already
        return None
    try:
        return plan_chains(made, document.started, document.active, free_root=document.free_root).refused
    except PoiseError as error:
        return str(error)

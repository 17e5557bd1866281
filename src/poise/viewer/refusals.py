"""Which solvers can take no chain of a document, each with its own sentence: the page greys them."""

from __future__ import annotations

from poise import solvers
from poise.errors import PoiseError, UnsupportedError
from poise.maths.remember import remember
from poise.model import plain
from poise.viewer.abilities import plan_of
from poise.viewer.document.document import Document


def refusals(document: Document) -> dict[str, str]:
    """The sentence of each solver that takes none of the chains that are switched on; nothing is solved for it.

    One that takes some of them leaves the others out, and says so when it solves.
    What only an option or a target makes impossible is said when it is solved. A start pose remembers its last answer.
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
    except UnsupportedError:  # an extra that is not installed: the list says so already
        return None
    try:
        return plan_of(made, document.started, document.active, free_root=document.free_root).refused
    except PoiseError as error:
        return str(error)

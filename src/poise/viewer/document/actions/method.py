"""Actions on the settings of solving and on joint limits."""

from __future__ import annotations

from typing import Any

from poise import solvers
from poise.errors import InputError, UnknownNameError
from poise.solvers.base.parameters import parameters
from poise.viewer.document.document import AUTO, Choice, Document
from poise.viewer.protocol import number, one_of, text, truth


def solver(document: Document, args: dict[str, Any]) -> Document:
    """Choose the solver of a view, with default options."""
    name = text(args, "name")
    if name != AUTO:
        solvers.named(name)
    return _with_choice(document, args, Choice(name))


def option(document: Document, args: dict[str, Any]) -> Document:
    """Set an option of a view's solver. It is written as on the command line; null restores the default."""
    choice, name = document.solvers[_view(args)], text(args, "name")
    known = {} if choice.name == AUTO else {one.name: one for one in parameters(type(solvers.named(choice.name)))}
    if name not in known:
        raise UnknownNameError(f"option of {choice.name}", name, tuple(known), plural=f"options of {choice.name}")
    if args.get("value") is None:
        rest = tuple(pair for pair in choice.options if pair[0] != name)
        return _with_choice(document, args, Choice(choice.name, rest))
    value = args["value"]
    written = (
        str(value).lower() if isinstance(value, bool) else f"{value!r}" if isinstance(value, float) else str(value)
    )
    return _with_choice(document, args, choice.with_option(name, known[name].read(written[:200])))


def _view(args: dict[str, Any]) -> int:
    return _whole(args, "view", 0, 1)


def _whole(args: dict[str, Any], name: str, low: int, high: int) -> int:
    value = number(args, name, low, high)
    if value != int(value):
        raise InputError(f"{name} is a whole number, not {value:g}")
    return int(value)


def _with_choice(document: Document, args: dict[str, Any], choice: Choice) -> Document:
    pair = list(document.solvers)
    pair[_view(args)] = choice
    return document.but(solvers=(pair[0], pair[1]))


def mode(document: Document, args: dict[str, Any]) -> Document:
    """Set the limit mode: all limits, hinge axes only, or none. Raise InputError where it makes no difference."""
    value = one_of(args, "value", ("limits", "hinge", "plain"))
    why = document.modes()[value]
    if why is not None:
        raise InputError(why)
    return document.but(mode=value)


def run(document: Document, args: dict[str, Any]) -> Document:
    """Set the pace: live, iterate or single steps.

    Live solves to the end for each target, iterate does one iteration a frame.
    """
    return document.but(run=one_of(args, "value", ("live", "iterate", "step")))


def origin(document: Document, args: dict[str, Any]) -> Document:
    """Set the initial pose of solves: displayed pose or start pose."""
    return document.but(origin=one_of(args, "value", ("last", "start")))


def tolerance(document: Document, args: dict[str, Any]) -> Document:
    """Set the tolerance [file units]. Null restores the library's own."""
    given = args.get("value")
    return document.but(tolerance=None if given is None else number(args, "value", 1e-12, 1e6))


def free_root(document: Document, args: dict[str, Any]) -> Document:
    """Switch the motion of the root."""
    return document.but(free_root=truth(args, "on"))


def views(document: Document, args: dict[str, Any]) -> Document:
    """Set the number of views, one or two."""
    return document.but(views=_whole(args, "count", 1, 2))

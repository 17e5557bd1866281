"""`poise solvers`: list the solvers, or the options of one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from poise import solvers
from poise.cli.terminal import say
from poise.solvers.base.parameters import Parameter, described, parameters, summary


def list_solvers(
    name: Annotated[str | None, typer.Argument(help="a solver: its options; without: all solvers")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the solvers with their capabilities, or the options of one."""
    chosen = solvers.names() if name is None else (name,)
    found = [_described(solver) for solver in chosen]
    if as_json:
        typer.echo(json.dumps(found if name is None else found[0], indent=1))
    elif name is None:
        _show_all(found)
    else:
        _show_one(found[0])


def _described(name: str) -> dict[str, Any]:
    made: Any = solvers.named(name)
    handles = made.handles
    return {
        "name": name,
        "summary": summary(type(made)),
        "goals": list(handles.goals),
        "beside": list(handles.beside),
        "several": handles.several,
        "one_joint": handles.one_joint,
        "soft": handles.soft,
        "joints": [kind.name.lower() for kind in handles.joints],
        "limits": list(handles.limits),
        "coupled": handles.coupled,
        "free_root": handles.free_root,
        "prefer": list(handles.prefer),
        "options": [_option(parameter) for parameter in parameters(type(made))],
    }


def _option(parameter: Parameter) -> dict[str, Any]:
    default = parameter.default
    plain = default if isinstance(default, bool | int | str | type(None)) else _shown(default)
    return {"name": parameter.name, "type": described(parameter.hint), "default": plain, "help": parameter.text}


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _show_all(found: list[dict[str, Any]]) -> None:
    table = Table(Column("solver", no_wrap=True), "goals", "joints", "limits", "more", box=None, pad_edge=False)
    for one in found:
        also = [word for word, can in (("several goals", one["several"]), ("free root", one["free_root"])) if can]
        table.add_row(
            one["name"], ", ".join(one["goals"]), ", ".join(one["joints"]), ", ".join(one["limits"]) or "none",
            ", ".join([*also, *(f"prefer {prefer}" for prefer in one["prefer"] if prefer != "first")]),
        )  # fmt: skip
    Console(markup=False).print(table)
    say(
        "",
        "`poise solvers NAME` lists the options of one; `poise solve --solver NAME --option name=value` sets them.",
    )


def _show_one(one: dict[str, Any]) -> None:
    say(f"{one['name']}: {one['summary']}", "")
    together = "several at once" if one["several"] else "one at a time"
    together += ", of one joint" if one["one_joint"] else "".join(f", {goal} beside it" for goal in one["beside"])
    say(f"goals: {', '.join(one['goals'])}; {together}")
    say(f"joints: {', '.join(one['joints'])}; limits: {', '.join(one['limits']) or 'none'}", "")
    table = Table("option", "type", "default", "meaning", box=None, pad_edge=False)
    for option in one["options"]:
        table.add_row(option["name"], option["type"], _shown(option["default"]), option["help"])
    Console(markup=False).print(table)  # [rad] is a unit

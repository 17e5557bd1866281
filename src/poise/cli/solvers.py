"""`poise solvers`: list the solvers, or the options of one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from poise import solvers
from poise.cli.terminal import say
from poise.solvers.base.option_parsing import Parameter, describe_type, list_parameters, read_summary


def list_solvers(
    name: Annotated[str | None, typer.Argument(help="a solver: its options; without: all solvers")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the solvers with their capabilities, or the options of one."""
    solver_names = solvers.names() if name is None else (name,)
    descriptions = [_describe_solver(solver) for solver in solver_names]
    if as_json:
        typer.echo(json.dumps(descriptions if name is None else descriptions[0], indent=1))
    elif name is None:
        _print_solver_table(descriptions)
    else:
        _print_solver_options(descriptions[0])


def _describe_solver(name: str) -> dict[str, Any]:
    solver: Any = solvers.make_solver(name)
    handles = solver.handles
    return {
        "name": name,
        "summary": read_summary(type(solver)),
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
        "options": [_describe_option(parameter) for parameter in list_parameters(type(solver))],
    }


def _describe_option(parameter: Parameter) -> dict[str, Any]:
    default = parameter.default
    default_value = default if isinstance(default, bool | int | str | type(None)) else _format_default(default)
    return {
        "name": parameter.name,
        "type": describe_type(parameter.type_hint),
        "default": default_value,
        "help": parameter.description,
    }


def _format_default(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_solver_table(descriptions: list[dict[str, Any]]) -> None:
    table = Table(Column("solver", no_wrap=True), "goals", "joints", "limits", "more", box=None, pad_edge=False)
    for solver in descriptions:
        feature_texts = [
            word
            for word, is_supported in (("several goals", solver["several"]), ("free root", solver["free_root"]))
            if is_supported
        ]
        table.add_row(
            solver["name"], ", ".join(solver["goals"]), ", ".join(solver["joints"]),
            ", ".join(solver["limits"]) or "none",
            ", ".join([*feature_texts, *(f"prefer {prefer}" for prefer in solver["prefer"] if prefer != "first")]),
        )  # fmt: skip
    Console(markup=False).print(table)
    say(
        "",
        "`poise solvers NAME` lists the options of one; `poise solve --solver NAME --option name=value` sets them.",
    )


def _print_solver_options(solver: dict[str, Any]) -> None:
    say(f"{solver['name']}: {solver['summary']}", "")
    combination_text = "several at once" if solver["several"] else "one at a time"
    combination_text += (
        ", of one joint" if solver["one_joint"] else "".join(f", {goal} beside it" for goal in solver["beside"])
    )
    say(f"goals: {', '.join(solver['goals'])}; {combination_text}")
    say(f"joints: {', '.join(solver['joints'])}; limits: {', '.join(solver['limits']) or 'none'}", "")
    table = Table("option", "type", "default", "meaning", box=None, pad_edge=False)
    for option in solver["options"]:
        table.add_row(option["name"], option["type"], _format_default(option["default"]), option["help"])
    Console(markup=False).print(table)  # [rad] is a unit

"""`poise bench`: measure solve times on this machine. The result is a table or JSON."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from poise.benchmark import FULL, QUICK, Measurement, list_benchmarks, read_machine_info
from poise.cli.progress import show_progress
from poise.cli.terminal import say
from poise.precompile import warmup

_TABLE_WIDTH = 116  # [characters] table width for output other than a terminal
_MIN_WHOLE_NUMBER = 100.0  # values from here on are printed without decimals


class BenchEffort(StrEnum):
    """Effort of a benchmark run."""

    QUICK = "quick"
    NORMAL = "normal"


def bench(
    *,
    effort: Annotated[
        BenchEffort, typer.Option("--effort", help="quick: small sizes, a smoke test without reliable figures")
    ] = BenchEffort.NORMAL,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Measure solving and forward kinematics on the bundled rigs. With compiled kernels: under a minute."""
    rows: list[Measurement] = []
    work = list_benchmarks()
    with show_progress("compiling", 1 + len(work)) as advance:
        warmup()
        for name, measure in work:
            advance(1, f"measuring: {name}")
            rows += measure(QUICK if effort == BenchEffort.QUICK else FULL)
    if as_json:
        typer.echo(json.dumps({"machine": read_machine_info(), "rows": [row._asdict() for row in rows]}, indent=1))
        return
    _print_table(rows)
    say("on: " + ", ".join(f"{name} {value}" for name, value in read_machine_info().items()))


def _print_table(rows: list[Measurement]) -> None:
    table = Table(box=MARKDOWN)
    table.add_column("what", no_wrap=True)
    for column in ("solved", "median", "p99"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        solved = "" if row.solved is None else f"{row.solved:.4g} %"
        p99 = "" if row.p99 is None else _format_value(row.p99, row.unit)
        table.add_row(row.what, solved, _format_value(row.median, row.unit), p99)
    console = Console()
    Console(width=console.width if console.is_terminal else _TABLE_WIDTH).print(table)


def _format_value(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= _MIN_WHOLE_NUMBER else f"{value:.3g} {unit}"

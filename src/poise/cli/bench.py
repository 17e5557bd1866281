"""`poise bench`: measure solves and forward kinematics on the bundled rigs."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from poise.benchmark import FULL_SIZE, QUICK_SIZE, Measurement, list_benchmarks, read_machine_info
from poise.calls.progress import show_progress_bar
from poise.cli.terminal import say
from poise.precompile import warmup

_TABLE_WIDTH = 116  # [characters] table width for output other than a terminal
_MIN_INTEGER_VALUE = 100.0  # values from here on are printed without decimals


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
    """Measure solving and forward kinematics on the bundled rigs. It takes under a minute."""
    rows: list[Measurement] = []
    benchmarks = list_benchmarks()
    with show_progress_bar("compiling", 1 + len(benchmarks)) as advance:
        warmup()  # only where no library has the kernels
        for name, measure in benchmarks:
            advance(1, f"measuring: {name}")
            rows += measure(QUICK_SIZE if effort == BenchEffort.QUICK else FULL_SIZE)
    if as_json:
        # each row has the unit of its median and p99
        document = {
            "machine": read_machine_info(),
            "units": {"solved": "%", "median": "unit of the row", "p99": "unit of the row"},
            "rows": [row._asdict() for row in rows],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    _print_table(rows)
    say("on: " + ", ".join(f"{name} {value}" for name, value in read_machine_info().items()))


def _print_table(rows: list[Measurement]) -> None:
    table = Table(box=MARKDOWN)
    table.add_column("what", no_wrap=True)
    for column in ("solved", "median", "p99"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        solved_text = "" if row.solved is None else f"{row.solved:.4g} %"
        p99_text = "" if row.p99 is None else _format_value(row.p99, row.unit)
        table.add_row(row.what, solved_text, _format_value(row.median, row.unit), p99_text)
    console = Console()
    Console(width=console.width if console.is_terminal else _TABLE_WIDTH).print(table)


def _format_value(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= _MIN_INTEGER_VALUE else f"{value:.3g} {unit}"

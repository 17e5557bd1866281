"""The command line: one module per verb. Exit codes: 0 done, 1 a target was not reached, 2 misuse or a bad file."""

from __future__ import annotations

import os
import sys
import warnings

import typer

import poise
from poise.cli import bench, compare, demo, info, plant, solve, solvers, view, warmup
from poise.errors import PoiseError, PoiseWarning

app = typer.Typer(
    help="Inverse kinematics for real rigs: glTF, VRM and BVH characters, URDF robots.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("info")(info.info)
app.command("solve")(solve.solve)
app.command("plant")(plant.plant)
app.command("lock")(plant.lock)
app.command("view")(view.view)
app.command("compare")(compare.compare)
app.command("solvers")(solvers.list_solvers)
app.command("warmup")(warmup.warmup)
app.command("bench")(bench.bench)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:  # typer calls it with one positional value
    if wanted:
        typer.echo(f"poise {poise.__version__}")
        raise typer.Exit


@app.callback()
def _options(*, version: bool = typer.Option(False, "--version", callback=_version, is_eager=True)) -> None:
    del version


def main() -> None:
    """Run the command line; every PoiseError becomes one line on stderr and exit code 2."""
    warnings.simplefilter("ignore", PoiseWarning)  # the commands print Rig.notes themselves
    try:
        app()
    except PoiseError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()  # the reader went away: nothing to say
        sys.exit(1)
    except OSError as error:  # of standard output: files answer with a FileError
        _drop_output()
        typer.echo(f"error: cannot write the output: {error.strerror}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that leaving does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

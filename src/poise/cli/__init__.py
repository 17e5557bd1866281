"""The command line: one module per verb. Exit codes: 0 done, 1 a target was not reached, 2 misuse or a bad file."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

import poise
from poise.errors import InputError, PoiseError, PoiseWarning, UnknownNameError

VERBS = {
    "info": "info.info", "limits": "limits.limits", "solve": "solve.solve", "plant": "plant.plant",
    "lock": "plant.lock", "convert": "convert.convert", "view": "view.view", "compare": "compare.compare",
    "solvers": "solvers.list_solvers", "samples": "samples.samples", "warmup": "warmup.warmup", "bench": "bench.bench",
    "demo": "demo.demo",
}  # fmt: skip
# The root of what the parser of options raises: Typer has a copy of click in some versions, and needs click in others.
_MISUSE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "add_completion": False}


class _Verbs(TyperGroup):
    """Imports a verb when it is asked for: a call needs one of them, and all together take half a second."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs in the order in which help lists them."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name, imported."""
        del ctx
        if cmd_name == "help":
            raise InputError("poise --help lists the commands, poise COMMAND --help explains one")
        if cmd_name not in VERBS:
            raise UnknownNameError("command", cmd_name, VERBS)
        return command(cmd_name)


@cache
def command(verb: str) -> Any:
    """A verb as a command."""
    module, function = VERBS[verb].split(".")
    alone = typer.Typer(**_PLAIN)
    imported = importlib.import_module(f"poise.cli.{module}")
    alone.command(verb, cls=getattr(imported, "Command", None))(getattr(imported, function))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Verbs,
    help="Inverse kinematics for real rigs: glTF, VRM and BVH characters, URDF robots.",
    no_args_is_help=True,
    **_PLAIN,
)


_SEVERAL = re.compile(r"Option '(--[\w-]+)' requires (\d+) arguments")
_NAMES = {"--chain": "ROOT TIP"}  # options that take several words which are no numbers
# Options that a verb does not have and another one has, and what is meant instead.
_ELSEWHERE = {
    "compare": {
        "--joint": "the limb is given by --chain ROOT TIP",
        "--to": "targets are made, or given by --targets FILE",
    },
    "info": {"--clip": "every clip is listed"},
    "limits": {"-o": "it writes the sidecar beside the file", "--out": "it writes the sidecar beside the file"},
    "view": {"--to": "a target is dragged in the page"},
}


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
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(130)  # Ctrl-C, as shells have it
    except _MISUSE as error:  # one line, like every other error
        if error.format_message():  # none where the help was asked for by giving nothing
            typer.echo(f"error: {_misuse(error)}", err=True)
        sys.exit(2)
    except PoiseError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()  # the reader went away: nothing to say
        sys.exit(1)
    except OSError as error:  # of standard output, or of a path that no system takes: files answer with a FileError
        _drop_output()
        where = "cannot write the output" if error.filename is None else str(error.filename)
        typer.echo(f"error: {where}: {error.strerror}", err=True)
        sys.exit(2)


def _misuse(error: Any) -> str:
    """What the parser says, in one line, with the command whose help has the right call."""
    said = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    option = _SEVERAL.fullmatch(said)
    asked_for = getattr(error, "param", None)
    if option is not None:
        said = f"{said}, with spaces between: {_numbers(option[1], int(option[2]))}"
    elif asked_for is not None and asked_for.nargs > 1:
        name = asked_for.opts[0]
        said = f"{name!r} takes {asked_for.nargs} numbers with spaces between: {_numbers(name, asked_for.nargs)}"
    elsewhere = {} if context is None else _ELSEWHERE.get(context.info_name or "", {})
    meant = elsewhere.get(getattr(error, "option_name", ""))
    if meant is not None:
        said = f"No such option: {error.option_name}; {meant}"
    return said if context is None else f"{said}; see {context.command_path} --help"


def _numbers(option: str, count: int) -> str:
    """An option with as many numbers as it takes, or with the names that it takes."""
    return f"{option} {_NAMES.get(option) or ' '.join('0.5' for _ in range(count))}"


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that leaving does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The command line: one module per command. Exit codes: 0 done, 1 target not reached, 2 misuse or a bad file."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from functools import cache
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

import poise
from poise.cli.terminal import say
from poise.errors import InputError, PoiseError, PoiseWarning, UnknownNameError, WriteWarning


class Listed(NamedTuple):
    """Function of a command and its line in `poise --help`.

    `function` is "module.function" below `poise.cli`; the line is the first paragraph of its docstring.
    """

    place: str
    summary: str


VERBS = {
    "info": Listed(
        "info.info",
        "Show the contents of a file. Rigs: joints, kinds, limits, units, clips, chains, roles; markers: names, gaps.",
    ),
    "limits": Listed(
        "limits.limits",
        "Show the limits of all joints. With --anatomical, joints without one get anatomical limits.",
    ),
    "solve": Listed(
        "solve.solve",
        "Bring joints to their targets. Exit code 0: reached, 1: not reached, 2: misuse or a bad file.",
    ),
    "plant": Listed(
        "plant.plant",
        "Plant the feet of a clip on a terrain. Heels and balls stay fixed in contact, the hips follow the ground.",
    ),
    "lock": Listed(
        "plant.lock",
        "Remove foot sliding from a clip. The feet are held still on the flat floor of the clip itself.",
    ),
    "convert": Listed(
        "convert.convert",
        "Convert files between formats. Losses are listed.",
    ),
    "view": Listed(
        "view.view",
        "Open a rig or a demo scene in the browser. Drag targets, the solvers follow live. Ctrl-C ends it.",
    ),
    "compare": Listed(
        "compare.compare",
        "Compare the solvers on a limb of a rig. All get the same targets and the same evaluation.",
    ),
    "solvers": Listed("solvers.list_solvers", "List the solvers with their capabilities, or the options of one."),
    "samples": Listed(
        "samples.samples",
        "Copy the bundled rigs into DIR, by default this folder. They are a character, a walk, an arm and hills.",
    ),
    "warmup": Listed(
        "warmup.warmup",
        "Compile the kernels for this machine, once. That takes 20 seconds for arms or figures, 90 seconds for all.",
    ),
    "bench": Listed(
        "bench.bench",
        "Measure solving and forward kinematics on the bundled rigs. With compiled kernels: under a minute.",
    ),
    "demo": Listed(
        "demo.demo",
        "Solve on bundled rigs and plant a walk on bundled hills. A table is printed, files go to a folder.",
    ),
}
# Base class of the option parser's errors. Some versions of Typer bundle click, others depend on it.
_MISUSE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_SHOW_WARNING = warnings.showwarning
_PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "add_completion": False}


class _Verbs(TyperGroup):
    """Command group with lazy imports. A call imports one command; the list of commands imports none."""

    _lists = False  # whether the list of commands is being written

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in help order."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name.

        For the help list it is a stub with its summary only; otherwise its module is imported.
        """
        del ctx
        if self._lists:
            return TyperCommand(cmd_name, help=VERBS[cmd_name].summary)
        if cmd_name == "help":
            raise InputError("poise --help lists the commands, poise COMMAND --help explains one")
        if cmd_name not in VERBS:
            raise UnknownNameError("command", cmd_name, VERBS)
        return command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command and replace old option names."""
        from poise.cli.given.renamed import renew  # noqa: PLC0415  (not needed for the list of commands)

        name, found, rest = super().resolve_command(ctx, args)
        return name, found, renew(name or "", rest)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        self._lists = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._lists = False


@cache
def command(verb: str) -> Any:
    """Build the Typer command of a name."""
    from poise.cli.given.panels import arrange  # noqa: PLC0415  (not needed for the list of commands)

    module, function = VERBS[verb].place.split(".")
    alone = typer.Typer(**_PLAIN)
    imported = importlib.import_module(f"poise.cli.{module}")
    alone.command(verb, cls=getattr(imported, "Command", None))(getattr(imported, function))
    return arrange(typer.main.get_command(alone))


app = typer.Typer(
    cls=_Verbs,
    help="Inverse kinematics for real rigs: glTF, VRM and BVH characters, URDF robots.",
    no_args_is_help=True,
    **_PLAIN,
)


_SEVERAL = re.compile(r"Option '(--[\w-]+)' requires (\d+) arguments")
# Hints for options of other commands, by command: shown after "No such option".
_ELSEWHERE = {
    "compare": {"--to": "targets are made, or given by --targets FILE"},
    "info": {"--clip": "every clip is listed"},
    "limits": {"-o": "it writes the sidecar beside the file", "--out": "it writes the sidecar beside the file"},
    "view": {"--to": "a target is dragged in the page"},
}


def _version(wanted: bool) -> None:  # typer calls it with one positional value
    if wanted:
        say(f"poise {poise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *, version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version.")
) -> None:
    del version


def main() -> None:
    """Run the command line. Every PoiseError becomes one line on stderr and exit code 2."""
    warnings.simplefilter("ignore", PoiseWarning)  # the commands print Rig.notes themselves
    warnings.simplefilter("always", WriteWarning)
    warnings.showwarning = _show_warning
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(130)  # Ctrl-C, as in shells
    except _MISUSE as error:  # one line, like every other error
        if error.format_message():  # empty if the help was printed for a call without arguments
            say(f"error: {_misuse(error)}", err=True)
        sys.exit(2)
    except PoiseError as error:
        say(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()  # the reader of the pipe has exited
        sys.exit(1)
    except OSError as error:  # standard output, or an invalid path; errors of files are FileError
        _drop_output()
        where = "cannot write the output" if error.filename is None else str(error.filename)
        say(f"error: {where}: {error.strerror}", err=True)
        sys.exit(2)


def _show_warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a write warning as a note. Python prints the other ones."""
    if issubclass(category, WriteWarning):
        say(f"note: {message}", err=True)
    else:
        _SHOW_WARNING(message, category, *where, **more)


def _misuse(error: Any) -> str:
    """Format a usage error in one line. It ends with a pointer to the help of the command."""
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
    """Format an option with example numbers."""
    return f"{option} {' '.join('0.5' for _ in range(count))}"


def _drop_output() -> None:
    """Discard buffered output, to prevent a second error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

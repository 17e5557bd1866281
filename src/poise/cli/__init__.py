"""The command line: one module per verb. Exit codes: 0 done, 1 a target was not reached, 2 misuse or a bad file."""

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
    """The function of a verb and its line in `poise --help`.

    The function stands below `poise.cli`. The line is the first sentence of its docstring.
    """

    place: str
    summary: str


VERBS = {
    "info": Listed(
        "info.info",
        "Show what a file holds: joints, kinds, limits, units, clips, chains, roles; of markers names and gaps.",
    ),
    "limits": Listed(
        "limits.limits",
        "Show the limits of all joints; with --anatomical give those without one what people's joints have.",
    ),
    "solve": Listed(
        "solve.solve",
        "Bring joints to their targets. Exit code 0: reached, 1: not reached, 2: misuse or a bad file.",
    ),
    "plant": Listed(
        "plant.plant",
        "Put the feet of a clip on a terrain: heels and balls stand still where they land, hips follow the ground.",
    ),
    "lock": Listed(
        "plant.lock",
        "Remove the sliding of feet from a clip: they are held still on the flat floor that the clip itself has.",
    ),
    "convert": Listed(
        "convert.convert",
        "Write files of one format as files of another, and say what the new ones cannot hold.",
    ),
    "view": Listed(
        "view.view",
        "Open a rig or a demo scene in the browser: drag targets, and the solvers answer live. Ctrl-C ends it.",
    ),
    "compare": Listed(
        "compare.compare",
        "Compare the methods on a limb of a rig: the same targets for each, judged and timed alike.",
    ),
    "solvers": Listed("solvers.list_solvers", "List the solvers and what each handles, or the options of one."),
    "samples": Listed(
        "samples.samples",
        "Copy the bundled rigs (a character, its walk, a robot arm, hills) into DIR, by default this folder.",
    ),
    "warmup": Listed(
        "warmup.warmup",
        "Compile kernels for this machine, once: about 20 seconds for arms or figures, a minute and a half for all.",
    ),
    "bench": Listed(
        "bench.bench",
        "Measure solving and forward kinematics on the bundled rigs; under a minute once the kernels are compiled.",
    ),
    "demo": Listed(
        "demo.demo",
        "Solve on bundled rigs and walk over bundled hills: a table here, posed files and pictures in a folder.",
    ),
}
# The root of what the parser of options raises: Typer has a copy of click in some versions, and needs click in others.
_MISUSE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_SHOW_WARNING = warnings.showwarning
_PLAIN: dict[str, Any] = {"pretty_exceptions_enable": False, "add_completion": False}


class _Verbs(TyperGroup):
    """Imports a verb when it is called: a call needs one of them, and the list of all needs none."""

    _lists = False  # whether the list of verbs is being written

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs in the order in which help lists them."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name: imported, or for the list only its line."""
        del ctx
        if self._lists:
            return TyperCommand(cmd_name, help=VERBS[cmd_name].summary)
        if cmd_name == "help":
            raise InputError("poise --help lists the commands, poise COMMAND --help explains one")
        if cmd_name not in VERBS:
            raise UnknownNameError("command", cmd_name, VERBS)
        return command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb, and write its options with their names of today."""
        from poise.cli.given.renamed import renew  # noqa: PLC0415  (the list of verbs needs none of it)

        name, found, rest = super().resolve_command(ctx, args)
        return name, found, renew(name or "", rest)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of verbs."""
        self._lists = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._lists = False


@cache
def command(verb: str) -> Any:
    """A verb as a command."""
    from poise.cli.given.panels import arrange  # noqa: PLC0415  (the list of verbs needs none of it)

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
# Options that a verb does not have and another one has, and what is meant instead.
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
    """Run the command line; every PoiseError becomes one line on stderr and exit code 2."""
    warnings.simplefilter("ignore", PoiseWarning)  # the commands print Rig.notes themselves
    warnings.simplefilter("always", WriteWarning)
    warnings.showwarning = _show_warning
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(130)  # Ctrl-C, as shells have it
    except _MISUSE as error:  # one line, like every other error
        if error.format_message():  # none where the help was asked for by giving nothing
            say(f"error: {_misuse(error)}", err=True)
        sys.exit(2)
    except PoiseError as error:
        say(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()  # the reader went away: nothing to say
        sys.exit(1)
    except OSError as error:  # of standard output, or of a path that no system takes: files answer with a FileError
        _drop_output()
        where = "cannot write the output" if error.filename is None else str(error.filename)
        say(f"error: {where}: {error.strerror}", err=True)
        sys.exit(2)


def _show_warning(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a warning about a new file as a note. Python prints the other ones."""
    if issubclass(category, WriteWarning):
        say(f"note: {message}", err=True)
    else:
        _SHOW_WARNING(message, category, *where, **more)


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
    """An option with as many numbers as it takes."""
    return f"{option} {' '.join('0.5' for _ in range(count))}"


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that leaving does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

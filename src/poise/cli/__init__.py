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


class CommandEntry(NamedTuple):
    """Function of a command and its line in `poise --help`.

    `function_path` is "module.function" below `poise.cli`; the line is the first paragraph of its docstring.
    """

    function_path: str
    summary: str


COMMANDS = {
    "info": CommandEntry(
        "info.info",
        "Show the contents of a file. Rigs: joints, kinds, limits, units, clips, chains, roles; markers: names, gaps.",
    ),
    "limits": CommandEntry(
        "limits.limits",
        "Show the limits of all joints. With --anatomical, joints without one get anatomical limits.",
    ),
    "solve": CommandEntry(
        "solve.solve",
        "Bring joints to their targets. Exit code 0: reached, 1: not reached, 2: misuse or a bad file.",
    ),
    "plant": CommandEntry(
        "foot_planting.plant",
        "Plant the feet of a clip on a terrain. Heels and balls stay fixed in contact, the hips follow the ground.",
    ),
    "lock": CommandEntry(
        "foot_planting.lock",
        "Remove foot sliding from a clip. The feet are held still on the flat floor of the clip itself.",
    ),
    "retarget": CommandEntry(
        "retarget.retarget",
        "Move one character as another one. Joints are matched by their roles, feet stand where the source's do.",
    ),
    "fit": CommandEntry(
        "fit.fit",
        "Fit a skeleton to marker or joint positions. The clip has rotations, bone lengths are those of the rig.",
    ),
    "convert": CommandEntry(
        "convert.convert",
        "Convert files between formats. Losses are listed.",
    ),
    "view": CommandEntry(
        "view.view",
        "Open a rig or a demo scene in the browser. Drag targets, the solvers follow live. Ctrl-C ends it.",
    ),
    "compare": CommandEntry(
        "compare.compare",
        "Compare the solvers on a limb of a rig. All get the same targets and the same evaluation.",
    ),
    "solvers": CommandEntry("solvers.list_solvers", "List the solvers with their capabilities, or the options of one."),
    "samples": CommandEntry(
        "samples.samples",
        "Copy the bundled rigs into DIR, by default this folder. They are a character, a walk, an arm and hills.",
    ),
    "warmup": CommandEntry(
        "warmup.warmup",
        "Compile kernels for this machine, once, where no library has their code.",
    ),
    "bench": CommandEntry(
        "bench.bench",
        "Measure solving and forward kinematics on the bundled rigs. It takes under a minute.",
    ),
    "demo": CommandEntry(
        "demo.demo",
        "Solve on bundled rigs and plant a walk on bundled hills. A table is printed, files go to a folder.",
    ),
}
# Base class of the option parser's errors. Some versions of Typer bundle click, others depend on it.
_USAGE_ERROR: Any = next(
    base_class for base_class in typer.BadParameter.__mro__ if base_class.__name__ == "ClickException"
)
_DEFAULT_SHOW_WARNING = warnings.showwarning
_TYPER_OPTIONS: dict[str, Any] = {"pretty_exceptions_enable": False, "add_completion": False}


class _LazyCommands(TyperGroup):
    """Command group with lazy imports. A call imports one command; the list of commands imports none."""

    _is_listing = False  # whether the list of commands is being written

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in help order."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name.

        For the help list it is a stub with its summary only; otherwise its module is imported.
        """
        del ctx
        if self._is_listing:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].summary)
        if cmd_name == "help":
            raise InputError("poise --help lists the commands, poise COMMAND --help explains one")
        if cmd_name not in COMMANDS:
            raise UnknownNameError("command", cmd_name, COMMANDS)
        return load_command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command and replace old option names."""
        from poise.cli.renamed_options import replace_old_options  # noqa: PLC0415  (not needed for the list of commands)

        name, command, arguments = super().resolve_command(ctx, args)
        return name, command, replace_old_options(name or "", arguments)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False


@cache
def load_command(command: str) -> Any:
    """Build the Typer command of a name."""
    from poise.cli.help_panels import arrange_panels  # noqa: PLC0415  (not needed for the list of commands)

    module_name, function_name = COMMANDS[command].function_path.split(".")
    command_app = typer.Typer(**_TYPER_OPTIONS)
    command_module = importlib.import_module(f"poise.cli.{module_name}")
    command_app.command(command, cls=getattr(command_module, "Command", None))(getattr(command_module, function_name))
    return arrange_panels(typer.main.get_command(command_app))


app: typer.Typer = typer.Typer(
    cls=_LazyCommands,
    help="Inverse kinematics for real rigs: glTF, VRM and BVH characters, URDF robots.",
    no_args_is_help=True,
    **_TYPER_OPTIONS,
)


_ARGUMENT_COUNT_ERROR = re.compile(r"Option '(--[\w-]+)' requires (\d+) arguments")
# Hints for options of other commands, by command: shown after "No such option".
_OPTION_HINTS = {
    "compare": {"--to": "targets are made, or given by --targets FILE"},
    "info": {"--clip": "every clip is listed"},
    "limits": {"-o": "it writes the sidecar beside the file", "--out": "it writes the sidecar beside the file"},
    "view": {"--to": "a target is dragged in the page"},
}


def _print_version(is_requested: bool) -> None:  # typer calls it with one positional value
    if is_requested:
        say(f"poise {poise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
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
    except _USAGE_ERROR as error:  # one line, like every other error
        if error.format_message():  # empty if the help was printed for a call without arguments
            say(f"error: {_format_usage_error(error)}", err=True)
        sys.exit(2)
    except PoiseError as error:
        say(f"error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _drop_output()  # the reader of the pipe has exited
        sys.exit(1)
    except OSError as error:  # standard output, or an invalid path; errors of files are FileError
        _drop_output()
        subject = "cannot write the output" if error.filename is None else str(error.filename)
        say(f"error: {subject}: {error.strerror}", err=True)
        sys.exit(2)


def _show_warning(message: Any, category: type[Warning], *location: Any, **options: Any) -> None:
    """Print a write warning as a note. Python prints the other ones."""
    if issubclass(category, WriteWarning):
        say(f"note: {message}", err=True)
    else:
        _DEFAULT_SHOW_WARNING(message, category, *location, **options)


def _format_usage_error(error: Any) -> str:
    """Format a usage error in one line. It ends with a pointer to the help of the command."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    count_error = _ARGUMENT_COUNT_ERROR.fullmatch(message)
    parameter = getattr(error, "param", None)
    if count_error is not None:
        message = f"{message}, with spaces between: {_format_example(count_error[1], int(count_error[2]))}"
    elif parameter is not None and parameter.nargs > 1:
        option_name = parameter.opts[0]
        example = _format_example(option_name, parameter.nargs)
        message = f"{option_name!r} takes {parameter.nargs} numbers with spaces between: {example}"
    hints = {} if context is None else _OPTION_HINTS.get(context.info_name or "", {})
    hint = hints.get(getattr(error, "option_name", ""))
    if hint is not None:
        message = f"No such option: {error.option_name}; {hint}"
    return message if context is None else f"{message}; see {context.command_path} --help"


def _format_example(option: str, number_count: int) -> str:
    """Format an option with example numbers."""
    return f"{option} {' '.join('0.5' for _ in range(number_count))}"


def _drop_output() -> None:
    """Discard buffered output, to prevent a second error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

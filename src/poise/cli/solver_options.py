"""Options of solvers and tolerances on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from poise import solvers
from poise.errors import InputError
from poise.model.pose import Pose
from poise.problem.goals import Goal
from poise.solvers.base.interface import Prefer, replace_final_solver
from poise.solvers.base.option_parsing import list_parameters, parse_options
from poise.solving.solve import choose_solver

TOLERANCE_HELP = (
    "largest distance that counts as reached (file units); default: 1e-6 for robots, 1e-4 of the limb for others"
)
ANGLE_TOLERANCE_HELP = "largest angle that counts as reached (radians); default: 1e-6 for robots, 1e-4 for others"


def make_solver(
    name: str,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer,
    options: Sequence[str] = (),
    *,
    free_root: bool = False,
    natural: bool | None = None,
    floor: Any = None,
    **flags: Any,
) -> solvers.Solver:
    """Build the solver from its name and options.

    `options` are texts name=value, `flags` the options with a flag of their own (None: unset).

    "auto" selects the default solver; if it lacks an option, the first of its engine, levenberg_marquardt, ccd and the
    others with that option. InputError for an option unknown to the named solver, or for "auto" to every solver.
    """
    flag_values = {
        key: value.value if isinstance(value, StrEnum) else value for key, value in flags.items() if value is not None
    }
    if name != "auto":
        choose_solver(name, start, goals, prefer, natural=natural, floor=floor)  # raises without natural poses
        _check_option_names(name, flag_values)
        return solvers.make_solver(name, **_merge_options(name, options, flag_values))
    if options:
        raise InputError("--option needs --solver NAME: it is that solver's own; `poise solvers` lists them")
    default_solver = choose_solver("auto", start, goals, prefer, free_root=free_root, natural=natural, floor=floor)
    for candidate_name in (default_solver.name, "levenberg_marquardt", "ccd", *solvers.names()):
        if flag_values.keys() <= _list_option_names(candidate_name):
            return replace_final_solver(default_solver, solvers.make_solver(candidate_name, **flag_values))
    raise InputError(
        f"no solver has all of {_format_flags(flag_values)}; name one with --solver: {', '.join(solvers.names())}"
    )


def _merge_options(name: str, options: Sequence[str], flags: dict[str, Any]) -> dict[str, Any]:
    """Merge both kinds of options. InputError for an option given twice."""
    parsed_options = parse_options(type(solvers.make_solver(name)), options, name)
    repeated_names = sorted(parsed_options.keys() & flags.keys())
    if repeated_names:
        repeated_name = repeated_names[0]
        raise InputError(
            f"the option {repeated_name} is given twice: as --{repeated_name} and as --option {repeated_name}=..."
        )
    return {**parsed_options, **flags}


def _check_option_names(name: str, flags: dict[str, Any]) -> None:
    unknown_names = flags.keys() - _list_option_names(name)
    if unknown_names:
        raise InputError(f"the solver {name} has no {_format_flags(unknown_names)}")


def _list_option_names(name: str) -> set[str]:
    return {parameter.name for parameter in list_parameters(type(solvers.make_solver(name)))}


def _format_flags(names: Any) -> str:
    return ", ".join(f"--{name}" for name in sorted(names))

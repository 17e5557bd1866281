"""The words of the table of properties: each a stated threshold on a number, and the number beside it."""

from __future__ import annotations

import math
from typing import Any

from poise.comparison.runs import ONLY_JOINT_COUNT, fit_exponent
from poise.model.skeleton import Kind
from poise.solvers.base.interface import join_words
from property_table.table import FIRST, LAST, SOLVES, OnChain, Properties, Property

HELD = 1e-9  # [rad, file units] a limit that no answer leaves by more is held
CALM = 0.3  # [rad] no joint turns by more from frame to frame while the target goes out of reach and comes back
FAST = 2.0  # digits an iteration: as many or more is faster than linear
_HALF = 0.5
EVEN = (0.7, 1.3)  # the power of the number of joints that time follows is about 1
_MICRO = "\N{MICRO SIGN}s"


def rows(table: Properties) -> list[dict[str, Any]]:
    """A row of words and numbers for each method; the keys are the headings of the columns."""
    return [_row(table, method) for method in table.methods]


def figures(table: Properties) -> list[dict[str, Any]]:
    """A row for each method and chain: the numbers behind the words."""
    return [_figures(method.name, chain, one) for method in table.methods for chain, one in method.chains.items()]


def growth_rows(table: Properties) -> list[dict[str, Any]]:
    """A row for each method and number of joints: share solved, times of a call and of one target in a batch."""
    return [
        {
            "method": method.name, "joints": one.joint_count, "solved [%]": 100 * one.solved_share,
            f"a call [{_MICRO}]": one.call_us,
            f"in a batch [{_MICRO}]": None if math.isnan(one.batch_us) else one.batch_us,
        }
        for method in table.methods for one in method.grown
    ]  # fmt: skip


def notes(table: Properties) -> list[str]:
    """How each column is found."""
    low, high = EVEN
    solves = f"{100 * SOLVES:.0f} %"
    lines = (
        "Lines: lines with code of the solver's own file, and in brackets with all kernels and modules that it works "
        "with; what every solver needs outside the kernels (skeletons, goals, judging) is not counted."
    )
    declared = (
        "Hinge joints, joint limits: what the solver's file declares; on the chains that have them the share of "
        f"targets solved, and whether any answer leaves a limit by more than {HELD:g} (held: none does)."
    )
    singular = (
        "Singularities: of the targets near singular and near stretched-out poses, on the chain where it does worst; "
        f"'solves' is {solves} or more, 'misses most' less than half. Then a target goes out of reach and comes back "
        f"in {table.frames} frames: 'calm' if no joint turns by more than {CALM:g} rad from frame to frame, else "
        "'jumps'."
    )
    converging = (
        f"Convergence: iterations until half of the targets have {FIRST:g} of their first error; what an iteration is "
        f"depends on the method. Gaining {FAST:g} digits an iteration or more from there to {LAST:g} is 'faster than "
        "linear', less is 'linear', not coming there 'slower than linear'."
    )
    tried = join_words(map(str, table.tried))
    joints = (
        f"Number of joints: the longest chain of balls, of {tried} joints, of which {solves} of the "
        f"targets are solved; times follow a power of the number of joints from 10 on: {low:g} to {high:g} is 'as "
        "their number'."
    )
    return [lines, declared, singular, converging, joints]


def _row(table: Properties, method: Property) -> dict[str, Any]:
    return {
        "method": f"`{method.name}`",
        "what it is": method.text.rstrip("."),
        "lines": f"{method.size.own} ({method.size.needed:,})",
        "speed": _speed(method),
        "hinge joints": _hinges(table, method),
        "joint limits": _limits(table, method),
        "singularities": _singular(method),
        "convergence": _convergence(method),
        "number of joints": _joints(method),
    }


def _speed(method: Property) -> str:
    """Call and batch on the first chain that it took."""
    if not method.chains:
        return "-"
    chain, one = next(iter(method.chains.items()))
    batch = "" if math.isnan(one.batch) else f", {_number(one.batch)} in a batch"
    return f"{_number(one.call)} {_MICRO} a call{batch} ({chain})"


def _hinges(table: Properties, method: Property) -> str:
    if Kind.HINGE not in method.handles.joints:
        return "no"
    shares = [f"{chain}: {_percent(method.chains[chain].solved)}" for chain in table.hinged if chain in method.chains]
    return "; ".join(["yes", *shares])


def _limits(table: Properties, method: Property) -> str:
    declared = [*method.handles.limits, *(["soft ones"] if method.handles.soft else [])]
    if not declared:
        return "none"
    observed = [method.chains[chain].violation for chain in table.limited if chain in method.chains]
    words = "not measured" if not observed else ("held" if max(observed) <= HELD else f"left by {max(observed):.1g}")
    return f"{', '.join(declared)}: {words}"


def _singular(method: Property) -> str:
    share, step = method.least_singular, method.worst_leaving
    if math.isnan(share):
        return "not measured"
    solves = "solves" if share >= SOLVES else ("misses some" if share >= _HALF else "misses most")
    motion = "" if math.isnan(step) else f"; {'calm' if step <= CALM else 'jumps'}, {step:.2g} rad"
    return f"{solves}, {_percent(share)}{motion}"


def _convergence(method: Property) -> str:
    found = method.converging
    if found is None:
        return "not shown"
    if found.iterations <= 1 and found.digits == math.inf:
        return "closed form: one step"
    if found.digits >= FAST:
        word = "faster than linear"
    else:
        word = "linear" if found.digits > 0 else "slower than linear"
    reached = "more than were followed" if found.iterations == math.inf else f"{found.iterations:.0f} iterations"
    extra = [f"error rises after {100 * found.rises:.2g} % of them"] if found.rises > 0 else []
    extra += [f"{_percent(found.stalled)} of the targets stall"] if found.stalled > 0 else []
    return "; ".join([f"{word}, {reached}", *extra])


def _joints(method: Property) -> str:
    if method.largest is None:
        return "-"
    power = fit_exponent(method.grown)
    most = f"up to {method.largest}"
    if len(method.grown) == 1:
        return f"{method.largest} {'were measured' if method.name in ONLY_JOINT_COUNT else 'only'}"
    if math.isnan(power):
        return most
    low, high = EVEN
    word = "as their number" if low <= power <= high else ("slower" if power < low else "faster")
    return f"{most}; time grows {word} (power {power:.2f})"


def _figures(name: str, chain: str, one: OnChain) -> dict[str, Any]:
    return {
        "method": name, "chain": chain, "solved [%]": 100 * one.solved, "near singular [%]": 100 * one.singular,
        "near stretched [%]": 100 * one.stretched, f"a call [{_MICRO}]": one.call,
        f"in a batch [{_MICRO}]": one.batch, "limits left by": one.violation, "step beyond reach [rad]": one.leaving,
    }  # fmt: skip


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.3g} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"

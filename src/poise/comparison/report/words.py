"""Text and tables of the report page.

Text holds the task, further findings, the methodology and the repeating call. Text is plain and not escaped.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from poise.comparison.effort import EFFORTS
from poise.comparison.findings.findings import Findings
from poise.comparison.findings.measured import Measured
from poise.comparison.findings.table import closeness, length_unit
from poise.maths.in_words import counted, write_number
from poise.problem.layout import POSITION
from poise.solvers.base.capabilities import series

RANKS = (
    "Ranks go by the share of targets solved, then by the time of a call; "
    "where 95 % intervals overlap, methods share a rank."
)
_MICRO = "\N{MICRO SIGN}s"
_LEAVES = 1e-6  # [rad, file units] violation that counts
_NAMED = 8  # joints listed by name
_UNITS = ((1e6, "s"), (1e3, "ms"))  # microseconds from which a unit is used


def percent(share: float) -> str:
    """Format a share in per cent, without the sign. A value below 1 never reads 100."""
    return "\N{EN DASH}" if math.isnan(share) else f"{math.floor(1000 * share + 1e-9) / 10:g}"


def spent(microseconds: float) -> str:
    """Format a time with three digits and its unit."""
    for size, unit in _UNITS:
        if microseconds >= 0.9995 * size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} {_MICRO}"


def asked(findings: Findings) -> list[tuple[str, str]]:
    """Describe the task as (term, text) pairs."""
    task, machine = findings.task, findings.machine
    joints = task.joints if len(task.joints) <= _NAMED else (*task.joints[:2], "...", *task.joints[-2:])
    pairs = [
        ("goal", f"{type(task.goal).__name__} of {task.goal.joint}"),
        ("may move", f"{counted(len(task.joints), 'joint')}: {', '.join(joints)}"),
        ("solved is", f"within {closeness(findings)}, measured by forward kinematics"),
        ("targets", f"{len(task.main):,}: {task.main.text}"),
        ("machine", f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores; {_versions(machine)}"),
    ]
    how = f"{findings.seconds:.0f} s, effort {effort_name(findings)}, seed {seed_of(findings)}"
    return [*pairs, ("measured in", how)]


def _versions(machine: dict[str, str | int]) -> str:
    names = [name for name in ("Poise", "Python", "NumPy", "Numba") if name.lower() in machine]
    return ", ".join(f"{name} {machine[name.lower()]}" for name in names)


def effort_name(findings: Findings) -> str:
    """Find the name of the effort. `of its own` stands for an effort without one."""
    given = findings.settings.get("effort")
    return next((name for name, effort in EFFORTS.items() if dataclasses.asdict(effort) == given), "of its own")


def seed_of(findings: Findings) -> str:
    """Read the seed of the targets."""
    return str(findings.settings.get("seed", "unknown"))


def more(findings: Findings) -> list[str]:
    """List findings beyond the verdict.

    They are fast methods with fewer solved targets, true errors, limit violations and missing answers.
    """
    found = [_quicker(findings)]
    found += [_claimed(method, findings) for method in findings.compared]
    found += [_limits(findings), _silent(findings), _slow(findings)]
    return [sentence for sentence in found if sentence]


def _quicker(findings: Findings) -> str:
    """Name the methods with faster calls than the first rank."""
    ranked = [m for m in findings.compared if m.ranks is not None]
    first = min((m.ranks.call for m in ranked if m.ranks and m.ranks.overall == 1), default=0)
    quick = [
        f"{m.name} ({spent(float(np.median(m.call_times)))}, {percent(m.solved())} % solved)"
        for m in ranked
        if m.ranks and m.ranks.call < first
    ]
    return f"Quicker, but with fewer targets solved: {series(quick)}." if quick else ""


def _claimed(method: Measured, findings: Findings) -> str:
    """Describe the true errors of wrong claims."""
    run = method.main
    if run is None or not run.wrong_claims.any():
        return ""
    wrong, measures = run.wrong_claims, findings.task.problem.measures
    worst: list[str] = []
    for is_position, unit in ((True, length_unit(findings)), (False, "rad")):
        columns = [i for i, m in enumerate(measures) if (m.kind == POSITION) == is_position]
        left = run.errors[wrong][:, columns]
        if columns and np.isfinite(left).any():
            worst.append(f"{write_number(float(np.nanmax(left)), 3)} {unit}")
    truth = f"the true error is up to {series(worst)}" if worst else "it gave no pose at all"
    count = counted(int(wrong.sum()), "target")
    return f"{method.name} claims wrongly: it says that it met {count} that it did not; {truth}."


def _limits(findings: Findings) -> str:
    parts = [f"{m.name} by up to {m.violation:.3g}" for m in findings.compared if m.violation > _LEAVES]
    if parts:
        return f"Over all sets of targets, limits are left by {series(parts)} [rad, file units]."
    return f"No answer leaves a limit by more than {_LEAVES:g}." if findings.compared else ""


def _silent(findings: Findings) -> str:
    runs = [(m.name, m.main) for m in findings.compared if m.main is not None]
    missing = [(name, int((~np.isfinite(run.q).all(axis=1)).sum())) for name, run in runs]
    parts = [f"{name} for {counted(count, 'target')}" for name, count in missing if count]
    return f"No answer came from {series(parts)}." if parts else ""


def _slow(findings: Findings) -> str:
    runs = [(m.name, m.main) for m in findings.compared if m.main is not None]
    parts = [f"{name} {len(run)}" for name, run in runs if len(run) < run.asked]
    return f"Slow methods got the first targets only: {series(parts)}." if parts else ""

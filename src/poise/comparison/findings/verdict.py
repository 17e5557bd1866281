"""Describe the main findings of a comparison in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from poise.comparison.findings.findings import Findings
from poise.comparison.findings.measured import Measured
from poise.solvers.base.capabilities import series

_CLEARLY = 0.95  # share solved below which a method is mentioned
_ALIKE = 1.1  # ratio up to which two values count as equal


def verdict(findings: Findings) -> str:
    """Describe ranks, misses, limit violations, wrong claims and refusals."""
    if not findings.compared:
        return "No method takes this task."
    said = (_first, _in_batches, _smoothest, _less, _outside, _wrongly, _troubled, _moved, _refused)
    found = [sentence(findings) for sentence in said]
    return " ".join(sentence for sentence in found if sentence)


def _first(findings: Findings) -> str:
    top = [m for m in findings.compared if m.ranks is not None and m.ranks.overall == 1]
    if not any(m.solved() > 0 for m in findings.compared):
        return f"No method solves any of {len(findings.task.main)} targets."
    asked = sorted({len(m.main) for m in top if m.main is not None})
    solved = sorted({_percent(m.solved()).removesuffix(" %") for m in top}, key=float)
    times = sorted(float(np.median(m.call_times)) for m in top if m.call_times.size)
    spent = f", {_between([f'{time:.3g}' for time in times])} \N{MICRO SIGN}s a call" if times else ""
    ranks = "ranks first" if len(top) == 1 else "share rank one"
    return (
        f"{series(m.name for m in top)} {ranks}: {_between(solved)} % of {_between([str(n) for n in asked])} targets "
        f"solved{spent}."
    )


def _between(words: Sequence[str]) -> str:
    return words[0] if words[0] == words[-1] else f"{words[0]} to {words[-1]}"


def _in_batches(findings: Findings) -> str:
    """Name the fastest methods in large batches."""
    honest = [m for m in findings.compared if m.ranks is not None and m.ranks.batch and m.solved() >= _CLEARLY]
    best = min((m.ranks.batch or 0 for m in honest if m.ranks is not None), default=0)
    first = [m for m in honest if m.ranks is not None and m.ranks.batch == best]
    times = sorted(m.batch_time for m in first)
    if len(first) in (0, len(honest)):
        return ""
    spent = _between([f"{time:.3g}" for time in times])
    verb = "is" if len(first) == 1 else "are"
    return f"In a batch {series(m.name for m in first)} {verb} quickest: {spent} \N{MICRO SIGN}s a target."


def _smoothest(findings: Findings) -> str:
    """Name the methods with the least jerk along the path.

    Only methods that follow the path count; "" without a clear difference.
    """
    jerks = {m.name: m.smooth("path").jerk for m in findings.compared if m.solved(name="path") >= _CLEARLY}
    jerks = {name: jerk for name, jerk in jerks.items() if math.isfinite(jerk)}
    if len(jerks) < 2 or max(jerks.values()) <= _ALIKE * min(jerks.values()):  # noqa: PLR2004
        return ""
    best = [name for name, jerk in jerks.items() if jerk <= _ALIKE * min(jerks.values())]
    rough = max(jerks, key=lambda name: jerks[name])
    return (
        f"Along the path {series(best)} {'moves' if len(best) == 1 else 'move'} most smoothly "
        f"(jerk {min(jerks.values()):.3g} rad a frame^3), {rough} least ({jerks[rough]:.3g})."
    )


def _less(findings: Findings) -> str:
    few = [m for m in findings.compared if m.solved() < _CLEARLY]
    parts = [f"{m.name} {_percent(m.solved())}" for m in few]
    return f"Fewer are solved by {series(parts)}." if parts else ""


def _outside(findings: Findings) -> str:
    parts = [f"{m.name} in {_percent(m.violated)}" for m in findings.compared if m.violated > 0]
    return f"Limits are left by {series(parts)} of the answers." if parts else ""


def _wrongly(findings: Findings) -> str:
    parts = [_claim(m) for m in findings.compared if m.wrong_claims > 0]
    return " ".join(parts)


def _claim(method: Measured) -> str:
    """Describe a wrong claim with its true error."""
    run = method.main
    assert run is not None
    worst = float(run.scores[run.wrong_claims].max())
    left = f"{worst:.3g} times the tolerance" if math.isfinite(worst) else "no pose at all"
    return (
        f"{method.name} says that it met {_percent(method.wrong_claims)} of the targets and did not: "
        f"forward kinematics finds up to {left}."
    )


def _troubled(findings: Findings) -> str:
    return " ".join(f"{m.name}: {m.trouble}." for m in findings.compared if m.trouble)


def _moved(findings: Findings) -> str:
    names = findings.task.moved_inside
    return f"The start was outside the limits of {series(names)} and was moved inside first." if names else ""


def _refused(findings: Findings) -> str:
    names = [m.name for m in findings.refused]
    return f"{series(names)} {'does' if len(names) == 1 else 'do'} not take this task." if names else ""


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"

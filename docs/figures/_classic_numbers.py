"""Answers to three questions about CCD and Jacobian transpose, with measured numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from figures._classic import BEYOND, CLASSIC, CLOSE, FRAMES, LONGEST, OURS, SOLVERS, TARGETS, following, reaching

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "chain10.json"
PLAIN = {"CCD": "ccd, plain", "Jacobian transpose": "jacobian_transpose, adaptive, plain, 100 steps"}
AFTER = (1, 5, 20)  # iterations


def answers() -> str:
    """A paragraph for each question; who comes first is decided by the numbers."""
    return f"{_faster()}\n\n{_smoother()}\n\n{_longer()}\n"


def _faster() -> str:
    left = {name: [reaching(name).after(i) for i in AFTER] for name in CLASSIC}
    ahead = _first({name: values[1] for name, values in left.items()})
    behind = _other(ahead)
    parts = [
        f"{_percent(left[ahead][k])} after {i} {_steps(i)} ({_percent(left[behind][k])})" for k, i in enumerate(AFTER)
    ]
    costs = [f"{_microseconds(name):.2g} µs with {name}" for name in (ahead, behind)]
    return (
        f"**Which moves faster? {ahead}.** In the middle of {TARGETS} targets the tip has this much of its first "
        f"distance left: {', '.join(parts)}; in brackets {behind}. In a batch an iteration takes "
        f"{' and '.join(costs)} ([chain10](results/chain10.md))."
    )


def _smoother() -> str:
    largest = {name: float(following(name).turns.max()) for name in CLASSIC}
    usual = {name: float(np.median(following(name).turns)) for name in CLASSIC}
    jumps = {name: float(np.median(reaching(name).turns.max(axis=1))) for name in CLASSIC}
    calm = _first(largest)
    rough = _other(calm)
    return (
        f"**Which is smoother? {calm}.** Along the path of {FRAMES} frames no joint turns by more than "
        f"{largest[calm]:.2g} degrees from one frame to the next; with {rough} one turns by {largest[rough]:.2g} "
        f"degrees. In the middle of the frames it is {usual[calm]:.2g} against {usual[rough]:.2g} degrees. On the way "
        f"to a single target the largest turn within one iteration is {jumps[calm]:.0f} degrees with {calm} and "
        f"{jumps[rough]:.0f} with {rough}, in the middle of the targets. At the end of the path {_bent(rough)}; "
        f"{_bent(calm)}."
    )


def _bent(name: str) -> str:
    bends = following(name).bends
    return f"{name} has bent one joint by {bends.max():.0f} degrees and another by only {bends.min():.0f}"


def _longer() -> str:
    inside = {name: float(np.median(reaching(name).arrivals)) for name in CLASSIC}
    beyond = {name: float(np.median(reaching(name, away=BEYOND).arrivals)) for name in CLASSIC}
    slow = _other(_first(inside))
    quick = _other(slow)
    never = float(np.isinf(reaching(slow).arrivals).mean())
    missed = (
        f" {_percent(never)} of the targets within reach it does not meet in {LONGEST} iterations." if never else ""
    )
    return (
        f"**Which takes longer to the best approximation? {slow}.** Until the tip is as near as it can come, within "
        f"{CLOSE:g} of the reach, {slow} takes {_count(inside[slow])} iterations and {quick} {_count(inside[quick])}, "
        "in the middle of the targets within reach. For targets beyond the reach, where the best is a straight chain, "
        f"it is {_count(beyond[slow])} against {_count(beyond[quick])}.{missed}"
    )


def table() -> str:
    """The same figures for the classic forms and for ours."""
    runs, ways = [reaching(name) for name in SOLVERS], [following(name) for name in SOLVERS]
    slowest = [float(np.quantile(run.arrivals, 0.9, method="inverted_cdf")) for run in runs]
    rows = {
        "iterations to the best, middle of the targets": [_count(float(np.median(run.arrivals))) for run in runs],
        "iterations to the best, nine of ten targets": [_count(count) for count in slowest],
        "largest turn of a joint along the path [degrees]": [f"{way.turns.max():.2g}" for way in ways],
        "iterations a frame of the path, mean": [f"{way.iterations.mean():.2g}" for way in ways],
    }
    heads = [*(f"{name}, classic" for name in CLASSIC), *OURS]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {what} | {' | '.join(cells)} |" for what, cells in rows.items())])


def _first(values: dict[str, float]) -> str:
    """Whose value is least."""
    return min(values, key=lambda name: values[name])


def _other(name: str) -> str:
    return next(one for one in CLASSIC if one != name)


def _steps(count: int) -> str:
    return "iteration" if count == 1 else "iterations"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _count(iterations: float) -> str:
    return f"more than {LONGEST}" if np.isinf(iterations) else f"{iterations:.0f}"


def _microseconds(name: str) -> float:
    """Of one iteration, from the benchmark of ten bones."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    row = next(row for row in rows if row["solver"] == PLAIN[name] and row["targets"] == "ball")
    return float(row["each [us]"]) / float(row["iterations, mean"])

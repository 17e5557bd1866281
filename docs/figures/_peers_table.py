"""Five tasks compared with the best peer, from benchmarks/results.

The best peer of a task is the quickest one that solves as large a share of the targets, to a percent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from figures._summary import facts

_ARM, _SHARE = "panda", 1.0  # [%] by which a peer may solve less
_PEERS = {
    "ssik": "ssik, shipped",
    "ssik_any": "ssik, shipped, any solution",
    "ssik_built": "ssik, built",
    "ik_lm_chan": "Robotics Toolbox `ik_LM`",
    "frankik_given": "frankik, joint 7 given",
}


class Line(NamedTuple):
    """A task with the times [us] of Poise and of the best peer."""

    task: str
    poise: float
    peer: str
    theirs: float


def text() -> str:
    """Write the table."""
    rows = ["| task | Poise | the best peer | its time | times quicker |", "|---|---|---|---|---|"]
    for line in lines():
        ratio = float(f"{line.theirs / line.poise:.2g}")
        rows.append(f"| {line.task} | {_time(line.poise)} | {line.peer} | {_time(line.theirs)} | {ratio:g} |")
    return "\n".join(rows) + "\n"


def lines() -> list[Line]:
    """Read the five tasks."""
    return [
        _of_arm("a 7-joint arm (Panda) to a place, 10,000 in a call", "solve_mid", "cpu_mean", ours="batch_mid_1"),
        _of_arm("the same, one in a call, prepared", "solve_mid", "cpu_p50"),
        _of_arm("the same along a path", "track", "cpu_mean"),
        _of_chain("ten ball joints to a point, one in a call"),
        _of_limb("an arm or a leg of two bones, 100,000 in a call"),
    ]


def _of_arm(task: str, requested: str, column: str, *, ours: str | None = None) -> Line:
    """A task of the robots' benchmark; of single calls the cost of its clock is taken off."""
    rows = [row for row in facts("robots")["rows"] if row["robot"] == _ARM and "error" not in row]
    (own,) = [row for row in rows if row["task"] == (ours or requested) and row["peer"] == "poise"]
    peers = [row for row in rows if row["task"] == requested and not row["peer"].startswith("poise")]
    best = _best(((row["peer"], row["ok"], row[column] - row["clock_cpu"]) for row in peers), own["ok"])
    return Line(task, own[column] - (0.0 if ours else own["clock_cpu"]), _PEERS[best[0]], best[2])


def _of_chain(task: str) -> Line:
    rows = [row for row in facts("methods")["rows"] if row["targets"] == "ball"]
    (own,) = [row for row in rows if row["solver"] == "levenberg_marquardt"]
    peers = [
        (row["solver"], row["solved [%]"], _number(row["one call [us]"])) for row in rows if row["batch [us]"] == "-"
    ]
    best = _best(peers, own["solved [%]"])
    return Line(task, _number(own["one call [us]"]), best[0], best[2])


def _of_limb(task: str) -> Line:
    rows = {row["what"]: row for row in facts("two_bone")["rows"]}
    return Line(
        task, rows["solve(), default"]["ours [ns]"] / 1000, "the same formulas in C++",
        rows['kernel, bend="thigh"']["C++ [ns]"] / 1000,
    )  # fmt: skip


def _best(peers: Iterable[tuple[str, float, float]], share: float) -> tuple[str, float, float]:
    """The quickest of (name, solved [%], time) that solves as much."""
    return min((peer for peer in peers if peer[1] >= share - _SHARE), key=lambda peer: peer[2])


def _number(value: Any) -> float:
    return float(str(value).replace(",", ""))


def _time(microseconds: float) -> str:
    """A time with two digits, three from a hundred on."""
    nano = microseconds < 1.0
    value = microseconds * 1000 if nano else microseconds
    return f"{float(f'{value:.2g}' if value < 100 else f'{value:.3g}'):,g}\N{NO-BREAK SPACE}{'ns' if nano else 'µs'}"

"""How many times quicker Poise is than its peers, where a factor was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness import Row

from robots import models
from robots.registry import OURS, PEERS, REFERENCE

REQUESTED_BATCH = {"panda": 100.0, "ur5": 50.0, "iiwa14": 50.0, "pr2": 50.0}
REQUESTED_SINGLE = 10.0
MOST = 99.0  # %: an analytic peer that reaches less often is no baseline
Figure = Callable[[Row], float]


class Results:
    """Judged rows by robot, task and peer."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = {(row["robot"], row["task"], row["peer"]): row for row in rows if "error" not in row}

    def get(self, robot: str, task: str, peer: str = OURS) -> Row | None:
        """One row, None where it was not measured."""
        return self.rows.get((robot, task, peer))

    def kind(self, robot: str, task: str, kind: str) -> list[Row]:
        """Rows of all peers of a kind."""
        return [row for (r, t, peer), row in self.rows.items() if (r, t) == (robot, task) and PEERS[peer].kind == kind]


def net(part: str) -> Figure:
    """Processor time [us] of a single call without the cost of the clock."""
    return lambda row: row[f"cpu_{part}"] - row["clock_cpu"]


def ratios(rows: list[Row]) -> list[Row]:
    """One line per robot and question; empty where Poise or the peer was not measured."""
    results = Results(rows)
    return [line for robot in models.NAMES for line in lines(results, robot)]


def lines(results: Results, robot: str) -> Iterator[Row]:
    """All comparisons of one robot."""
    batch, single = results.get(robot, "batch_mid_1"), results.get(robot, "solve_mid")
    reference = results.get(robot, "solve_mid", REFERENCE)
    if batch and reference:
        ours = batch["cpu_mean"]
        yield line(robot, "batch mean against mean", ours, reference, net("mean"), REQUESTED_BATCH.get(robot))
    if batch:
        for peer in analytic(results, robot):
            yield line(robot, "batch mean against mean", batch["cpu_mean"], peer, net("mean"), 1.0)
    if single and reference:
        yield line(robot, "single p50 against p50", net("p50")(single), reference, net("p50"), REQUESTED_SINGLE)
    numeric = results.kind(robot, "solve_mid", "numeric")
    if single and numeric:
        quickest = min(numeric, key=net("p50"))
        yield line(
            robot, "single p99 against the lowest p50 of numeric peers", net("p99")(single), quickest, net("p50"), 1.0
        )
    yield from others(results, robot)


def analytic(results: Results, robot: str) -> list[Row]:
    """Analytic peers that keep the limits and reach nearly all targets: one at a time, and in batches."""
    rows = [row for task in ("solve_mid", "batch_mid_1") for row in results.kind(robot, task, "analytic")]
    return [row for row in rows if PEERS[row["peer"]].limits and row["ok"] >= MOST]


def others(results: Results, robot: str) -> Iterator[Row]:
    """Tracking, out of reach, already there: against the quickest peer of each kind that does it."""
    questions: list[tuple[str, str, Figure, Callable[[Row], bool]]] = [
        ("tracking, mean against mean", "track", net("mean"), lambda row: row["failed"] == 0),
        ("out of reach, mean against mean", "unreachable", net("mean"), lambda row: row["told"] == 100),
        ("already there, p50 against p50", "at_start", net("p50"), lambda row: row["same_ok"] == 100),
    ]
    for question, task, figure, does in questions:
        ours = results.get(robot, task)
        for kind in ("numeric", "analytic"):
            peers = [row for row in results.kind(robot, task, kind) if does(row) and PEERS[row["peer"]].limits]
            if ours and peers:
                yield line(robot, question, figure(ours), min(peers, key=figure), figure, None)


def line(robot: str, question: str, ours: float, peer: Row, figure: Figure, requested: float | None) -> Row:
    """One comparison. Times below the clock's own spread count as 0.01 us."""
    theirs = peer["cpu_mean"] if peer["task"].startswith("batch") else figure(peer)
    factor = theirs / max(ours, 0.01)
    return {
        "robot": robot, "compared": question, "peer": PEERS[peer["peer"]].label + batch_word(peer), "poise [us]": ours,
        "peer [us]": theirs, "times quicker": factor, "asked": "-" if requested is None else f"{requested:g}",
        "met": "-" if requested is None else "yes" if factor >= requested else "no",
    }  # fmt: skip


def batch_word(peer: Row) -> str:
    return " (batch)" if peer["task"].startswith("batch") else ""

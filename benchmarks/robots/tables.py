"""Tables of judged results, as Markdown and JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

import harness
from harness import Row

from robots import models, ratios
from robots.registry import PEERS

TITLE = "Robot arms and legs: one pose at a time, in batches, along a path, out of reach and already there"
TIMES = [f"{clock}_{part}" for clock in ("cpu", "wall") for part in ("p50", "mean", "p99")]


def write(rows: list[Row], notes: list[str], targets: int) -> None:
    """Print and write results/robots.md and results/robots.json."""
    compared = ratios.ratios(rows)
    parts = [f"## {TITLE}", *explained(rows, targets), *notes]
    sections: list[tuple[str, list[Row]]] = [
        ("What was asked (times: cpu, the clock's cost taken off)", compared),
        ("From the middle: reached [%], cpu p50 / mean / p99 [us]", wide(rows, "solve_mid", short)),
        ("From a random start: reached [%], cpu p50 / mean / p99 [us]", wide(rows, "solve_rand", short)),
        ("Batches, one call [us per target]", batches(rows)),
        ("Following a circle of 500 waypoints", tracking(rows)),
        ("Out of reach: cpu mean [us], told [%]", wide(rows, "unreachable", unreachable)),
        ("Already there, 50 poses: cpu p50 [us], largest move [rad]", wide(rows, "at_start", at_start)),
        ("Already there but for 1e-9 rad: cpu p50 [us], largest move [rad]", wide(rows, "at_start", near_start)),
    ]
    sections += [(f"{name}: one target at a time", singles(rows, name)) for name in models.NAMES]
    sections += [("What cannot be done", refusals(rows)), ("Exceptions raised for single targets", raised(rows))]
    for title, lines in sections:
        if lines:
            parts += [f"### {title}", harness.table(lines)]
    text = "\n\n".join(parts) + "\n"
    print(text, flush=True)
    harness.RESULTS.mkdir(exist_ok=True)
    (harness.RESULTS / "robots.md").write_text(text, encoding="utf-8")
    document = {"title": TITLE, "machine": harness.machine(), "ratios": compared, "rows": rows, "notes": notes}
    (harness.RESULTS / "robots.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def explained(rows: list[Row], targets: int) -> list[str]:
    """What the figures mean, and what reading the clock costs in them."""
    cost = [[row[f"clock_{clock}"] for row in rows if "error" not in row] or [0.0] for clock in ("cpu", "wall")]
    lows, highs = [min(values) for values in cost], [max(values) for values in cost]
    protocol = (
        f"{targets} targets per robot (poses of random configurations inside the limits); slow peers get fewer: the "
        "first n. Every process runs one peer on one core with one thread for linear algebra, the peers of a table "
        "one after the other. Every answer is judged by Pinocchio: within 1e-6 m and 1e-6 rad, limits kept."
    )
    clocks = (
        f"A measured call that does nothing takes {lows[0]:.2f} to {highs[0]:.2f} us on the cpu clock and "
        f"{lows[1]:.2f} to {highs[1]:.2f} us on the wall clock, measured in each of the processes; it is contained "
        "in every figure for a single call, and taken off only where that is said."
    )
    times = [time.strftime("%Y-%m-%d %H:%M", time.gmtime(row["when"])) for row in rows] or ["never"]
    return [protocol, clocks, f"Measured from {min(times)} to {max(times)} UTC; `--fresh` measures all in one run."]


def picked(rows: Iterable[Row], **wanted: str) -> list[Row]:
    """Rows that were measured and agree with `wanted`."""
    return [row for row in rows if "error" not in row and all(row[key] == value for key, value in wanted.items())]


def wide(rows: list[Row], task: str, cell: Callable[[Row], str]) -> list[Row]:
    """Peers by robots, in the order of the registry."""
    found = {(row["peer"], row["robot"]): row for row in picked(rows, task=task)}
    robots = [name for name in models.NAMES if any(robot == name for _, robot in found)]
    lines: list[Row] = []
    for peer, entry in PEERS.items():
        if any(name == peer for name, _ in found):
            cells = {robot: cell(found[peer, robot]) if (peer, robot) in found else "-" for robot in robots}
            lines.append({"peer": entry.label, "kind": entry.kind, **cells})
    return lines


def short(row: Row) -> str:
    return f"{percent(row['ok'])} {' / '.join(number(row[f'cpu_{part}']) for part in ('p50', 'mean', 'p99'))}"


def unreachable(row: Row) -> str:
    return f"{number(row['cpu_mean'])}, {percent(row['told'])}"


def at_start(row: Row) -> str:
    moved = "unchanged" if row["same_unchanged"] == 100 else f"{row['same_moved']:.1g}"
    return f"{number(row['cpu_p50'])}, {moved}{failures(row['same_ok'])}"


def near_start(row: Row) -> str:
    return f"{number(row['near_cpu_p50'])}, {row['near_moved']:.1g}{failures(row['near_ok'])}"


def failures(ok: float) -> str:
    return "" if ok == 100 else f" ({percent(100 - ok)} failed)"


def number(value: float) -> str:
    """Three significant digits, thousands with a comma."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(value: float) -> str:
    """Two decimals where they say something: 99.97 is not 100."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def singles(rows: list[Row], robot: str) -> list[Row]:
    """Every peer on one robot, quickest first."""
    lines = [row for start in ("mid", "rand") for row in ordered(picked(rows, robot=robot, task=f"solve_{start}"))]
    return [
        {
            "peer": PEERS[row["peer"]].label, "kind": PEERS[row["peer"]].kind, "start": row["task"].split("_")[1],
            "n": row["n"], "reached [%]": percent(row["ok"]), "wrong [%]": percent(row["wrong"]),
            **{f"{key.replace('_', ' ')} [us]": row[key] for key in TIMES},
        }
        for row in lines
    ]  # fmt: skip


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["cpu_mean"])


def batches(rows: list[Row]) -> list[Row]:
    """Batch calls: their start and their threads are in the task's name."""
    lines: list[Row] = []
    for row in picked(rows):
        if row["task"].startswith("batch"):
            _, start, threads = row["task"].split("_")
            lines.append({
                "robot": row["robot"], "peer": PEERS[row["peer"]].label, "start": start, "threads": threads,
                "n": row["n"], "reached [%]": percent(row["ok"]), "cpu [us]": row["cpu_mean"],
                "wall [us]": row["wall_mean"],
            })  # fmt: skip
    return sorted(lines, key=lambda line: models.NAMES.index(line["robot"]))


def tracking(rows: list[Row]) -> list[Row]:
    """One line per robot and peer, quickest first."""
    return [
        {
            "robot": robot, "peer": PEERS[row["peer"]].label, "kind": PEERS[row["peer"]].kind,
            "failed waypoints": row["failed"], "largest step [rad]": row["largest_step"],
            "cpu mean [us]": row["cpu_mean"], "cpu p50 [us]": row["cpu_p50"], "wall mean [us]": row["wall_mean"],
            "clock, cpu [us]": row["clock_cpu"], "cpu mean, no clock read on the way [us]": row["cpu_loop"],
        }
        for robot in models.ARMS
        for row in ordered(picked(rows, robot=robot, task="track"))
    ]  # fmt: skip


def refusals(rows: list[Row]) -> list[Row]:
    """Which robot a peer cannot do, with its reason."""
    lines = {
        (entry.label, "all others", f"made or set up for {', '.join(entry.robots)} only")
        for entry in PEERS.values()
        if entry.robots
    }
    lines |= {
        (PEERS[row["peer"]].label, row["robot"], " ".join(row["error"].replace("|", "/").split())[:160])
        for row in rows
        if "error" in row
    }
    return [{"peer": peer, "robot": robot, "reason": reason} for peer, robot, reason in sorted(lines)]


def raised(rows: list[Row]) -> list[Row]:
    """Peers that raise an exception instead of telling a failure."""
    return [
        {
            "peer": PEERS[row["peer"]].label, "robot": row["robot"], "task": row["task"],
            "calls": row["raised"], "last": " ".join(row["reason"].replace("|", "/").split())[:120],
        }
        for row in picked(rows)
        if "raised" in row
    ]  # fmt: skip

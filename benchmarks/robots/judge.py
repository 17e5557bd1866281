"""Judge raw results with Pinocchio (run in its environment): `python -m robots.judge RAW TARGETS OUT.json`.

Reached means: distance < 1e-6 m, angle < 1e-6 rad, and the limits kept: up to 1e-9 rad for Poise, 1e-6 for the peers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robots import models
from robots.models import Floats
from robots.oracle import Oracle
from robots.registry import PEERS

CLOSE = 1e-6  # m and rad
OUR_SLACK, PEER_SLACK = 1e-9, 1e-6  # rad
Arrays = dict[str, NDArray[Any]]
Row = dict[str, Any]


def reached(oracle: Oracle, q: Floats, targets: Floats, slack: float) -> NDArray[np.bool_]:
    """Whether each answer (k, n) is at its target (k, 4, 4) and inside the limits."""
    distance, angle = oracle.errors(q, targets)
    return (distance < CLOSE) & (angle < CLOSE) & oracle.within(q, slack)


def times(raw: Arrays, prefix: str = "") -> Row:
    """Median, mean and 99th percentile of both clocks [us]."""
    row: Row = {}
    for clock in ("cpu", "wall"):
        values = raw[prefix + clock]
        row |= {f"{clock}_p50": float(np.median(values)), f"{clock}_mean": float(values.mean())}
        row[f"{clock}_p99"] = float(np.percentile(values, 99))
    return row


def share(mask: NDArray[np.bool_]) -> float:
    """Per cent of True."""
    return 100.0 * float(mask.mean())


def judged(oracle: Oracle, task: str, raw: Arrays, data: Arrays, slack: float) -> Row:
    """The figures of one measurement."""
    q, row = raw["q"], times(raw)
    count = len(q)
    if task == "unreachable":
        met = reached(oracle, q, data["far"][:count], slack)
        return row | {"n": count, "told": share(raw["told"]), "met": int(met.sum())}
    if task == "at_start":
        return row | at_start(oracle, raw, data, slack)
    ok = reached(oracle, q, data["path" if task == "track" else "T"][:count], slack)
    row |= {"n": count, "ok": share(ok), "failed": int((~ok).sum()), "wrong": share(~ok & ~raw["told"])}
    if task == "track":
        kept = np.vstack([data["path_start"], q[np.isfinite(q).all(axis=1)]])
        row["largest_step"] = float(np.abs(np.diff(kept, axis=0)).max(initial=0.0))
        row["cpu_loop"] = float(raw["loop"][0]) if "loop" in raw else float("nan")
    return row


def at_start(oracle: Oracle, raw: Arrays, data: Arrays, slack: float) -> Row:
    """How far the answers lie from a start that is the answer, or 1e-9 rad from one."""
    row: Row = {"n": len(raw["q"])}
    for name, prefix in (("same", ""), ("near", "near_")):
        q = raw[f"{prefix}q"]
        start = data["rand"][: len(q)]
        moved = np.abs(q - start)[np.isfinite(q).all(axis=1)]
        row |= {
            f"{name}_ok": share(reached(oracle, q, data[name][: len(q)], slack)),
            f"{name}_unchanged": share((q == start).all(axis=1)),
            f"{name}_moved": float(moved.max(initial=0.0)),
        }
    return row | {f"near_{key}": value for key, value in times(raw, "near_").items()}


def measurement(path: Path, oracle: Oracle, data: Arrays) -> Row:
    """One row: what was measured, or why not."""
    robot, task, peer = path.parts[-3], path.parts[-2], path.stem
    row: Row = {"robot": robot, "task": task, "peer": peer}
    with np.load(path) as file:
        raw = dict(file)
    row["when"] = float(raw["when"])
    if "error" in raw:
        return row | {"error": str(raw["error"])}
    slack = OUR_SLACK if PEERS[peer].kind == "ours" else PEER_SLACK
    row |= {key: float(raw[key]) for key in ("load_seconds", "clock_wall", "clock_cpu")}
    if raw.get("raised", 0):
        row |= {"raised": int(raw["raised"]), "reason": str(raw["reason"])}
    return row | judged(oracle, task, raw, data, slack)


def main(raw: Path, targets: Path, out: Path) -> None:
    """Judge every file of RAW/ROBOT/TASK/PEER.npz."""
    rows: list[Row] = []
    for folder in sorted(path for path in raw.iterdir() if path.is_dir()):
        oracle = Oracle(models.load(folder.name))
        with np.load(targets / f"{folder.name}.npz") as file:
            data = dict(file)
        every = sorted(path for path in folder.glob("*/*.npz") if path.stem in PEERS)
        rows += [measurement(path, oracle, data) for path in every]
    out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

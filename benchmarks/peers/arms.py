"""Bring a robot arm to poses with another library; runs in that library's environment.

Input (stdin): {peer, robot, folder, tolerance, start: [n], targets: [[[4 x 4]], ...], seconds}: one of PEERS, and
NAME.urdf and NAME.json in the folder. Output (stdout): {q: [[n] or null where it says that it failed], microseconds:
[...]}. It stops when `seconds` are over.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from robots import models

PEERS = {
    "ik_NR": ("toolbox", "Newton"),
    "ik_GN": ("toolbox", "GaussNewton"),
    "ik_LM (Chan)": ("toolbox", "Chan"),
    "ik_LM (Sugihara)": ("toolbox", "Sugihara"),
    "ikpy": ("ikpy_scipy", "Full"),
}


def main() -> None:
    """Solve what the time allows, each target from the same start."""
    task = json.load(sys.stdin)
    module, name = PEERS[task["peer"]]
    peer = getattr(importlib.import_module(f"robots.peers.{module}"), name)()
    targets, start = np.array(task["targets"]), np.array(task["start"])
    peer.load(models.read(task["robot"], Path(task["folder"])), task["tolerance"], start[None], targets[:1])
    peer.solve(targets[0], start)  # what is loaded or compiled late
    answers: list[list[float] | None] = []
    microseconds: list[float] = []
    end = time.perf_counter() + task["seconds"]
    for target in targets:
        began = time.process_time()
        q = peer.solve(target, start)
        microseconds.append((time.process_time() - began) * 1e6)
        answers.append(None if q is None else np.asarray(q).tolist())
        if time.perf_counter() > end:
            break
    json.dump({"q": answers, "microseconds": microseconds}, sys.stdout)


main()

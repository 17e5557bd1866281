"""Pulls of whole bodies, answered by the modules of a page in node and by Poise."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from poise.model.clip import Clip
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import pull_part
from poise.viewer.offline import body
from poise.viewer.offline.program import ArrayStore
from poise.viewer.session.downloads import solve_document
from tests.timeouts import PROCESS

ROOT = Path(__file__).parents[2]


def answer_pulls(document: Document, pulls: list[dict[str, Any]], clip: Clip | None = None) -> list[np.ndarray]:
    """Let the page's modules answer pulls: q (targets, nq) of each."""
    store = ArrayStore()
    packed = body.export_body(document, store, clip)
    given = {"body": packed, "numbers": base64.b64encode(store.get_bytes()).decode(), "pulls": pulls}
    finished = subprocess.run(
        ["node", "tests/viewer/pull_answers.mjs"], check=True, cwd=ROOT, input=json.dumps(given),
        capture_output=True, text=True, timeout=PROCESS,
    )  # fmt: skip
    return [np.array([np.frombuffer(base64.b64decode(q)) for q in targets]) for targets in json.loads(finished.stdout)]


def solve_pull(document: Document, joint: str, target: np.ndarray) -> np.ndarray:
    """Solve a pull as the running viewer does, but without its gaze."""
    pulled = pull_part(document, {"joint": joint, "position": target.tolist(), "phase": "start"}, document.solver_start)
    chains = tuple(chain for chain in pulled.chains if chain.kind != "look")
    return solve_document(pulled.replace(chains=chains)).q[0]

"""Runs pytest again and again, in a fork of a process that has imported what every test needs, but not the package.

    python -m mutation.server

Reads a line of JSON for each run: `arguments` of pytest, `output` (a file), `limit` in seconds. Answers with the exit
code, or with null where the time was up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence

import numba  # noqa: F401
import numpy.testing  # noqa: F401
import pytest
import scipy.optimize
import scipy.spatial.transform  # noqa: F401

MOST = 1.0  # [s] that count between two looks: where all was stopped for a while, nothing hung


def run(arguments: Sequence[str], output: str, limit: float) -> int | None:
    """The exit code of pytest in a process group of its own, which is killed when the time is up."""
    child = os.fork()
    if child == 0:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        try:
            code = int(pytest.main(list(arguments)))
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:  # noqa: BLE001  (whatever it is, the tests did not pass)
            traceback.print_exc()
            sys.stderr.flush()
            code = 3
        os._exit(code)
    code, spent, before = None, 0.0, time.monotonic()
    while spent < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.02)
        now = time.monotonic()
        spent, before = spent + min(now - before, MOST), now
    try:
        os.killpg(child, signal.SIGKILL)  # servers that a test left behind, too
    except ProcessLookupError:
        return code
    if code is None:
        os.waitpid(child, 0)
    return code


if __name__ == "__main__":
    assert "poise" not in sys.modules
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), flush=True)

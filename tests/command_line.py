"""The command line for tests: in this process, which has loaded the kernels already, or as a person starts it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from typing import NamedTuple
from unittest import mock

from poise import cli
from poise.io import samples
from tests.timeouts import PROCESS

HUMANOID = samples.path("humanoid.glb")
ARM = samples.path("arm.urdf")
REACH = ("--joint", "LeftHand", "--to", "0.45", "1.75", "0.25")


class Done(NamedTuple):
    """What a run of the command line left."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd=None):
    """Run the function that `poise` is; an error that it lets through would be a traceback, and fails the test."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(cwd or "."))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(errors))
        stack.enter_context(mock.patch.object(sys, "argv", ["poise", *map(str, arguments)]))
        stack.enter_context(warnings.catch_warnings())
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, written(out), written(errors))


def written(stream):
    stream.seek(0)
    return stream.read()


def start(*arguments, cwd=None, env=None):
    """Start `python -m poise` and wait for its end."""
    return subprocess.run(
        [sys.executable, "-m", "poise", *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd,
        env=os.environ | (env or {}), timeout=PROCESS,
    )  # fmt: skip

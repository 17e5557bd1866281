"""Parent side of a reader process: start it and check its reply.

Readers that can crash run in a process of their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from poise.errors import FileError
from poise.io.reader_server import Outcome, can_serve, read_in_fork
from poise.io.subprocess_worker import LENGTH_STRUCT, MAGIC
from poise.maths.arrays import Floats

TIMEOUT_S = 30.0  # [s] timeout of a reader; ten minutes of motion need a third of it
_MIN_MEMORY_MB, _MEMORY_PER_BYTE = 2048, 8  # address space: minimum [MB], and additional bytes per byte of the file
_LIMIT_SIGNALS = {getattr(signal, name, None) for name in ("SIGXCPU", "SIGKILL")}


@dataclass(frozen=True, eq=False)
class SubprocessReply:
    """Reply of a reader process: a JSON object and blocks of numbers."""

    path: Path
    header: dict[str, Any]
    blocks: list[Floats]

    def read_block(self, block_index: object, shape: tuple[int, ...]) -> Floats:
        """Return the numbers of a block in a shape. FileError for another count, or a number that is not finite."""
        is_valid = isinstance(block_index, int) and 0 <= block_index < len(self.blocks)
        if not is_valid or self.blocks[cast("int", block_index)].size != int(np.prod(shape)):
            raise build_malformed_error(self.path)
        values = self.blocks[cast("int", block_index)].reshape(shape)
        if not np.isfinite(values).all():
            raise FileError(self.path, "it holds numbers that are not finite")
        return values


def read_in_subprocess(
    path: Path, data: bytes, module: str, *, reader: str, arguments: tuple[str, ...] = (), has_server: bool = False
) -> SubprocessReply:
    """Read the bytes of a file with a module in another process.

    Parameters
    ----------
    path
        The file, for messages.
    data
        Its bytes.
    module
        The worker module, such as `poise.io.fbx_worker`.
    reader
        Name of the library, for messages.
    arguments
        Further command-line arguments of the module.
    has_server
        Whether the module can serve several files, without arguments: see `poise.io.reader_server`.

    Raises
    ------
    FileError
        For a file that the module refuses, a crash, a timeout, and a malformed reply.
    """
    limits = int(TIMEOUT_S) + 1, _MIN_MEMORY_MB + (_MEMORY_PER_BYTE * len(data) >> 20)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    try:
        outcome = read_in_fork(module, data, environment, limits, TIMEOUT_S) if has_server and can_serve() else None
        if outcome is None:
            outcome = _run_process(module, data, environment, [*map(str, limits), *arguments])
    except subprocess.TimeoutExpired as error:
        raise FileError(path, f"reading it took longer than {TIMEOUT_S:g} s and was stopped") from error
    except OSError as error:
        raise FileError(path, f"the reader {reader} could not be started: {error.strerror}") from error
    if outcome.exit_code:
        raise FileError(path, _describe_exit(outcome.exit_code, reader))
    return _parse_reply(path, outcome.output)


def _run_process(module: str, data: bytes, environment: dict[str, str], arguments: list[str]) -> Outcome:
    """Run a module on the bytes of one file."""
    # -P: no modules from the working folder; warnings of other packages are suppressed
    command = [sys.executable or "python", "-P", "-W", "ignore", "-m", module, *arguments]
    process = subprocess.run(  # noqa: S603  (no shell, and no argument comes from the file)
        command, input=data, capture_output=True, timeout=TIMEOUT_S, env=environment, check=False
    )
    return Outcome(process.returncode, process.stdout)


def _describe_exit(exit_code: int, reader: str) -> str:
    if exit_code > 0:
        return f"the reader {reader} ended with code {exit_code} and gave no answer"
    if -exit_code in _LIMIT_SIGNALS:
        return f"the reader {reader} was stopped by the system: the file takes too much time or memory"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"the reader {reader} crashed on it ({name}); the file is probably damaged"


def _parse_reply(path: Path, reply: bytes) -> SubprocessReply:
    header_start = len(MAGIC) + LENGTH_STRUCT.size
    if not reply.startswith(MAGIC) or len(reply) < header_start:
        raise build_malformed_error(path)
    header_bytes = LENGTH_STRUCT.unpack_from(reply, len(MAGIC))[0]
    try:
        header: Any = json.loads(reply[header_start : header_start + header_bytes])
        block_sizes = header.pop("blocks")
        block_ends = header_start + header_bytes + 8 * np.cumsum([0, *block_sizes], dtype=np.int64)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise build_malformed_error(path) from error
    if block_ends[-1] != len(reply) or min(block_sizes, default=0) < 0:
        raise build_malformed_error(path)
    if "refused" in header:
        raise FileError(path, " ".join(str(header["refused"]).split()))
    block_spans = zip(block_ends[:-1].tolist(), block_ends[1:].tolist(), strict=True)
    return SubprocessReply(path, header, [np.frombuffer(reply[a:b], "<f8").astype(np.float64) for a, b in block_spans])


def build_malformed_error(path: Path) -> FileError:
    """Build the error for a malformed reply."""
    return FileError(path, "the reader gave an answer that cannot be understood; the file is probably damaged")

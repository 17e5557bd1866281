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
from poise.io.child.answer import LENGTH, MAGIC
from poise.maths.arrays import Floats

SECONDS = 30.0  # [s] timeout of a reader; ten minutes of motion need a third of it
_LEAST_MEGABYTES, _PER_BYTE = 2048, 8  # address space: minimum [MB], and additional bytes per byte of the file
_TOO_LONG = {getattr(signal, name, None) for name in ("SIGXCPU", "SIGKILL")}


@dataclass(frozen=True, eq=False)
class ChildAnswer:
    """Reply of a reader process: a JSON object and blocks of numbers."""

    path: Path
    header: dict[str, Any]
    blocks: list[Floats]

    def block(self, number: object, shape: tuple[int, ...]) -> Floats:
        """Return the numbers of a block in a shape. FileError for another count, or a number that is not finite."""
        known = isinstance(number, int) and 0 <= number < len(self.blocks)
        if not known or self.blocks[cast("int", number)].size != int(np.prod(shape)):
            raise nonsense(self.path)
        values = self.blocks[cast("int", number)].reshape(shape)
        if not np.isfinite(values).all():
            raise FileError(self.path, "it holds numbers that are not finite")
        return values


def ask(path: Path, data: bytes, module: str, *, reader: str, arguments: tuple[str, ...] = ()) -> ChildAnswer:
    """Read the bytes of a file with a module in another process.

    Parameters
    ----------
    path
        The file, for messages.
    data
        Its bytes.
    module
        The worker module, such as `poise.io.fbx.child`.
    reader
        Name of the library, for messages.
    arguments
        Further command-line arguments of the module.

    Raises
    ------
    FileError
        For a file that the module refuses, a crash, a timeout, and a malformed reply.
    """
    megabytes = _LEAST_MEGABYTES + (_PER_BYTE * len(data) >> 20)
    limits = (str(int(SECONDS) + 1), str(megabytes))
    # -P: no modules from the working folder; warnings of other packages are suppressed
    command = [sys.executable or "python", "-P", "-W", "ignore", "-m", module, *limits, *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    try:
        done = subprocess.run(  # noqa: S603  (no shell, and no argument comes from the file)
            command, input=data, capture_output=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise FileError(path, f"reading it took longer than {SECONDS:g} s and was stopped") from error
    except OSError as error:
        raise FileError(path, f"the reader {reader} could not be started: {error.strerror}") from error
    if done.returncode:
        raise FileError(path, _why(done.returncode, reader))
    return _unpacked(path, done.stdout)


def _why(code: int, reader: str) -> str:
    if code > 0:
        return f"the reader {reader} ended with code {code} and gave no answer"
    if -code in _TOO_LONG:
        return f"the reader {reader} was stopped by the system: the file takes too much time or memory"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the reader {reader} crashed on it ({name}); the file is probably damaged"


def _unpacked(path: Path, answer: bytes) -> ChildAnswer:
    start = len(MAGIC) + LENGTH.size
    if not answer.startswith(MAGIC) or len(answer) < start:
        raise nonsense(path)
    length = LENGTH.unpack_from(answer, len(MAGIC))[0]
    try:
        header: Any = json.loads(answer[start : start + length])
        sizes = header.pop("blocks")
        ends = start + length + 8 * np.cumsum([0, *sizes], dtype=np.int64)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise nonsense(path) from error
    if ends[-1] != len(answer) or min(sizes, default=0) < 0:
        raise nonsense(path)
    if "refused" in header:
        raise FileError(path, " ".join(str(header["refused"]).split()))
    pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return ChildAnswer(path, header, [np.frombuffer(answer[a:b], "<f8").astype(np.float64) for a, b in pairs])


def nonsense(path: Path) -> FileError:
    """Build the error for a malformed reply."""
    return FileError(path, "the reader gave an answer that cannot be understood; the file is probably damaged")

"""Worker side of a reader process: input bytes, resource limits, reply.

The file comes from standard input; the reply goes to standard output.

Only the standard library is imported, for a short start-up. A reply is `MAGIC`, the length of a JSON text, the text,
and numbers as doubles: see `poise.io.subprocess_reader`.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any

MAGIC = b"POISE\x01"
LENGTH_STRUCT = struct.Struct("<Q")


class UnreadableFileError(Exception):
    """Error for an unreadable file. The message gives the reason to the user."""


def run_worker(read: Callable[[bytes], tuple[dict[str, Any], Sequence[array[float]]]]) -> None:
    """Read the bytes from standard input, reply, and exit at once.

    `os._exit` runs no destructors, because those of the library may crash.
    """
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by a library is not part of the reply
    limit_resources(seconds=int(sys.argv[1]), megabytes=int(sys.argv[2]))
    try:
        header, blocks = read(sys.stdin.buffer.read())
        encoded_header = _encode_header(header, blocks)
    except UnreadableFileError as error:
        encoded_header, blocks = _encode_header({"refused": str(error)}), ()
    except MemoryError:
        encoded_header, blocks = _encode_header({"refused": f"it needs more than {sys.argv[2]} MB of memory"}), ()
    except Exception as error:  # noqa: BLE001  (any library error on a broken file becomes one sentence)
        encoded_header, blocks = _encode_header({"refused": f"{type(error).__name__}: {error}"}), ()
    output.write(MAGIC + LENGTH_STRUCT.pack(len(encoded_header)) + encoded_header)
    for block in blocks:
        if sys.byteorder == "big":
            block.byteswap()
        output.write(block.tobytes())
    output.flush()
    os._exit(0)


def _encode_header(header: dict[str, Any], blocks: Sequence[array[float]] = ()) -> bytes:
    return json.dumps(header | {"blocks": [len(block) for block in blocks]}).encode()


def limit_resources(*, seconds: int, megabytes: int) -> None:
    """Limit the resources of this process.

    Limits are processor time, memory and no core file, where the platform has them; Windows has none.
    """
    try:
        import resource  # noqa: PLC0415
    except ImportError:
        return
    limits = {"RLIMIT_CPU": seconds, "RLIMIT_AS": megabytes << 20, "RLIMIT_CORE": 0}
    for name, value in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):  # macOS has limits without effect
            resource.setrlimit(getattr(resource, name), (value, value))

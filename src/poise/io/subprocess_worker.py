"""Worker side of a reader process: input bytes, resource limits, reply.

The file comes from standard input; the reply goes to standard output.

Only the standard library is imported, for a short start-up. As a server (`poise.io.reader_server`) it forks a process
for each file. A reply is `MAGIC`, the length of a JSON text, the text,
and numbers as doubles: see `poise.io.subprocess_reader`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO

MAGIC = b"POISE\x01"
LENGTH_STRUCT = struct.Struct("<Q")
SERVER_ARGUMENT = "serve"  # command line of a server
REQUEST_STRUCT = struct.Struct("<QQQ")  # to a server: processor time [s], memory [MB], bytes of the file
RESPONSE_STRUCT = struct.Struct("<qQ")  # of a server: exit code, bytes of the reply
_IDLE_TIMEOUT_S = 10.0  # [s] a server without a file ends; a longer one serves slower programs and stays longer


class UnreadableFileError(Exception):
    """Error for an unreadable file. The message gives the reason to the user."""


def run_worker(read: Callable[[bytes], tuple[dict[str, Any], Sequence[array[float]]]], library: str = "") -> None:
    """Read the bytes from standard input, reply, and exit at once.

    As a server, import the library and do so in a fork for each file.
    """
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by a library is not part of the reply
    if sys.argv[1] == SERVER_ARGUMENT:
        _serve_files(read, library, output)
        return
    limits = int(sys.argv[1]), int(sys.argv[2])
    _answer(read, sys.stdin.buffer.read, limits, output)


def _answer(
    read: Callable[[bytes], tuple[dict[str, Any], Sequence[array[float]]]],
    receive: Callable[[], bytes],
    limits: tuple[int, int],
    output: BinaryIO,
) -> None:
    """Reply and exit. `os._exit` runs no destructors, because those of the library may crash."""
    seconds, megabytes = limits
    limit_resources(seconds=seconds, megabytes=megabytes)
    try:
        header, blocks = read(receive())
        encoded_header = _encode_header(header, blocks)
    except UnreadableFileError as error:
        encoded_header, blocks = _encode_header({"refused": str(error)}), ()
    except MemoryError:
        encoded_header, blocks = _encode_header({"refused": f"it needs more than {megabytes} MB of memory"}), ()
    except Exception as error:  # noqa: BLE001  (any library error on a broken file becomes one sentence)
        encoded_header, blocks = _encode_header({"refused": f"{type(error).__name__}: {error}"}), ()
    output.write(MAGIC + LENGTH_STRUCT.pack(len(encoded_header)) + encoded_header)
    for block in blocks:
        if sys.byteorder == "big":
            block.byteswap()
        output.write(block.tobytes())
    output.flush()
    os._exit(0)


def _serve_files(
    read: Callable[[bytes], tuple[dict[str, Any], Sequence[array[float]]]], library: str, output: BinaryIO
) -> None:
    """Read files in turn. A closed or idle connection ends it."""
    if library:
        with contextlib.suppress(Exception):  # each fork reports it
            import_module(library)
    source = sys.stdin.buffer
    while select.select([source], [], [], _IDLE_TIMEOUT_S)[0]:
        request = source.read(REQUEST_STRUCT.size)
        if len(request) < REQUEST_STRUCT.size:
            return
        seconds, megabytes, byte_count = REQUEST_STRUCT.unpack(request)
        data = source.read(byte_count)
        if len(data) < byte_count:
            return
        exit_code, reply = _answer_in_fork(read, data, (seconds, megabytes), output)
        output.write(RESPONSE_STRUCT.pack(exit_code, len(reply)))
        output.write(reply)
        output.flush()


def _answer_in_fork(
    read: Callable[[bytes], tuple[dict[str, Any], Sequence[array[float]]]],
    data: bytes,
    limits: tuple[int, int],
    output: BinaryIO,
) -> tuple[int, bytes]:
    """Return exit code and reply of a fork. The code is below zero for a signal."""
    receiving_end, sending_end = os.pipe()
    fork = os.fork()
    if not fork:
        try:
            for descriptor in (receiving_end, 0, output.fileno()):  # a broken library does not reach the connection
                os.close(descriptor)
            _answer(read, lambda: data, limits, os.fdopen(sending_end, "wb"))
        finally:
            os._exit(1)
    os.close(sending_end)
    with os.fdopen(receiving_end, "rb") as stream:
        reply = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), reply


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

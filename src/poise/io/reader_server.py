"""Reader servers: one process for a library, one fork for a file.

A start of Python and an import of a library take longer than most files. A server does both once, and its forks read
one file each, in memory and processor time of their own. A server ends after ten seconds without a file, and with the
process that started it. Worker side: `poise.io.subprocess_worker`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from poise.io.subprocess_worker import REQUEST_STRUCT, RESPONSE_STRUCT, SERVER_ARGUMENT

_MAX_CHUNK_BYTES = 1 << 20  # bytes of a reply received at once
_EXIT_TIMEOUT_S = 1.0  # [s] wait for a server to end before it is killed


class Outcome(NamedTuple):
    """Exit code and output of a reader process. The code is below zero for a signal."""

    exit_code: int
    output: bytes


class _Server(NamedTuple):
    """A running server. `owner` is the process that started it; forks of that process start their own."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    owner: int


class _ServerLostError(Exception):
    """Error for a server without a reply. It may have ended before."""


_servers: dict[tuple[str, ...], _Server] = {}  # by command and import path
_lock = threading.Lock()


def can_serve() -> bool:
    """Return whether the platform forks processes. Windows and browsers do not."""
    return hasattr(os, "fork") and hasattr(os, "killpg") and hasattr(socket, "AF_UNIX")


def read_in_fork(
    module: str, data: bytes, environment: dict[str, str], limits: tuple[int, int], timeout_s: float
) -> Outcome | None:
    """Read a file in a fork of the server of a module.

    Parameters
    ----------
    module
        The worker module.
    data
        The bytes.
    environment
        Environment of a new server.
    limits
        Processor time [s] and memory [MB] of the fork.
    timeout_s
        Timeout [s] of the whole call.

    Returns
    -------
    Outcome or None
        None while another thread uses the servers: that file needs a process without a server.

    Raises
    ------
    subprocess.TimeoutExpired
        After the timeout; the server and its fork are stopped.
    OSError
        For a server that cannot be started.
    """
    if not _lock.acquire(blocking=False):
        return None
    try:
        key = (sys.executable, module, environment["PYTHONPATH"])
        deadline = time.monotonic() + timeout_s
        server = _servers.get(key)
        if server is not None and server.owner == os.getpid():
            with contextlib.suppress(_ServerLostError):  # it may have ended just now
                return _request(key, server, data, limits, deadline)
        server = _servers[key] = _start_server(module, environment)
        try:
            return _request(key, server, data, limits, deadline)
        except _ServerLostError:
            return Outcome(server.process.wait(), b"")
    finally:
        _lock.release()


def _start_server(module: str, environment: dict[str, str]) -> _Server:
    ours, theirs = socket.socketpair()
    # -P: no modules from the working folder; warnings of other packages are suppressed
    command = [sys.executable or "python", "-P", "-W", "ignore", "-m", module, SERVER_ARGUMENT]
    try:
        process = subprocess.Popen(  # noqa: S603  (no shell, and no argument comes from the file)
            command,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return _Server(process, ours, os.getpid())


def _request(key: tuple[str, ...], server: _Server, data: bytes, limits: tuple[int, int], deadline: float) -> Outcome:
    """Send a file and receive the outcome. A server that fails in any way is stopped and forgotten."""
    try:
        try:
            _set_timeout(server, deadline)
            server.connection.sendall(REQUEST_STRUCT.pack(*limits, len(data)))
            server.connection.sendall(data)
            head = _receive(server, RESPONSE_STRUCT.size, deadline)
        except (ConnectionError, EOFError) as error:
            raise _ServerLostError from error
        exit_code, byte_count = RESPONSE_STRUCT.unpack(head)
        return Outcome(exit_code, _receive(server, byte_count, deadline))
    except BaseException as error:
        del _servers[key]
        is_ending = isinstance(error, ConnectionError | EOFError | _ServerLostError)
        _stop_server(server, _EXIT_TIMEOUT_S if is_ending else 0.0)
        if isinstance(error, TimeoutError):
            raise subprocess.TimeoutExpired(server.process.args, 0.0) from error
        if isinstance(error, ConnectionError | EOFError):
            return Outcome(-signal.SIGKILL, b"")
        raise


def _set_timeout(server: _Server, deadline: float) -> None:
    server.connection.settimeout(max(deadline - time.monotonic(), 1e-3))


def _receive(server: _Server, byte_count: int, deadline: float) -> bytes:
    """Receive a number of bytes. EOFError where the server ends before."""
    received = bytearray()
    while len(received) < byte_count:
        _set_timeout(server, deadline)
        chunk = server.connection.recv(min(byte_count - len(received), _MAX_CHUNK_BYTES))
        if not chunk:
            raise EOFError
        received += chunk
    return bytes(received)


def _stop_server(server: _Server, patience_s: float) -> None:
    """Stop a server and its fork. It may end by itself first."""
    server.connection.close()
    try:
        server.process.wait(patience_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()


@atexit.register
def close_servers() -> None:
    """Close all servers of this process. They end by themselves when their connection is closed."""
    servers = [server for server in _servers.values() if server.owner == os.getpid()]
    _servers.clear()
    for server in servers:
        server.connection.close()
    for server in servers:
        _stop_server(server, _EXIT_TIMEOUT_S)

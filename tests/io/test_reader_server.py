"""Files of a library are read by forks of one server, each by its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from poise.errors import FileError
from poise.io import reader_server, subprocess_reader
from poise.io.subprocess_reader import read_in_subprocess
from tests.timeouts import PATIENCE

pytestmark = pytest.mark.skipif(not reader_server.can_serve(), reason="the platform does not fork")

CODE = """
import os, signal, time
from array import array
import poise.io.subprocess_worker as worker
worker._IDLE_TIMEOUT_S = float(os.environ.get("IDLE_S", "10"))

def work(data):
    print("noise")
    if data == b"crash": os.kill(os.getpid(), signal.SIGSEGV)
    if data == b"sleep":
        open(os.environ["FORK_FILE"], "w").write(str(os.getpid()))
        time.sleep(600)
    if data == b"refuse": raise worker.UnreadableFileError("no such luck")
    if data == b"grow": bytearray(3 << 30)
    if data == b"loop":
        worker.limit_resources(seconds=1, megabytes=1000)
        while True: pass
    if data == b"end the server": os.kill(os.getppid(), signal.SIGKILL)
    return {"fork": os.getpid(), "server": os.getppid(), "size": len(data)}, [array("d", range(len(data)))]

worker.run_worker(work, "json")
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read bytes with a server of its own."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setenv("FORK_FILE", str(tmp_path / "fork"))
    (tmp_path / "a_server.py").write_text(CODE)
    yield lambda data: read_in_subprocess(tmp_path / "a.fbx", data, "a_server", reader="ufbx", has_server=True)
    reader_server.close_servers()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_zombie(pid):
    """Whether a process has ended and whoever adopted it has not asked yet."""
    status = Path(f"/proc/{pid}/stat")
    return status.is_file() and status.read_text().rpartition(")")[2].split()[0] == "Z"


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_each_file_has_a_fork_of_one_server(read):
    replies = [read(bytes(size)) for size in (5, 0, 3_000_000)]
    assert [reply.header["size"] for reply in replies] == [5, 0, 3_000_000]
    assert [len(reply.blocks[0]) for reply in replies] == [5, 0, 3_000_000]
    assert replies[2].blocks[0][-1] == 2_999_999.0
    assert len({reply.header["server"] for reply in replies} - {os.getpid()}) == 1
    assert len({reply.header["fork"] for reply in replies}) == 3
    assert not any(is_running(reply.header["fork"]) for reply in replies)


BAD = {
    b"crash": "crashed on it (SIGSEGV)",
    b"refuse": "no such luck",
    b"grow": "it needs more than 2048 MB of memory",
    b"loop": "stopped by the system",
}


@pytest.mark.parametrize("data", BAD)
def test_a_bad_file_does_not_harm_the_next(read, data):
    server = read(b"good").header["server"]
    with pytest.raises(FileError) as refusal:
        read(data)
    assert BAD[data] in str(refusal.value)
    assert read(b"good").header["server"] == server


def test_a_file_that_takes_too_long_is_stopped_with_its_server(read, monkeypatch, tmp_path):
    server = read(b"good").header["server"]
    monkeypatch.setattr(subprocess_reader, "TIMEOUT_S", 3.0)
    begin = time.monotonic()
    with pytest.raises(FileError, match="took longer than 3 s and was stopped"):
        read(b"sleep")
    assert time.monotonic() - begin < 30.0
    assert not is_running(server)
    fork = int((tmp_path / "fork").read_text())
    wait_for(lambda: not is_running(fork) or is_zombie(fork))


def test_after_a_timeout_files_are_read_again(read, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(subprocess_reader, "TIMEOUT_S", 0.5)
        with pytest.raises(FileError):
            read(b"sleep")
    assert read(b"good").header["size"] == 4


def test_a_server_that_was_killed_is_replaced(read):
    server = read(b"good").header["server"]
    os.kill(server, signal.SIGKILL)
    assert read(b"good").header["server"] not in {server, os.getpid()}


def test_a_server_that_its_file_kills_is_one_sentence(read):
    """A file is not read twice: it may be the reason."""
    with pytest.raises(FileError, match="stopped by the system"):
        read(b"end the server")
    assert read(b"good").header["size"] == 4


def test_an_idle_server_ends(read, monkeypatch):
    monkeypatch.setenv("IDLE_S", "0.05")
    server = read(b"good").header["server"]
    (process,) = [one.process for one in reader_server._servers.values() if one.process.pid == server]
    wait_for(lambda: process.poll() is not None)
    assert process.returncode == 0
    assert read(b"good").header["server"] != server


def test_servers_are_closed(read):
    server = read(b"good").header["server"]
    reader_server.close_servers()
    assert not is_running(server)


def test_a_second_thread_starts_a_process(read):
    server = read(b"good").header["server"]
    with reader_server._lock:
        assert read(b"good").header["server"] == os.getpid()  # the parent of a process without a server
    assert read(b"good").header["server"] == server


# JAX, where another test has imported it, warns of every fork: it has threads.
@pytest.mark.filterwarnings("ignore:os.fork", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fork_of_this_process_has_a_server_of_its_own(read):
    server = read(b"good").header["server"]
    receiving_end, sending_end = os.pipe()
    fork = os.fork()
    if not fork:
        try:
            os.write(sending_end, str(read(b"good").header["server"]).encode())
            reader_server.close_servers()
        finally:
            os._exit(0)
    os.close(sending_end)
    with os.fdopen(receiving_end) as stream:
        own_server = int(stream.read())
    os.waitpid(fork, 0)
    assert own_server not in {server, fork}
    assert read(b"good").header["server"] == server


def test_another_import_path_has_another_server(read, monkeypatch, tmp_path):
    server = read(b"good").header["server"]
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "more")])
    assert read(b"good").header["server"] != server

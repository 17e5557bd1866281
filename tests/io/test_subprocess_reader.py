"""Readers in a process of their own: whatever happens there is one sentence here."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from poise.errors import FileError
from poise.io import subprocess_reader as module
from poise.io.subprocess_reader import read_in_subprocess

WRITE = "import sys; w = sys.stdout.buffer.write; w(b'POISE\\x01'); "
ANSWER = "from poise.io.subprocess_worker import UnreadableFileError, limit_resources, run_worker; "
NONSENSE = "an answer that cannot be understood"
CHILDREN = {
    "a crash": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed on it (SIGSEGV)"),
    "an abort": ("import os; os.abort()", "crashed on it (SIGABRT)"),
    "a kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "stopped by the system"),
    "no answer": ("", NONSENSE),
    "a traceback": ("raise RuntimeError('no')", "ended with code 1"),
    "text": ("print('hello')", NONSENSE),
    "a beginning": (WRITE + "w(b'\\xff' * 8)", NONSENSE),
    "a length that lies": (WRITE + "w(b'\\x02' + bytes(7) + b'{}')", NONSENSE),
    "blocks that lie": (WRITE + "t = b'{\"blocks\": [99999999999]}'; w(len(t).to_bytes(8, 'little') + t)", NONSENSE),
    "negative blocks": (WRITE + "t = b'{\"blocks\": [-1, 1]}'; w(len(t).to_bytes(8, 'little') + t)", NONSENSE),
    "blocks of text": (WRITE + "t = b'{\"blocks\": [\"a\"]}'; w(len(t).to_bytes(8, 'little') + t)", NONSENSE),
    "a mistake of the library": (ANSWER + "run_worker(lambda data: 1 / 0)", "ZeroDivisionError: division by zero"),
    "what is refused": (
        ANSWER + "run_worker(lambda data: exec('raise UnreadableFileError(\"two\\\\nlines\")'))",
        "a.fbx: two lines",
    ),
    "an answer that is no JSON": (
        ANSWER + "run_worker(lambda data: ({'low': 1j}, ()))",
        "TypeError: Object of type complex is not JSON serializable",
    ),
    "too much memory": (ANSWER + "run_worker(lambda data: bytearray(1 << 45))", "it needs more than 2048 MB of memory"),
    "too much time": (ANSWER + "limit_resources(seconds=1, megabytes=1000)\nwhile True: pass", "stopped by the system"),
}


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file, and a folder beside it that modules are found in."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path / "a.fbx"


@pytest.mark.parametrize("has_server", [False, True])
@pytest.mark.parametrize("what", CHILDREN)
def test_what_can_go_wrong_is_one_sentence(what, has_server, path):
    code, words = CHILDREN[what]
    if has_server and code.startswith(WRITE):
        pytest.skip("a server has an answer of another form")
    (path.parent / "a_child.py").write_text(code)
    with pytest.raises(FileError) as refusal:
        read_in_subprocess(path, b"bytes", "a_child", reader="ufbx", has_server=has_server)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)


def test_one_that_sleeps_is_stopped(path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_S", 0.5)
    (path.parent / "a_child.py").write_text("import time\ntime.sleep(60)")
    begin = time.monotonic()
    with pytest.raises(FileError, match=r"took longer than 0\.5 s and was stopped"):
        read_in_subprocess(path, b"", "a_child", reader="ufbx")
    assert time.monotonic() - begin < 20.0


@pytest.mark.parametrize("has_server", [False, True])
def test_a_python_that_is_not_there(path, has_server, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(path.parent / "nowhere"))
    with pytest.raises(FileError, match="the reader ufbx could not be started"):
        read_in_subprocess(path, b"", "a_child", reader="ufbx", has_server=has_server)


class TestAnAnswer:
    CODE = (
        "from array import array\nfrom poise.io.subprocess_worker import run_worker\n"
        "blocks = [array('d', [1, 2, 3, 4]), array('d'), array('d', [float('nan')])]\n"
        "def work(data):\n    print('noise')\n    return {'got': len(data)}, blocks\n"
        "run_worker(work)"
    )

    @pytest.fixture
    def reply(self, path):
        (path.parent / "a_child.py").write_text(self.CODE)
        return read_in_subprocess(path, b"12345", "a_child", reader="ufbx")

    def test_numbers_come_as_they_were_sent(self, reply):
        assert reply.header == {"got": 5}
        np.testing.assert_array_equal(reply.read_block(0, (2, 2)), [[1, 2], [3, 4]])
        assert reply.read_block(1, (0, 3)).shape == (0, 3)

    @pytest.mark.parametrize(("number", "shape"), [(0, (3,)), (7, (1,)), (-1, (1,)), ("0", (4,)), (None, (4,))])
    def test_blocks_that_are_not_there_are_nonsense(self, reply, number, shape):
        with pytest.raises(FileError, match="cannot be understood"):
            reply.read_block(number, shape)

    def test_numbers_are_finite(self, reply):
        with pytest.raises(FileError, match="not finite"):
            reply.read_block(2, (1,))


def test_a_module_in_the_working_folder_is_not_run(path, monkeypatch):
    """A folder of downloaded files may hold an ufbx.py; it is not what is imported."""
    (path.parent / "here").mkdir()
    monkeypatch.chdir(path.parent / "here")
    (path.parent / "here" / "array.py").write_text("raise RuntimeError")
    (path.parent / "a_child.py").write_text(TestAnAnswer.CODE)
    assert read_in_subprocess(path, b"", "a_child", reader="ufbx").header == {"got": 0}

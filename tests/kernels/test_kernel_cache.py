"""Compiled kernels on the disk: where a file cannot be read or written, a kernel is compiled in memory."""

from __future__ import annotations

import errno
import importlib.util
import logging
import subprocess
import sys

import pytest
from numba import njit
from numba.core.caching import IndexDataCacheFile, NullCache

from poise.kernels import entries, kinematics, output  # noqa: F401  (its entries)
from poise.kernels.jit import compilation, compiler
from tests.timeouts import PROCESS

pytestmark = pytest.mark.long

SOURCE = "def added(a, b):\n    return a + b\n"


@pytest.fixture(autouse=True)
def _no_output(monkeypatch):
    monkeypatch.setattr(compilation, "_warnings", [])
    monkeypatch.setattr(output._LOGGER, "hasHandlers", lambda: False)  # those of pytest count as a program's


@pytest.fixture
def added(tmp_path):
    """A plain function, in a file beside which Numba keeps its code."""
    path = tmp_path / "sums.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("sums", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.added


def called(function, stamp="one"):
    """Call it in a dispatcher of its own, as another process would; the hits and misses of its cache."""
    compiled = njit(function)
    compiled._cache = compilation.make_disk_cache(function, stamp)
    assert compiled(1.0, 2.0) == 3.0
    return sum(compiled.stats.cache_hits.values()), sum(compiled.stats.cache_misses.values())


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [slice(0), slice(100), slice(-1), slice(50, None)])
def test_a_damaged_file_is_compiled_again_and_mended(added, tmp_path, capsys, suffix, left):
    assert called(added) == (0, 1)
    assert called(added) == (1, 0)
    (file,) = (tmp_path / "__pycache__").glob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[left])
    assert capsys.readouterr().err == ""
    assert called(added) == (0, 1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("poise: cannot read compiled kernels in ")
    assert line.endswith("set NUMBA_CACHE_DIR to a folder that can be read and written")
    assert called(added) == (1, 0)


def test_a_full_disk_is_reported_once(added, monkeypatch, capsys):
    def full(*_given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    assert called(added) == called(added) == (0, 1)
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot write compiled kernels to" in line
    assert "No space left on device" in line
    assert "NUMBA_CACHE_DIR" in line


def test_a_program_with_logging_gets_a_record(added, monkeypatch, capsys, caplog):
    monkeypatch.delattr(output._LOGGER, "hasHandlers")
    added.__code__ = added.__code__.replace(co_filename="<nowhere>")
    assert called(added) == (0, 1)
    assert capsys.readouterr().err == ""
    ((name, level, text),) = caplog.record_tuples
    assert (name, level) == ("poise.kernels", logging.WARNING)
    assert text.startswith("no folder for compiled kernels can be written")


def test_poise_quiet_silences(added, monkeypatch, capsys):
    monkeypatch.setenv("POISE_QUIET", "1")
    added.__code__ = added.__code__.replace(co_filename="<nowhere>")
    assert called(added) == (0, 1)
    assert capsys.readouterr().err == ""


def test_where_no_folder_takes_them_they_are_in_memory(added, capsys):
    added.__code__ = added.__code__.replace(co_filename="<nowhere>")
    assert called(added) == called(added) == (0, 1)
    assert isinstance(compilation.make_disk_cache(added, "one"), NullCache)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("poise: no folder for compiled kernels can be written; each process compiles them again: ")
    assert "NUMBA_CACHE_DIR" in line


def test_code_of_another_stamp_is_not_used(added):
    assert called(added, "one") == (0, 1)
    assert called(added, "two") == (0, 1)


def test_kernels_are_kept_so():
    function = entries.ENTRIES["kinematics.compute_local_transforms"].function
    dispatcher = compiler.make_kernel_dispatcher(function, releases_gil=True)
    assert isinstance(dispatcher._cache, compilation.KernelCache)


def test_the_first_call_of_a_process_does_not_count_what_loads_kernels():
    """A slow load stands for the real one, so that the machine's load cannot decide."""
    program = (
        "import time, importlib, poise\n"
        "from poise.kernels import lazy_import\n"
        "class SlowImport:\n"
        "    def import_module(self, name):\n"
        "        time.sleep(0.5)\n"
        "        return importlib.import_module(name)\n"
        "arm = poise.load(poise.sample('arm'))\n"
        "goal = poise.Position('tool', [0.3, 0.2, 0.4])\n"
        "lazy_import.importlib = SlowImport()\n"
        "began = time.perf_counter()\n"
        "result = poise.solve(arm.rest, goal)\n"
        "print(result.seconds, time.perf_counter() - began)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PROCESS)
    counted, whole = map(float, done.stdout.split())
    assert whole > 0.5, "nothing was loaded in the call"
    assert 0 < counted < whole - 0.5

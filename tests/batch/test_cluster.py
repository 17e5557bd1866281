"""each() and the command line on a real scheduler of Dask with two workers; one of them is killed in mid-work."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from poise.errors import InputError
from poise.io import samples
from tests.conftest import ROOT
from tests.timeouts import PROCESS

pytestmark = pytest.mark.long
distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: scripts/test --all, or pip install 'poise[cluster]'"
)

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
EACH = """
import sys
import poise
from poise.batch.parallel_jobs import open_cluster
from tests.batch import jobs
if __name__ == "__main__":
    with open_cluster(sys.argv[1]) as executor:
        for one in poise.each(range(200), jobs.own_process, executor=executor):
            print(one.file, one.require(), flush=True)
"""


def begun(*command):
    return subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.fixture
def scheduler(tmp_path, monkeypatch):
    """The address of a scheduler with two workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.chdir(tmp_path)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    parts = [
        ["scheduler", "--host", address, "--no-dashboard"],
        *[["worker", address, "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2,
    ]
    started = [subprocess.Popen([*dask[:2], dask[2] + name, *words], **quiet) for name, *words in parts]
    with distributed.Client(address, timeout=PROCESS) as client:
        client.wait_for_workers(2, timeout=PROCESS)  # else one of them does all the work before the other has come
    yield address
    for together in (started[1:], started[:1]):  # a worker whose scheduler ends at the same time would wait for it
        for process in together:
            process.terminate()
        for process in together:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def test_a_worker_that_is_killed_in_mid_work_costs_nothing(scheduler, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(EACH)
    with begun(script, scheduler) as process:
        lines = []
        pids = set()
        while len(pids) < 2:  # both have begun; the others are still to come
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
            pids.add(int(lines[-1].split()[1]))
        assert len(lines) < 150
        os.kill(max(pids), signal.SIGKILL)
        lines += process.stdout  # not communicate(): some lines may have been read ahead already
        assert process.wait(PROCESS) == 0, process.stderr.read()
    reported = [int(line.split()[0]) for line in lines]
    assert reported == list(range(200))


def test_the_command_line(scheduler, tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    for i in range(6):
        shutil.copy(samples.path("humanoid.bvh"), folder / f"{i}.bvh")
    command = ("-m", "poise", "convert", folder, "--format", "glb", "-o")
    for out, more in (("there", ("--cluster", scheduler)), ("here", ())):
        with begun(*command, tmp_path / out, *more) as process:
            text, errors = process.communicate(timeout=PROCESS)
        assert process.returncode == 0, errors
        assert text.startswith("6 of 6 files good")
    for path in (tmp_path / "here").glob("*.glb"):
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


def test_a_scheduler_that_does_not_answer(monkeypatch):
    from poise.batch import parallel_jobs

    monkeypatch.setattr(parallel_jobs, "_CONNECT_TIMEOUT", "1s")
    with (
        pytest.raises(InputError, match="no scheduler of Dask answers at 'tcp://127"),
        parallel_jobs.open_cluster(f"tcp://127.0.0.1:{free_port()}"),
    ):
        pass


def test_a_cluster_of_its_own(tmp_path):
    """`--cluster local`: a scheduler and workers that are started and ended with the command."""
    shutil.copy(samples.path("humanoid.bvh"), tmp_path / "a.bvh")
    shutil.copy(samples.path("humanoid.bvh"), tmp_path / "b.bvh")
    began = time.monotonic()
    with begun("-m", "poise", "convert", tmp_path / "a.bvh", tmp_path / "b.bvh", "-o", tmp_path / "new", "--format",
               "glb", "--cluster", "local", "--processes", "2") as process:  # fmt: skip
        _, errors = process.communicate(timeout=PROCESS)
    assert process.returncode == 0, errors
    assert time.monotonic() - began < PROCESS
    assert len(list(Path(tmp_path / "new").glob("*.glb"))) == 2

"""each(): files in order, errors as values, processes that die, anybody's executor."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import pytest

import poise
from poise.batch import parallel_jobs as module
from poise.batch.parallel_jobs import WorkerDiedError
from poise.errors import InputError
from tests.batch import jobs
from tests.conftest import ROOT
from tests.timeouts import PROCESS


def listed(*given, **options):
    return list(poise.each(*given, **options))


class TestProcesses:
    @pytest.mark.long
    def test_values_come_in_the_order_of_the_files(self):
        done = listed(range(8), jobs.late_first, processes=2)
        assert [(one.file, one.value, one.error, one.ok) for one in done] == [(i, i, None, True) for i in range(8)]
        assert done[3].require() == 3

    def test_an_error_is_a_value(self):
        done = listed(range(4), jobs.odd_ones_fail, processes=2)
        assert [one.value for one in done] == [0, None, 2, None]
        assert [str(one.error) for one in done if not one.ok] == ["1 is odd", "3 is odd"]
        with pytest.raises(ValueError, match="1 is odd"):
            done[1].require()

    @pytest.mark.long
    def test_a_process_that_dies_of_a_file_takes_no_other_file_with_it(self):
        done = listed(range(6), jobs.three_dies, processes=2)
        assert [one.value for one in done] == [0, 1, 2, None, 4, 5]
        assert isinstance(done[3].error, WorkerDiedError)
        assert "died on it, the last one by signal 9" in str(done[3].error)
        assert all("with code 7" in str(one.error) for one in listed([7], jobs.leaves, processes=2))

    def test_a_process_that_was_killed_by_chance_costs_nothing(self, tmp_path):
        assert [one.require() for one in listed(range(6), jobs.DiesOnce(tmp_path / "mark"), processes=2)] == [*range(6)]

    def test_what_cannot_be_sent_is_reported_in_words(self):
        first, second = listed(range(2), jobs.not_to_be_sent, processes=2)
        assert "with a lambda" in str(first.error)
        assert "local object 'not_to_be_sent" in str(second.error)

    def test_files_are_requested_as_work_goes_on_and_processes_end_without_requests(self):
        before = set(multiprocessing.active_children())
        requested = []
        files = (requested.append(i) or i for i in count())
        running = poise.each(files, jobs.double, processes=2)
        assert [one.value for one in islice(running, 5)] == [0, 2, 4, 6, 8]
        assert len(requested) < 5 + 2 * module._MAX_AHEAD_PER_PROCESS + 3
        running.close()
        assert set(multiprocessing.active_children()) <= before

    def test_as_many_processes_as_are_requested(self):
        assert len({one.value for one in listed(range(20), jobs.own_process, processes=2)}) == 2
        assert listed([], jobs.double) == []

    @pytest.mark.parametrize(
        ("job", "options", "message"),
        [
            (lambda number: number, {}, "a function of a module"),
            ("job", {}, "called with each file, not a str"),
            (jobs.double, {"processes": 0}, "whole number from 1 on, not 0"),
            (jobs.double, {"executor": 3}, "one of concurrent.futures, not a int"),
        ],
    )
    def test_misuse(self, job, options, message):
        with pytest.raises(InputError, match=message):
            listed([1], job, **options)


class TestOneProcess:
    def test_jobs_run_here_and_are_not_pickled(self):
        here = os.getpid()
        done = listed(range(3), lambda number: (number, os.getpid()), processes=1)
        assert [one.value for one in done] == [(0, here), (1, here), (2, here)]

    def test_an_error_is_a_value(self):
        done = listed(range(4), jobs.odd_ones_fail, processes=1)
        assert [one.value for one in done] == [0, None, 2, None]
        assert [str(one.error) for one in done if not one.ok] == ["1 is odd", "3 is odd"]

    def test_files_are_requested_one_at_a_time(self):
        files = count()
        running = poise.each(files, jobs.double, processes=1)
        assert [one.value for one in islice(running, 3)] == [0, 2, 4]
        assert next(files) == 3

    @pytest.mark.parametrize(
        ("files", "job", "message"),
        [
            ([1], "job", "called with each file, not a str"),
            ("a.bvh", jobs.double, "not one path"),
            (3, jobs.double, "not 3"),
        ],
    )
    def test_misuse(self, files, job, message):
        with pytest.raises(InputError, match=message):
            listed(files, job, processes=1)


class TestExecutors:
    def test_threads(self):
        with ThreadPoolExecutor(3) as pool:
            assert [one.value for one in poise.each(range(40), jobs.late_first, executor=pool)] == [*range(40)]
            failed = [one.error for one in poise.each(range(2), jobs.odd_ones_fail, executor=pool)]
            assert [type(error) for error in failed] == [type(None), ValueError]

    def test_a_pool_that_breaks_answers_for_every_file(self):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            done = listed(range(6), jobs.three_dies, executor=pool)
        assert len(done) == 6
        assert all(one.ok == (one.error is None) for one in done)
        assert "terminated abruptly" in str(done[3].error)

    def test_what_never_began_is_cancelled(self):
        futures = []

        class Slow(Executor):
            def submit(self, function, *given):
                futures.append(Future())
                if len(futures) == 1:
                    futures[0].set_result(function(*given))
                return futures[-1]

        running = poise.each(range(10), jobs.double, executor=Slow())
        assert next(running).value == 0
        running.close()
        assert [future.cancelled() for future in futures] == [False] + [True] * 9


OWNER = """
import poise
from tests.batch import jobs
if __name__ == "__main__":
    for one in poise.each(range(10**6), jobs.own_process, processes=2):
        print(one.value, flush=True)
"""


@pytest.mark.long
def test_processes_end_with_their_owner_however_that_ends(tmp_path):
    script = tmp_path / "owner.py"
    script.write_text(OWNER)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment) as owner:
        pids = {int(owner.stdout.readline()) for _ in range(10)}
        owner.send_signal(signal.SIGKILL)
    end = time.monotonic() + PROCESS
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)

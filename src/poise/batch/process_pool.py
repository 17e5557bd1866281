"""Pool of worker processes, one file at a time in each. A crash of one process affects only its file.

The pool of `concurrent.futures` breaks as a whole when one process dies, and leaves processes behind when its owner is
killed. Here the file of a dead process is retried once in another and then reported as an error, and processes always
end with their owner.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple

from poise.errors import InputError, PoiseError

_MAX_ATTEMPTS = 2  # process deaths per file before it is an error
_SHUTDOWN_TIMEOUT_S = 1.0  # [s] grace period of a process before it is killed


class FileTask(NamedTuple):
    """Number and file of a task."""

    number: int
    file: Any


class JobResult(NamedTuple):
    """Value or error of a job for one file."""

    number: int
    value: Any
    error: Exception | None


class WorkerDiedError(PoiseError):
    """Two processes in a row died on the same file."""


def run_job(job: Callable[[Any], Any], task: FileTask) -> JobResult:
    """Run the job. An exception is returned as a result."""
    try:
        return JobResult(task.number, job(task.file), None)
    except Exception as error:  # noqa: BLE001  (an error affects its own file only)
        return JobResult(task.number, None, error)


class ProcessPool:
    """Worker processes with results in any order.

    Parameters
    ----------
    job
        Callable for each file. It is sent to each process once.
    count
        Number of processes.
    """

    def __init__(self, job: Callable[[Any], Any], count: int) -> None:
        try:
            self._job = pickle.dumps(job)
        except Exception as error:
            message = f"this job cannot be pickled for other processes; use a function of a module ({error})"
            raise InputError(message) from error
        self.capacity = count
        self._workers: list[_Worker] = []
        self._attempts: dict[int, int] = {}

    def submit(self, task: FileTask) -> None:
        """Send a task to an idle worker. At most `capacity` workers exist."""
        idle = next((worker for worker in self._workers if worker.task is None), None)
        if idle is None:
            idle = _Worker(self._job)
            self._workers.append(idle)
        idle.send_task(task)

    def collect_results(self) -> Iterator[JobResult]:
        """Wait for at least one result and yield the available ones."""
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        for pipe in connection.wait(list(busy)):
            worker = busy[pipe]  # pyright: ignore[reportArgumentType]
            result = worker.receive_result()
            yield from (result,) if result is not None else self._retry_task(worker)

    def _retry_task(self, worker: _Worker) -> Iterator[JobResult]:
        """Retry the task of a dead worker, or fail it."""
        self._workers.remove(worker)
        task, end_status = worker.task, worker.end()
        assert task is not None
        self._attempts[task.number] = self._attempts.get(task.number, 0) + 1
        if self._attempts[task.number] < _MAX_ATTEMPTS:
            self.submit(task)
        else:
            message = f"two worker processes died on it, the last one {end_status}"
            yield JobResult(task.number, None, WorkerDiedError(message))

    def close(self) -> None:
        """End all processes, busy ones included."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Worker:
    """Process and the pipe to it."""

    def __init__(self, job: bytes) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve_tasks, args=(theirs, job), daemon=True, name="poise-file")
        with _ignore_interrupts():
            self._process.start()
        theirs.close()
        self.task: FileTask | None = None

    def send_task(self, task: FileTask) -> None:
        self.task = task
        try:
            self.pipe.send(task)
        except OSError:  # it is dead; waiting for its result shows that
            return

    def receive_result(self) -> JobResult | None:
        """Receive the result, or None from a dead process."""
        try:
            result: JobResult = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.task = None
        return result

    def stop(self) -> None:
        """Ask the process to end, or kill it if busy."""
        self.pipe.close()
        if self.task is not None:
            self._process.kill()

    def end(self) -> str:
        """Wait for the end and return the exit status as text."""
        self._process.join(_SHUTDOWN_TIMEOUT_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        code = self._process.exitcode or 0
        return f"by signal {-code}" if code < 0 else f"with code {code}"


@contextmanager
def _ignore_interrupts() -> Generator[None]:
    """Start processes inside with Ctrl-C ignored.

    A terminal sends it to the whole process group; only the owner handles it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve_tasks(pipe: Any, job: bytes) -> None:
    """Main loop of a worker: run tasks until the pipe closes."""
    threading.Thread(target=_exit_with_owner, daemon=True).start()
    run = pickle.loads(job)  # noqa: S301  (from the parent process)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        result = run_job(run, task)
        try:
            pipe.send(result)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001  (unpicklable results become messages)
            cause = result.error if result.error is not None else error
            pipe.send(JobResult(task.number, None, RuntimeError(f"{type(cause).__name__}: {cause}")))


def _exit_with_owner() -> None:
    """End this process when its owner ends."""
    owner = parent_process()
    if owner is not None:
        connection.wait([owner.sentinel])
        os._exit(1)

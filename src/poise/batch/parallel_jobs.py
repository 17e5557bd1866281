"""Jobs for many files: worker processes, executors and clusters."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple, Protocol

from poise.errors import InputError, PoiseError, UnsupportedError, quote_value
from poise.formatting import format_fields
from poise.maths.arrays import abbreviate

# --- Pool of worker processes, one file at a time in each ------------------------------------------------------------
#
# A crash of one process affects only its file.
#
# The pool of `concurrent.futures` breaks as a whole when one process dies, and leaves processes behind when its owner
# is killed. Here the file of a dead process is retried once in another and then reported as an error, and processes
# always end with their owner.


_MAX_DEATHS = 2  # process deaths per file before it is an error
_SHUTDOWN_TIMEOUT_S = 1.0  # [s] grace period of a process before it is killed


class FileTask(NamedTuple):
    """Number and file of a task."""

    task_number: int
    file: Any


class JobResult(NamedTuple):
    """Value or error of a job for one file."""

    task_number: int
    value: Any
    error: Exception | None


class WorkerDiedError(PoiseError):
    """Two processes in a row died on the same file."""


def run_job(job: Callable[[Any], Any], task: FileTask) -> JobResult:
    """Run the job. An exception is returned as a result."""
    try:
        return JobResult(task.task_number, job(task.file), None)
    except Exception as error:  # noqa: BLE001  (an error affects its own file only)
        return JobResult(task.task_number, None, error)


class ProcessPool:
    """Worker processes with results in any order.

    Parameters
    ----------
    job
        Callable for each file. It is sent to each process once.
    process_count
        Number of processes.
    """

    def __init__(self, job: Callable[[Any], Any], process_count: int) -> None:
        try:
            self._job = pickle.dumps(job)
        except Exception as error:
            message = f"this job cannot be pickled for other processes; use a function of a module ({error})"
            raise InputError(message) from error
        self.capacity = process_count
        self._workers: list[_Worker] = []
        self._death_counts: dict[int, int] = {}

    def submit(self, task: FileTask) -> None:
        """Send a task to an idle worker. At most `capacity` workers exist."""
        idle_worker = next((worker for worker in self._workers if worker.task is None), None)
        if idle_worker is None:
            idle_worker = _Worker(self._job)
            self._workers.append(idle_worker)
        idle_worker.send_task(task)

    def collect_results(self) -> Iterator[JobResult]:
        """Wait for at least one result and yield the available ones."""
        workers_by_pipe = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        for pipe in connection.wait(list(workers_by_pipe)):
            worker = workers_by_pipe[pipe]  # pyright: ignore[reportArgumentType]
            result = worker.receive_result()
            yield from (result,) if result is not None else self._retry_task(worker)

    def _retry_task(self, worker: _Worker) -> Iterator[JobResult]:
        """Retry the task of a dead worker, or fail it."""
        self._workers.remove(worker)
        task, end_status = worker.task, worker.end()
        assert task is not None
        self._death_counts[task.task_number] = self._death_counts.get(task.task_number, 0) + 1
        if self._death_counts[task.task_number] < _MAX_DEATHS:
            self.submit(task)
        else:
            message = f"two worker processes died on it, the last one {end_status}"
            yield JobResult(task.task_number, None, WorkerDiedError(message))

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
        self.pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_serve_tasks, args=(child_pipe, job), daemon=True, name="poise-file")
        with _ignore_interrupts():
            self._process.start()
        child_pipe.close()
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
        exit_code = self._process.exitcode or 0
        return f"by signal {-exit_code}" if exit_code < 0 else f"with code {exit_code}"


@contextmanager
def _ignore_interrupts() -> Generator[None]:
    """Start processes inside with Ctrl-C ignored.

    A terminal sends it to the whole process group; only the owner handles it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old_handler)


def _serve_tasks(pipe: Any, job: bytes) -> None:
    """Main loop of a worker: run tasks until the pipe closes."""
    threading.Thread(target=_exit_with_owner, daemon=True).start()
    job_function = pickle.loads(job)  # noqa: S301  (from the parent process)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        result = run_job(job_function, task)
        try:
            pipe.send(result)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001  (unpicklable results become messages)
            cause = result.error if result.error is not None else error
            pipe.send(JobResult(task.task_number, None, RuntimeError(f"{type(cause).__name__}: {cause}")))


def _exit_with_owner() -> None:
    """End this process when its owner ends."""
    owner = parent_process()
    if owner is not None:
        connection.wait([owner.sentinel])
        os._exit(1)


# --- Jobs for many files ---------------------------------------------------------------------------------------------


_MAX_AHEAD_PER_PROCESS = (
    32  # files per process started ahead of the oldest unfinished one; their results wait in memory
)
_EXECUTOR_CAPACITY = 512  # concurrent tasks of an executor of unknown size


@dataclass(frozen=True)
class Finished:
    """Result of one file.

    Parameters
    ----------
    file
        The file, as passed to `each`.
    value
        What the job returned; None where it failed.
    error
        What the job raised; None where it did not.
    """

    __repr__ = format_fields

    file: Any
    value: Any
    error: Exception | None

    @property
    def ok(self) -> bool:
        """Whether the job succeeded."""
        return self.error is None

    def require(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def each(
    files: Iterable[Any],
    job: Callable[[Any], Any],
    *,
    executor: Executor | None = None,
    processes: int | None = None,
) -> Iterator[Finished]:
    """Run a job for each file in worker processes. Yield the results in the order of the files.

    Parameters
    ----------
    files
        Paths, or other picklable values. They are consumed as the work proceeds.
    job
        A function of a module, or another picklable callable, called with a file. Its result is pickled and should be
        small.
    executor
        Any executor of `concurrent.futures`, such as that of a cluster. By default worker processes are started.
    processes
        Number of processes, without an executor; by default one per core. With 1 the jobs run in the calling process.

    Yields
    ------
    Finished
        For each file the value or the error.

    Raises
    ------
    InputError
        For a job that cannot be pickled.

    Notes
    -----
    An error affects its own file only. The file of a process that dies is retried once in another process. The
    processes end when the iterator is closed, or with the caller. They import the main module of the program: a script
    must call `each` below `if __name__ == "__main__":`. Call `poise.warmup()` first, to compile the kernels once and
    not in every process.

    With `processes=1` nothing is pickled: any callable is a job, and a debugger stops in it. A crash ends the caller.
    """
    if isinstance(processes, int) and processes == 1 and executor is None:
        for file in _check_call(files, job, executor, processes):
            result = run_job(job, FileTask(0, file))
            yield Finished(file, result.value, result.error)
        return
    waiting_results: dict[int, Finished] = {}
    next_number = 0
    for task_number, finished in iterate_completed(files, job, executor=executor, processes=processes):
        waiting_results[task_number] = finished
        while next_number in waiting_results:
            yield waiting_results.pop(next_number)
            next_number += 1


def iterate_completed(
    files: Iterable[Any],
    job: Callable[[Any], Any],
    *,
    executor: Executor | None = None,
    processes: int | None = None,
) -> Generator[tuple[int, Finished]]:
    """Run `each` and yield (task_number, result) in completion order."""
    files = _check_call(files, job, executor, processes)
    pool = ProcessPool(job, processes or count_cores()) if executor is None else _ExecutorPool(job, executor)
    try:
        yield from _run_tasks(files, pool)
    finally:
        pool.close()


def _check_call(files: Any, job: Any, executor: Any, processes: Any) -> Iterator[Any]:
    """Check the arguments of `each`. Return an iterator over the files."""
    if not callable(job):
        raise InputError(f"each() takes a job that is called with each file, not a {type(job).__name__}")
    if isinstance(files, str):
        raise InputError(f"each() takes several files, such as [{quote_value(files)}], not one path")
    if not (executor is None or isinstance(executor, Executor)):
        raise InputError(f"executor is one of concurrent.futures, not a {type(executor).__name__}")
    if processes is not None and (isinstance(processes, bool) or not isinstance(processes, int) or processes < 1):
        raise InputError(f"processes must be a whole number from 1 on, not {abbreviate(processes)}")
    try:
        return iter(files)
    except TypeError as error:
        raise InputError(
            f"each() takes several files, such as folder.glob('*.bvh'), not {abbreviate(files)}"
        ) from error


def count_cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _WorkerPool(Protocol):
    """Pool of workers with `capacity` tasks at once."""

    capacity: int

    def submit(self, task: FileTask) -> None: ...
    def collect_results(self) -> Iterator[JobResult]: ...
    def close(self) -> None: ...


def _run_tasks(files: Iterable[Any], pool: _WorkerPool) -> Iterator[tuple[int, Finished]]:
    """Run all tasks and keep the workers busy.

    None is further ahead of the oldest open file than `_MAX_AHEAD_PER_PROCESS` allows.
    """
    remaining_files = enumerate(files)
    running_files: dict[int, Any] = {}
    next_file = next(remaining_files, None)
    while running_files or next_file is not None:
        while next_file is not None and len(running_files) < pool.capacity:
            task_number, file = next_file
            if running_files and task_number - min(running_files) >= _MAX_AHEAD_PER_PROCESS * pool.capacity:
                break
            running_files[task_number] = file
            pool.submit(FileTask(task_number, file))
            next_file = next(remaining_files, None)
        for result in pool.collect_results():
            yield result.task_number, Finished(running_files.pop(result.task_number), result.value, result.error)


class _ExecutorPool:
    """Pool over a foreign executor. Its worker count is unknown, so many tasks are submitted at once."""

    def __init__(self, job: Callable[[Any], Any], executor: Executor) -> None:
        self._job, self._executor = job, executor
        self.capacity = _EXECUTOR_CAPACITY
        self._tasks: dict[Future[JobResult], FileTask] = {}
        self._retried_tasks: set[int] = set()

    def submit(self, task: FileTask) -> None:
        try:
            future = self._executor.submit(run_job, self._job, task)
        except Exception as error:  # noqa: BLE001  (a broken pool accepts no tasks)
            future = Future[JobResult]()
            future.set_exception(error)
        self._tasks[future] = task

    def collect_results(self) -> Iterator[JobResult]:
        done_futures, _ = wait(self._tasks, return_when=FIRST_COMPLETED)
        for future in done_futures:
            task = self._tasks.pop(future)
            try:
                yield future.result()
            except CancelledError as error:
                yield JobResult(task.task_number, None, RuntimeError(f"was cancelled {error}".strip()))
            except Exception as error:  # noqa: BLE001  (the executor's own error: a dead worker)
                if task.task_number in self._retried_tasks:
                    yield JobResult(task.task_number, None, error)
                    continue
                self._retried_tasks.add(task.task_number)
                self.submit(task)

    def close(self) -> None:
        """Cancel pending tasks. The executor stays open for its owner."""
        for future in self._tasks:
            future.cancel()


# --- Dask executors, on an existing or a local cluster (extra `cluster`) ----------------------------------------------


LOCAL = "local"
_MAX_WORKER_DEATHS = 3  # worker deaths tolerated for one task
_CONNECT_TIMEOUT = "20s"  # timeout of the connection to the scheduler


@contextmanager
def open_cluster(address: str, *, processes: int | None = None) -> Generator[Executor]:
    """Open a Dask executor while the block runs.

    address    tcp://HOST:PORT of the scheduler, or "local": a scheduler with workers on this machine
    processes  number of workers of a local scheduler

    UnsupportedError if Dask is not installed, InputError if the scheduler does not answer.
    """
    try:
        import distributed  # noqa: PLC0415  (the extra `cluster`)
    except ImportError as error:
        message = "a cluster needs Dask: pip install 'poise[cluster]'"
        raise UnsupportedError(message) from error
    from dask.config import set as set_config  # noqa: PLC0415

    with set_config({"distributed.scheduler.allowed-failures": _MAX_WORKER_DEATHS}):
        if address == LOCAL:
            # The dashboard is local, at any free port: the default port may be in use.
            with (
                distributed.LocalCluster(
                    n_workers=processes, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                ) as local_cluster,
                distributed.Client(local_cluster) as client,
            ):
                yield client.get_executor(pure=False)
        else:
            with _connect_client(distributed, address) as client:
                yield client.get_executor(pure=False)


def _connect_client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"no scheduler of Dask answers at {address!r}: {reason}") from error

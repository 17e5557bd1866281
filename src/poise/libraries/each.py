"""each(): one job per file, on every core or a cluster. Errors are returned as values."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol

from poise.errors import InputError, quoted
from poise.libraries.processes import FileTask, JobAnswer, Processes, answer_of
from poise.maths.arrays import short
from poise.maths.in_words import in_words

_AHEAD = 32  # files per process started ahead of the oldest unfinished one; their results wait in memory
_PLENTY = 512  # concurrent tasks of an executor of unknown size


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

    __repr__ = in_words

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
        Number of processes, without an executor; by default one per core.

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
    """
    waiting: dict[int, Finished] = {}
    wanted = 0
    for number, finished in completed(files, job, executor=executor, processes=processes):
        waiting[number] = finished
        while wanted in waiting:
            yield waiting.pop(wanted)
            wanted += 1


def completed(
    files: Iterable[Any],
    job: Callable[[Any], Any],
    *,
    executor: Executor | None = None,
    processes: int | None = None,
) -> Generator[tuple[int, Finished]]:
    """Run `each` and yield (number, result) in completion order."""
    if not callable(job):
        raise InputError(f"each() takes a job that is called with each file, not a {type(job).__name__}")
    if isinstance(files, str):
        raise InputError(f"each() takes several files, such as [{quoted(files)}], not one path")
    try:
        files = iter(files)
    except TypeError as error:
        raise InputError(f"each() takes several files, such as folder.glob('*.bvh'), not {short(files)}") from error
    if not (executor is None or isinstance(executor, Executor)):
        raise InputError(f"executor is one of concurrent.futures, not a {type(executor).__name__}")
    if processes is not None and (isinstance(processes, bool) or not isinstance(processes, int) or processes < 1):
        raise InputError(f"processes must be a whole number from 1 on, not {short(processes)}")
    workers = Processes(job, processes or cores()) if executor is None else _Futures(job, executor)
    try:
        yield from _done(files, workers)
    finally:
        workers.close()


def cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Workers(Protocol):
    """Pool of workers with `capacity` tasks at once."""

    room: int

    def submit(self, task: FileTask) -> None: ...
    def answers(self) -> Iterator[JobAnswer]: ...
    def close(self) -> None: ...


def _done(files: Iterable[Any], workers: _Workers) -> Iterator[tuple[int, Finished]]:
    """Run all tasks and keep the workers busy.

    None is further ahead of the oldest open file than `_MAX_AHEAD_PER_PROCESS` allows.
    """
    left = enumerate(files)
    running: dict[int, Any] = {}
    following = next(left, None)
    while running or following is not None:
        while following is not None and len(running) < workers.room:
            number, file = following
            if running and number - min(running) >= _AHEAD * workers.room:
                break
            running[number] = file
            workers.submit(FileTask(number, file))
            following = next(left, None)
        for answer in workers.answers():
            yield answer.number, Finished(running.pop(answer.number), answer.value, answer.error)


class _Futures:
    """Pool over a foreign executor. Its worker count is unknown, so many tasks are submitted at once."""

    def __init__(self, job: Callable[[Any], Any], executor: Executor) -> None:
        self._job, self._executor = job, executor
        self.room = _PLENTY
        self._tasks: dict[Future[JobAnswer], FileTask] = {}
        self._again: set[int] = set()

    def submit(self, task: FileTask) -> None:
        try:
            future = self._executor.submit(answer_of, self._job, task)
        except Exception as error:  # noqa: BLE001  (a broken pool accepts no tasks)
            future = Future[JobAnswer]()
            future.set_exception(error)
        self._tasks[future] = task

    def answers(self) -> Iterator[JobAnswer]:
        done, _ = wait(self._tasks, return_when=FIRST_COMPLETED)
        for future in done:
            task = self._tasks.pop(future)
            try:
                yield future.result()
            except CancelledError as error:
                yield JobAnswer(task.number, None, RuntimeError(f"was cancelled {error}".strip()))
            except Exception as error:  # noqa: BLE001  (the executor's own error: a dead worker)
                if task.number in self._again:
                    yield JobAnswer(task.number, None, error)
                    continue
                self._again.add(task.number)
                self.submit(task)

    def close(self) -> None:
        """Cancel pending tasks. The executor stays open for its owner."""
        for future in self._tasks:
            future.cancel()

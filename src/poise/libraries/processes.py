"""One process for each core, one file at a time in each: a file that ends its process ends nothing else.

The process pool of Python's library breaks as a whole when one of its processes dies, and leaves processes behind when
its owner is killed. Here a file whose process died is given to another one once, and then it is an error like others;
processes end with their owner, however that ends.
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

_TRIES = 2  # so many processes may die of a file
_PATIENCE = 1.0  # [s] until a process that was told to end is killed


class FileTask(NamedTuple):
    """A file's number, and the file."""

    number: int
    file: Any


class JobAnswer(NamedTuple):
    """What a job gave for a file, or the error that it raised."""

    number: int
    value: Any
    error: Exception | None


class DiedError(PoiseError):
    """A process ended while it worked on a file, and another one did, too."""


def answer_of(job: Callable[[Any], Any], task: FileTask) -> JobAnswer:
    """Do the job; what it raises is an answer."""
    try:
        return JobAnswer(task.number, job(task.file), None)
    except Exception as error:  # noqa: BLE001  (whatever a file does to a job, the others go on)
        return JobAnswer(task.number, None, error)


class Processes:
    """Workers that take tasks and give answers in any order.

    Parameters
    ----------
    job
        What is done with each file. It is sent to each process once.
    count
        How many processes.
    """

    def __init__(self, job: Callable[[Any], Any], count: int) -> None:
        try:
            self._job = pickle.dumps(job)
        except Exception as error:
            message = (
                f"other processes cannot be given this job; it must be a function of a module, or the like ({error})"
            )
            raise InputError(message) from error
        self.room = count
        self._workers: list[_Worker] = []
        self._tries: dict[int, int] = {}

    def submit(self, task: FileTask) -> None:
        """Give a task to a worker that has none; there are `room` of them."""
        free = next((worker for worker in self._workers if worker.task is None), None)
        if free is None:
            free = _Worker(self._job)
            self._workers.append(free)
        free.give(task)

    def answers(self) -> Iterator[JobAnswer]:
        """Wait for at least one answer, and give those that are there."""
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        for pipe in connection.wait(list(busy)):
            worker = busy[pipe]  # pyright: ignore[reportArgumentType]
            answer = worker.answer()
            yield from (answer,) if answer is not None else self._again(worker)

    def _again(self, worker: _Worker) -> Iterator[JobAnswer]:
        """A worker died: another one takes its file, or the file is given up."""
        self._workers.remove(worker)
        task, how = worker.task, worker.end()
        assert task is not None
        self._tries[task.number] = self._tries.get(task.number, 0) + 1
        if self._tries[task.number] < _TRIES:
            self.submit(task)
        else:
            message = f"the process that worked on it ended ({how}), and so did the one before"
            yield JobAnswer(task.number, None, DiedError(message))

    def close(self) -> None:
        """End all processes, in the midst of their work if need be."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, job: bytes) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, job), daemon=True, name="poise-file")
        with _deaf():
            self._process.start()
        theirs.close()
        self.task: FileTask | None = None

    def give(self, task: FileTask) -> None:
        self.task = task
        try:
            self.pipe.send(task)
        except OSError:  # it is dead, which waiting for its answer shows
            return

    def answer(self) -> JobAnswer | None:
        """The answer; None where the process died."""
        try:
            answer: JobAnswer = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.task = None
        return answer

    def stop(self) -> None:
        """Tell it to end: at once if it works."""
        self.pipe.close()
        if self.task is not None:
            self._process.kill()

    def end(self) -> str:
        """Wait for its end, and say how it was."""
        self._process.join(_PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        code = self._process.exitcode or 0
        return f"by signal {-code}" if code < 0 else f"with code {code}"


@contextmanager
def _deaf() -> Generator[None]:
    """Processes that are started inside do not hear Ctrl-C, which a terminal sends to all of them: their owner does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(pipe: Any, job: bytes) -> None:
    """What a process does: answer tasks until there are no more."""
    threading.Thread(target=_end_with_owner, daemon=True).start()
    do = pickle.loads(job)  # noqa: S301  (of its own parent)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        answer = answer_of(do, task)
        try:
            pipe.send(answer)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001  (what cannot be pickled is told in words)
            told = answer.error if answer.error is not None else error
            pipe.send(JobAnswer(task.number, None, RuntimeError(f"{type(told).__name__}: {told}")))


def _end_with_owner() -> None:
    """End when the owner has ended, by whatever, so that nothing is left that works for nobody."""
    owner = parent_process()
    if owner is not None:
        connection.wait([owner.sentinel])
        os._exit(1)

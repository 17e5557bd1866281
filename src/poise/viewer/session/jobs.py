"""Background threads: jobs such as saving, and cancellable solves."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from poise.errors import InputError

_MOST = 4  # waiting jobs; more are refused, since they run one after the other

Ended = Callable[[Any, Exception | None], None]
T = TypeVar("T")


class Jobs:
    """A daemon thread with a queue of jobs. It never keeps a program from ending."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Callable[[], Any], Ended] | None] = queue.Queue(_MOST)
        self._thread: threading.Thread | None = None

    def add(self, work: Callable[[], Any], ended: Ended) -> None:
        """Queue a job.

        `ended` gets its outcome or its exception. Raise InputError where too many jobs wait.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="poise-jobs", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((work, ended))
        except queue.Full:
            message = "too many jobs are waiting: saving and planting run one after the other"
            raise InputError(message) from None

    def close(self) -> None:
        """Stop after the current job."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put(None)

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None:
            work, ended = job
            try:
                made = work()
            except Exception as error:  # noqa: BLE001  (any error is shown on the page)
                ended(None, error)
            else:
                ended(made, None)


class Awaited(Generic[T]):
    """A cancellable task on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done = threading.Condition()
        self._made: list[T] = []
        self._error: Exception | None = None
        self._ended = self._stopped = False

    def do(self) -> None:
        """Run the task. An exception is stored for `take_result`."""
        try:
            made = [self._work()]
        except Exception as error:  # noqa: BLE001  (any error of a solver is shown on the page)
            made, self._error = [], error
        with self._done:
            self._made, self._ended = made, True
            self._done.notify_all()

    def stop(self) -> None:
        """Cancel the task: `wait` returns without it."""
        with self._done:
            self._stopped = True
            self._done.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Return whether it ended or was cancelled in time."""
        with self._done:
            return self._done.wait_for(lambda: self._ended or self._stopped, seconds)

    @property
    def ended(self) -> bool:
        """Whether a result is available."""
        return self._ended

    def take(self) -> T:
        """Return the result, or raise the task's exception."""
        if self._error is not None:
            raise self._error
        return self._made[0]


class Aside:
    """A thread for one task at a time.

    A cancelled task runs to its end, its result is ignored, and the next task gets a new thread.
    """

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Awaited[Any] | None] | None = None

    def start(self, work: Callable[[], T]) -> Awaited[T]:
        """Start a task."""
        if self._tasks is None:
            self._tasks = queue.SimpleQueue()
            threading.Thread(target=_does, args=(self._tasks,), name="poise-solver", daemon=True).start()
        task = Awaited(work)
        self._tasks.put(task)
        return task

    def leave(self) -> None:
        """Release the thread. It ends after its current task."""
        if self._tasks is not None:
            self._tasks.put(None)
        self._tasks = None


def _does(tasks: queue.SimpleQueue[Awaited[Any] | None]) -> None:
    while (task := tasks.get()) is not None:
        task.do()

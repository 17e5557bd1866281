"""What takes longer than a frame: saving and planting beside the dragging, and solves that can be given up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from poise.errors import InputError

_MOST = 4  # that wait; whoever asks for more has not seen that the first are still going on

Ended = Callable[[Any, Exception | None], None]
T = TypeVar("T")


class Jobs:
    """One thread that does what it is given; it never keeps a program from ending."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Callable[[], Any], Ended] | None] = queue.Queue(_MOST)
        self._thread: threading.Thread | None = None

    def add(self, work: Callable[[], Any], ended: Ended) -> None:
        """Do some work soon; `ended` gets the outcome, or what was raised. InputError where too much waits already."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="poise-jobs", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((work, ended))
        except queue.Full:
            message = "too much is waiting to be done already: saving and planting go one after the other"
            raise InputError(message) from None

    def close(self) -> None:
        """Do nothing more; what is being done is left alone."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put(None)

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None:
            work, ended = job
            try:
                made = work()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is said on the page)
                ended(None, error)
            else:
                ended(made, None)


class Awaited(Generic[T]):
    """Some work in another thread, that may be waited for or given up."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done = threading.Condition()
        self._made: list[T] = []
        self._error: Exception | None = None
        self._ended = self._stopped = False

    def do(self) -> None:
        """Do it; what is raised is kept for who waits."""
        try:
            made = [self._work()]
        except Exception as error:  # noqa: BLE001  (whatever a solver raises is said on the page)
            made, self._error = [], error
        with self._done:
            self._made, self._ended = made, True
            self._done.notify_all()

    def stop(self) -> None:
        """Let who waits go on without it."""
        with self._done:
            self._stopped = True
            self._done.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it has ended or was stopped within the time."""
        with self._done:
            return self._done.wait_for(lambda: self._ended or self._stopped, seconds)

    @property
    def ended(self) -> bool:
        """Whether there is something to take."""
        return self._ended

    def take(self) -> T:
        """What it made; raises what was raised in it."""
        if self._error is not None:
            raise self._error
        return self._made[0]


class Aside:
    """A thread that does one task at a time. One that was given up goes on unheard, and the next gets a new thread."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Awaited[Any] | None] | None = None

    def start(self, work: Callable[[], T]) -> Awaited[T]:
        """Begin some work."""
        if self._tasks is None:
            self._tasks = queue.SimpleQueue()
            threading.Thread(target=_does, args=(self._tasks,), name="poise-solver", daemon=True).start()
        task = Awaited(work)
        self._tasks.put(task)
        return task

    def leave(self) -> None:
        """Have nothing more to do with the thread: it ends after what it does."""
        if self._tasks is not None:
            self._tasks.put(None)
        self._tasks = None


def _does(tasks: queue.SimpleQueue[Awaited[Any] | None]) -> None:
    while (task := tasks.get()) is not None:
        task.do()

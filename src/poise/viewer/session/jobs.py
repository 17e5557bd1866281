"""What takes longer than a frame is done beside the dragging, one after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from poise.errors import InputError

_MOST = 4  # that wait; whoever asks for more has not seen that the first are still going on

Ended = Callable[[Any, Exception | None], None]


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

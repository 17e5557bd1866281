"""Jobs for other processes: these import them from here."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


def double(number):
    return 2 * number


def odd_ones_fail(number):
    if number % 2:
        message = f"{number} is odd"
        raise ValueError(message)
    return number


def three_dies(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def leaves(number):
    raise SystemExit(number)


def late_first(number):
    time.sleep(0.3 if number == 0 else 0.0)
    return number


def not_to_be_sent(number):
    if number:
        return lambda: number
    error = ValueError("with a lambda")
    error.inside = lambda: number
    raise error


def own_process(_number):
    time.sleep(0.05)
    return os.getpid()


@dataclass(frozen=True)
class DiesOnce:
    """Dies of the first file that it meets; a mark on the disk keeps it from doing so again."""

    mark: Path

    def __call__(self, number):
        if number == 2:
            try:
                self.mark.touch(exist_ok=False)
            except FileExistsError:
                return number
            os.kill(os.getpid(), signal.SIGKILL)
        return number

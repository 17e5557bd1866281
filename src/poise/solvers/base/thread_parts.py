"""Parts of a batch for threads.

Kernels release the interpreter lock, so threads solve parts side by side. The result of a problem depends neither on
its part nor on the number of threads; therefore the first part may be timed, and its time decides about the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from poise.call_clock import get_pauses, share_pauses
from poise.maths.arrays import Floats

_TIMED_PROBLEM_COUNT = 32  # problems of the first part: four registers of the widest processors
MIN_THREADED_WORK_S = 2e-3  # less is done before threads have started, which takes some 0.2 ms
_MIN_PART_WORK_S = 5e-4  # a part costs some 10 us of Python
_PARTS_PER_THREAD = 4  # parts take different times; the last ones should end together
_REPORTED_PROBLEM_COUNT = 2048  # problems between two reports of the progress


def solve_in_parts(
    problem_count: int, threads: int, solve_range: Callable[[int, int], None], progress: Callable[[int], None] | None
) -> None:
    """Solve the parts of a batch, in threads if quicker.

    `solve_range` is called with the first problem and the end of each part.
    """
    if threads <= 1 or problem_count <= 2 * _TIMED_PROBLEM_COUNT:
        _solve_one_after_the_other(0, problem_count, solve_range, progress)
        return
    began = time.perf_counter()
    solve_range(0, _TIMED_PROBLEM_COUNT)
    problem_work_s = (time.perf_counter() - began) / _TIMED_PROBLEM_COUNT
    if progress is not None:
        progress(_TIMED_PROBLEM_COUNT)
    rest_count = problem_count - _TIMED_PROBLEM_COUNT
    if problem_work_s * rest_count < MIN_THREADED_WORK_S:
        _solve_one_after_the_other(_TIMED_PROBLEM_COUNT, problem_count, solve_range, progress)
        return
    min_size = int(_MIN_PART_WORK_S / problem_work_s) + 1
    part_size = max(min_size, -(-rest_count // (threads * _PARTS_PER_THREAD)))
    parts = list(_split(_TIMED_PROBLEM_COUNT, problem_count, part_size))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (not needed by single solves)

    with ThreadPoolExecutor(min(threads, len(parts)), initializer=share_pauses, initargs=(get_pauses(),)) as pool:
        for (first, last), _ in zip(parts, pool.map(solve_range, *zip(*parts, strict=True)), strict=True):
            if progress is not None:
                progress(last - first)


def select_rows(array: Floats, rows: slice) -> Floats:
    """Return the rows of a part. An array (1, ...) serves all problems."""
    return array if len(array) == 1 else array[rows]


def _solve_one_after_the_other(
    first: int, end: int, solve_range: Callable[[int, int], None], progress: Callable[[int], None] | None
) -> None:
    if progress is None:
        solve_range(first, end)
        return
    for part_first, part_last in _split(first, end, _REPORTED_PROBLEM_COUNT):
        solve_range(part_first, part_last)
        progress(part_last - part_first)


def _split(first: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Split first..end into ranges of a size."""
    for start in range(first, end, size):
        yield start, min(start + size, end)

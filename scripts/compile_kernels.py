"""Compile the kernels, one process for each processor core, so that tests on several cores find them in the cache.

Each would compile the same ones at the same time otherwise.
"""

from __future__ import annotations

import importlib
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

warmup = importlib.import_module("poise.warmup")  # the package has a function of that name


def compile_step(name: str) -> None:
    """Do one of the steps of `poise warmup`."""
    dict(warmup.steps())[name]()


if __name__ == "__main__":
    names = [name for name, _ in warmup.steps()]
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_step, names))

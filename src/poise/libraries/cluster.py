"""Dask executors, on an existing or a local cluster (extra `cluster`)."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from poise.errors import InputError, UnsupportedError

LOCAL = "local"
_MOST_DEATHS = 3  # worker deaths tolerated for one task
_PATIENCE = "20s"  # timeout of the connection to the scheduler


@contextmanager
def cluster(address: str, *, processes: int | None = None) -> Generator[Executor]:
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

    with set_config({"distributed.scheduler.allowed-failures": _MOST_DEATHS}):
        if address == LOCAL:
            # The dashboard is local, at any free port: the default port may be in use.
            with (
                distributed.LocalCluster(
                    n_workers=processes, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                ) as started,
                distributed.Client(started) as client,
            ):
                yield client.get_executor(pure=False)
        else:
            with _client(distributed, address) as client:
                yield client.get_executor(pure=False)


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        said = str(error) or type(error).__name__
        raise InputError(f"no scheduler of Dask answers at {address!r}: {said}") from error

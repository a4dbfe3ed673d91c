"""Schedulers and machines of clusters of Dask in this process."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

distributed = pytest.importorskip("distributed", reason="penstock[dask]")
dask = pytest.importorskip("dask", reason="penstock[dask]")

Machine = Callable[[str], Any]


def scheduler() -> Any:
    """A cluster without machines, in this process."""
    return distributed.Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Starts a machine with one thread for the scheduler at an address.

    Its profiler, which would look at its thread a hundred times a second, is off.
    """
    directory = str(tmp_path_factory.mktemp("dask"))
    more = {"nthreads": 1, "dashboard_address": "127.0.0.1:0", "local_directory": directory}
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        yield partial(distributed.Worker, **more)


@pytest.fixture(scope="module")
async def machines(machine: Machine) -> AsyncIterator[Any]:
    """A scheduler with two machines."""
    async with scheduler() as found, machine(found.address), machine(found.address):
        yield found

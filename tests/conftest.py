"""What tests of the whole product share: a store, fresh and empty, and somebody who asks it."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

import pytest

from datastore.ngsi.reading import Ingest
from datastore.store import Store
from schema import execution, executors
from tests.asking import Ask
from tests.clients import sharing_clients
from tests.ngsi.places import open_destinations, open_embedded
from tests.serving import EXECUTOR
from tests.stores import IMPLEMENTATIONS, TWO, open_store

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 2 * 1024**3

YOUNG: Final = 50_000
"""As many objects as a server of ours lets be made before it looks for garbage."""


def pytest_configure() -> None:
    """Let no work be done over and over that each of thousands of tests would pay for."""
    compile_once()
    gc.set_threshold(YOUNG, 20, 50)
    write_to_memory()


def pytest_collection_finish() -> None:
    """Never look for garbage again in the tests themselves, and in what they import."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first, and next to each other, the tests that share something that is long in the making.

    `--dist worksteal` gives the first half of the tests to one worker, and takes from its end what
    it does not come to: so the thing is made once, and what is left in the end are small tests.
    """
    groups: dict[str, int] = {}
    items.sort(key=partial(_place, groups))


def _place(groups: dict[str, int], item: pytest.Item) -> float:
    """The place of the test's group in the order in which groups were met; inf without one."""
    mark = item.get_closest_marker("xdist_group")
    return inf if mark is None else groups.setdefault(mark.args[0], len(groups))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run on two tables what is built upon them: that all are alike is for the tables' own tests.

    A test that is marked with its own implementations has those.
    """
    chosen = metafunc.definition.iter_markers("parametrize")
    if "implementation" in metafunc.fixturenames and not any(
        "implementation" in mark.args[0] for mark in chosen
    ):
        names = TWO if "store" in metafunc.fixturenames else IMPLEMENTATIONS
        metafunc.parametrize("implementation", names, indirect=True)


def compile_once() -> None:
    """Keep what is compiled, tests and product: dozens of servers start, and each needs all of it.

    An environment that is made for containers says otherwise.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def write_to_memory() -> None:
    """Keep what tests write in memory, where there is room: thousands of stores wait for a disk.

    Processes are killed in tests, machines are not; the one loses as little there as on a disk.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        # For pytest, for Python, and for every process that tests start.
        tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)


@pytest.fixture(scope="session", autouse=True)
def executor() -> Iterator[None]:
    """Run everything as PENSTOCK_TEST_EXECUTOR says; compiled at once where it says nothing."""
    with pytest.MonkeyPatch.context() as patch:
        if EXECUTOR is not None:
            patch.setenv("PENSTOCK_EXECUTOR", EXECUTOR)
        if EXECUTOR == "reference":
            patch.setattr(execution, "CompiledExecutor", executors.Interpreter)
        yield


@pytest.fixture(scope="session", autouse=True)
async def clients() -> AsyncIterator[None]:
    """Let the tables of all tests share the clients of their servers."""
    async with sharing_clients():
        yield


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """The embedded store, which is quick."""
    async with open_embedded(tmp_path) as store:
        yield store


@pytest.fixture(params=TWO)
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """The embedded store, then one over HTTP."""
    async with (
        open_store(request.param, tmp_path) as store,
        open_destinations(request.param, tmp_path) as destinations,
    ):
        yield replace(store, ingest=Ingest(destinations))


@pytest.fixture
def ask(store: Store) -> Ask:
    """Ask the store of the test: `await ask(document, variables, caller)`."""
    return Ask(store)

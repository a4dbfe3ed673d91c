"""The fixtures of tests of the whole product: a fresh, empty store, and callers of it."""

import asyncio
import gc
import logging
import os
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.objects import s3_client
from penstock.datastore.store import Store
from penstock.schema.engine import engine
from penstock.schema.engine.interpreter import Interpreter
from tests.datastore.ngsi.sample_destinations import open_destinations, open_embedded
from tests.support.graphql_client import Ask
from tests.support.loop_clock import let_tasks_run
from tests.support.patience import HUNG_SECONDS, find_limits
from tests.support.server_process import EXECUTOR
from tests.support.shared_clients import sharing_clients
from tests.support.stores import HELD, IMPLEMENTATIONS, TWO, open_store
from tests.support.warm_children import Starter, fork_in_warm_process

EXAMPLES = os.environ.get("PENSTOCK_TEST_EXAMPLES")
"""The examples of a property whose test does not say how many, and others in each run."""

# The time of an example depends on the load of the machine, not on the product. Nor does a change
# fail for an example that only its run drew.
settings.register_profile(
    "untimed",
    deadline=None,
    derandomize=EXAMPLES is None,
    max_examples=int(EXAMPLES or "50"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")


def pytest_sessionfinish() -> None:
    """End the servers here: a worker that is slow to end is killed before it comes to `atexit`."""
    HELD.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of the layers above on two tables; the tables' own tests compare all.

    A test with its own mark of implementations runs on those.
    """
    chosen = metafunc.definition.iter_markers("parametrize")
    if "implementation" in metafunc.fixturenames and not any(
        "implementation" in mark.args[0] for mark in chosen
    ):
        names = TWO if "store" in metafunc.fixturenames else IMPLEMENTATIONS
        metafunc.parametrize("implementation", names, indirect=True)


@pytest.fixture(scope="session", autouse=True)
def executor() -> Iterator[None]:
    """Run everything with the executor of PENSTOCK_TEST_EXECUTOR; by default compile at once."""
    with pytest.MonkeyPatch.context() as patch:
        if EXECUTOR is not None:
            patch.setenv("PENSTOCK_EXECUTOR", EXECUTOR)
        if EXECUTOR == "reference":
            patch.setattr(engine, "CompiledExecutor", Interpreter)
        yield


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Wait for everything as long as for a test that hangs; tests of a limit set their own."""
    with pytest.MonkeyPatch.context() as patch:
        for module, limit in find_limits():
            patch.setattr(module, limit, HUNG_SECONDS)
        for limit in ("OWN_PATIENCE", "USER_PATIENCE"):
            kept = getattr(s3_client, limit)
            patient = s3_client.Patience(HUNG_SECONDS, HUNG_SECONDS, kept.attempts)
            patch.setattr(s3_client, limit, patient)
        yield


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    """Fork the processes of Penstock that tests start themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", Starter(fork_in_warm_process).start)
        yield


@pytest.fixture(scope="session", autouse=True)
async def clients(patience: None) -> AsyncIterator[None]:
    """Let the tables of all tests share the clients of their servers."""
    async with sharing_clients():
        yield


@pytest.fixture(scope="session", autouse=True)
async def quiet_loop(clients: None) -> AsyncIterator[None]:
    """Fail where a test left work that calls itself again in each turn of the loop.

    All tests of the process share the loop: such work takes half of a processor from then on.
    """
    yield
    await let_tasks_run()
    assert not asyncio.get_running_loop()._ready  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def only_new_garbage() -> None:
    """Let collections examine what the tests of a module make.

    To examine what all tests before have left takes a second each time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """The embedded store, which is fast."""
    async with open_embedded(tmp_path) as store:
        yield store


@pytest.fixture(params=TWO)
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """The embedded store, then one over HTTP."""
    async with (
        open_store(request.param, tmp_path) as store,
        open_destinations(request.param, tmp_path) as destinations,
    ):
        yield replace(store, ngsi_access=SinkAccess(destinations))


@pytest.fixture
def ask(store: Store) -> Ask:
    """Send a document to the store of the test: `await ask(document, variables, caller)`."""
    return Ask(store)


@pytest.fixture(autouse=True)
def keep_log_hooks() -> Iterator[None]:
    """Take back what commands and servers set for their process: pytest has hooks of its own."""
    factory, show_warning = logging.getLogRecordFactory(), warnings.showwarning
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    yield
    logging.setLogRecordFactory(factory)
    warnings.showwarning = show_warning
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks

"""What tests of the whole product share: a store, fresh and empty, and somebody who asks it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from datastore.store import Store
from tests.asking import Ask
from tests.stores import IMPLEMENTATIONS, open_store, skip_reason


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """The embedded store, which is quick."""
    async with open_store("sqlite", tmp_path) as store:
        yield store


@pytest.fixture(params=IMPLEMENTATIONS)
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A store of each implementation in turn."""
    reason = skip_reason(request.param)
    if reason is not None:
        pytest.skip(reason)
    async with open_store(request.param, tmp_path) as store:
        yield store


@pytest.fixture
def ask(store: Store) -> Ask:
    """Ask the store of the test: `await ask(document, variables, caller)`."""
    return Ask(store)

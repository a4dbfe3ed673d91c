"""The fixtures of tests of kept rows: stores with files, and a pipeline that keeps rows."""

import pytest

from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.conftest import files, store
from tests.datastore.kept_rows.plants import keep_plants
from tests.support.sample_resources import create_groups

__all__ = ["files", "pipeline", "store"]


@pytest.fixture
async def pipeline(store: Store) -> Pipeline:
    await create_groups(store)
    return await keep_plants(store)

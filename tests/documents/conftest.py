"""The patterns of the documents are tested on the embedded store and on DynamoDB."""

import pytest

from penstock.datastore.store import Store


@pytest.fixture
def store(any_store: Store) -> Store:
    return any_store

"""Several servers that add tracks of one user at the same moment keep the user's quota of bytes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import sum_user
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import ANN, listener
from tests.datastore.audio.sample_uploads import TAGS, put, sound
from tests.support.sample_resources import without_moto

CONTENT = sound("flac", 2, TAGS)
SIZE = len(CONTENT)
SERVERS, EACH, ROOM = 3, 5, 6


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[LocalFiles]:
    files = await LocalFiles.open(tmp_path / "files", base_url="http://localhost", key=b"k" * 32)
    yield files
    await files.close()


@without_moto
async def test_servers_that_add_tracks_at_once_keep_the_quota_of_bytes(
    store: Store, files: LocalFiles
) -> None:
    rules = QuotaRules(per_user=Amounts(bytes=ROOM * SIZE + 1))
    one = Store(store.table, files=files)
    libraries = [listener(replace(one, quotas=Quotas(rules))) for _ in range(SERVERS)]
    keys = [await put(listener(one), f"{n}.flac", CONTENT) for n in range(SERVERS * EACH)]
    outcomes = await asyncio.gather(
        *(libraries[n % SERVERS].registering.register(key) for n, key in enumerate(keys)),
        return_exceptions=True,
    )

    kept = (await sum_user(store.table, ANN.user_id)).bytes
    assert kept == ROOM * SIZE
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [QuotaExceeded] * (SERVERS * EACH - ROOM)

"""The redirect that plays a track: for its owner alone, to a freshly signed URL."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from penstock.datastore.audio.records import Audio
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import BOB, listener
from tests.datastore.audio.sample_uploads import TAGS, sound, upload_and_register
from tests.support.application import ApplicationClient, open_application

CONTENT = sound("flac", 2, TAGS)


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[LocalFiles]:
    files = await LocalFiles.open(tmp_path / "files", base_url="http://localhost", key=b"k" * 32)
    yield files
    await files.close()


@pytest.fixture
async def served(
    store: Store, files: LocalFiles, tmp_path: Path
) -> AsyncIterator[ApplicationClient]:
    async with open_application(Store(store.table, files=files), tmp_path) as client:
        yield client


async def track_of(store: Store, files: LocalFiles, caller: Caller) -> Audio:
    return await upload_and_register(
        listener(Store(store.table, files=files), caller), "1.flac", CONTENT
    )


async def test_a_stream_leads_to_bytes_that_can_be_sought_in(
    store: Store, files: LocalFiles, served: ApplicationClient
) -> None:
    track = await track_of(store, files, Caller("ann", {}))
    answer = await served.client.get(f"/stream/{track.id}")
    assert (answer.status_code, answer.headers["cache-control"]) == (307, "no-store")
    url = answer.headers["location"]
    assert urlsplit(url).path.startswith("/files/")
    ranged = await served.client.get(url, headers={"range": "bytes=4-7"})
    assert (ranged.status_code, ranged.content) == (206, CONTENT[4:8])
    assert ranged.headers["content-range"] == f"bytes 4-7/{len(CONTENT)}"
    assert ranged.headers["content-type"] == "audio/flac"
    tail = await served.client.get(url, headers={"range": "bytes=-5"})
    assert (tail.status_code, tail.content) == (206, CONTENT[-5:])
    past = await served.client.get(url, headers={"range": f"bytes={len(CONTENT)}-"})
    assert (past.status_code, past.headers["content-range"]) == (416, f"bytes */{len(CONTENT)}")
    followed = await served.client.get(f"/stream/{track.id}", follow_redirects=True)
    assert (followed.status_code, followed.content) == (200, CONTENT)


async def test_a_foreign_track_and_an_absent_one_are_answered_alike(
    store: Store, files: LocalFiles, served: ApplicationClient
) -> None:
    foreign = await track_of(store, files, BOB)
    answers = [
        await served.client.get(f"/stream/{id}", headers={"x-request-id": "r-1"})
        for id in (foreign.id, "018f3b6e-0000-7000-8000-000000000001", "nonsense")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert "location" not in answers[0].headers


async def test_a_stream_asks_for_a_token(
    store: Store, files: LocalFiles, served: ApplicationClient
) -> None:
    track = await track_of(store, files, Caller("ann", {}))
    for token in ("", "Bearer nonsense"):
        answer = await served.client.get(f"/stream/{track.id}", headers={"authorization": token})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_stream_counts_for_the_rate_limit(
    store: Store, files: LocalFiles, tmp_path: Path
) -> None:
    track = await track_of(store, files, Caller("ann", {}))
    over = Store(store.table, files=files)
    async with open_application(
        over, tmp_path, rate_limit_per_second=0.001, rate_limit_burst=2
    ) as served:
        statuses = [(await served.client.get(f"/stream/{track.id}")).status_code for _ in range(3)]
    assert statuses == [307, 307, 429]

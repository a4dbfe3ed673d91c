"""Datasets that are loaded from uploads, for tests; a file of any size gets an index."""

import asyncio
from collections.abc import AsyncIterable

import pytest

from penstock.datastore.datasets import large_files
from penstock.datastore.datasets.files import UPLOADS, draft_content
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.objects.port import Files
from penstock.datastore.records import DatasetColumn, ReferenceDataset, ValueType
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.sample_executions import put_file
from tests.datastore.executions.worker_death import ForwardingFiles
from tests.support.sample_resources import USA

COLUMNS = (
    DatasetColumn(name="k", type=ValueType.STRING),
    DatasetColumn(name="v", type=ValueType.NUMBER),
)
CSV = b"k,v\n" + b"".join(b"key %d,%d.50\n" % (n, n) for n in range(300))


@pytest.fixture
def index_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is small enough to be looked up in memory."""
    monkeypatch.setattr(large_files, "IN_MEMORY", CsvLimits(-1, 0, 0))


class StuckFiles(ForwardingFiles):
    """A store of files that stores a file of a dataset, but never says so, after `left` others."""

    left: int | None = None

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.stored = list[str]()
        self.is_stuck = asyncio.Event()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        etag = await super().write(key, chunks, content_type=content_type)
        is_content = key.startswith("datasets/") and not key.startswith(UPLOADS)
        if self.left is not None and is_content:
            self.stored.append(key)
            self.left -= 1
            if self.left < 0:
                self.is_stuck.set()
                await asyncio.Event().wait()
        return etag

    async def has_deleted_all(self) -> bool:
        """Whether none of the files is left that were stored since `left` was set."""
        return not any([await self.stat(key) for key in self.stored])


async def upload(session: Session, store: Store, data: bytes) -> str:
    """Upload a file; return the id of the upload."""
    ticket = await session.dataset_files.upload(USA, len(data))
    await put_file(store.files, dict(ticket.form.fields)["key"], data)
    return ticket.id


async def begin_load(
    session: Session, store: Store, dataset: ReferenceDataset, data: bytes = CSV
) -> Job:
    """Upload a file and begin its load."""
    id = await upload(session, store, data)
    content = draft_content(COLUMNS, None)
    return await session.dataset_loads.begin(dataset.id, dataset.version, content, id)


async def loaded_dataset(
    session: Session, store: Store, name: str = "fuels", data: bytes = CSV
) -> ReferenceDataset:
    """A dataset of `/usa` whose second version is loaded."""
    first = await lookup_dataset(session, USA, name, gas="2")
    await begin_load(session, store, first, data)
    assert await store.run_jobs("w") == 1
    return await session.datasets.reading.one(first.id)

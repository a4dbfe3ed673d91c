"""Adds the sample catalogue to a store, and removes it again; both can be repeated."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.datastore.errors import IllegalState, InUse, NameTaken, NotFound
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import ResourceRepository, Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import walk_pages
from penstock.server.samples.calculations import sample_calculations
from penstock.server.samples.catalogue import GROUPS, SampleResource, sample_pipelines
from penstock.server.samples.datasets import SampleDataset, sample_datasets
from penstock.server.samples.kept_rows import seed_kept_rows
from penstock.server.samples.manifest_runs import purge_runs, seed_runs

SEEDER = Caller("penstock-seed", {ROOT: Role.ADMIN}, ROOT)
AT_ONCE = 8

Progress = Callable[[], None]


@dataclass(slots=True)
class SeedCounts:
    """The numbers of pipelines that a seeding created and found."""

    created: int = 0
    found: int = 0


async def is_empty(store: Store) -> bool:
    """Tell whether the store has no groups and no resources yet."""
    session = store.open_session(SEEDER)
    root = await session.groups.count(ROOT)
    return root.children == 0 and root.grants == 0


async def seed(store: Store, size: int, progress: Progress) -> SeedCounts:
    """Create the missing part of the catalogue, with its first `size` pipelines.

    Without a file store there is no reference data.
    """
    session, seeded = store.open_session(SEEDER), SeedCounts()
    for group in GROUPS:
        await _create_group(session, group)
    for dataset in () if store.files is NO_FILES else sample_datasets():
        await _create_dataset(session, dataset)
    for calculation in sample_calculations():
        await _create_resource(session.calculations, calculation)
    await seed_runs(session)
    await seed_kept_rows(store, session)
    queue = sample_pipelines(size)

    async def worker() -> None:
        for sample in queue:
            if await _create_resource(session.pipelines, sample):
                seeded.created += 1
            else:
                seeded.found += 1
            progress()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(worker())
    return seeded


async def purge(store: Store, progress: Progress) -> int:
    """Delete the seeded data that nothing else uses, and the sample groups that are then empty.

    Returns the number of deleted pipelines.
    """
    session = store.open_session(SEEDER)
    deleted = 0
    for repository in (session.metrics, session.pipelines, session.calculations, session.datasets):
        # The newest first, because what uses another one is newer.
        async for resource in _seeded_resources(repository):
            with suppress(InUse):
                await repository.deleting.delete(resource.id)
                if repository is session.pipelines:
                    deleted += 1
                    progress()
    await purge_runs(session)
    # A pipeline is gone after its executions and the rows that it keeps.
    await store.finish_deletes()
    for group in reversed(GROUPS):
        await _delete_group(session, group)
    return deleted


async def _create_group(session: Session, group: GroupPath) -> None:
    with suppress(NameTaken):
        await session.groups.create(group, group.rpartition("/")[2].capitalize())


async def _delete_group(session: Session, group: GroupPath) -> None:
    with suppress(IllegalState, NotFound):
        if (await session.groups.one(group)).created_by == SEEDER.user_id:
            await session.groups.delete(group)


async def _create_resource(repository: ResourceRepository[Any], sample: SampleResource) -> bool:
    try:
        await repository.writing.create(sample.group, sample.content, None)
    except NameTaken:
        return False
    return True


async def _create_dataset(session: Session, sample: SampleDataset) -> None:
    brought = await session.dataset_files.check_text(sample.columns, None, sample.csv)
    content = {
        "name": sample.name,
        "description": sample.description,
        "tags": sample.tags,
        "content": brought.content,
    }
    with suppress(NameTaken):
        writing = session.datasets.writing.with_attachment(brought.file)
        await writing.create(sample.group, content, None)


async def _seeded_resources(repository: ResourceRepository[Any]) -> AsyncIterator[Resource]:
    listed = ListRequest(group=ROOT, include_child_groups=True)
    async for resource in walk_pages(partial(repository.listing.page, listed), 100):
        if resource.created_by == SEEDER.user_id:
            yield resource

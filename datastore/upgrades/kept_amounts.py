"""The amounts by which quotas count resources that releases before wrote without them."""

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.quotas.usage import kept_writes
from penstock.datastore.records import ReferenceDataset, Resource
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import load, read_or_report, read_rows, resource_id
from penstock.datastore.table.layout import KINDS, REFERENCE_DATASET, KindDefinition
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import Attributes, Compare, Query, Range, Update
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.upgrades.resource_pages import change_resources


async def count_resources(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """Count every resource for the quotas of its group and its user; yield each page that is done.

    A dataset counts by the files of all its versions.
    """
    async for page in change_resources(access, KINDS, after, _count):
        yield page


async def _count(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    """Count one resource; return whether it was not counted, or not by all its versions."""
    key = kind.latest.key(id=resource_id(row))
    async for _ in Attempts():
        with suppress(StaleRead):
            return await _count_once(access, kind, row)
        row = (await read_rows(access.table, [key], consistent=True)).get(key, {})
        if not row:
            return False
    return False


async def _count_once(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    read = partial(load, kind.record, id=resource_id(row))
    resource = read_or_report(read, row)
    if not isinstance(resource, Resource) or not is_alive(row):
        return False
    amounts: dict[str, Any] = {"counted_versions": resource.version}
    if isinstance(resource, ReferenceDataset):
        files = await _read_files(access, resource)
        amounts |= {"counted_files": len(files), "counted_bytes": sum(files.values())}
    counted = msgspec.structs.replace(resource, **amounts)
    if counted == resource:
        return False
    changed = msgspec.to_builtins(counted)
    kept = {name: changed[name] for name in _NAMES if name in changed}
    latest = Update(
        key=kind.latest.key(id=resource.id),
        set=kept,
        add={"revision": 1},
        condition=Compare("revision", "=", resource.revision),
    )
    await commit(access.table, [Write(latest), *kept_writes(resource, counted)])
    return True


_NAMES = ("countedVersions", "countedFiles", "countedBytes")


async def _read_files(access: Access, dataset: ReferenceDataset) -> dict[str, int]:
    """Read the sizes of the files of a dataset's versions: `pk = D:<id>`, `sk` from `DV:` on."""
    version = REFERENCE_DATASET.version
    query = Query(
        partition=version.pk.fill({"id": dataset.id}),
        range=Range(version.sk.prefix({})),
        consistent=True,
    )
    rows = [row async for row in query_items(access.table, query)]
    read = partial(load, REFERENCE_DATASET.version_record, id=dataset.id)
    versions = [one for row in rows if isinstance(one := read_or_report(read, row), Resource)]
    return {one.content.file: one.content.stored_bytes for one in (*versions, dataset)}

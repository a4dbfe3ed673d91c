"""Checks of the rows that name latest samples, against all samples that are stored."""

from functools import partial

import pytest

from penstock.datastore.ngsi.directory import (
    Attribute,
    Directory,
    ServicePath,
    series_partition,
    walk_service_paths,
)
from penstock.datastore.ngsi.reading import latest
from penstock.datastore.ngsi.reading.series import attribute_columns
from penstock.datastore.ngsi.repository import IngestRepository
from penstock.datastore.ngsi.rows import is_row_item
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Query, Table
from penstock.datastore.text import escape
from tests.support.consistency_check import contents
from tests.support.sample_resources import walk


async def list_series(notified: IngestRepository) -> list[Attribute]:
    """Every attribute that the directory lists."""
    directory: Directory = notified.directory
    found: list[Attribute] = []
    async for service, path in walk_service_paths(notified.access):
        of = ServicePath(service, path)
        for entity in await walk(partial(directory.entities, of)):
            found += [each async for each in directory.walk_attributes(entity)]
    return found


async def check_latest(table: Table, notified: IngestRepository) -> int:
    """Compare latest samples by rows with queries; return how many series have an entry.

    No entry is behind a stored sample, nor is there one of an entity that is not listed.
    """
    series = await list_series(notified)
    rows = {key.pk: row for key, row in (await contents(table)).items() if key.pk.startswith("NL:")}
    entries = 0
    for of in series:
        row = rows.get(":".join(["NL", *map(escape, of.entity.key_values.values())]), {})
        entry = row.get(f"key:{of.name}")
        entries += entry is not None
        stored = await stored_keys(notified, of)
        assert entry is None or all(key <= str(entry) for key in stored), (of, entry)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(latest, "FEW", 0)
        found = await notified.latest.many(series) if series else []
    assert found == [await notified.series.latest(of) for of in series]
    listed = {":".join(["NL", *map(escape, of.entity.key_values.values())]) for of in series}
    assert rows.keys() <= listed
    return entries


async def stored_keys(notified: IngestRepository, of: Attribute) -> list[str]:
    """The sort keys of all samples of an attribute."""
    keys = []
    for persistence, name in of.places:
        table = notified.ingest.destinations.table(name)
        query = Query(partition=series_partition(of, persistence))
        async for page in query_pages(table, query):
            keys += [
                str(item["sk"])
                for item in page
                if is_row_item(item) or attribute_columns(item, of.name) is not None
            ]
    return keys

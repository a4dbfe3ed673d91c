"""The search for rows that this release cannot read, among those that lists of all things have."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock.datastore.jobs.jobs import Job
from penstock.datastore.manifest.manifests import manifest_name_of
from penstock.datastore.manifest.records import Manifest
from penstock.datastore.ngsi.naming.table_names import Destination
from penstock.datastore.table.items import load, read_all, read_rows, resource_id
from penstock.datastore.table.layout import DESTINATION, JOB, KINDS, MANIFEST, Row
from penstock.datastore.table.port import Attributes, Query, Table, key_of
from penstock.datastore.table.unreadable_rows import UnreadableRow, collect_unreadable
from penstock.datastore.tag_search.postings import ListedResources

MOST_EXAMINED: Final = 1_000


def _read_job(row: Attributes) -> Job:
    return load(Job, row, id=resource_id(row))


def _read_manifest(row: Attributes) -> Manifest:
    return load(Manifest, row, group=manifest_name_of(row).group)


def _read_resource(record: type, row: Attributes) -> Any:
    return load(record, row, id=resource_id(row))


_READERS: Final[Mapping[Row, Callable[[Attributes], Any]]] = {
    JOB: _read_job,
    MANIFEST: _read_manifest,
    DESTINATION: partial(load, Destination),
}


async def find_unreadable(table: Table) -> list[UnreadableRow]:
    """Find rows that cannot be read among the first 1,000 of each kind that lists all its rows.

    These are resources, unfinished jobs, manifests and destinations.
    """
    with collect_unreadable() as found:
        for kind in KINDS:
            page = await ListedResources.oldest_first(table, kind).read(None, MOST_EXAMINED)
            rows = await read_rows(table, [kind.latest.key(id=one.id) for one in page.rows])
            read_all(partial(_read_resource, kind.record), rows.values())
        for row, read in _READERS.items():
            listed = Query(partition=row.index_partition(), index=True, limit=MOST_EXAMINED)
            keys = [key_of(item) for item in (await table.query(listed)).items]
            read_all(read, (await read_rows(table, keys)).values())
    return list(found.values())

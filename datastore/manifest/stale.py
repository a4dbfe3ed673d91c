"""Which manifests of a whole store have runs that got stuck."""

from typing import NamedTuple

from penstock.datastore.layout import MANIFEST
from penstock.datastore.manifest.lists import RunLists
from penstock.datastore.manifest.manifests import name_of
from penstock.datastore.manifest.records import ManifestName
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.resources.scope import Scope
from penstock.datastore.slices import Window
from penstock.datastore.table import Query
from penstock.datastore.walks import items

COUNTED = 100


class Stale(NamedTuple):
    """A manifest, and how many of its runs got stuck; there are `more` than were counted."""

    manifest: ManifestName
    runs: int
    more: bool


async def stale_manifests(scope: Scope) -> list[Stale]:
    """Look through all manifests, `siKey1 = RM`, in the scope of somebody who may see them."""
    lists = RunLists(Runs(scope))
    found = []
    async for item in items(scope.table, Query(partition=MANIFEST.index_of(), index=True)):
        manifest = name_of(item)
        page = await lists.stale(manifest, Window(size=COUNTED))
        if page.entries:
            found.append(Stale(manifest, len(page.entries), page.more))
    return found

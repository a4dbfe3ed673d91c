"""The datasets that a plan looks values up in, as they were pinned."""

from asyncio import gather
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from datastore.dataset_tables import Damaged, DatasetTables
from datastore.files import Files
from datastore.items import load
from datastore.layout import REFERENCE_DATASET
from datastore.records import ReferenceDataset
from datastore.resources.rows import read_rows
from datastore.table import Table
from formula.datasets import Rows
from kernel.plan import Plan
from kernel.problems import Refused

GONE: Final = "DATASET_GONE"


@dataclass(frozen=True, slots=True)
class PinnedData:
    """Reads what executions were pinned to, whoever may see it now."""

    table: Table
    files: Files
    tables: DatasetTables

    async def rows(self, plan: Plan) -> Mapping[str, Rows]:
        """The rows of a plan's datasets by their identities; raises Refused where one is gone."""
        versions = await find_datasets(self.table, plan)
        reading = (self.tables.rows(self.files, one) for one in versions.values())
        try:
            return dict(zip(versions, await gather(*reading), strict=True))
        except Damaged as damaged:
            raise Refused(GONE, damaged.message) from None


async def find_datasets(table: Table, plan: Plan) -> Mapping[str, ReferenceDataset]:
    """The versions that a plan is pinned to, by their identities; raises Refused where one is gone.

    Get version: `pk = D:<id>, sk = DV:<version>`, batched.
    """
    names = {one.identity: one.name for one in plan.datasets}
    keys = {}
    for identity in names:
        id, _, version = identity.rpartition(":")
        keys[identity] = REFERENCE_DATASET.version.key(id=id, version=int(version))
    rows = await read_rows(table, keys.values())
    found = {}
    for identity, key in keys.items():
        if key not in rows:
            raise Refused(GONE, f"The reference dataset {names[identity]!r} was deleted.")
        id = identity.rpartition(":")[0]
        found[identity] = load(REFERENCE_DATASET.version_record, rows[key], id=id)
    return found

"""The datasets that a plan looks values up in, as they were pinned."""

from asyncio import gather
from collections.abc import Mapping
from typing import Final

from penstock.datastore.dataset_tables import Damaged, DatasetTables
from penstock.datastore.files import Files
from penstock.datastore.items import load
from penstock.datastore.layout import REFERENCE_DATASET
from penstock.datastore.records import ReferenceDataset
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.table import Table
from penstock.formula.core.datasets import Rows
from penstock.transform.plan import Plan
from penstock.transform.problems import Refused

GONE: Final = "DATASET_GONE"


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


async def rows_of(
    datasets: Mapping[str, ReferenceDataset], files: Files, tables: DatasetTables
) -> Mapping[str, Rows]:
    """The rows of datasets, by the same identities; raises Refused where a file is gone."""
    reading = (tables.rows(files, one) for one in datasets.values())
    try:
        return dict(zip(datasets, await gather(*reading), strict=True))
    except Damaged as damaged:
        raise Refused(GONE, damaged.message) from None

"""The inputs of an execution: its file, fixed when it becomes ready, and its datasets."""

from asyncio import gather
from collections.abc import Mapping
from typing import Final

from penstock.datastore.datasets.table_cache import DamagedFile, DatasetTableCache
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.files import ingest_key, input_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.port import Files, Stat
from penstock.datastore.records import ReferenceDataset
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.table.port import Table
from penstock.formula.core.datasets import DatasetRows
from penstock.transform.plan import TransformPlan
from penstock.transform.problems import InputRefused


async def copy_input(files: Files, execution: Execution) -> Stat | None:
    """Copy what was uploaded to the execution's own key; None if nothing was uploaded."""
    try:
        await files.copy(ingest_key(execution), input_key(execution))
    except NotFound:
        return None
    return await files.stat(input_key(execution))


async def find_input(files: Files, execution: Execution) -> Stat | None:
    """Find the input of an execution that is ready; None if it is gone.

    An earlier release did not copy the upload before the claim.
    """
    found = await files.stat(input_key(execution))
    if found is not None or execution.input_copy is not None:
        return found
    return await copy_input(files, execution)


DATASET_GONE: Final = "DATASET_GONE"


async def find_datasets(table: Table, plan: TransformPlan) -> Mapping[str, ReferenceDataset]:
    """The dataset versions of a plan by identity; raises InputRefused if one was deleted.

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
            raise InputRefused(
                DATASET_GONE, f"The reference dataset {names[identity]!r} was deleted."
            )
        id = identity.rpartition(":")[0]
        found[identity] = load(REFERENCE_DATASET.version_record, rows[key], id=id)
    return found


async def load_rows(
    datasets: Mapping[str, ReferenceDataset], files: Files, tables: DatasetTableCache
) -> Mapping[str, DatasetRows]:
    """The rows of the datasets, by the same identities; raises InputRefused if a file is gone."""
    reading = (tables.rows(files, one) for one in datasets.values())
    try:
        return dict(zip(datasets, await gather(*reading), strict=True))
    except DamagedFile as damaged:
        raise InputRefused(DATASET_GONE, damaged.message) from None

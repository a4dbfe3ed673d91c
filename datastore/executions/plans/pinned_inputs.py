"""The inputs of an execution, which are pinned: its file and its datasets."""

from asyncio import gather
from collections.abc import Mapping

from penstock.datastore.datasets.table_cache import DatasetTables, MissingFile
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.files import ingest_key, input_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.port import Files, Stat
from penstock.datastore.records import ReferenceDataset
from penstock.datastore.table.items import load, read_lasting_rows
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.table.port import Table
from penstock.formula.core.datasets import KeyedRows
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


async def find_datasets(table: Table, plan: TransformPlan) -> Mapping[str, ReferenceDataset]:
    """The dataset versions of a plan by identity; raises InputRefused if one was deleted.

    Get version: `pk = D:<id>, sk = DV:<version>`, batched.
    """
    keys = {}
    for identity in {one.identity: None for one in plan.datasets}:
        id, _, version = identity.rpartition(":")
        keys[identity] = REFERENCE_DATASET.version.key(id=id, version=int(version))
    rows = await read_lasting_rows(table, keys.values())
    found = {}
    for identity, key in keys.items():
        if key not in rows:
            words = f"The reference dataset {_told_name(plan, identity)} was deleted."
            raise InputRefused(FailureCode.DATASET_GONE, words)
        id = identity.rpartition(":")[0]
        found[identity] = load(REFERENCE_DATASET.version_record, rows[key], id=id)
    return found


async def load_rows(
    plan: TransformPlan,
    datasets: Mapping[str, ReferenceDataset],
    files: Files,
    tables: DatasetTables,
) -> Mapping[str, KeyedRows]:
    """The rows of the datasets of a plan, by the same identities.

    Raises InputRefused if a file is gone, and Unavailable where the store gives another one.
    """

    async def read(identity: str, dataset: ReferenceDataset) -> KeyedRows:
        try:
            return await tables.rows(files, dataset)
        except MissingFile:
            named = f"the reference dataset {_told_name(plan, identity)}"
            words = f"The file of version {dataset.version} of {named} is missing."
            raise InputRefused(FailureCode.DATASET_GONE, words) from None

    rows = await gather(*(read(identity, one) for identity, one in datasets.items()))
    return dict(zip(datasets, rows, strict=True))


def _told_name(plan: TransformPlan, identity: str) -> str:
    """The name of a dataset for all who see the execution.

    Some of them may not see a calculation, nor the dataset that only its formula names.
    """
    shown = (one.name for one in plan.datasets if one.identity == identity and one.within is None)
    name = next(shown, None)
    return "of a calculation" if name is None else repr(name)

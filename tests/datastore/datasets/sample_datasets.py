"""Small reference datasets for tests of lookups."""

from penstock.datastore.records import DatasetColumn, ReferenceDataset, ValueType
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session


async def lookup_dataset(
    session: Session, group: GroupPath, name: str, **values: str
) -> ReferenceDataset:
    """Create a dataset with the columns `k` and `v`."""
    columns = [DatasetColumn(name="k", type=ValueType.STRING)]
    columns.append(DatasetColumn(name="v", type=ValueType.NUMBER))
    csv = "k,v\n" + "".join(f"{key},{value}\n" for key, value in values.items())
    brought = await session.dataset_files.check_text(columns, None, csv)
    writing = session.datasets.writing.with_attachment(brought.file)
    return await writing.create(group, {"name": name, "tags": (), "content": brought.content}, None)


async def update_dataset(
    session: Session, dataset: ReferenceDataset, **values: str
) -> ReferenceDataset:
    csv = "k,v\n" + "".join(f"{key},{value}\n" for key, value in values.items())
    brought = await session.dataset_files.check_text(dataset.content.columns, None, csv)
    writing = session.datasets.writing.with_attachment(brought.file)
    changes = {"content": brought.content}
    return await writing.update(dataset.id, dataset.version, changes)

"""The content of a reference dataset from what a user gives."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.datastore.datasets.files import Brought
from penstock.datastore.records import DatasetColumn
from penstock.resolvers.context import Context


class Source(NamedTuple):
    """Where a file comes from: a text, or an upload by its id; one of them."""

    csv: str | None
    upload: str | None


async def bring(
    context: Context, columns: Sequence[DatasetColumn], key_column: str | None, source: Source
) -> Brought:
    """The content of a dataset from what the user gave."""
    files = context.session.dataset_files
    if source.csv is not None and source.upload is None:
        return await files.inline(columns, key_column, source.csv)
    if source.upload is not None and source.csv is None:
        return await files.uploaded(columns, key_column, source.upload)
    return files.nothing(columns, key_column)

"""The content of a reference dataset from the input of a user."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.datastore.datasets.files import CheckedContent
from penstock.datastore.records import DatasetColumn
from penstock.resolvers.context import Context


class ContentSource(NamedTuple):
    """The origin of a file: a text, or the id of an upload. Exactly one of the two is given."""

    csv: str | None
    upload: str | None


async def read_content(
    context: Context,
    columns: Sequence[DatasetColumn],
    key_columns: Sequence[str] | None,
    source: ContentSource,
) -> CheckedContent:
    """Read the content of a dataset from the input of a user."""
    files = context.session.dataset_files
    if source.csv is not None and source.upload is None:
        return await files.check_text(columns, key_columns, source.csv)
    if source.upload is not None and source.csv is None:
        return await files.check_upload(columns, key_columns, source.upload)
    return files.reject_content(columns, key_columns)

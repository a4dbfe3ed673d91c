"""The content of a reference dataset from the input of a user."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.datastore.datasets.files import CheckedContent, draft_content
from penstock.datastore.errors import FieldProblem
from penstock.datastore.jobs.jobs import Job
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


class LoadOrder(NamedTuple):
    """A file to load as the next version of a dataset, with the problems found in the input."""

    id: str
    expected_version: int
    columns: Sequence[DatasetColumn]
    key_columns: Sequence[str] | None
    source: ContentSource
    noted: Sequence[FieldProblem]


async def begin_load(context: Context, order: LoadOrder) -> Job:
    """Begin the job that makes an upload the content of a dataset."""
    noted = list(order.noted)
    if order.source.csv is not None:
        noted.append(FieldProblem(["content", "csv"], "give the `upload` of the file"))
    content = draft_content(order.columns, order.key_columns)
    upload = order.source.upload or ""
    loads = context.session.dataset_loads
    return await loads.begin(order.id, order.expected_version, content, upload, noted)

"""Reference datasets and their versions: types and query fields."""

import strawberry

from penstock.datastore import records
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.objects.port import FileStatus
from penstock.datastore.records import ValueType
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.schema.core.context import Info
from penstock.schema.core.files import DOWNLOAD_SECONDS, ExpiryArgument, FileDownload
from penstock.schema.core.relay import Connection, record_type_check
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import price_metadata
from penstock.schema.resources.kind_queries import (
    resource_by_name_field,
    resource_field,
    resource_list_field,
)
from penstock.schema.resources.resource import Resource, ResourceVersion
from penstock.schema.resources.uses import HasUsers
from penstock.schema.resources.version_fields import (
    diff_field,
    latest_version_field,
    version_labelled_field,
    version_numbered_field,
    versions_field,
)


@strawberry.type(description="A column of a reference dataset.")
class DatasetColumn:
    name: str = strawberry.field(
        description="The name of the column, as written in the header of the file."
    )
    description: str | None = strawberry.field(description="The meaning of the column, for people.")
    type: ValueType = strawberry.field(description="The type of the values in the column.")


@strawberry.type(description="The content of one version of a reference dataset.")
class DatasetContent:
    columns: list[DatasetColumn] = strawberry.field(
        description="The columns in the order of the file."
    )
    key_column: str = strawberry.field(
        description="The name of the first column by which rows are looked up. Its values are "
        "unique, unless `keyColumns` has others."
    )
    row_count: int = strawberry.field(description="The number of rows below the header.")
    size_bytes: Long = strawberry.field(description="The size of the file in bytes.")
    checksum: str = strawberry.field(description="The SHA-256 digest of the file, in hexadecimal.")
    index_bytes: Long = strawberry.field(
        description="The size in bytes of the index in which rows are looked up; 0 for a file that "
        "is small enough to be looked up in memory."
    )

    @strawberry.field(
        description="The names of the columns by which rows are looked up. Their values together "
        "are unique."
    )
    @staticmethod
    def key_columns(content: strawberry.Parent[records.DatasetContent]) -> list[str]:
        return list(content.keys)


@strawberry.type
class _WithContent:
    """The fields that a dataset and its versions share; not a type of the schema itself."""

    content: DatasetContent = strawberry.field(description="The content of this version.")

    @strawberry.field(
        graphql_type=FileDownload,
        metadata=price_metadata(1),
        description="A download of the original uploaded file.",
    )
    @staticmethod
    async def download(
        dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        expires_in: ExpiryArgument = DOWNLOAD_SECONDS,
    ) -> FileDownload:
        seconds = DOWNLOAD_SECONDS if expires_in is None else expires_in
        found = await info.context.session.dataset_files.download(dataset, seconds)
        if found is None:
            return FileDownload(status=FileStatus.GONE, url=None, expires_at=None, size_bytes=None)
        return FileDownload(
            status=FileStatus.READY,
            url=found.url,
            expires_at=DateTime(iso_timestamp(found.expires_at)),
            size_bytes=Long(dataset.content.size_bytes),
        )


@strawberry.type(
    description=(
        "A table in which the formula functions `LOOKUP` and `IMPACT` look up values by "
        "key, in its latest version."
    )
)
class ReferenceDataset(_WithContent, Resource, HasUsers):
    is_type_of = record_type_check(records.ReferenceDataset)

    versions = versions_field(REFERENCE_DATASET, Connection["ReferenceDatasetVersion"])
    version_numbered = version_numbered_field(REFERENCE_DATASET, "ReferenceDatasetVersion | None")
    version_labelled = version_labelled_field(REFERENCE_DATASET, "ReferenceDatasetVersion | None")
    diff = diff_field(REFERENCE_DATASET)


@strawberry.type(description="One version of a reference dataset. A version never changes.")
class ReferenceDatasetVersion(_WithContent, ResourceVersion):
    is_type_of = record_type_check(records.ReferenceDatasetVersion)

    reference_dataset = latest_version_field(REFERENCE_DATASET, ReferenceDataset)


@strawberry.type
class ReferenceDatasetQuery:
    reference_dataset = resource_field(REFERENCE_DATASET, ReferenceDataset | None)
    reference_dataset_by_name = resource_by_name_field(REFERENCE_DATASET, ReferenceDataset | None)
    reference_datasets = resource_list_field(REFERENCE_DATASET, Connection[ReferenceDataset])

"""Reference datasets and their versions: types and query fields."""

from typing import Annotated

import strawberry

from datastore import records
from datastore.clock import canonical
from datastore.files import FileStatus
from datastore.layout import REFERENCE_DATASET
from datastore.records import ValueType
from resolvers import datasets
from schema.common import Info
from schema.files import DOWNLOAD_SECONDS, ExpiresIn, FileDownload
from schema.nodes import shows
from schema.prices import costs
from schema.resource_changes import diff_of
from schema.resource_queries import by_id, by_name, listed
from schema.resources import (
    Resource,
    ResourceVersion,
    latest_of,
    version_numbered,
    versions_of,
)
from schema.scalars import DateTime, Long

_VERSION = Annotated["ReferenceDatasetVersion", strawberry.lazy("schema.datasets")]


@strawberry.type(description="A column of a reference dataset.")
class DatasetColumn:
    name: str = strawberry.field(description="As the header of the file has it.")
    description: str | None = strawberry.field(description="What it means, for people.")
    type: ValueType = strawberry.field(description="What its values are.")


@strawberry.type(description="What a version of a reference dataset holds.")
class DatasetContent:
    columns: list[DatasetColumn] = strawberry.field(description="The columns, in order.")
    key_column: str = strawberry.field(
        description="The column that rows are looked up by; its values are unique."
    )
    row_count: int = strawberry.field(description="How many rows there are below the header.")
    size_bytes: Long = strawberry.field(description="How large the file is.")
    checksum: str = strawberry.field(description="The SHA-256 of the file, in hex.")


@strawberry.type
class _Holding:
    """The fields that both types have; itself no type of the schema."""

    content: DatasetContent = strawberry.field(description="What it holds.")

    @strawberry.field(
        graphql_type=FileDownload,
        metadata=costs(1),
        description="The file, as it was given.",
    )
    @staticmethod
    async def download(
        dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        expires_in: ExpiresIn = DOWNLOAD_SECONDS,
    ) -> FileDownload:
        seconds = DOWNLOAD_SECONDS if expires_in is None else expires_in
        found = await datasets.download(info.context, dataset, seconds)
        if found is None:
            return FileDownload(status=FileStatus.GONE, url=None, expires_at=None, size_bytes=None)
        return FileDownload(
            status=FileStatus.READY,
            url=found.url,
            expires_at=DateTime(canonical(found.expires_at)),
            size_bytes=Long(dataset.content.size_bytes),
        )


@strawberry.type(
    description="A table that formulas look values up in by key: LOOKUP and IMPACT. Its latest "
    "version."
)
class ReferenceDataset(_Holding, Resource):
    is_type_of = shows(records.ReferenceDataset)
    versions = versions_of(REFERENCE_DATASET, _VERSION)
    version_numbered = version_numbered(REFERENCE_DATASET, _VERSION)
    diff = diff_of(REFERENCE_DATASET)


@strawberry.type(description="A reference dataset as it was at one of its versions.")
class ReferenceDatasetVersion(_Holding, ResourceVersion):
    is_type_of = shows(records.ReferenceDatasetVersion)
    reference_dataset = latest_of(REFERENCE_DATASET, ReferenceDataset)


@strawberry.type
class ReferenceDatasetQuery:
    reference_dataset = by_id(REFERENCE_DATASET, ReferenceDataset)
    reference_dataset_by_name = by_name(REFERENCE_DATASET, ReferenceDataset)
    reference_datasets = listed(REFERENCE_DATASET, ReferenceDataset)

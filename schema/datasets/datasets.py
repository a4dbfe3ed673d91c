"""Reference datasets and their versions: types and query fields."""

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.objects.port import FileStatus
from penstock.datastore.records import ValueType
from penstock.datastore.resources import version_diff
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import resources
from penstock.schema.core.context import (
    After,
    Before,
    First,
    GroupArgument,
    Info,
    Last,
    Order,
    unset_to_none,
)
from penstock.schema.core.files import DOWNLOAD_SECONDS, ExpiryArgument, FileDownload
from penstock.schema.core.name_filter import NameFilterArgument
from penstock.schema.core.relay import Connection, page_from_arguments, record_type_check
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import price_metadata
from penstock.schema.resources.queries import (
    LIST_RULES,
    ChildGroupsArgument,
    IdArgument,
    NameArgument,
    OrderArgument,
    OwnerArgument,
    ResourceStatesArgument,
    TagsArgument,
    TimeArgument,
    find_resource,
    list_resources,
    resource_selection,
)
from penstock.schema.resources.resource import (
    DIFF_DESCRIPTION,
    LABELLED_DESCRIPTION,
    VERSION_DESCRIPTION,
    VERSIONS_DESCRIPTION,
    Change,
    FromVersionArgument,
    LabelArgument,
    Resource,
    ResourceVersion,
    ToVersionArgument,
    VersionNumberArgument,
    find_labelled,
    find_version,
    list_versions,
)
from penstock.schema.resources.uses import HasUsers


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

    @strawberry.field(
        graphql_type=Connection["ReferenceDatasetVersion"], description=VERSIONS_DESCRIPTION
    )
    @staticmethod
    async def versions(
        reference_dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.ReferenceDataset]:
        return await list_versions(
            info,
            REFERENCE_DATASET,
            reference_dataset,
            page_from_arguments(first, after, last, before),
        )

    @strawberry.field(
        graphql_type="ReferenceDatasetVersion | None", description=VERSION_DESCRIPTION
    )
    @staticmethod
    async def version_numbered(
        reference_dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        version: VersionNumberArgument,
    ) -> records.ReferenceDataset | None:
        return await find_version(info, REFERENCE_DATASET, reference_dataset, version)

    @strawberry.field(
        graphql_type="ReferenceDatasetVersion | None", description=LABELLED_DESCRIPTION
    )
    @staticmethod
    async def version_labelled(
        reference_dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        label: LabelArgument,
    ) -> records.ReferenceDataset | None:
        return await find_labelled(info, REFERENCE_DATASET, reference_dataset, label)

    @strawberry.field(
        graphql_type=list[Change] | None, metadata=price_metadata(2), description=DIFF_DESCRIPTION
    )
    @staticmethod
    async def diff(
        reference_dataset: strawberry.Parent[records.ReferenceDataset],
        info: Info,
        from_: FromVersionArgument,
        to: ToVersionArgument,
    ) -> list[version_diff.ValueChange]:
        return await resources.compare_versions(
            info.context, REFERENCE_DATASET, reference_dataset, from_, to
        )


@strawberry.type(description="One version of a reference dataset. A version never changes.")
class ReferenceDatasetVersion(_WithContent, ResourceVersion):
    is_type_of = record_type_check(records.ReferenceDatasetVersion)

    @strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset in its latest version."
    )
    @reads_attributes({"ReferenceDatasetVersion": ("id",)})
    @staticmethod
    async def reference_dataset(
        version: strawberry.Parent[records.ReferenceDatasetVersion], info: Info
    ) -> records.ReferenceDataset:
        projection = projected_attributes(info, "ReferenceDataset")
        return await info.context.loaders.of(REFERENCE_DATASET).latest(version.id, projection)


@strawberry.type
class ReferenceDatasetQuery:
    @strawberry.field(
        graphql_type=ReferenceDataset | None,
        description=(
            "Find a reference dataset by its global id, as it is now or as it was at a "
            "given time. The result is null if the dataset does not exist or the caller "
            "cannot see it."
        ),
    )
    @staticmethod
    async def reference_dataset(
        info: Info, id: IdArgument, as_at: TimeArgument = UNSET
    ) -> records.ReferenceDataset | None:
        return await find_resource(info, REFERENCE_DATASET, id, as_at)

    @strawberry.field(
        graphql_type=ReferenceDataset | None,
        description=(
            "Find the reference dataset that has a name in the group or, if there is none, "
            "in the nearest group above it. The result is null if there is none."
        ),
    )
    @staticmethod
    async def reference_dataset_by_name(
        info: Info, name: NameArgument, group: GroupArgument = UNSET
    ) -> records.ReferenceDataset | None:
        return await info.context.session.repository(REFERENCE_DATASET).reading.by_name(
            name, unset_to_none(group)
        )

    @strawberry.field(
        graphql_type=Connection[ReferenceDataset],
        description=f"List the reference datasets of a group. {LIST_RULES}",
    )
    @staticmethod
    async def reference_datasets(
        info: Info,
        group: GroupArgument = UNSET,
        tags: TagsArgument = UNSET,
        include_child_groups: ChildGroupsArgument = False,
        order: OrderArgument = Order.NEWEST_FIRST,
        name: NameFilterArgument = UNSET,
        states: ResourceStatesArgument = UNSET,
        owner: OwnerArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.ReferenceDataset]:
        selected = resource_selection(
            info,
            group,
            tags,
            include_child_groups,
            order,
            unset_to_none(name),
            states=states,
            owner=owner,
        )
        return await list_resources(
            info, REFERENCE_DATASET, selected, page_from_arguments(first, after, last, before)
        )

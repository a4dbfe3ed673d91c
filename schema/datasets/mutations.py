"""The mutations of reference datasets, and the inputs that are theirs alone."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.datasets.csv import (
    MAX_BYTES,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_DESCRIPTION,
    MAX_INLINE,
    MAX_NAME,
    MAX_ROWS,
)
from penstock.datastore.datasets.files import Brought
from penstock.datastore.records import ValueType
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.resolvers import datasets
from penstock.resolvers.context import Context
from penstock.resolvers.datasets import Source
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.files import UploadForm
from penstock.schema.datasets.datasets import ReferenceDataset
from penstock.schema.resources.inputs import Change, Content, Creation, id_of, key_for
from penstock.schema.resources.mutations import (
    CHANGED,
    EXPECTED_VERSION,
    GRANT,
    REVOKE,
    create_resource,
    delete_resource,
    grant_resource,
    revoke_resource,
    update_resource,
)

_CONTENT = (
    f"What it holds: at most {MAX_ROWS} rows and {MAX_CELLS} fields. Given as a whole, columns and "
    "all."
)


@strawberry.input(description="A column, as the header of the file names it.")
class DatasetColumnInput:
    name: str = strawberry.field(description=f"1 to {MAX_NAME} characters; no two are alike.")
    description: str | None = strawberry.field(
        default=UNSET, description=f"For people; at most {MAX_DESCRIPTION} characters."
    )
    type: ValueType = strawberry.field(
        description="What its values are. An empty field is null, but for STRING."
    )

    def record(self) -> records.DatasetColumn:
        return records.DatasetColumn(
            name=self.name, description=given(self.description), type=self.type
        )


@strawberry.input(description="Columns, and a CSV file with a header that names them in order.")
class DatasetContentInput:
    columns: list[DatasetColumnInput] = strawberry.field(description=f"1 to {MAX_COLUMNS}.")
    key_column: str | None = strawberry.field(
        default=UNSET,
        description="The column that rows are looked up by, whose values are unique; the first "
        "column if left out.",
    )
    csv: str | None = strawberry.field(
        default=UNSET, description=f"The file itself, at most {MAX_INLINE} characters."
    )
    upload: strawberry.ID | None = strawberry.field(
        default=UNSET, description="In its place the id of an upload of the caller."
    )


@strawberry.input(description="Describes the reference dataset to create.")
class CreateReferenceDatasetInput(Creation):
    content: DatasetContentInput = strawberry.field(description=_CONTENT)
    idempotency_key: strawberry.ID | None = key_for("reference dataset")


@strawberry.input(
    description="Names the reference dataset and what to change. A field that is left out keeps "
    "its "
    "value, and null clears it."
)
class UpdateReferenceDatasetInput(Change):
    id: strawberry.ID = id_of("reference dataset")
    content: DatasetContentInput | None = strawberry.field(default=UNSET, description=_CONTENT)


async def _bring(context: Context, content: DatasetContentInput) -> Brought:
    columns = [column.record() for column in content.columns]
    source = Source(given(content.csv), given(content.upload))
    return await datasets.bring(context, columns, given(content.key_column), source)


_READ = Content({}, ("content",), file=("content", _bring))


@strawberry.type(description="Where a file for a reference dataset can be uploaded.")
class DatasetUpload:
    id: strawberry.ID = strawberry.field(
        description="Names the file in the content of a dataset, for two days."
    )
    form: UploadForm = strawberry.field(
        description=f"Takes the file, once or again; at most {MAX_BYTES} bytes."
    )


@strawberry.input(description="Where the uploaded file is to be used.")
class CreateDatasetUploadInput:
    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description="A group at which the caller is contributor; their default group if left out.",
    )


@strawberry.type(description="A file can be uploaded.")
class CreateDatasetUploadPayload:
    upload: DatasetUpload


CreateDatasetUploadResult = Annotated[
    CreateDatasetUploadPayload | NotFound | NotPermitted,
    strawberry.union("CreateDatasetUploadResult", description="Where to upload, or why not to."),
]


@strawberry.input(description="Names the reference dataset to delete.")
class DeleteReferenceDatasetInput:
    id: strawberry.ID = id_of("reference dataset")
    expected_version: int | None = strawberry.field(default=UNSET, description=EXPECTED_VERSION)


@strawberry.input(
    description="Names the reference dataset to share and the group to share it with."
)
class GrantReferenceDatasetInput:
    id: strawberry.ID = id_of("reference dataset")
    group: GroupPath = strawberry.field(description="The group that gains access.")


@strawberry.input(description="Names the reference dataset and the group that loses its grant.")
class RevokeReferenceDatasetInput:
    id: strawberry.ID = id_of("reference dataset")
    group: GroupPath = strawberry.field(description="The group that has the grant itself.")


@strawberry.type(description="The reference dataset was created, or found by its idempotency key.")
class CreateReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset,
        description="The reference dataset that was created or found.",
    )


@strawberry.type(description="A new version of the reference dataset was made.")
class UpdateReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset with its new version."
    )


@strawberry.type(description="The reference dataset and all its versions were deleted.")
class DeleteReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset as it was before."
    )


@strawberry.type(
    description="The group and all groups below it have access to the reference dataset."
)
class GrantReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED)


@strawberry.type(description="The group no longer has a grant of its own.")
class RevokeReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset without the grant."
    )


CreateReferenceDatasetResult = Annotated[
    CreateReferenceDatasetPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | LimitExceeded,
    strawberry.union(
        "CreateReferenceDatasetResult",
        description="The new reference dataset, or the reason why there is none.",
    ),
]
UpdateReferenceDatasetResult = Annotated[
    UpdateReferenceDatasetPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "UpdateReferenceDatasetResult",
        description="The new version, or the reason why nothing changed.",
    ),
]
DeleteReferenceDatasetResult = Annotated[
    DeleteReferenceDatasetPayload | NotFound | NotPermitted | VersionConflict,
    strawberry.union(
        "DeleteReferenceDatasetResult",
        description="The deleted reference dataset, or the reason why it is still there.",
    ),
]
GrantReferenceDatasetResult = Annotated[
    GrantReferenceDatasetPayload | NotFound | NotPermitted | NameTaken | LimitExceeded,
    strawberry.union(
        "GrantReferenceDatasetResult",
        description="The reference dataset with the grant, or the reason why nothing changed.",
    ),
]
RevokeReferenceDatasetResult = Annotated[
    RevokeReferenceDatasetPayload | NotFound | NotPermitted | LimitExceeded | IllegalState,
    strawberry.union(
        "RevokeReferenceDatasetResult",
        description="The reference dataset without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class ReferenceDatasetMutation:
    @strawberry.mutation(
        graphql_type=CreateReferenceDatasetResult,
        description="Create a reference dataset. The caller is contributor at its group.",
    )
    @staticmethod
    async def create_reference_dataset(
        info: Info, input: CreateReferenceDatasetInput
    ) -> CreateReferenceDatasetPayload:
        key = input.idempotency_key
        created = await create_resource(info, REFERENCE_DATASET, _READ, input, key)
        return CreateReferenceDatasetPayload(reference_dataset=created)

    @strawberry.mutation(
        graphql_type=UpdateReferenceDatasetResult,
        description="Make a new version of a reference dataset. The caller is contributor at the "
        "owner group.",
    )
    @staticmethod
    async def update_reference_dataset(
        info: Info, input: UpdateReferenceDatasetInput
    ) -> UpdateReferenceDatasetPayload:
        updated = await update_resource(info, REFERENCE_DATASET, _READ, input, input.id)
        return UpdateReferenceDatasetPayload(reference_dataset=updated)

    @strawberry.mutation(
        graphql_type=DeleteReferenceDatasetResult,
        description="Delete a reference dataset with all its versions. The caller is admin at the"
        " owner group.",
    )
    @staticmethod
    async def delete_reference_dataset(
        info: Info, input: DeleteReferenceDatasetInput
    ) -> DeleteReferenceDatasetPayload:
        deleted = await delete_resource(info, REFERENCE_DATASET, input.id, input.expected_version)
        return DeleteReferenceDatasetPayload(reference_dataset=deleted)

    @strawberry.mutation(
        graphql_type=GrantReferenceDatasetResult,
        description=f"Let a group and all groups below it see and use a reference dataset. {GRANT}",
    )
    @staticmethod
    async def grant_reference_dataset(
        info: Info, input: GrantReferenceDatasetInput
    ) -> GrantReferenceDatasetPayload:
        granted, changed = await grant_resource(info, REFERENCE_DATASET, input.id, input.group)
        return GrantReferenceDatasetPayload(reference_dataset=granted, changed=changed)

    @strawberry.mutation(
        graphql_type=RevokeReferenceDatasetResult,
        description=f"Revoke the grant that a group itself has for a reference dataset. {REVOKE}",
    )
    @staticmethod
    async def revoke_reference_dataset(
        info: Info, input: RevokeReferenceDatasetInput
    ) -> RevokeReferenceDatasetPayload:
        revoked = await revoke_resource(info, REFERENCE_DATASET, input.id, input.group)
        return RevokeReferenceDatasetPayload(reference_dataset=revoked)

    @strawberry.mutation(
        graphql_type=CreateDatasetUploadResult,
        description="Allow a file to be uploaded. `createReferenceDataset` and "
        "`updateReferenceDataset` then check it, and make it the content of a version.",
    )
    @staticmethod
    async def create_dataset_upload(
        info: Info, input: CreateDatasetUploadInput
    ) -> CreateDatasetUploadPayload:
        upload = await info.context.session.dataset_files.upload(given(input.group))
        return CreateDatasetUploadPayload(
            upload=DatasetUpload(id=strawberry.ID(upload.id), form=UploadForm.of(upload.form))
        )

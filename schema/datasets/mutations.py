"""The mutations of reference datasets with their inputs, payloads and results."""

from typing import Annotated, NamedTuple

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.datasets.csv import (
    MAX_COLUMNS,
    MAX_DESCRIPTION,
    MAX_INLINE,
    MAX_KEYS,
    MAX_NAME,
)
from penstock.datastore.datasets.files import CheckedContent
from penstock.datastore.datasets.limits import MAX_BYTES, MAX_CELLS, MAX_ROWS
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import ValueType
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.resolvers import datasets
from penstock.resolvers.context import Context
from penstock.resolvers.datasets import ContentSource
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, QuotaExceeded
from penstock.schema.core.files import UploadForm
from penstock.schema.core.scalars import Long
from penstock.schema.datasets.datasets import ReferenceDataset
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    GrantResourceInput,
    RevokeResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
)
from penstock.schema.resources.kind_mutations import (
    CHANGED_DESCRIPTION,
    CreateFailure,
    DeleteFailure,
    GrantFailure,
    RevokeFailure,
    UpdateFailure,
    create_mutation,
    delete_mutation,
    grant_mutation,
    revoke_mutation,
    update_mutation,
)

_CONTENT = (
    f"The complete content with all columns, of at most {MAX_ROWS} rows and {MAX_CELLS} fields."
)


@strawberry.input(
    description="A column of the file, with the name that the header of the file gives it."
)
class DatasetColumnInput:
    name: str = strawberry.field(
        description=(
            f"The name of the column, of 1 to {MAX_NAME} characters. No two columns have the "
            "same name."
        )
    )
    description: str | None = strawberry.field(
        default=UNSET,
        description=(
            f"The meaning of the column, for people, of at most {MAX_DESCRIPTION} characters."
        ),
    )
    type: ValueType = strawberry.field(
        description=(
            "The type of the values in the column. An empty field is null, except in a "
            "column of type `STRING`."
        )
    )

    def record(self) -> records.DatasetColumn:
        return records.DatasetColumn(
            name=self.name, description=unset_to_none(self.description), type=self.type
        )


@strawberry.input(
    description=(
        "The columns of a table, and a CSV file whose header names them in the same "
        "order. Give either `csv` or `upload`."
    )
)
class DatasetContentInput:
    columns: list[DatasetColumnInput] = strawberry.field(
        description=f"The columns in the order of the file, 1 to {MAX_COLUMNS}."
    )
    key_column: str | None = strawberry.field(
        default=UNSET,
        description=(
            "The name of the column by which rows are looked up. Its values must be unique. "
            "The default is the first column."
        ),
    )
    key_columns: list[str] | None = strawberry.field(
        default=UNSET,
        description=f"The names of 1 to {MAX_KEYS} columns whose values together are unique, in "
        "place of `keyColumn`.",
    )
    csv: str | None = strawberry.field(
        default=UNSET, description=f"The CSV file itself, of at most {MAX_INLINE} characters."
    )
    upload: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The id of a file that the caller has uploaded, in place of `csv`.",
    )


@strawberry.input(description="The reference dataset to create.")
class CreateReferenceDatasetInput(CreateResourceInput):
    content: DatasetContentInput = strawberry.field(description=_CONTENT)
    idempotency_key: strawberry.ID | None = idempotency_key_field("reference dataset")


@strawberry.input(
    description=(
        "The changes to make to a reference dataset. A field that is left out keeps its "
        "value, and null clears the value."
    )
)
class UpdateReferenceDatasetInput(UpdateResourceInput):
    id: strawberry.ID = id_field("reference dataset")
    content: DatasetContentInput | None = strawberry.field(default=UNSET, description=_CONTENT)


class GivenKeys(NamedTuple):
    """The key columns of an input, None for the default, and the problem of giving them twice."""

    columns: list[str] | None
    problems: list[FieldProblem]

    @classmethod
    def of(cls, content: DatasetContentInput) -> "GivenKeys":
        one, several = unset_to_none(content.key_column), unset_to_none(content.key_columns)
        columns = several or (None if one is None else [one])
        if several is None or (several and one is None):
            return cls(columns, [])
        message = "give one or more, or `keyColumn`"
        return cls(columns, [FieldProblem(["content", "keyColumns"], message)])


async def _read_content(context: Context, content: DatasetContentInput) -> CheckedContent:
    columns = [column.record() for column in content.columns]
    source = ContentSource(unset_to_none(content.csv), unset_to_none(content.upload))
    keys = GivenKeys.of(content)
    read = await datasets.read_content(context, columns, keys.columns, source)
    return read._replace(problems=[*read.problems, *keys.problems])


_CONTENT_READER = ContentReader({}, ("content",), file=("content", _read_content))


@strawberry.type(description="A place to which a file for a reference dataset can be uploaded.")
class DatasetUpload:
    id: strawberry.ID = strawberry.field(
        description=(
            "The id that names the file in the content of a reference dataset. It can be "
            "used for two days."
        )
    )
    form: UploadForm = strawberry.field(
        description=(
            "The form that uploads the file, of at most `maxBytes` bytes. It can be sent more "
            "than once."
        )
    )


@strawberry.input(description="The group in which the uploaded file will be used.")
class CreateDatasetUploadInput:
    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description=(
            "The path of a group at which the caller is a contributor. The default is the "
            "caller's default group."
        ),
    )
    max_bytes: Long | None = strawberry.field(
        default=UNSET,
        description=f"The most bytes that the file may have. The default is {MAX_BYTES}. More are "
        "for `loadReferenceDataset`.",
    )


@strawberry.type(description="A file can now be uploaded.")
class CreateDatasetUploadPayload:
    upload: DatasetUpload = strawberry.field(description="The place to upload the file to.")


CreateDatasetUploadResult = Annotated[
    CreateDatasetUploadPayload | NotFound | NotPermitted | LimitExceeded | QuotaExceeded,
    strawberry.union(
        "CreateDatasetUploadResult",
        description="The place to upload to, or the reason why there is none.",
    ),
]


@strawberry.input(description="The reference dataset to delete.")
class DeleteReferenceDatasetInput(DeleteResourceInput):
    id: strawberry.ID = id_field("reference dataset")


@strawberry.input(description="The reference dataset to share and the group to share it with.")
class GrantReferenceDatasetInput(GrantResourceInput):
    id: strawberry.ID = id_field("reference dataset")


@strawberry.input(description="The reference dataset and the group that loses its grant.")
class RevokeReferenceDatasetInput(RevokeResourceInput):
    id: strawberry.ID = id_field("reference dataset")


@strawberry.type(description="The reference dataset was created, or found by its idempotency key.")
class CreateReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset,
        description="The reference dataset that was created or found.",
    )


@strawberry.type(description="A new version of the reference dataset was created.")
class UpdateReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset with its new version."
    )


@strawberry.type(description="The reference dataset and all its versions were deleted.")
class DeleteReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset,
        description="The reference dataset as it was before it was deleted.",
    )


@strawberry.type(
    description="The group and all groups below it have access to the reference dataset."
)
class GrantReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED_DESCRIPTION)


@strawberry.type(
    description="The group no longer has a grant of its own for the reference dataset."
)
class RevokeReferenceDatasetPayload:
    reference_dataset: records.ReferenceDataset = strawberry.field(
        graphql_type=ReferenceDataset, description="The reference dataset without the grant."
    )


CreateReferenceDatasetResult = Annotated[
    CreateReferenceDatasetPayload | CreateFailure,
    strawberry.union(
        "CreateReferenceDatasetResult",
        description="The new reference dataset, or the reason why none was created.",
    ),
]
UpdateReferenceDatasetResult = Annotated[
    UpdateReferenceDatasetPayload | UpdateFailure,
    strawberry.union(
        "UpdateReferenceDatasetResult",
        description=(
            "The reference dataset with its new version, or the reason why nothing changed."
        ),
    ),
]
DeleteReferenceDatasetResult = Annotated[
    DeleteReferenceDatasetPayload | DeleteFailure,
    strawberry.union(
        "DeleteReferenceDatasetResult",
        description="The deleted reference dataset, or the reason why it was not deleted.",
    ),
]
GrantReferenceDatasetResult = Annotated[
    GrantReferenceDatasetPayload | GrantFailure,
    strawberry.union(
        "GrantReferenceDatasetResult",
        description="The reference dataset with the grant, or the reason why nothing changed.",
    ),
]
RevokeReferenceDatasetResult = Annotated[
    RevokeReferenceDatasetPayload | RevokeFailure,
    strawberry.union(
        "RevokeReferenceDatasetResult",
        description="The reference dataset without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class ReferenceDatasetMutation:
    create_reference_dataset = create_mutation(
        REFERENCE_DATASET,
        CreateReferenceDatasetInput,
        CreateReferenceDatasetResult,
        _CONTENT_READER,
        lambda created: CreateReferenceDatasetPayload(reference_dataset=created),
    )
    update_reference_dataset = update_mutation(
        REFERENCE_DATASET,
        UpdateReferenceDatasetInput,
        UpdateReferenceDatasetResult,
        _CONTENT_READER,
        lambda updated: UpdateReferenceDatasetPayload(reference_dataset=updated),
    )
    delete_reference_dataset = delete_mutation(
        REFERENCE_DATASET,
        DeleteReferenceDatasetInput,
        DeleteReferenceDatasetResult,
        lambda deleted: DeleteReferenceDatasetPayload(reference_dataset=deleted),
    )
    grant_reference_dataset = grant_mutation(
        REFERENCE_DATASET,
        GrantReferenceDatasetInput,
        GrantReferenceDatasetResult,
        lambda granted, changed: GrantReferenceDatasetPayload(
            reference_dataset=granted, changed=changed
        ),
    )
    revoke_reference_dataset = revoke_mutation(
        REFERENCE_DATASET,
        RevokeReferenceDatasetInput,
        RevokeReferenceDatasetResult,
        lambda revoked: RevokeReferenceDatasetPayload(reference_dataset=revoked),
    )

    @strawberry.mutation(
        graphql_type=CreateDatasetUploadResult,
        description=(
            "Allow the caller to upload a file. `createReferenceDataset` and "
            "`updateReferenceDataset` then check the file and make it the content of a "
            "version."
        ),
    )
    @staticmethod
    async def create_dataset_upload(
        info: Info, input: InputOf[CreateDatasetUploadInput]
    ) -> CreateDatasetUploadPayload:
        most = unset_to_none(input.max_bytes)
        upload = await info.context.session.dataset_files.upload(
            unset_to_none(input.group), MAX_BYTES if most is None else most
        )
        return CreateDatasetUploadPayload(
            upload=DatasetUpload(
                id=strawberry.ID(upload.id), form=UploadForm.from_port(upload.form)
            )
        )

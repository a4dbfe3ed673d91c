"""The mutations of reference datasets, and the inputs that are theirs alone."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.dataset_files import Brought
from datastore.datasets import (
    MAX_BYTES,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_DESCRIPTION,
    MAX_INLINE,
    MAX_NAME,
    MAX_ROWS,
)
from datastore.layout import REFERENCE_DATASET
from datastore.paths import GroupPath
from datastore.records import ValueType
from resolvers import datasets
from resolvers.context import Context
from resolvers.datasets import Source
from schema.common import Info, given
from schema.datasets import ReferenceDataset
from schema.failures import NotFound, NotPermitted
from schema.files import UploadForm
from schema.resource_inputs import Change, Content, Creation, id_of, key_for
from schema.resource_mutations import creates, deletes, grants, revokes, updates

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


@strawberry.input(description="The reference dataset to create.")
class CreateReferenceDatasetInput(Creation):
    content: DatasetContentInput = strawberry.field(description=_CONTENT)
    idempotency_key: strawberry.ID | None = key_for("reference dataset")


@strawberry.input(description="What to change; fields left out stay, null clears.")
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


@strawberry.type
class ReferenceDatasetMutation:
    create_reference_dataset = creates(
        REFERENCE_DATASET, ReferenceDataset, CreateReferenceDatasetInput, _READ
    )
    update_reference_dataset = updates(
        REFERENCE_DATASET, ReferenceDataset, UpdateReferenceDatasetInput, _READ
    )
    delete_reference_dataset = deletes(REFERENCE_DATASET, ReferenceDataset)
    grant_reference_dataset = grants(REFERENCE_DATASET, ReferenceDataset)
    revoke_reference_dataset = revokes(REFERENCE_DATASET, ReferenceDataset)

    @strawberry.mutation(
        graphql_type=CreateDatasetUploadResult,
        description="Allow a file to be uploaded. `createReferenceDataset` and "
        "`updateReferenceDataset` then check it, and make it the content of a version.",
    )
    @staticmethod
    async def create_dataset_upload(
        info: Info, input: CreateDatasetUploadInput
    ) -> CreateDatasetUploadPayload:
        upload = await datasets.upload(info.context, given(input.group))
        return CreateDatasetUploadPayload(
            upload=DatasetUpload(id=strawberry.ID(upload.id), form=UploadForm.of(upload.form))
        )

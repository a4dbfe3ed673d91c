"""The mutation that makes a large file the content of a reference dataset."""

from typing import Annotated

import strawberry

from penstock.datastore.jobs import jobs as records
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.resolvers import datasets
from penstock.resolvers.datasets import ContentSource
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import parse_key
from penstock.schema.datasets.mutations import DatasetContentInput, GivenKeys
from penstock.schema.resources.inputs import id_field


@strawberry.input(description="The uploaded file that becomes the content of a reference dataset.")
class LoadReferenceDatasetInput:
    id: strawberry.ID = id_field("reference dataset")
    expected_version: int = strawberry.field(
        description=(
            "The version that the caller read. If the reference dataset has a newer version, "
            "the load fails, and so it does if its content changes until the file is read."
        )
    )
    content: DatasetContentInput = strawberry.field(
        description="The complete content with all columns, and an `upload`."
    )


@strawberry.type(description="A job loads the file.")
class LoadReferenceDatasetPayload:
    job: records.Job = strawberry.field(
        graphql_type=Job,
        description="The job, which makes the next version or has the `problems` of the file.",
    )


LoadReferenceDatasetResult = Annotated[
    LoadReferenceDatasetPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | VersionConflict
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "LoadReferenceDatasetResult",
        description="The job that loads the file, or the reason why there is none.",
    ),
]


@strawberry.type
class DatasetLoadMutation:
    @strawberry.mutation(
        graphql_type=LoadReferenceDatasetResult,
        description=(
            "Make an uploaded file the content of the next version of a reference dataset, as a "
            "job. The file may be far larger than one that `updateReferenceDataset` takes; the "
            "caller can have 5 loads at a time. The caller must be a contributor at the group that "
            "owns the reference dataset."
        ),
    )
    @staticmethod
    async def load_reference_dataset(
        info: Info, input: InputOf[LoadReferenceDatasetInput]
    ) -> LoadReferenceDatasetPayload:
        content, keys = input.content, GivenKeys.of(input.content)
        job = await datasets.begin_load(
            info.context,
            datasets.LoadOrder(
                parse_key(REFERENCE_DATASET.title, input.id),
                input.expected_version,
                [column.record() for column in content.columns],
                keys.columns,
                ContentSource(unset_to_none(content.csv), unset_to_none(content.upload)),
                keys.problems,
            ),
        )
        return LoadReferenceDatasetPayload(job=job)

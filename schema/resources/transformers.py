"""Transformers with their parameters, formulas and outputs, as types and as inputs."""

from typing import Annotated

import strawberry
from msgspec.structs import replace
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.datasets.csv import MAX_KEYS
from penstock.datastore.formulas.checks import MAX_FORMULA
from penstock.datastore.formulas.transformers import (
    MAX_DESCRIPTION,
    MAX_ENTRIES,
    MAX_KEEP_DAYS,
    MAX_KEY,
    MAX_LABEL,
    MAX_ROW_KEY,
)
from penstock.datastore.records import ExtraColumns, ReferenceDataset, TimestampForm, ValueType
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.resolvers.resources import find_visible
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import GlobalId, parse_global_id

strawberry.enum(
    ExtraColumns, description="The treatment of the columns of an input that no parameter names."
)
describe_values(
    ExtraColumns,
    {
        ExtraColumns.REFUSE: "An input with such a column is refused.",
        ExtraColumns.IGNORE: "Such columns are read over.",
    },
)

strawberry.enum(TimestampForm, description="The form that timestamps have in outputs.")
describe_values(
    TimestampForm,
    {
        TimestampForm.ISO_8601: "A time in UTC, such as `2026-01-31T00:00:00.000Z`.",
        TimestampForm.EPOCH_MILLISECONDS: "The number of milliseconds since 1970, in UTC.",
    },
)

_POSITION = (
    "The position, counted from 0. The entries of a list are given in the order of their positions."
)
_KEY = f"The name, of 1 to {MAX_KEY} characters. No two entries have the same name."
_LABEL = f"The heading to show to people, of at most {MAX_LABEL} characters."
_DESCRIPTION = f"The meaning of the column, for people, of at most {MAX_DESCRIPTION} characters."


@strawberry.type(description="A column of the input.")
class Parameter:
    index: int = strawberry.field(description="The position among the parameters, counted from 0.")
    key: str = strawberry.field(description="The name that formulas use, as `:key`.")
    label: str | None = strawberry.field(description="The heading to show to people.")
    description: str | None = strawberry.field(description="The meaning of the column, for people.")
    type: ValueType = strawberry.field(description="The type of the values in the column.")
    required: bool = strawberry.field(
        description="True if every row must have a value in this column."
    )


@strawberry.type(description="A column of the output.")
class Output:
    index: int = strawberry.field(description="The position among the outputs, counted from 0.")
    key: str | None = strawberry.field(description="The name of the column; null if it has none.")
    label: str | None = strawberry.field(description="The heading to show to people.")
    description: str | None = strawberry.field(description="The meaning of the column, for people.")
    type: ValueType = strawberry.field(description="The type of the values in the column.")


@strawberry.type(description="A formula and the output column that it fills.")
class Transform:
    index: int = strawberry.field(description="The position among the formulas, counted from 0.")
    formula: str = strawberry.field(
        description="The formula that computes the value of the output from the parameters."
    )
    outputs: list[Output] = strawberry.field(
        description="The output column that the formula fills, as a list of one."
    )


@strawberry.type(description="The outputs that identify the rows that a pipeline keeps.")
class RowKeeping:
    key: list[str] = strawberry.field(
        description="The keys of the outputs whose values identify a row. A later row with the "
        "same values replaces it."
    )
    time: str | None = strawberry.field(
        description="The key of the output that is the time of a row; null if rows have no time."
    )
    group: str | None = strawberry.field(
        description="The key of the output that is the path of a row's group; null if all rows "
        "belong to the group that owns the pipeline."
    )
    keep_days: int | None = strawberry.field(
        description="The number of days after which rows leave, counted from the end of the "
        "execution or the withdrawal that made them; null if they stay for ever."
    )


@strawberry.type(description="The reference dataset that a pipeline writes.")
class DatasetTarget:
    key: list[str] = strawberry.field(
        description="The keys of the outputs whose values together are the key of a row."
    )

    @strawberry.field(
        description="The global id of the reference dataset, also of one that is gone or that the "
        "caller does not see."
    )
    @staticmethod
    def reference_dataset_id(target: strawberry.Parent[records.DatasetTarget]) -> strawberry.ID:
        return GlobalId(REFERENCE_DATASET.title, target.id).encode()

    @strawberry.field(
        graphql_type=Annotated[
            "ReferenceDataset", strawberry.lazy("penstock.schema.datasets.datasets")
        ]
        | None,
        description="The reference dataset; null if it is gone or the caller does not see it.",
    )
    @staticmethod
    async def reference_dataset(
        target: strawberry.Parent[records.DatasetTarget], info: Info
    ) -> ReferenceDataset | None:
        return await find_visible(info.context, REFERENCE_DATASET, target.id)


@strawberry.type(
    description="The parameters and formulas that turn an input row into an output row."
)
class Transformer:
    parameters: list[Parameter] = strawberry.field(
        description="The columns of the input, in the order of their positions."
    )
    transforms: list[Transform] = strawberry.field(
        description=(
            "The formulas, one for each column of the output, in the order of their positions."
        )
    )
    rows: RowKeeping | None = strawberry.field(
        description="The identity of the rows that the pipeline keeps; null if its outputs are in "
        "files only."
    )
    dataset: DatasetTarget | None = strawberry.field(
        description="The reference dataset of which each execution writes the next version; null "
        "if there is none."
    )
    extra_columns: ExtraColumns = strawberry.field(
        description="The treatment of the columns of an input that no parameter names."
    )
    timestamps: TimestampForm = strawberry.field(
        description="The form that timestamps have in outputs and in rows that are kept."
    )


@strawberry.input(description="A column of the input.")
class ParameterInput:
    index: int = strawberry.field(description=_POSITION)
    key: str = strawberry.field(description=f"{_KEY} Formulas use it as `:key`.")
    label: str | None = strawberry.field(default=UNSET, description=_LABEL)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    type: ValueType = strawberry.field(description="The type of the values in the column.")
    required: bool = strawberry.field(
        default=False,
        description="Whether every row must have a value in this column. The default is false.",
    )

    def record(self) -> records.Parameter:
        return records.Parameter(
            index=self.index,
            key=self.key,
            label=unset_to_none(self.label),
            description=unset_to_none(self.description),
            type=self.type,
            required=self.required,
        )


@strawberry.input(description="A column of the output.")
class OutputInput:
    index: int = strawberry.field(description=_POSITION)
    key: str | None = strawberry.field(default=UNSET, description=_KEY)
    label: str | None = strawberry.field(default=UNSET, description=_LABEL)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    type: ValueType = strawberry.field(description="The type of the values in the column.")

    def record(self) -> records.Output:
        return records.Output(
            index=self.index,
            key=unset_to_none(self.key),
            label=unset_to_none(self.label),
            description=unset_to_none(self.description),
            type=self.type,
        )


@strawberry.input(description="A formula and the output column that it fills.")
class TransformInput:
    index: int = strawberry.field(description=_POSITION)
    formula: str = strawberry.field(description=f"The formula, of 1 to {MAX_FORMULA} characters.")
    outputs: list[OutputInput] = strawberry.field(
        description="The output column that the formula fills: exactly one, with the index 0."
    )

    def record(self) -> records.Transform:
        outputs = tuple(output.record() for output in self.outputs)
        return records.Transform(index=self.index, formula=self.formula, outputs=outputs)


@strawberry.input(
    description="The outputs that identify the rows that a pipeline keeps. Every output of such a "
    "pipeline has a key that does not begin with `_`."
)
class RowsInput:
    key: list[str] = strawberry.field(
        description=f"The keys of the 1 to {MAX_ROW_KEY} outputs whose values identify a row. A "
        "later row with the same values replaces it."
    )
    time: str | None = strawberry.field(
        default=UNSET,
        description="The key of the output of the type TIMESTAMP that is the time of a row.",
    )
    group: str | None = strawberry.field(
        default=UNSET,
        description="The key of the output of the type STRING that is the path of a row's group: "
        "that of the pipeline's owner, or one below it. Without it rows belong to the owner.",
    )
    keep_days: int | None = strawberry.field(
        default=UNSET,
        description=f"The number of days, 1 to {MAX_KEEP_DAYS:,}, after which rows leave, with the "
        "files of their execution. They count from the end of the execution that made them. "
        "Without it rows stay for ever.",
    )

    def record(self) -> records.RowKeeping:
        return records.RowKeeping(
            key=tuple(self.key),
            time=unset_to_none(self.time),
            group=unset_to_none(self.group),
            keep_days=unset_to_none(self.keep_days),
        )


@strawberry.input(
    description="The reference dataset that a pipeline writes. Every output of such a pipeline has "
    "a key, which is the name of a column."
)
class DatasetTargetInput:
    id: strawberry.ID = strawberry.field(description="The global id of the reference dataset.")
    key: list[str] = strawberry.field(
        description=f"The keys of the 1 to {MAX_KEYS} outputs whose values together are the key of "
        "a row."
    )

    def record(self) -> records.DatasetTarget:
        id = parse_global_id(self.id)
        known = id is not None and id.type == REFERENCE_DATASET.title
        return records.DatasetTarget(id=id.key if id and known else "", key=tuple(self.key))


@strawberry.input(
    description="The parameters and formulas that turn an input row into an output row."
)
class TransformerInput:
    parameters: list[ParameterInput] = strawberry.field(
        description=f"The columns of the input, at most {MAX_ENTRIES}."
    )
    transforms: list[TransformInput] = strawberry.field(
        description=f"The formulas, 1 to {MAX_ENTRIES}."
    )
    rows: RowsInput | None = strawberry.field(
        default=UNSET,
        description="The identity of the rows, to keep them: they can then be listed, summed and "
        "corrected. Without it outputs are in files only.",
    )
    dataset: DatasetTargetInput | None = strawberry.field(
        default=UNSET,
        description="The reference dataset of which each execution writes the next version: its "
        "output is the content. Whoever runs the pipeline must be a contributor at the group that "
        "owns the dataset. A pipeline with it keeps no rows.",
    )
    extra_columns: ExtraColumns | None = strawberry.field(
        default=ExtraColumns.REFUSE,
        description="The treatment of the columns of an input that no parameter names.",
    )
    timestamps: TimestampForm | None = strawberry.field(
        default=UNSET,
        description="The form that timestamps have in outputs and in rows that are kept. An update "
        "without it leaves the form as it is; otherwise the default is ISO_8601.",
    )

    def record(self) -> records.Transformer:
        made = records.Transformer(
            parameters=tuple(parameter.record() for parameter in self.parameters),
            transforms=tuple(transform.record() for transform in self.transforms),
            rows=self.rows.record() if self.rows else None,
            dataset=self.dataset.record() if self.dataset else None,
            extra_columns=self.extra_columns or ExtraColumns.REFUSE,
        )
        if not made.has_timestamps:
            return made
        return replace(made, timestamps=self.timestamps or TimestampForm.ISO_8601)

"""Transformers: parameters, formulas and outputs, as output and as input."""

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.formulas.checks import MAX_FORMULA
from penstock.datastore.formulas.transformers import (
    MAX_DESCRIPTION,
    MAX_ENTRIES,
    MAX_KEY,
    MAX_LABEL,
)
from penstock.datastore.records import ValueType
from penstock.schema.core.context import given

_POSITION = "The position, from 0; entries are given in this order."
_KEY = f"1 to {MAX_KEY} characters; no two are alike."
_LABEL = f"For people; at most {MAX_LABEL} characters."
_DESCRIPTION = f"For people; at most {MAX_DESCRIPTION} characters."


@strawberry.type(description="An input column.")
class Parameter:
    index: int = strawberry.field(description="The position, from 0.")
    key: str = strawberry.field(description="The name that formulas use, as `:key`.")
    label: str | None = strawberry.field(description="How it is shown.")
    description: str | None = strawberry.field(description="What it means, for people.")
    type: ValueType = strawberry.field(description="What its values are.")
    required: bool = strawberry.field(description="Whether every row has a value.")


@strawberry.type(description="An output column.")
class Output:
    index: int = strawberry.field(description="The position, from 0.")
    key: str | None = strawberry.field(description="Its name, if it has one.")
    label: str | None = strawberry.field(description="How it is shown.")
    description: str | None = strawberry.field(description="What it means, for people.")
    type: ValueType = strawberry.field(description="What its values are.")


@strawberry.type(description="One formula and the output that it fills.")
class Transform:
    index: int = strawberry.field(description="The position, from 0.")
    formula: str = strawberry.field(description="How the value is computed from the parameters.")
    outputs: list[Output] = strawberry.field(description="The one column that it fills.")


@strawberry.type(description="How an input row becomes an output row.")
class Transformer:
    parameters: list[Parameter] = strawberry.field(description="The input columns, in order.")
    transforms: list[Transform] = strawberry.field(description="One for each output, in order.")


@strawberry.input(description="An input column.")
class ParameterInput:
    index: int = strawberry.field(description=_POSITION)
    key: str = strawberry.field(description=f"{_KEY} Formulas use it as `:key`.")
    label: str | None = strawberry.field(default=UNSET, description=_LABEL)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    type: ValueType = strawberry.field(description="What its values are.")
    required: bool = strawberry.field(default=False, description="Whether every row has a value.")

    def record(self) -> records.Parameter:
        return records.Parameter(
            index=self.index,
            key=self.key,
            label=given(self.label),
            description=given(self.description),
            type=self.type,
            required=self.required,
        )


@strawberry.input(description="An output column.")
class OutputInput:
    index: int = strawberry.field(description=_POSITION)
    key: str | None = strawberry.field(default=UNSET, description=_KEY)
    label: str | None = strawberry.field(default=UNSET, description=_LABEL)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    type: ValueType = strawberry.field(description="What its values are.")

    def record(self) -> records.Output:
        return records.Output(
            index=self.index,
            key=given(self.key),
            label=given(self.label),
            description=given(self.description),
            type=self.type,
        )


@strawberry.input(description="One formula and the output that it fills.")
class TransformInput:
    index: int = strawberry.field(description=_POSITION)
    formula: str = strawberry.field(description=f"1 to {MAX_FORMULA} characters.")
    outputs: list[OutputInput] = strawberry.field(description="Exactly one, with the index 0.")

    def record(self) -> records.Transform:
        outputs = tuple(output.record() for output in self.outputs)
        return records.Transform(index=self.index, formula=self.formula, outputs=outputs)


@strawberry.input(description="How an input row becomes an output row.")
class TransformerInput:
    parameters: list[ParameterInput] = strawberry.field(description=f"At most {MAX_ENTRIES}.")
    transforms: list[TransformInput] = strawberry.field(description=f"1 to {MAX_ENTRIES}.")

    def record(self) -> records.Transformer:
        return records.Transformer(
            parameters=tuple(parameter.record() for parameter in self.parameters),
            transforms=tuple(transform.record() for transform in self.transforms),
        )

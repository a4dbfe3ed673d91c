"""Transformers: parameters, formulas and outputs, as output and as input."""

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.records import ValueType
from schema.common import given


@strawberry.type(description="An input column.")
class Parameter:
    index: int = strawberry.field(description="The position, from 0.")
    key: str = strawberry.field(description="The name that formulas use, as `:key`.")
    label: str | None
    description: str | None
    type: ValueType
    required: bool


@strawberry.type(description="An output column.")
class Output:
    index: int = strawberry.field(description="The position, from 0.")
    key: str | None
    label: str | None
    description: str | None
    type: ValueType


@strawberry.type(description="One formula and the output that it fills.")
class Transform:
    index: int = strawberry.field(description="The position, from 0.")
    formula: str
    outputs: list[Output]


@strawberry.type(description="How an input row becomes an output row.")
class Transformer:
    parameters: list[Parameter]
    transforms: list[Transform]


@strawberry.input(description="An input column.")
class ParameterInput:
    index: int
    key: str
    label: str | None = UNSET
    description: str | None = UNSET
    type: ValueType
    required: bool = False

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
    index: int
    key: str | None = UNSET
    label: str | None = UNSET
    description: str | None = UNSET
    type: ValueType

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
    index: int
    formula: str
    outputs: list[OutputInput]

    def record(self) -> records.Transform:
        outputs = tuple(output.record() for output in self.outputs)
        return records.Transform(index=self.index, formula=self.formula, outputs=outputs)


@strawberry.input(description="How an input row becomes an output row.")
class TransformerInput:
    parameters: list[ParameterInput]
    transforms: list[TransformInput]

    def record(self) -> records.Transformer:
        return records.Transformer(
            parameters=tuple(parameter.record() for parameter in self.parameters),
            transforms=tuple(transform.record() for transform in self.transforms),
        )

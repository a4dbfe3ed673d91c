"""Descriptions that Strawberry has no place for: values of enums of other modules, and inputs."""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import strawberry
from strawberry.types.arguments import StrawberryArgumentAnnotation
from strawberry.types.enum import StrawberryEnumDefinition

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

_INPUT: Final = "The input of the mutation."

InputOf: TypeAlias = Annotated[T, strawberry.argument(description=_INPUT)]
"""The argument `input` of a mutation: `input: InputOf[CreateGroupInput]`."""


def input_argument(input_type: type) -> StrawberryArgumentAnnotation:
    """Annotate the argument `input` of a mutation that is declared once for several inputs."""
    return strawberry.argument(description=_INPUT, graphql_type=input_type)


def describe_values(enum: type[E], descriptions: Mapping[E, str]) -> None:
    """Describe each value of an enum that `strawberry.enum` has registered.

    Enums of the datastore cannot hold Strawberry's own `enum_value`. Raises ValueError unless every
    value has a description.
    """
    definition: Any = getattr(enum, "__strawberry_definition__", None)
    if not isinstance(definition, StrawberryEnumDefinition):
        raise TypeError(f"{enum.__name__} is not registered as an enum of the schema.")
    if missing := [one.name for one in enum if one not in descriptions]:
        raise ValueError(f"{enum.__name__} has no description of {', '.join(missing)}.")
    texts = {one.name: text for one, text in descriptions.items()}
    for value in definition.values:
        value.description = texts[value.name]

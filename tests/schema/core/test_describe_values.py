"""The values of an enum of another module get their descriptions after it is registered."""

from enum import Enum

import pytest
import strawberry

from penstock.schema.core.descriptions import describe_values


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


strawberry.enum(Colour, description="The colour of a thing.")


@strawberry.type
class Query:
    colour: Colour


def test_each_value_gets_its_description() -> None:
    describe_values(Colour, {Colour.BLUE: "The thing is blue.", Colour.RED: "The thing is red."})
    assert (
        strawberry.Schema(Query)
        .as_str()
        .startswith(
            '"""The colour of a thing."""\nenum Colour {\n'
            '  """The thing is red."""\n  RED\n\n  """The thing is blue."""\n  BLUE\n}\n'
        )
    )


def test_a_value_without_a_description_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Colour has no description of BLUE\.$"):
        describe_values(Colour, {Colour.RED: "The thing is red."})


def test_an_enum_that_is_not_registered_is_refused() -> None:
    class Size(Enum):
        SMALL = 1

    with pytest.raises(TypeError, match="Size is not registered"):
        describe_values(Size, {Size.SMALL: "The thing is small."})

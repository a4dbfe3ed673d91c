"""A search in `schema/` for a name of the SDL finds its definition."""

import re
from pathlib import Path

import pytest
from graphql import build_schema, is_scalar_type

ROOT = Path(__file__).parents[2]
# Other tests validate it; here every worker reads it to collect the tests.
SDL = build_schema((ROOT / "schema.graphql").read_text(), assume_valid_sdl=True, no_location=True)
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "schema").rglob("*.py")))
TYPES = [
    name
    for name, type in SDL.type_map.items()
    if not is_scalar_type(type) and not name.startswith("__")
]
FIELDS = [
    name
    for type in (SDL.query_type, SDL.mutation_type, SDL.subscription_type)
    if type is not None
    for name in type.fields
]
LIST = re.compile("(Connection|Edge)$")
CLASSES = {
    *re.findall(r"^class (\w+)", SOURCE, re.MULTILINE),
    *re.findall(r'\b(?:name=|strawberry\.union\(\s*)"(\w+)"', SOURCE),
    *re.findall(r"\bstrawberry\.enum\(\s*(?:\w+\.)?(\w+)", SOURCE),
}
LISTED = {*re.findall(r'\bConnection\[(?:\w+\[)?"?(\w+)', SOURCE)}
FUNCTIONS = {
    *re.findall(r"^    (?:async )?def (\w+)\(", SOURCE, re.MULTILINE),
    *re.findall(r"^    (\w+)(?:: [^=]+)? = ", SOURCE, re.MULTILINE),
}


def snake_case(name: str) -> str:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("name", [name for name in TYPES if not LIST.search(name)])
def test_a_type_is_found_by_its_name(name: str) -> None:
    assert name in CLASSES


@pytest.mark.parametrize("name", [name for name in TYPES if LIST.search(name)])
def test_a_connection_is_found_as_the_generic_of_what_it_lists(name: str) -> None:
    node = LIST.sub("", name)
    assert node in CLASSES
    assert node in LISTED


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_an_operation_is_found_by_its_name(name: str) -> None:
    assert snake_case(name) in FUNCTIONS


def test_a_type_is_not_found_by_a_part_of_its_name() -> None:
    assert "CreatePipelinePayload" in CLASSES
    assert "CreatePipeline" not in CLASSES

"""What a GraphQL type shows plainly lies on its record, under that name and as nullable."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from graphql import GraphQLField, GraphQLNonNull, GraphQLObjectType
from strawberry.types.field import StrawberryField

from datastore import jobs, records
from datastore.audio import records as audio
from datastore.resources import differences
from schema import schema
from schema.documents import core_schema

RECORDS: dict[str, type] = {
    "Album": audio.Album,
    "ApiKey": records.ApiKey,
    "Artist": audio.Artist,
    "Audio": audio.Audio,
    "AudioLink": audio.AudioLink,
    "Calculation": records.Calculation,
    "CalculationVersion": records.CalculationVersion,
    "Genre": audio.Genre,
    "Change": differences.Change,
    "DatasetColumn": records.DatasetColumn,
    "DatasetContent": records.DatasetContent,
    "Group": records.Group,
    "ImportFailure": audio.ImportFailure,
    "Job": jobs.Job,
    "Output": records.Output,
    "Parameter": records.Parameter,
    "Pipeline": records.Pipeline,
    "PipelineVersion": records.PipelineVersion,
    "ReferenceDataset": records.ReferenceDataset,
    "ReferenceDatasetVersion": records.ReferenceDatasetVersion,
    "Storage": audio.Connection,
    "Tag": records.Tag,
    "TagKey": records.TagKey,
    "TagValue": records.TagValue,
    "Transform": records.Transform,
    "Transformer": records.Transformer,
}
ROOTS = {"Query", "Mutation", "Subscription"}
MADE_HERE = {
    "AudioLibrary",
    "DatasetUpload",
    "EvaluationError",
    "ExplainedPart",
    "Explanation",
    "FieldProblem",
    "FileDownload",
    "FormulaPosition",
    "FormulaValue",
    "GroupRole",
    "PageInfo",
    "SignedUrl",
    "UploadField",
    "UploadForm",
    "UsedDataset",
    "Viewer",
}
ENDINGS = ("Payload", "Connection", "Edge")
TYPES = core_schema(schema).type_map


def objects() -> Iterator[GraphQLObjectType]:
    for name, type in TYPES.items():
        if isinstance(type, GraphQLObjectType) and not name.startswith("__"):
            yield type


def plain(type: GraphQLObjectType) -> dict[str, tuple[StrawberryField, GraphQLField]]:
    """The fields without a resolver, by the name they have in Python."""
    found = {}
    for field in type.fields.values():
        definition = field.extensions["strawberry-definition"]
        if definition.is_basic_field:
            found[definition.python_name] = (definition, field)
    return found


def attributes(record: type) -> dict[str, Any]:
    """The types of a record's fields and properties."""
    properties = {
        name: get_type_hints(value.fget)["return"]
        for name, value in vars(record).items()
        if isinstance(value, property)
    }
    return get_type_hints(record) | properties


def is_nullable(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def test_every_type_has_a_record_or_is_made_by_the_schema() -> None:
    failures = {t.name for t in objects() if "UserError" in {i.name for i in t.interfaces}}
    others = {t.name for t in objects() if not t.name.endswith(ENDINGS)} - failures
    assert others - ROOTS - MADE_HERE == RECORDS.keys()


@pytest.mark.parametrize("name", RECORDS)
def test_plain_fields_are_on_the_record_and_as_nullable(name: str) -> None:
    type = TYPES[name]
    assert isinstance(type, GraphQLObjectType)
    hints = attributes(RECORDS[name])
    fields = plain(type)
    assert fields
    assert fields.keys() <= hints.keys()
    served = {
        name: not isinstance(field.type, GraphQLNonNull) for name, (_, field) in fields.items()
    }
    assert served == {name: is_nullable(hints[name]) for name in fields}


@pytest.mark.parametrize("name", RECORDS)
def test_a_list_is_a_tuple_on_the_record(name: str) -> None:
    type = TYPES[name]
    assert isinstance(type, GraphQLObjectType)
    hints = attributes(RECORDS[name])
    for field, (_, definition) in plain(type).items():
        assert str(definition.type).startswith("[") == (get_origin(hints[field]) is tuple), field


def test_the_enums_are_those_of_the_records() -> None:
    for enum in (records.State, records.ValueType, jobs.JobKind, jobs.JobState):
        assert list(TYPES[enum.__name__].values) == [member.name for member in enum]  # type: ignore[attr-defined]

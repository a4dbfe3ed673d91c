"""Every record is the same from an item, from the embedded table's text and from DynamoDB's."""

from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from penstock.datastore.audio.records import (
    Album,
    Audio,
    AudioLink,
    BucketConnection,
    ImportFailure,
    LibraryTotals,
)
from penstock.datastore.dynamodb.record_views import WireItem
from penstock.datastore.dynamodb.wire import encode_item
from penstock.datastore.errors import Unreadable
from penstock.datastore.executions.records import Execution, ExecutionEvent
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.listening.records import Play
from penstock.datastore.manifest.records import Manifest, Run, RunEvent
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.records import (
    Calculation,
    CalculationVersion,
    Group,
    Pipeline,
    PipelineVersion,
    ReferenceDataset,
    Tag,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.sqlite.rows import JsonItem, encode
from penstock.datastore.table.items import load, record_type
from penstock.datastore.table.limits import item_size, read_units
from penstock.datastore.table.port import Attributes, Item, Key

RECORDS = (
    *(
        Album,
        Audio,
        AudioLink,
        BucketConnection,
        ImportFailure,
        LibraryTotals,
        Execution,
        ExecutionEvent,
        Job,
    ),
    *(Play, Manifest, Run, RunEvent, Entry, Playlist, Calculation, CalculationVersion),
    *(Group, Pipeline, PipelineVersion, ReferenceDataset),
)
few = settings(max_examples=30)
MOST_LEVELS = 2
"""How often a record that has records of its own type is within itself."""

KEY = {"pk": "P:1", "sk": "PV:latest"}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NUMBERS = st.integers(-(10**18), 10**18)
EXACT = st.decimals(-1000, 1000, places=3).filter(lambda number: number % 1 != 0)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | EXACT | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES, inside, max_size=3),
    max_leaves=6,
)


def values_of(kind: Any, around: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Values of the type of a record's field, within records of the types around it."""
    kind = kind.__supertype__ if isinstance(kind, NewType) else kind
    of = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(
            [st.none() if each is NoneType else values_of(each, around) for each in of]
        )
    if get_origin(kind) in (tuple, list):
        most = 0 if around.count(of[0]) == MOST_LEVELS else 3
        within = values_of(of[0], around) if most else st.nothing()
        return st.lists(within, max_size=most).map(get_origin(kind))
    if get_origin(kind) is dict:
        return st.dictionaries(NAMES, values_of(of[1], around), max_size=3)
    if kind in (str, int, bool, Any):
        return {str: TEXTS, int: NUMBERS, bool: st.booleans(), Any: JSON}[kind]
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    return records_of(kind, around)


@cache
def records_of(kind: Any, around: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    inside = (*around, kind)
    return st.builds(kind, **{field.name: values_of(field.type, inside) for field in fields(kind)})


def plain(value: Any) -> Any:
    """A value of a record as an item holds it."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def item_of(record: msgspec.Struct) -> Item:
    return {**KEY, **plain(msgspec.to_builtins(record, builtin_types=(Decimal,)))}


def forms_of_item(item: Item) -> tuple[Attributes, ...]:
    """The item as it is, and as each of the stores returns it."""
    spaced = msgspec.json.format(orjson.dumps(encode_item(item)), indent=1)
    return item, JsonItem(Key(**KEY), encode(item)), WireItem.read(msgspec.Raw(spaced))


def read_values(value: Any) -> Any:
    """Everything that can be read of a record, or of a partial record with all its fields."""
    kind: Any = record_type(value)
    if isinstance(value, list | tuple):
        return [read_values(each) for each in value]
    if hasattr(kind, "__struct_fields__"):
        return {field.name: read_values(getattr(value, field.name)) for field in fields(kind)}
    return value


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@few
@given(st.data())
def test_a_record_and_each_of_its_parts_are_told_alike_by_all(
    kind: Any, data: st.DataObject
) -> None:
    record = data.draw(records_of(kind))
    names = [field.name for field in fields(kind)]
    asked = frozenset(data.draw(st.sets(st.sampled_from(names))))
    for told in forms_of_item(item_of(record)):
        assert load(kind, told) == record
        part = load(kind, told, asked)
        assert record_type(part) is kind
        assert [read_values(getattr(part, name)) for name in asked] == [
            read_values(getattr(record, name)) for name in asked
        ]
        assert not any(hasattr(part, name) for name in set(names) - asked)


@few
@given(st.sampled_from(RECORDS).flatmap(records_of))
def test_a_row_is_a_mapping_of_its_attributes(record: msgspec.Struct) -> None:
    item = item_of(record)
    for told in forms_of_item(item)[1:]:
        assert (told["pk"], told["sk"], len(told)) == (KEY["pk"], KEY["sk"], len(item))
        assert "none of the names" not in told
        assert all(name in told for name in item)
        assert told == item
        assert {**told} == item


@few
@given(records_of(Pipeline))
def test_what_an_item_is_charged_by_costs_as_much_as_its_size(record: Pipeline) -> None:
    item = item_of(record)
    for length in (0, 3_000, 4_096, 5_000, 9_000):
        longer = {**item, "description": "x" * length}
        _, _, told = forms_of_item(longer)
        assert isinstance(told, WireItem)
        assert read_units(told.charged_size, consistent=True) == read_units(
            item_size(longer), consistent=True
        )


def test_more_attributes_stand_for_those_of_the_row() -> None:
    item = item_of(Tag(key="a", value="b"))
    for told in forms_of_item(item):
        assert load(Tag, told, value="c") == Tag(key="a", value="c")
        assert load(Tag, told, frozenset(["value"]), value="c").value == "c"


def test_what_is_worked_out_from_fields_takes_the_whole_record() -> None:
    record = Manifest(group=GroupPath("/"), name="n", created_at="t", created_by="me")
    for told in forms_of_item(item_of(record)):
        assert load(Manifest, told, frozenset(["place"])) == record


def test_a_null_is_what_an_optional_attribute_without_a_value_is() -> None:
    item = {**item_of(Album(id="1", name="n", album_artist="", count=1, duration_ms=2))}
    for told in forms_of_item({**item, "artwork": None}):
        assert load(Album, told).artwork is None
        assert load(Album, told, frozenset(["artwork"])).artwork is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("name", 1), ("name", None), ("count", "many"), ("artwork", 1), ("year", "late")],
)
def test_a_value_of_another_type_is_refused_whole_and_in_part(name: str, value: Any) -> None:
    item = item_of(Album(id="1", name="n", album_artist="", count=1, duration_ms=2))
    for told in forms_of_item({**item, name: value}):
        with pytest.raises(Unreadable):
            load(Album, told)
        with pytest.raises(Unreadable):
            load(Album, told, frozenset([name]))

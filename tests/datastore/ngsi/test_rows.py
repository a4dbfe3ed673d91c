"""Stored items: exactly the documented fields, in both persistences, for every value."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from penstock.datastore.errors import ErrorCode
from penstock.datastore.ngsi.dead_letters import DeadEvent, Refusal
from penstock.datastore.ngsi.events import (
    EntityUpdate,
    Metadata,
    NotifiedAttribute,
    native_value,
    read_json,
    write_json,
)
from penstock.datastore.ngsi.notification import read_any_entity
from penstock.datastore.ngsi.options import Compat, ItemLayout, Persistence, ValueFormat
from penstock.datastore.ngsi.reading.series import attribute_columns
from penstock.datastore.ngsi.rows import Event, item_count, items_of, recv_time
from penstock.datastore.table import limits
from penstock.datastore.table.port import Item

AT = 1_429_535_775_005
CAR = EntityUpdate(
    "car1",
    "car",
    (
        NotifiedAttribute("speed", "float", Raw(b"112.9")),
        NotifiedAttribute("oil_level", "float", Raw(b"74.6")),
    ),
)
ROWS = ItemLayout()
CYGNUS = ItemLayout(compat=Compat.CYGNUS)
TYPED = ItemLayout(value_format=ValueFormat.TYPED)
BUSY = Refusal(ErrorCode.SERVICE_UNAVAILABLE, "busy")


def event(
    update: EntityUpdate = CAR, persistence: Persistence = Persistence.ROW, **changes: Any
) -> Event:
    fields: dict[str, Any] = {"service": "vehicles", "path": "/4wheels", "at": AT, "identity": "i"}
    return Event(**{**fields, **changes}, table="a table", persistence=persistence, update=update)


def documented_fields(item: Item) -> Item:
    """The item without the fields that the document does not define: the keys and the number."""
    return {name: value for name, value in item.items() if name not in ("pk", "sk", "ID")}


def values(*found: Any, layout: ItemLayout = ROWS) -> list[Any]:
    attributes = tuple(NotifiedAttribute(f"a{n}", "", value) for n, value in enumerate(found))
    return [
        item["attrValue"] for item in items_of(event(EntityUpdate("e", "", attributes)), layout)
    ]


def column(*attributes: NotifiedAttribute, layout: ItemLayout = ROWS) -> Item:
    (item,) = items_of(event(EntityUpdate("e", "t", attributes), Persistence.COLUMN), layout)
    return item


def test_the_documents_example_is_two_rows() -> None:
    speed, oil = items_of(event(), ROWS)
    assert documented_fields(speed) == {
        "recvTimeTs": 1429535775005,
        "recvTime": "2015-04-20T13:16:15.005Z",
        "fiwareServicePath": "/4wheels",
        "entityId": "car1",
        "entityType": "car",
        "attrName": "speed",
        "attrType": "float",
        "attrValue": "112.9",
        "attrMd": "[]",
    }
    assert documented_fields(oil) == {
        **documented_fields(speed),
        "attrName": "oil_level",
        "attrValue": "74.6",
    }


def test_the_documents_example_is_one_column_item() -> None:
    (item,) = items_of(event(persistence=Persistence.COLUMN), ROWS)
    assert documented_fields(item) == {
        "recvTime": "2015-04-20T13:16:15.005Z",
        "fiwareServicePath": "/4wheels",
        "entityId": "car1",
        "entityType": "car",
        "speed": "112.9",
        "speed_md": "[]",
        "oil_level": "74.6",
        "oil_level_md": "[]",
    }


def test_cygnus_itself_writes_seconds_bare_milliseconds_and_quotes() -> None:
    speed, _ = items_of(event(), CYGNUS)
    assert (speed["recvTimeTs"], speed["recvTime"]) == (1429535775, "2015-04-20T13:16:15.5Z")
    (item,) = items_of(event(persistence=Persistence.COLUMN), CYGNUS)
    assert documented_fields(item) == {
        "recvTime": "2015-04-20T13:16:15.5Z",
        "fiwareServicePath": "/4wheels",
        "entityId": "car1",
        "entityType": "car",
        "speed": '"112.9"',
        "speed_md": "[]",
        "oil_level": '"74.6"',
        "oil_level_md": "[]",
    }


@pytest.mark.parametrize(
    ("milliseconds", "documented", "cygnus"),
    [
        (0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.0Z"),
        (50, "1970-01-01T00:00:00.050Z", "1970-01-01T00:00:00.50Z"),
        (1_429_535_775, "1970-01-17T13:05:35.775Z", "1970-01-17T13:05:35.775Z"),
    ],
)
def test_times_have_three_digits_of_milliseconds(
    milliseconds: int, documented: str, cygnus: str
) -> None:
    assert recv_time(milliseconds) == documented
    assert recv_time(milliseconds, Compat.CYGNUS) == cygnus


def test_values_are_texts_as_they_were_written() -> None:
    found = values("a", 5, Raw(b"5.0"), Raw(b"1e3"), True, None, {"b": [1, Raw(b"2.0")]}, "", 0, [])
    expected = ["a", "5", "5.0", "1e3", "true", None, '{"b":[1,2.0]}', "", "0", "[]"]
    assert found == expected


def test_typed_values_are_those_of_the_table() -> None:
    found = values("a", 5, Raw(b"5.0"), True, None, {"b": [1, Raw(b"2.5")]}, "", [], layout=TYPED)
    assert found == ["a", 5, Decimal("5.0"), True, None, {"b": [1, Decimal("2.5")]}, "", []]
    assert isinstance(found[2], Decimal)


@pytest.mark.parametrize(
    "text",
    [
        "1" * 39,
        "0." + "1" * 39,
        "1e126",
        "1e-131",
        "[" * 40 + "]" * 40,
        '{"":1}',
        "1e99999999999",
        "1e" + "9" * 21,
    ],
)
def test_what_a_table_cannot_hold_exactly_is_kept_as_its_text(text: str) -> None:
    assert values(read_json(text), layout=TYPED) == [text]


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_typed_number_is_exact_or_a_text(number: Decimal) -> None:
    text = f"{number:f}" if abs(number.adjusted()) < 400 else f"{number}"
    found = native_value(read_json(text.replace("E+", "e").replace("E", "e")))
    if isinstance(found, str):
        assert Decimal(found) == number
    else:
        assert found == number
        limits.item_size({"n": found})


def test_metadata_is_a_list_in_json() -> None:
    metadata = (
        Metadata("unit", "Text", 'de"g'),
        Metadata("n", "Number", 1),
        Metadata("z", "", None),
    )
    update = EntityUpdate("e", "t", (NotifiedAttribute("a", "", 1, metadata),))
    (item,) = items_of(event(update), ROWS)
    assert item["attrMd"] == (
        '[{"name":"unit","type":"Text","value":"de\\"g"},'
        '{"name":"n","type":"Number","value":1},{"name":"z","type":"","value":null}]'
    )
    (cygnus,) = items_of(event(update), CYGNUS)
    assert '"value":"1"' in str(cygnus["attrMd"])
    assert '"value":"null"' in str(cygnus["attrMd"])


@pytest.mark.parametrize(
    "name",
    ["ID", "recvTime", "entityId", "entityType", "fiwareServicePath", "pk", "sk", "siKey1",
     "expiresAt", "attrs"],
)  # fmt: skip
def test_an_attribute_never_takes_the_place_of_a_field(name: str) -> None:
    plain, odd = column(), column(NotifiedAttribute(name, "", "v"))
    assert odd["attrs"] == {name: "v", f"{name}_md": "[]"}
    assert {field: value for field, value in odd.items() if field != "attrs"} == plain


def test_an_attribute_named_like_anothers_metadata_stands_aside() -> None:
    found = column(
        NotifiedAttribute("a", "", "1"),
        NotifiedAttribute("a_md", "", "2"),
        NotifiedAttribute("b", "", "3"),
    )
    assert (found["a"], found["a_md"], found["b"]) == ("1", "[]", "3")
    assert found["attrs"] == {"a_md": "2", "a_md_md": "[]"}


def read_columns(items: list[Item], names: set[str]) -> Counter[tuple[str, str | None]]:
    """The samples that a reader finds in column items: each name with its value's text."""
    return Counter(
        (name, None if found[0] is None else str(found[0]))
        for item in items
        for name in names
        if (found := attribute_columns(item, name)) is not None
    )


def test_an_attribute_that_comes_three_times_is_three_column_items() -> None:
    thrice = tuple(NotifiedAttribute("a", "", value) for value in (1, 2, 3))
    update = EntityUpdate("e", "t", (*thrice, NotifiedAttribute("b", "", 4)))
    first, second, third = items_of(event(update, Persistence.COLUMN), ROWS)
    assert (first["a"], first["b"], second["a"], third["a"]) == ("1", "4", "2", "3")
    assert all("b" not in item and "attrs" not in item for item in (second, third))
    assert len({(item["pk"], item["sk"]) for item in (first, second, third)}) == 3
    assert len({item["ID"] for item in (first, second, third)}) == 3
    assert item_count(event(update, Persistence.COLUMN)) == 3


NEIGHBOURS = ("a", "a_md", "a_md_md", "a_md_md_md", "b", "_md", "ID", "ID_md", "ID_md_md", "attrs",
              "pk", "recvTime", "recvTime_md", "expiresAt")  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(NEIGHBOURS), st.integers(0, 99)), max_size=9))
def test_each_value_of_a_column_update_is_read_once_under_its_name(
    attributes: list[tuple[str, int]],
) -> None:
    update = EntityUpdate(
        "e", "t", tuple(NotifiedAttribute(name, "", value) for name, value in attributes)
    )
    items = items_of(event(update, Persistence.COLUMN), ROWS)
    sent = Counter((name, str(value)) for name, value in attributes)
    assert read_columns(items, set(NEIGHBOURS)) == sent
    assert item_count(event(update, Persistence.COLUMN)) == len(items)
    assert all({"ID", "recvTime", "entityId"} <= item.keys() for item in items)


def test_an_update_without_attributes_has_no_rows_and_one_column_item() -> None:
    empty = EntityUpdate("e", "t", ())
    assert items_of(event(empty), ROWS) == []
    (item,) = items_of(event(empty, Persistence.COLUMN), ROWS)
    assert documented_fields(item) == {
        "recvTime": "2015-04-20T13:16:15.005Z",
        "fiwareServicePath": "/4wheels",
        "entityId": "e",
        "entityType": "t",
    }


def test_keys_are_those_of_the_series_and_follow_from_the_event() -> None:
    speed, oil = items_of(event(), ROWS)
    assert speed["pk"] == "vehicles:/4wheels:car1:car:speed"
    assert str(speed["sk"]).startswith("001429535775005:")
    assert speed["ID"] != oil["ID"]
    assert items_of(event(), ROWS) == [speed, oil]
    (other, _) = items_of(event(identity="j"), ROWS)
    assert (other["pk"], other["ID"] != speed["ID"]) == (speed["pk"], True)
    (item,) = items_of(event(persistence=Persistence.COLUMN), ROWS)
    assert item["pk"] == "vehicles:/4wheels:car1:car"


def test_an_attribute_that_comes_twice_is_two_samples() -> None:
    twice = EntityUpdate("e", "t", (NotifiedAttribute("a", "", 1), NotifiedAttribute("a", "", 1)))
    one, other = items_of(event(twice), ROWS)
    assert one["sk"] != other["sk"]


@given(
    st.tuples(*[st.text(min_size=1, max_size=12)] * 5),
    st.tuples(*[st.text(min_size=1, max_size=12)] * 5),
)
def test_different_series_have_different_keys(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    keys = []
    for service, path, id, type_, name in (one, other):
        update = EntityUpdate(id, type_, (NotifiedAttribute(name, "", 1),))
        (item,) = items_of(event(update, service=service, path=path), ROWS)
        keys.append(item["pk"])
    assert (keys[0] == keys[1]) == (one == other)


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=8), st.integers() | st.text(max_size=8)), max_size=5
    ),
    st.sampled_from(Persistence),
    st.builds(
        ItemLayout, value_format=st.sampled_from(ValueFormat), compat=st.sampled_from(Compat)
    ),
)
def test_every_item_fits_the_table(
    attributes: list[tuple[str, Any]], persistence: Persistence, layout: ItemLayout
) -> None:
    update = EntityUpdate(
        "e", "", tuple(NotifiedAttribute(name, "", value) for name, value in attributes)
    )
    for item in items_of(event(update, persistence), layout):
        assert limits.measure_item(item).index_hash is None
        number = item["ID"]
        assert isinstance(number, int)
        assert 0 <= number < 10**37


def test_json_is_written_again_as_it_was_read() -> None:
    text = b'{"a":[1,2.50,1E5,-0.0,"\xc3\xa9",null,true],"b":{}}'
    assert write_json(read_json(text)) == text


def test_a_dead_entity_shows_each_value_of_an_attribute_named_several_times() -> None:
    unit = Metadata("unit", "Text", "km/h")
    one, two = NotifiedAttribute("a", "float", 1, (unit,)), NotifiedAttribute("a", "float", 2)
    dead = DeadEvent.from_event(event(EntityUpdate("e", "t", (one, two))), BUSY)
    read = read_any_entity(read_json(dead.entity))
    assert read == EntityUpdate("e", "t", (one, two))
    single = DeadEvent.from_event(event(EntityUpdate("e", "t", (one,))), BUSY)
    assert read_any_entity(read_json(single.entity)) == EntityUpdate("e", "t", (one,))

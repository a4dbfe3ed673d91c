"""Names of destinations: examples of the document and of the sink, and names that are too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.naming.table_names import (
    NamingPlace,
    is_table_name,
    table_name,
    unambiguous_name,
)
from penstock.datastore.ngsi.options import DataModel, LongNames, NamingOptions

BY_ENTITY = NamingOptions()
BY_PATH = NamingOptions(data_model=DataModel.BY_SERVICE_PATH)
CAR = NamingPlace("vehicles", "/4wheels", "car1", "car")

NAMES = [
    (CAR, BY_ENTITY, "vehiclesxffffx002f4wheelsxffffcar1xffffcar", 42),
    (CAR._replace(path="/"), BY_ENTITY, "vehiclesxffffx002fxffffcar1xffffcar", 35),
    (CAR, BY_PATH, "vehiclesxffffx002f4wheels", 25),
    (CAR._replace(path="/"), BY_PATH, "vehiclesxffffx002f", 18),
    (
        NamingPlace("default", "/", "Room1", "Room"),
        BY_ENTITY,
        "defaultxffffx002fxffffRoom1xffffRoom",
        36,
    ),
    (
        NamingPlace("default", "/Madrid/Gardens/ParqueNorte", "Tree1", "Tree"),
        BY_ENTITY,
        "defaultxffffx002fMadridx002fGardensx002fParqueNortexffffTree1xffffTree",
        70,
    ),
    (
        NamingPlace("default", "/", "urn:ngsi-ld:Car:1", "Car"),
        BY_ENTITY,
        "defaultxffffx002fxffffurnx003angsi-ldx003aCarx003a1xffffCar",
        59,
    ),
    (
        NamingPlace("my_svc", "/a_b", "R-1.x", "T_1"),
        BY_ENTITY,
        "my_svcxffffx002fa_bxffffR-1.xxffffT_1",
        37,
    ),
    (NamingPlace("s", "/", "car1", ""), BY_ENTITY, "sxffffx002fxffffcar1", 20),
    (NamingPlace("s", "/", "", "car"), BY_ENTITY, "sxffffx002fxffffcar", 19),
    (
        NamingPlace("vehicles", "/cars", "cars", ""),
        BY_ENTITY,
        "vehiclesxffffx002fcarsxffffcars",
        31,
    ),
    (NamingPlace("", "/", "", ""), BY_PATH, "xffffx002f", 10),
]


@pytest.mark.parametrize(("place", "naming", "name", "length"), NAMES)
def test_a_destination_is_named_as_the_sink_names_it(
    place: NamingPlace, naming: NamingOptions, name: str, length: int
) -> None:
    assert table_name(place, naming) == name
    assert len(name) == length


def test_a_name_of_255_characters_stays_and_a_longer_one_ends_in_a_hash() -> None:
    longest = table_name(NamingPlace("default", "/", "i" * 227, "t"), BY_ENTITY)
    assert len(longest) == 255
    assert longest.endswith("ixfffft")
    cut = table_name(NamingPlace("default", "/", "i" * 228, "t"), BY_ENTITY)
    assert cut == longest[:200] + "-" + cut[-26:]
    assert is_table_name(cut)
    assert cut != table_name(NamingPlace("default", "/", "i" * 229, "t"), BY_ENTITY)


@pytest.mark.parametrize(("count", "length"), [(45, 253), (46, 258)])
def test_escaped_characters_count_five_times(count: int, length: int) -> None:
    reject = NamingOptions(long_names=LongNames.REJECT)
    place = NamingPlace("default", "/", ":" * count, "t")
    if length <= 255:
        assert len(table_name(place, reject)) == length
        return
    with pytest.raises(LimitExceeded) as refused:
        table_name(place, reject)
    assert (refused.value.maximum, refused.value.actual) == (255, length)


def test_lower_case_is_that_of_the_finished_name() -> None:
    place = NamingPlace("Vehicles", "/4Wheels", "Ñ1", "Car")
    lower = NamingOptions(enable_lowercase=True)
    assert table_name(place, lower) == "vehiclesxffffx002f4wheelsxffffx00d11xffffcar"
    long = table_name(place._replace(entity_id="I" * 300), lower)
    assert long == long.lower()


def test_strict_names_join_components_that_were_encoded_each_by_itself() -> None:
    strict = NamingOptions(encoding=Encoding.STRICT)
    one = table_name(NamingPlace("s", "/", "a=b", "c"), strict)
    other = table_name(NamingPlace("s", "/", "a", "b=c"), strict)
    assert (one, other) == ("sxffffx002fxffffax003dbxffffc", "sxffffx002fxffffaxffffbx003dc")
    cygnus = [
        table_name(NamingPlace("s", "/", *each), BY_ENTITY) for each in (("a=b", "c"), ("a", "b=c"))
    ]
    assert cygnus[0] == cygnus[1]


def test_places_that_share_a_name_are_told_apart_by_a_hash() -> None:
    one, other = NamingPlace("s", "/", "x:", "t"), NamingPlace("s", "/", "x003a", "t")
    assert table_name(one, BY_ENTITY) == table_name(other, BY_ENTITY)
    assert unambiguous_name(one, BY_ENTITY) != unambiguous_name(other, BY_ENTITY)
    assert is_table_name(unambiguous_name(one, BY_ENTITY))


@given(
    st.builds(NamingPlace, *[st.text(max_size=60) for _ in range(4)]),
    st.builds(
        NamingOptions,
        data_model=st.sampled_from(DataModel),
        enable_lowercase=st.booleans(),
        encoding=st.just(Encoding.CYGNUS),
    ),
)
def test_whatever_is_notified_has_a_destination(place: NamingPlace, naming: NamingOptions) -> None:
    assert is_table_name(table_name(place, naming))

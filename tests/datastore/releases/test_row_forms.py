"""The first row of a form that earlier releases misread shuts them out, before it is written."""

import pytest

from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.port import Key, Operation, Put, Update
from penstock.datastore.table.row_forms import FORMS
from penstock.datastore.table.schema_marker import (
    THIS_RELEASE,
    GuardedTable,
    Release,
    SchemaMarker,
    TooOld,
    place_marker,
    read_marker,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, create_groups, make_of

SAMPLES: dict[int, Operation] = {
    3: Update(key=Key("GC:usa", "GC:01"), add={"count": 1}),
    4: Put({"pk": "T:usa:colour", "sk": "T:red:P:1"}),
    5: Put({"pk": "P:1", "sk": "W:0000000001"}),
    6: Put({"pk": "P:1", "sk": "L", "siKey1": "P"}),
    7: Update(key=Key("RC:a", "RC:01"), add={"count": 1}),
    8: Update(key=Key("QG:usa", "QG:usa"), add={"count": 1}),
    10: Put({"pk": "EL:/usa:waiting", "sk": "EL:1"}),
    11: Put({"pk": "NW:/usa:P", "sk": "NW:smelt:1"}),
    12: Put({"pk": "C:1", "sk": "UB:/usa:P:1"}),
    13: Put({"pk": "P:1", "sk": "PKD", "siKey1": "PKD", "keepDays": 30}),
    14: Update(key=Key("G:/", "G:/usa"), set={"state": "disabled"}),
    15: Put({"pk": "P:1", "sk": "PV:0000000002", "activeFrom": "2027-01-01T00:00:00.000Z"}),
    16: Put({"pk": "D:1", "sk": "D", "content": {"keyColumn": "a", "keyColumns": ["a", "b"]}}),
    17: Update(key=Key("P:1", "PV:latest"), set={"labels": [{"label": "prod", "version": 1}]}),
    18: Put({"pk": "P:1", "sk": "PV:0000000001", "transformer": {"dataset": {"id": "1"}}}),
    24: Put({"pk": "D:1", "sk": "DV:0000000001", "content": {"keyColumn": "a", "indexBytes": 1}}),
    25: Put({"pk": "P:1", "sk": "PV:0000000001", "transformer": {"timestamps": "iso_8601"}}),
    23: Put({"pk": "NH:a:/b:c:d:e", "sk": "NH:19214", "hours": "[]"}),
    19: Update(key=Key("NC:a:/b", "NC:01"), add={"removals": 1}),
    20: Update(key=Key("RM:/usa", "RM:snow"), set={"retries": {"maxAttempts": 5}}),
    21: Put({"pk": "RL:/usa#snow:TAG#NEW#country#de", "sk": "RL:1660175720:1"}),
    22: Update(key=Key("RM:/usa", "RM:snow"), set={"consumer:lake": "Lake"}),
    26: Put({"pk": "PL:1", "sk": "PL", "rule": {"order": "title", "limit": 9}}),
    28: Update(key=Key("NH:a:/b:c:d:e", "NHM:19214"), set={"h00": "eJw="}),
    29: Update(key=Key("NL:a:/b:c:d", "NL"), set={"key:e": "001660175720322:0f"}),
    27: Update(key=Key("PE:1", "PE:P"), set={"state": "success", "placed": 1}),
    9: Update(key=Key("NC:a:/b", "NC:01"), add={"pending": 1}, set={"open:1": "2022-08-10/1"}),
}


def test_the_forms_have_numbers_one_behind_the_other() -> None:
    assert [form.number for form in FORMS] == [*range(3, THIS_RELEASE.schema + 1)]


@pytest.mark.parametrize("number", SAMPLES)
async def test_the_first_row_of_a_form_shuts_out_releases_that_misread_it(
    store: Store, number: int
) -> None:
    await place_marker(store.table)
    old = GuardedTable(store.table, Release(number - 1), seconds=0)
    plain = Put({"pk": "T:usa:colour", "sk": "T:blue:P:1", "tags": {"colour": "blue"}})
    new = GuardedTable(store.table)
    await new.transact([plain])
    assert await read_marker(store.table) == SchemaMarker(schema=THIS_RELEASE.schema)
    await old.transact([plain])
    await new.transact([SAMPLES[number]])
    marker = await read_marker(store.table)
    assert marker == SchemaMarker(
        schema=THIS_RELEASE.schema, minimum_reader=number, minimum_writer=number
    )
    kept = await contents(store.table)
    for call in (lambda: old.get([plain.key]), lambda: old.transact([plain]), old.ping):
        with pytest.raises(TooOld, match=f"and {number} is needed"):
            await call()
    assert await contents(store.table) == kept
    await GuardedTable(store.table, Release(number)).ping()


async def test_a_lower_form_never_lowers_the_numbers(store: Store) -> None:
    await place_marker(store.table)
    for number in (5, 3):
        await GuardedTable(store.table).transact([SAMPLES[number]])
    assert await read_marker(store.table) == SchemaMarker(
        schema=THIS_RELEASE.schema, minimum_reader=5, minimum_writer=5
    )


async def test_the_first_resource_demands_the_newest_form_of_its_rows(store: Store) -> None:
    session = await create_groups(Store(GuardedTable(store.table)))
    await make_of(session, PIPELINE, USA, "plain", "colour=red")
    assert (await read_marker(store.table)).minimum_reader == 11

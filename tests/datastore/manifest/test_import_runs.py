"""Imports of manifest tables from lines of JSON or from other tables; they can be repeated."""

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.dynamodb.client import scan
from penstock.datastore.dynamodb.wire import encode_item
from penstock.datastore.errors import Invalid, NotFound, NotPermitted
from penstock.datastore.manifest import legacy_items
from penstock.datastore.manifest.import_runs import (
    InvalidItem,
    RunImportResult,
    SourceItem,
    read_lines,
    read_typed,
)
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, ManifestName, RunState
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.manifest.legacy_table import make_manifest_table
from tests.datastore.manifest.sample_runs import (
    LOAD,
    LOADED_ITEM,
    NEW_ITEM,
    PROCESSED_ITEM,
    SNOW,
    TRANSFORM,
    claim,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import EU, USA, caller, on_sqlite, walk
from tests.support.stores import (
    REGION,
    aws_environment,
    dynoxide_endpoint,
    moto_endpoint,
    skip_reason,
)
from tests.support.table_interceptors import TracedTable


def typed_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return encode_item(dict(item))


def test_lines_are_read_in_each_of_the_forms_that_programs_write() -> None:
    lines = [
        json.dumps(dict(NEW_ITEM)).encode(),
        b"\n",
        json.dumps(typed_item(PROCESSED_ITEM)).encode() + b"\r\n",
        json.dumps({"Item": typed_item(LOADED_ITEM)}).encode(),
        json.dumps(
            {**typed_item(NEW_ITEM), "Set": {"SS": ["a"]}, "AddedAt": {"N": "1e3"}}
        ).encode(),
    ]
    found = list(read_lines(lines))
    assert [each.place for each in found] == ["line 1", "line 3", "line 4", "line 5"]
    wanted = [NEW_ITEM, PROCESSED_ITEM, LOADED_ITEM, {**NEW_ITEM, "AddedAt": Decimal("1e3")}]
    assert [each.values for each in found] == wanted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "it is no JSON object"),
        (b"[]", "it is no JSON object"),
        (b"\xff", "it is no JSON object"),
        (b'{"RunId\xff": "r"}', "it is no JSON object"),
        (b"[" * 100_000, "it is no JSON object"),
        (b'{"x": ' * 100_000, "it is no JSON object"),
        (b'"' + b"x" * 2**20 + b'"', "longer than 1048576 bytes"),
        (b'{"RunId": {"S": "r"}, "ShredTypes": {"SS": ["a"]}}', "ShredTypes has no value"),
        (b'{"RunId": {"S": "r"}, "AddedAt": {"N": "x"}}', "AddedAt has no value"),
        (b'{"RunId": {"S": "r"}, "AddedAt": {}}', "AddedAt has no value"),
        (b'{"RunId": {"S": "r"}, "AddedAt": 5}', "AddedAt has no value"),
        (b'{"RunId": {"S": "r"}, "AddedAt": {"N": 5}}', "AddedAt has no value"),
        (b'{"RunId": {"S": "r"}, "ShredTypes": {"L": "a"}}', "ShredTypes has no value"),
    ],
)
def test_a_line_that_is_no_item_is_told(line: bytes, words: str) -> None:
    (found,) = read_lines([line])
    assert found.values is None
    assert any(words in reason for reason in found.reasons)


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_no_line_breaks_the_reading(line: bytes) -> None:
    for found in read_lines([line, b'{"RunId": ' + line + b"}"]):
        assert found.values is None or isinstance(legacy_items.read_item(found.values), list)


def table_of(*items: Mapping[str, Any]) -> list[SourceItem]:
    return [SourceItem(f"item {n}", item) for n, item in enumerate(items, 1)]


async def test_what_is_valid_enters_and_the_rest_is_listed(session: Session, store: Store) -> None:
    items = table_of(
        NEW_ITEM,
        {**LOADED_ITEM, "ToSkip": True},
        PROCESSED_ITEM,
        {"RunId": 5},
        LOADED_ITEM,
        NEW_ITEM,
    )
    items.append(SourceItem("line 9", None, ["it is no JSON object"]))
    imported = await session.run_importer.batch(SNOW, items)
    assert imported == RunImportResult(
        entered=3,
        standing=1,
        invalid=(
            InvalidItem("item 2", "archive/run=3/", ("it was loaded, and ToSkip is true",)),
            InvalidItem(
                "item 4",
                None,
                (
                    "AddedAt is missing",
                    "AddedBy is missing",
                    "ToSkip is missing",
                    "RunId must be a string",
                ),
            ),
            InvalidItem("line 9", None, ("it is no JSON object",)),
        ),
    )
    listed = await walk(lambda window: session.run_lists.page(SNOW, RunListFilter(), window))
    assert [(run.run_id, run.state, run.saved_to) for run in listed] == [
        ("archive/run=1/", RunState.NEW, None),
        ("archive/run=2/", RunState.PROCESSED, "s3://stage/run=2/"),
        ("archive/run=3/", RunState.LOADED, "s3://stage/run=2/"),
    ]
    history = await session.run_lists.history(listed[2], Window())
    assert [(event.action, event.after) for _, event in history.entries] == [
        (Action.IMPORT, RunState.LOADED)
    ]
    assert (await claim(session, LOAD, listed[1].name)).fence == 1
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_an_import_may_be_repeated_and_changes_nothing_that_is_there(
    session: Session, store: Store
) -> None:
    await session.run_importer.batch(SNOW, table_of(NEW_ITEM, PROCESSED_ITEM))
    await claim(session, TRANSFORM, run_name("archive/run=1/"))
    before = await contents(store.table)
    again = await session.run_importer.batch(SNOW, table_of(PROCESSED_ITEM, NEW_ITEM))
    assert again == RunImportResult(entered=0, standing=2)
    assert await contents(store.table) == before
    more = await session.run_importer.batch(SNOW, table_of(LOADED_ITEM, NEW_ITEM))
    assert more == RunImportResult(entered=1, standing=1)
    assert await run_faults(store.table) == []


@on_sqlite
async def test_a_run_that_enters_meanwhile_keeps_no_other_out(
    session: Session, store: Store
) -> None:
    class Meanwhile(TracedTable):
        """A table in which another import inserts the run right after the first read."""

        async def get(self, keys: Any, *, consistent: bool = False) -> Any:
            found = await self._table.get(keys, consistent=consistent)
            await session.run_importer.batch(SNOW, table_of(PROCESSED_ITEM))
            return found

    table: Any = Meanwhile(store.table)
    late = Store(table, store.clock).open_session(session.caller)
    imported = await late.run_importer.batch(SNOW, table_of(NEW_ITEM, PROCESSED_ITEM, LOADED_ITEM))
    assert imported == RunImportResult(entered=2, standing=1)
    assert await run_faults(store.table) == []


@on_sqlite
async def test_many_runs_enter_in_few_transactions(session: Session, store: Store) -> None:
    first = replace(store, shards=1).open_session(session.caller)
    await first.run_importer.batch(SNOW, table_of(NEW_ITEM))
    traced = TracedTable(store.table)
    late = Store(traced, store.clock, shards=1).open_session(session.caller)
    items = [{**LOADED_ITEM, "RunId": f"run={n}/"} for n in range(100)]
    assert (await late.run_importer.batch(SNOW, table_of(*items))).entered == 100
    assert traced.writes == 5
    (manifest,) = await walk(lambda window: session.manifests.page(USA, window))
    assert manifest.runs == 101
    assert await run_faults(store.table) == []


@on_sqlite
async def test_an_import_needs_a_contributor_and_a_manifest_with_a_name(
    session: Session, store: Store
) -> None:
    before = await contents(store.table)
    for roles, failure in (({EU: Role.ADMIN}, NotFound), ({USA: Role.READER}, NotPermitted)):
        with pytest.raises(failure):
            await store.open_session(caller(roles)).run_importer.batch(SNOW, table_of(NEW_ITEM))
    with pytest.raises(Invalid):
        await session.run_importer.batch(ManifestName(USA, ""), table_of(NEW_ITEM))
    long = {**NEW_ITEM, "RunId": "x" * 1010}
    imported = await session.run_importer.batch(ManifestName(USA, "m" * 100), table_of(long))
    assert [item.reasons for item in imported.invalid] == [
        ("RunId makes a key of more than 1024 bytes",)
    ]
    assert await contents(store.table) == before


@pytest.mark.parametrize("implementation", ["moto", "dynoxide"])
async def test_a_table_of_others_is_read_whole_in_pages(implementation: str) -> None:
    if reason := skip_reason(implementation):
        pytest.skip(reason)
    url = {"moto": moto_endpoint, "dynoxide": dynoxide_endpoint}[implementation]()
    items = [{**LOADED_ITEM, "RunId": f"run={n}/"} for n in range(7)]
    name = await make_manifest_table(url, items)
    with aws_environment():
        pages = [page async for page in scan(name, region=REGION, endpoint_url=url, page=3)]
    assert [len(page) <= 3 for page in pages] == [True] * len(pages)
    found = [read_typed("item", raw) for page in pages for raw in page]
    assert sorted(str(each.values and each.values["RunId"]) for each in found) == [
        f"run={n}/" for n in range(7)
    ]
    assert all(legacy_items.read_item(each.values or {}).saved_to for each in found)  # type: ignore[union-attr]

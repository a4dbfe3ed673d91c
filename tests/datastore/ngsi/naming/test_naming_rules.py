"""Stored naming rules: the roles that may replace them, and their effect on a sink."""

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import (
    FORMULA_CHARACTERS,
    NEW_TABLE_UNITS,
    WorkPayer,
    notification_units,
)
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, NotFound, NotPermitted, RateLimited
from penstock.datastore.ngsi.directory import Service
from penstock.datastore.ngsi.naming import rules as naming_rules
from penstock.datastore.ngsi.naming.patterns import Pattern, compile_pattern
from penstock.datastore.ngsi.naming.rules import (
    Grouper,
    GroupingRule,
    NamingDocuments,
    NamingRules,
    load_renamer,
)
from penstock.datastore.ngsi.naming.table_names import NamingPlace
from penstock.datastore.ngsi.repository import PreviewRequest
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.table.port import Table
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car, notification
from tests.datastore.ngsi.test_sink import accept, runs
from tests.support.sample_resources import SUPER, on_sqlite
from tests.support.work_account import Account

MAPPINGS = json.dumps({"serviceMappings": [{"newService": "fleet"}]}).encode()
RULE = {
    "id": 1,
    "fields": ["entityType"],
    "regex": "car",
    "destination": "cars",
    "fiware_service_path": "/cars",
}
RULES = json.dumps({"grouping_rules": [RULE]}).encode()


def rules_of(table: Table, caller: Caller = SUPER) -> NamingRules:
    return NamingRules(Access(table, caller, Clock(), Budget()))


async def tables(world: SinkWorld, **options: Any) -> tuple[str, ...]:
    async with world.open_sink(replace(QUICK, **options)) as sink:
        await accept(sink, "car1", "car2")
        await world.wait_until_settled()
        await sink.loader.drain()
        return (await runs(sink))[-1].shred_types or ()


async def test_documents_are_kept_as_they_were_put(table: Table) -> None:
    rules = rules_of(table)
    assert await rules.documents() == NamingDocuments()
    await rules.put_mappings(MAPPINGS)
    await rules.put_rules(RULES)
    assert await rules.documents() == NamingDocuments(MAPPINGS.decode(), RULES.decode())


async def test_a_document_that_is_no_good_leaves_the_last_good_one(table: Table) -> None:
    rules = rules_of(table)
    await rules.put_mappings(MAPPINGS)
    await rules.put_rules(RULES)
    before = await rules.documents()
    for put in (rules.put_mappings, rules.put_rules):
        with pytest.raises(Invalid):
            await put(b'{"more": 1}')
    assert await rules.documents() == before


@on_sqlite
async def test_only_an_admin_of_everything_puts_them_and_its_readers_read_them(
    table: Table,
) -> None:
    contributor = Caller("ann", {ROOT: Role.CONTRIBUTOR})
    stranger = Caller("eve", {})
    below = Caller("bob", {GroupPath("/vehicles"): Role.ADMIN})
    for caller, refusal in ((contributor, NotPermitted), (below, NotFound), (stranger, NotFound)):
        rules = rules_of(table, caller)
        for attempt in (rules.put_mappings(MAPPINGS), rules.put_rules(RULES)):
            with pytest.raises(refusal):
                await attempt
    assert await rules_of(table, contributor).documents() == NamingDocuments()
    with pytest.raises(NotFound):
        await rules_of(table, below).documents()


@on_sqlite
async def test_rules_count_where_they_are_switched_on(world: SinkWorld) -> None:
    rules = rules_of(world.context.table)
    await rules.put_mappings(MAPPINGS)
    await rules.put_rules(RULES)
    plain = ("vehiclesxffffx002f4wheelsxffffcar1xffffcar",)
    assert (await tables(world))[:1] == plain
    assert await tables(world, enable_grouping=True) == ("vehiclesxffffx002fcarsxffffcars",)
    mapped = await tables(world, enable_name_mappings=True)
    assert mapped[0] == "fleetxffffx002f4wheelsxffffcar1xffffcar"
    both = await tables(world, enable_name_mappings=True, enable_grouping=True)
    assert both == ("fleetxffffx002fcarsxffffcars",)


@on_sqlite
async def test_a_sink_that_runs_goes_by_new_rules_once_it_has_read_them(world: SinkWorld) -> None:
    async with world.open_sink(replace(QUICK, enable_grouping=True)) as sink:
        await rules_of(world.context.table).put_rules(RULES)
        await accept(sink, "car1")
        await sink.loader.drain()
        await sink.reload_rules()
        await accept(sink, "car1")
        await world.wait_until_settled()
        await sink.loader.drain()
        first, second = await runs(sink)
    assert first.shred_types == ("vehiclesxffffx002f4wheelsxffffcar1xffffcar",)
    assert second.shred_types == ("vehiclesxffffx002fcarsxffffcars",)


async def test_patterns_of_documents_are_paid_and_compiled_beside_the_event_loop(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[str]()

    def compile_noted(text: str) -> Pattern:
        threads.append(threading.current_thread().name)
        return compile_pattern(text)

    monkeypatch.setattr(naming_rules, "compile_pattern", compile_noted)
    account = Account(len(RULES) // FORMULA_CHARACTERS)
    rules = NamingRules(Access(table, SUPER, Clock(), Budget(), work=account))
    await rules.put_rules(RULES)
    with pytest.raises(RateLimited):
        await rules.put_mappings(MAPPINGS)
    assert await rules.documents() == NamingDocuments(None, RULES.decode())
    await load_renamer(table, replace(QUICK, enable_grouping=True))
    assert [name.partition("_")[0] for name in threads] == ["formulas", "requests"]


DEAR = [
    {**RULE, "id": n, "fields": ["entityId"], "regex": rf"(.*[xy].{{20}}){{12}}{n}"}
    for n in range(100)
]
"""Rules each of which takes about a millisecond for a long name."""


@on_sqlite
async def test_who_sends_new_entities_pays_for_the_rules_that_are_matched(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rules_of(world.context.table).put_rules(json.dumps({"grouping_rules": DEAR}).encode())
    matched = list[tuple[str, str]]()
    match = Grouper.match_rule

    def match_noted(self: Grouper, place: NamingPlace) -> GroupingRule | None:
        matched.append((place.entity_id, threading.current_thread().name.partition("_")[0]))
        return match(self, place)

    monkeypatch.setattr(Grouper, "match_rule", match_noted)
    account, names = Account(), ["x" * 256, "y" * 256]
    sent = notification(*names)
    async with world.open_sink(replace(QUICK, enable_grouping=True)) as sink:
        await sink.accept_notification(sent, 1000, WorkPayer("ann", account))
        assert sorted(matched) == [(name, "requests") for name in names]
        assert account.owed > 30 + 2 * NEW_TABLE_UNITS
        account.owed = 0
        await sink.reload_rules()
        again = notification(*names, correlator="again")
        await sink.accept_notification(again, 1000, WorkPayer("ann", account))
        assert (len(matched), account.owed) == (2, 0)


@on_sqlite
async def test_who_sends_new_entities_pays_for_their_tables(world: SinkWorld) -> None:
    account = Account()
    payer = WorkPayer("ann", account)
    async with world.open_sink() as sink:
        for number, names in enumerate((["car1", "car2"], ["car2", "car3"])):
            sent = notification(*names, correlator=f"c{number}")
            await sink.accept_notification(sent, 100, payer)
    assert account.owed == 3 * NEW_TABLE_UNITS


@on_sqlite
async def test_a_preview_is_paid_with_its_rules(world: SinkWorld) -> None:
    await rules_of(world.context.table).put_rules(json.dumps({"grouping_rules": DEAR}).encode())
    body = json.dumps({"subscriptionId": "s", "data": [car("x" * 256)]})
    request = PreviewRequest(Service("vehicles"), "/", None, body)
    for enabled in (False, True):
        account = Account()
        async with world.open_sink(replace(QUICK, enable_grouping=enabled)) as sink:
            session = world.store_beside(sink).open_session(SUPER, account)
            (found,) = await session.notifications.previews([request])
        assert isinstance(found, list)
        assert account.taken == notification_units(len(body))
        assert (account.owed > 30) is enabled

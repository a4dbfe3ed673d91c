"""Smart playlists as a client makes, reads, changes and exports them."""

from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.playlists import export
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.listening.sample_rules import shelve
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask
from tests.support.sample_resources import Watch
from tests.support.table_interceptors import TracedTable

ANN = Caller("ann", {})
FILTER = """genres artists albums titleStartsWith titleContains path fromYear toYear favourite
  minRating maxRating minPlays maxPlays playedSince playedWithinDays addedSince addedWithinDays"""
WITHIN = f"anyOf {{ {FILTER} }} noneOf {{ {FILTER} }}"
RULE = f"rule {{ order seed limit filter {{ {FILTER} {WITHIN} }} }}"
CREATE = """mutation($input: CreatePlaylistInput!) { createPlaylist(input: $input) {
  ...on CreatePlaylistPayload { playlist { id version entryCount durationMs %s } }
  ...on UserError { code path message } } }"""
SET = """mutation($input: SetPlaylistRuleInput!) { setPlaylistRule(input: $input) {
  ...on SetPlaylistRulePayload { playlist { version entryCount entries { nodes { title } } } }
  ...on UserError { code path } } }"""
ENTRIES = """query($id: ID!, $first: Int, $after: String) { playlist(id: $id) {
  entryCount durationMs entries(first: $first, after: $after) {
    nodes { id title artist missing audio { id } } pageInfo { hasNextPage endCursor } } } }"""
WRONG = ["rule", "filter", "anyOf", "0", "genres", "1"]
FOLK: dict[str, Any] = {"filter": {"genres": ["folk"]}, "order": "MOST_PLAYED"}


@pytest.fixture
async def ask(store: Store) -> Ask:
    """Ann's library, with plays, stars and ratings."""
    watch = Watch()
    kept = Store(store.table, Clock(now=watch))
    await shelve(kept, watch)
    return Ask(kept)


async def make(ask: Ask, rule: Any, caller: Caller = ANN) -> Any:
    return await ask.input(CREATE % RULE, caller, name="Smart", rule=rule)


async def test_a_smart_playlist_is_counted_listed_and_paged(ask: Ask) -> None:
    made = (await make(ask, FOLK))["playlist"]
    assert (made["entryCount"], made["durationMs"], made["version"]) == (2, 180_000, 1)
    assert (made["rule"]["order"], made["rule"]["limit"]) == ("MOST_PLAYED", 10_000)
    assert made["rule"]["filter"]["genres"] == ["folk"]
    first = (await ask(ENTRIES, {"id": made["id"], "first": 1}, ANN)).value
    assert (first["entryCount"], first["durationMs"]) == (2, 180_000)
    (node,) = first["entries"]["nodes"]
    assert (node["title"], node["artist"], node["missing"]) == ("Ash", "Abel", False)
    page = first["entries"]["pageInfo"]
    after = {"id": made["id"], "first": 1, "after": page["endCursor"]}
    second = (await ask(ENTRIES, after, ANN)).value["entries"]
    assert (page["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (True, False)
    assert [each["title"] for each in second["nodes"]] == ["Birch"]
    listed = (await ask("{ playlists { nodes { name entryCount } } }", {}, ANN)).value["nodes"]
    assert listed == [{"name": "Smart", "entryCount": 2}]


async def test_every_condition_is_read_back_as_it_was_without_empty(ask: Ask) -> None:
    conditions = {
        "genres": ["Folk"],
        "artists": ["Abel", "Zoë"],
        "albums": ["Grain"],
        "titleContains": "as",
        "path": "grain/",
        "fromYear": 1990,
        "toYear": 2010,
        "favourite": True,
        "minRating": 0,
        "maxRating": 5,
        "minPlays": 1,
        "maxPlays": 9,
        "playedSince": "2022-08-11T00:00:00.000Z",
        "playedWithinDays": 300,
        "addedSince": "2022-08-10T00:00:00.000Z",
        "addedWithinDays": 300,
    }
    inner = {"titleStartsWith": "A"}
    rule = {
        "filter": {**conditions, "anyOf": [inner, {"favourite": False}], "noneOf": [inner]},
        "order": "RANDOM",
        "seed": "monday",
        "limit": 7,
    }
    made = (await make(ask, rule))["playlist"]

    def without_empty(found: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in found.items() if value not in (None, [])}

    read = made["rule"]
    assert (read["order"], read["seed"], read["limit"]) == ("RANDOM", "monday", 7)
    within = {name: read["filter"].pop(name) for name in ("anyOf", "noneOf")}
    assert without_empty(read["filter"]) == conditions
    assert [without_empty(each) for each in within["anyOf"]] == [inner, {"favourite": False}]
    assert [without_empty(each) for each in within["noneOf"]] == [inner]
    assert made["entryCount"] == 0


async def test_another_rule_ends_the_cursors_of_the_one_before(ask: Ask) -> None:
    made = (await make(ask, FOLK))["playlist"]
    page = (await ask(ENTRIES, {"id": made["id"], "first": 1}, ANN)).value["entries"]["pageInfo"]
    other = {"filter": {"favourite": True}, "order": "LATEST_FAVOURITE", "limit": 1}
    changed = await ask.input(SET, ANN, id=made["id"], rule=other, expectedVersion=1)
    wanted = {"version": 2, "entryCount": 1, "entries": {"nodes": [{"title": "Élan"}]}}
    assert changed == {"playlist": wanted}
    after = {"id": made["id"], "first": 1, "after": page["endCursor"]}
    assert (await ask(ENTRIES, after, ANN)).code == "BAD_USER_INPUT"


async def test_a_wrong_rule_is_refused_with_the_places_of_its_problems(ask: Ask) -> None:
    before = await contents(ask.store.table)
    wrong = {"filter": {"anyOf": [{"genres": ["x", ""]}]}, "order": "TITLE"}
    refused = await make(ask, wrong)
    assert (refused["code"], refused["path"]) == ("BAD_USER_INPUT", WRONG)
    assert await contents(ask.store.table) == before


EVALUATE = """query($input: EvaluatePlaylistRuleInput!, $first: Int, $after: String) {
  evaluatePlaylistRule(input: $input) { ...on EvaluatePlaylistRulePayload { entryCount durationMs
    entries(first: $first, after: $after) { nodes { id title }
      pageInfo { hasNextPage endCursor } } }
    ...on ValidationProblem { code problems { path } } } }"""


@pytest.mark.parametrize("order", ["MOST_PLAYED", "RANDOM"])
async def test_a_rule_is_evaluated_before_it_is_kept(ask: Ask, order: str) -> None:
    rule = {"filter": {"noneOf": [{"genres": ["rock"]}]}, "order": order, "limit": 3}
    before = await contents(ask.store.table)
    traced = TracedTable(ask.store.table)
    counted = Ask(Store(traced, ask.store.clock))
    variables = {"input": {"rule": rule}, "first": 2}
    page = (await counted(EVALUATE, variables, ANN)).value
    # All tracks with, where the order needs them, all annotations.
    assert traced.seen[2] == (2 if order == "MOST_PLAYED" else 1)
    assert await contents(ask.store.table) == before
    assert page["entryCount"] == 3
    info = page["entries"]["pageInfo"]
    rest = (await ask(EVALUATE, {**variables, "after": info["endCursor"]}, ANN)).value
    chosen = [*page["entries"]["nodes"], *rest["entries"]["nodes"]]
    assert (info["hasNextPage"], rest["entries"]["pageInfo"]["hasNextPage"]) == (True, False)
    if order == "MOST_PLAYED":
        made = (await make(ask, rule))["playlist"]
        listed = (await ask(ENTRIES, {"id": made["id"]}, ANN)).value
        assert page["durationMs"] == listed["durationMs"]
        assert chosen == [
            {"id": one["id"], "title": one["title"]} for one in listed["entries"]["nodes"]
        ]
    assert len({one["id"] for one in chosen}) == 3


async def test_every_problem_of_a_rule_is_told_before_it_is_kept(ask: Ask) -> None:
    wrong = {"filter": {"fromYear": 2001, "toYear": 1999}, "order": "TITLE", "seed": "x"}
    told = (await ask(EVALUATE, {"input": {"rule": wrong}}, ANN)).value
    assert told == {
        "code": "BAD_USER_INPUT",
        "problems": [{"path": ["rule", "seed"]}, {"path": ["rule", "filter", "toYear"]}],
    }


async def test_a_request_chooses_the_entries_once(ask: Ask) -> None:
    made = (await make(ask, FOLK))["playlist"]
    traced = TracedTable(ask.store.table)
    counted = Ask(Store(traced, ask.store.clock))
    await counted(ENTRIES, {"id": made["id"]}, ANN)
    # The playlist, the rows of the genre, their tracks, the annotations, the tracks of the page.
    assert traced.seen == (5, 0, 5)


async def test_a_smart_playlist_is_exported_and_imported_as_a_plain_one(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (await make(ask, FOLK))["playlist"]
    query = """query($id: ID!, $playable: Boolean) {
      exportPlaylist(id: $id, format: M3U8, playable: $playable) { text fileName } }"""
    file = (await ask(query, {"id": made["id"]}, ANN)).value
    assert file["fileName"] == "Smart.m3u8"
    assert [line for line in file["text"].splitlines() if line.startswith("#EXTINF")] == [
        "#EXTINF:60,Abel - Ash",
        "#EXTINF:120,Abel, Zoë - Birch",
    ]
    imported = """mutation($input: ImportPlaylistInput!) { importPlaylist(input: $input) {
      ...on ImportPlaylistPayload { matched playlist { entryCount rule { order } } } } }"""
    again = await ask.input(imported, ANN, format="M3U8", text=file["text"])
    assert again == {"matched": 2, "playlist": {"entryCount": 2, "rule": None}}
    monkeypatch.setattr(export, "MAX_LOCATED", 1)
    refused = await ask(query, {"id": made["id"], "playable": True}, ANN)
    assert refused.code == "LIMIT_EXCEEDED"

"""Manifest runs as programs see them: two workers, and a person who reads the manifest."""

from datetime import datetime
from typing import Any

import pytest

from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.table_interceptors import TracedTable

AT_HOME = as_caller("tom", "/usa=contributor", default_group="/usa")
SHOWN = """id group manifest runId addedAt addedBy toSkip processedAt shredTypes savedTo loadedAt
  loadedBy state version fence attempt leaseOwner leaseUntil lastError counts { name count }
  skipReason pipeline idempotencyKey"""


def document(verb: str, shown: str = SHOWN) -> str:
    field = f"{verb[0].lower()}{verb[1:]}"
    return f"""mutation($input: {verb}Input!) {{ {field}(input: $input) {{ __typename
      ...on {verb}Payload {{ run {{ {shown} }} }} ...on UserError {{ message code path }}
      {"" if verb == "DiscoverRun" else "...on IllegalState { state }"} }} }}"""


async def do(ask: Ask, verb: str, run_id: str = "run=1/", **input: Any) -> Any:
    """Send a mutation as a caller whose default group holds the manifest."""
    asked = {"manifest": "snowplow", "runId": run_id, **input}
    return (await ask(document(verb), {"input": asked}, AT_HOME)).value


async def test_a_run_goes_all_the_way_and_shows_what_was_said(ask: Ask) -> None:
    await ask.create_groups("/usa")
    run = (await do(ask, "DiscoverRun", addedBy="t-1", pipeline="web"))["run"]
    assert run == {
        **dict.fromkeys(run),
        "id": run["id"],
        "group": "/usa",
        "manifest": "snowplow",
        "runId": "run=1/",
        "addedAt": run["addedAt"],
        "addedBy": "t-1",
        "toSkip": False,
        "state": "NEW",
        "version": 1,
        "fence": 0,
        "attempt": 0,
        "pipeline": "web",
        "idempotencyKey": run["idempotencyKey"],
    }
    claim = (await do(ask, "ClaimRun", stage="TRANSFORM", owner="w-1", leaseSeconds=60))["run"]
    assert claim["idempotencyKey"] == run["idempotencyKey"].removesuffix("0") + "1"
    until = datetime.fromisoformat(claim["leaseUntil"])
    added = datetime.fromisoformat(run["addedAt"])
    assert 60 <= (until - added).total_seconds() < 90
    counts = [{"name": "rows", "count": 5_000_000_000}, {"name": "bytes", "count": 7}]
    output: dict[str, Any] = {
        "shredTypes": ["b", "a"],
        "savedTo": "s3n://acme/run=1",
        "counts": counts,
    }
    done = (await do(ask, "MarkRunProcessed", fence=1, **output))["run"]
    assert (done["state"], done["shredTypes"], done["savedTo"], done["counts"]) == (
        "PROCESSED",
        ["b", "a"],
        "s3://acme/run=1/",
        counts[::-1],
    )
    await do(ask, "ClaimRun", stage="LOAD", owner="w-2")
    failed = (await do(ask, "FailRun", fence=2, error="no warehouse\ntoday"))["run"]
    assert (failed["state"], failed["lastError"]) == ("FAILED", "no warehouse\ntoday")
    again = (await do(ask, "ClaimRun", stage="LOAD", owner="w-2"))["run"]
    assert (again["state"], again["attempt"], again["fence"]) == ("LOADING", 2, 3)
    loaded = (await do(ask, "MarkRunLoaded", fence=3, loadedBy="l-1"))["run"]
    assert (loaded["state"], loaded["loadedBy"], loaded["leaseUntil"]) == ("LOADED", "l-1", None)
    reload = await do(ask, "ReloadRun", reason="the table was dropped", force=True)
    assert (reload["run"]["state"], reload["run"]["loadedAt"]) == ("PROCESSED", None)


@pytest.mark.parametrize(
    ("verb", "input", "code", "state"),
    [
        ("ClaimRun", {"stage": "TRANSFORM", "owner": "other"}, "LEASE_HELD", "PROCESSING"),
        ("HeartbeatRun", {"fence": 9}, "LEASE_LOST", "PROCESSING"),
        ("SkipRun", {"reason": "r"}, "ILLEGAL_STATE", "PROCESSING"),
        ("ReloadRun", {"reason": "r", "force": True}, "ILLEGAL_STATE", "PROCESSING"),
        ("ResetRun", {"force": True}, "LEASE_HELD", "PROCESSING"),
    ],
)
async def test_each_way_to_be_refused_has_a_code_of_its_own(
    verb: str, input: dict[str, Any], code: str, state: str, ask: Ask
) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t")
    await do(ask, "ClaimRun", stage="TRANSFORM", owner="w")
    told = await do(ask, verb, **input)
    assert (told["__typename"], told["code"], told["state"]) == ("IllegalState", code, state)


async def test_later_fields_of_a_document_see_what_earlier_ones_did(ask: Ask) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t")
    claim = 'manifest: "SnowPlow", runId: "run=1/", stage: TRANSFORM, owner: "w"'
    shown = "run { state fence }"
    twice = f"""mutation {{
      a: claimRun(input: {{{claim}}}) {{ ...on ClaimRunPayload {{ {shown} }} }}
      b: failRun(input: {{manifest: "snowplow", runId: "run=1/", fence: 1, error: "e"}}) {{
        ...on FailRunPayload {{ {shown} }} }}
      c: resetRun(input: {{manifest: "snowplow", runId: "run=1/", force: true}}) {{
        ...on ResetRunPayload {{ deleted {shown} }} }} }}"""
    assert (await ask(twice, {}, AT_HOME)).data == {
        "a": {"run": {"state": "PROCESSING", "fence": 1}},
        "b": {"run": {"state": "FAILED", "fence": 1}},
        "c": {"run": {"state": "NEW", "fence": 1}, "deleted": False},
    }


async def test_without_a_group_the_default_one_is_meant_and_without_that_one_must_be_named(
    ask: Ask,
) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t")
    query = '{ run(manifest: "snowplow", runId: "run=1/") { group } }'
    assert (await ask(query, {}, AT_HOME)).value == {"group": "/usa"}
    lost = Caller("lost", AT_HOME.roles)
    for field in (
        query,
        '{ runs(manifest: "snowplow") { nodes { id } } }',
        '{ staleRuns(manifest: "snowplow") { nodes { id } } }',
        "{ manifests { nodes { id } } }",
    ):
        assert (await ask(field, {}, lost)).code == "BAD_USER_INPUT"


@pytest.mark.parametrize("age", [-1, 31_622_401])
async def test_an_age_that_means_nothing_is_refused(age: int, ask: Ask) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t")
    query = f'{{ staleRuns(manifest: "snowplow", olderThanSeconds: {age}) {{ nodes {{ id }} }} }}'
    assert (await ask(query, {}, AT_HOME)).code == "BAD_USER_INPUT"


async def test_a_manifest_is_deleted_when_it_is_empty(ask: Ask) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t")
    gone = "mutation($input: DeleteManifestInput!) { deleteManifest(input: $input) { __typename "
    gone += "...on DeleteManifestPayload { manifest { name } } ...on IllegalState { state } } }"
    of = {"group": "/usa", "manifest": "SNOWPLOW"}
    assert await ask.input(gone, **of) == {"__typename": "IllegalState", "state": "NOT_EMPTY"}
    reset = {"manifest": "snowplow", "runId": "run=1/", "group": "/usa"}
    told = await ask.input(document("ResetRun", "runId"), ROOT, **reset, force=True, delete=True)
    assert told["run"] == {"runId": "run=1/"}
    assert (await ask.input(gone, **of))["manifest"] == {"name": "snowplow"}
    assert (await ask('{ manifests(group: "/usa") { nodes { id } } }')).value == {"nodes": []}


async def test_runs_are_read_in_few_round_trips(store: Store) -> None:
    traced = TracedTable(store.table)
    ask = Ask(Store(traced))
    await ask.create_groups("/usa")
    for n in range(50):
        await do(ask, "DiscoverRun", run_id=f"run={n}/", addedBy="t")
    budgets = {
        '{ run(manifest: "snowplow", runId: "run=1/") { state } }': (1, 0, 1),
        '{ runs(manifest: "snowplow", first: 50) { nodes { id state } } }': (3, 0, 2),
        '{ runs(manifest: "snowplow", first: 10, state: NEW) { nodes { id } } }': (3, 0, 2),
        '{ staleRuns(manifest: "snowplow") { nodes { id } } }': (4, 0, 1),
        "{ manifests { nodes { name runCount } } }": (3, 0, 2),
        '{ run(manifest: "snowplow", runId: "run=1/") { history { nodes { at } } } }': (2, 0, 2),
    }
    for query, budget in budgets.items():
        traced.start()
        answer = await ask(query, {}, AT_HOME)
        assert answer.errors == ()
        assert (traced.seen, answer.units.calls) == (budget, traced.reads), query
    aliases = " ".join(
        f'r{n}: run(manifest: "snowplow", runId: "run={n}/") {{ state }}' for n in range(20)
    )
    traced.start()
    assert len((await ask(f"{{ {aliases} }}", {}, AT_HOME)).data) == 20
    assert traced.seen == (1, 0, 1)
    writes: dict[str, dict[str, Any]] = {
        "ClaimRun": {"stage": "TRANSFORM", "owner": "w"},
        "HeartbeatRun": {"fence": 1},
        "FailRun": {"fence": 1, "error": "e"},
    }
    for verb, input in writes.items():
        traced.start()
        assert (await do(ask, verb, **input))["__typename"].endswith("Payload")
        assert traced.seen == (1, 1, 2)
    traced.start()
    await do(ask, "DiscoverRun", run_id="run=new/", addedBy="t")
    assert traced.seen == (0, 1, 1)


async def test_a_dry_run_answers_what_would_happen_and_later_fields_see_what_is(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups("/usa")
    before = await contents(store.table)
    found = (await do(ask, "DiscoverRun", addedBy="t-1", dryRun=True))["run"]
    assert (found["state"], found["version"]) == ("NEW", 1)
    assert await contents(store.table) == before
    await do(ask, "DiscoverRun", addedBy="t-1")
    before = await contents(store.table)
    dry: dict[str, Any] = {"dryRun": True}
    claim = await do(ask, "ClaimRun", stage="TRANSFORM", owner="w", **dry)
    assert (claim["run"]["state"], claim["run"]["fence"]) == ("PROCESSING", 1)
    skipped = await do(ask, "SkipRun", reason="broken", **dry)
    assert (skipped["run"]["toSkip"], skipped["run"]["state"]) == (True, "NEW")
    refused = await do(ask, "ReloadRun", reason="r", force=True, **dry)
    assert (refused["code"], refused["state"]) == ("ILLEGAL_STATE", "NEW")
    assert (await do(ask, "ResetRun", force=True, **dry))["run"]["version"] == 2
    deletion = await do(ask, "ResetRun", force=True, delete=True, **dry)
    assert deletion["code"] == "FORBIDDEN"
    both = """mutation($dry: SkipRunInput!, $real: UnskipRunInput!) {
      skipRun(input: $dry) { ...on SkipRunPayload { run { toSkip } } }
      unskipRun(input: $real) { ...on UnskipRunPayload { run { toSkip version } } } }"""
    named = {"manifest": "snowplow", "runId": "run=1/"}
    asked = {"dry": {**named, "reason": "r", **dry}, "real": {**named, **dry}}
    data = (await ask(both, asked, AT_HOME)).data
    assert data == {
        "skipRun": {"run": {"toSkip": True}},
        "unskipRun": {"run": {"toSkip": False, "version": 1}},
    }
    assert await contents(store.table) == before


async def test_a_dry_run_on_a_manifest_writes_nothing_and_later_fields_see_what_is(
    ask: Ask, store: Store
) -> None:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="t-1")
    before = await contents(store.table)
    document = """mutation($retries: SetManifestRetriesInput!, $made: CreateRunConsumerInput!,
        $removed: RemoveRunConsumerInput!, $deleted: DeleteManifestInput!) {
      setManifestRetries(input: $retries) {
        ...on SetManifestRetriesPayload { manifest { retries { maxAttempts } } } }
      createRunConsumer(input: $made) {
        ...on CreateRunConsumerPayload { manifest { name consumes isFilled runCount } } }
      removeRunConsumer(input: $removed) { ...on NotFound { code } }
      deleteManifest(input: $deleted) { ...on IllegalState { code message } } }"""
    dry: dict[str, Any] = {"manifest": "snowplow", "dryRun": True}
    asked = {
        "retries": {**dry, "retries": {"maxAttempts": 3}},
        "made": {**dry, "consumer": "lake", "start": "NOW"},
        "removed": {**dry, "consumer": "lake"},
        "deleted": dry,
    }
    data = (await ask(document, asked, as_caller("tom", "/usa=admin", default_group="/usa"))).data
    lake = {"name": "lake", "consumes": "snowplow", "isFilled": True, "runCount": 0}
    assert data == {
        "setManifestRetries": {"manifest": {"retries": {"maxAttempts": 3}}},
        "createRunConsumer": {"manifest": lake},
        "removeRunConsumer": {"code": "NOT_FOUND"},
        "deleteManifest": {
            "code": "ILLEGAL_STATE",
            "message": "The manifest 'snowplow' still has runs.",
        },
    }
    assert await contents(store.table) == before

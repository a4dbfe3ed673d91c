"""The uses that the manifest document describes, in its words, one test for each row."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.datastore.manifest.import_runs import SourceItem
from penstock.datastore.manifest.records import ManifestName
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from tests.datastore.manifest.sample_runs import one_chunk
from tests.support.graphql_client import ROOT, Ask, as_caller

RUN_ID = "enriched/archive/run=2018-12-11-00-00-00/"
SAVED_TO = "s3://acme/stage/run=2018-12-11-00-00-00/"
OF: Mapping[str, Any] = {"group": "/usa", "manifest": "snowplow", "runId": RUN_ID}
TYPES = ["contexts_com_acme_page_1"]
SHOWN = """runId state addedAt addedBy toSkip processedAt shredTypes savedTo loadedAt loadedBy fence
  leaseOwner skipReason history { nodes { action before after } }"""


async def do(ask: Ask, verb: str, **input: Any) -> Any:
    """Send one mutation about the run; return the run afterwards, or the code of the failure."""
    field = f"{verb[0].lower()}{verb[1:]}"
    document = f"""mutation($input: {verb}Input!) {{ {field}(input: $input) {{
      ...on {verb}Payload {{ run {{ {SHOWN} }} }} ...on UserError {{ code }} }} }}"""
    told = await ask.input(document, ROOT, **{**OF, **input})
    return told.get("run") or told["code"]


async def list_runs(ask: Ask, field: str = "runs", **arguments: Any) -> list[str]:
    given = "".join(f", {name}: {value}" for name, value in arguments.items())
    document = f'{{ {field}(group: "/usa", manifest: "snowplow"{given}) {{ nodes {{ runId }} }} }}'
    return [node["runId"] for node in (await ask(document)).value["nodes"]]


async def set_retries(ask: Ask, **rules: int) -> None:
    document = """mutation($input: SetManifestRetriesInput!) { setManifestRetries(input: $input) {
      ...on SetManifestRetriesPayload { manifest { retries { maxAttempts } } }
      ...on UserError { code } } }"""
    told = await ask.input(document, ROOT, group="/usa", manifest="snowplow", retries=rules)
    assert told["manifest"]["retries"] == {"maxAttempts": rules.get("maxAttempts", 5)}


async def make_processed_run(ask: Ask) -> Any:
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    claim = await do(ask, "ClaimRun", stage="TRANSFORM", owner="transformer-1")
    output = {"shredTypes": TYPES, "savedTo": SAVED_TO}
    return await do(ask, "MarkRunProcessed", fence=claim["fence"], **output)


async def test_a_directory_is_added_when_it_is_discovered(ask: Ask) -> None:
    """when Transformer discovered the directory and added it to manifest"""
    await ask.create_groups("/usa")
    run = await do(ask, "DiscoverRun", addedBy="0.4.1")
    assert (run["runId"], run["state"], run["addedBy"], run["toSkip"]) == (
        RUN_ID,
        "NEW",
        "0.4.1",
        False,
    )
    assert run["addedAt"].endswith(".000Z")
    later = ("processedAt", "shredTypes", "savedTo", "loadedAt", "loadedBy")
    assert [run[name] for name in later] == [None] * 5
    assert await do(ask, "DiscoverRun", addedBy="0.4.2") == run


async def test_one_worker_has_a_run_in_hand(ask: Ask) -> None:
    """a run is taken in hand by one worker"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    claim = await do(ask, "ClaimRun", stage="TRANSFORM", owner="transformer-1")
    assert (claim["state"], claim["leaseOwner"], claim["fence"]) == (
        "PROCESSING",
        "transformer-1",
        1,
    )
    assert await do(ask, "ClaimRun", stage="TRANSFORM", owner="transformer-2") == "LEASE_HELD"
    assert (await do(ask, "HeartbeatRun", fence=1))["leaseOwner"] == "transformer-1"
    assert await do(ask, "HeartbeatRun", fence=2) == "LEASE_LOST"


async def test_a_run_that_fails_again_is_given_up(ask: Ask) -> None:
    """a failed run is tried again later, or given up"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    await set_retries(ask, maxAttempts=1)
    await do(ask, "ClaimRun", stage="TRANSFORM", owner="t")
    assert (await do(ask, "FailRun", fence=1, error="disk full"))["state"] == "GIVEN_UP"
    assert await do(ask, "ClaimRun", stage="TRANSFORM", owner="t") == "RUN_GIVEN_UP"
    assert (await do(ask, "RetryRun", reason="mended"))["state"] == "FAILED"
    assert (await do(ask, "ClaimRun", stage="TRANSFORM", owner="t"))["fence"] == 2


async def test_failed_runs_are_listed_when_they_are_due(ask: Ask) -> None:
    """failed runs that may be tried again"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    await set_retries(ask, firstDelaySeconds=3600)
    await do(ask, "ClaimRun", stage="TRANSFORM", owner="t")
    await do(ask, "FailRun", fence=1, error="disk full")
    assert await do(ask, "ClaimRun", stage="TRANSFORM", owner="t") == "RETRY_LATER"
    assert await list_runs(ask, state="FAILED", isDue="true") == []
    assert await list_runs(ask, state="FAILED", isDue="false") == [RUN_ID]
    await do(ask, "RetryRun")
    assert await list_runs(ask, state="FAILED", isDue="true") == [RUN_ID]


async def test_a_transformed_run_is_processed(ask: Ask) -> None:
    """Transformer, when finishes transformation"""
    run = await make_processed_run(ask)
    assert (run["state"], run["shredTypes"], run["savedTo"]) == ("PROCESSED", TYPES, SAVED_TO)
    assert run["processedAt"] >= run["addedAt"]
    assert (run["loadedAt"], run["loadedBy"], run["leaseOwner"]) == (None, None, None)


async def test_a_loaded_run_is_loaded(ask: Ask) -> None:
    """Loader, when finishes loading"""
    await make_processed_run(ask)
    claim = await do(ask, "ClaimRun", stage="LOAD", owner="loader-1")
    run = await do(ask, "MarkRunLoaded", fence=claim["fence"], loadedBy="0.4.1")
    assert (run["state"], run["loadedBy"]) == ("LOADED", "0.4.1")
    assert run["loadedAt"] >= run["processedAt"]
    assert await do(ask, "SkipRun", reason="too late") == "ALREADY_LOADED"


async def test_a_blacklisted_run_is_left_alone(ask: Ask) -> None:
    """nothing should process this directory"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    run = await do(ask, "SkipRun", reason="the collector was broken")
    assert (run["state"], run["toSkip"], run["skipReason"]) == (
        "NEW",
        True,
        "the collector was broken",
    )
    assert await do(ask, "ClaimRun", stage="TRANSFORM", owner="t") == "RUN_SKIPPED"
    assert await list_runs(ask, state="NEW", toSkip="false") == []
    assert (await do(ask, "UnskipRun"))["toSkip"] is False
    assert await list_runs(ask, state="NEW", toSkip="false") == [RUN_ID]


async def test_a_run_that_nobody_works_on_is_found(ask: Ask) -> None:
    """the record remains in NEW state"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    assert await list_runs(ask, "staleRuns") == []
    assert await list_runs(ask, "staleRuns", olderThanSeconds=0) == [RUN_ID]
    await do(ask, "ClaimRun", stage="TRANSFORM", owner="t")
    assert await list_runs(ask, "staleRuns", olderThanSeconds=0) == []


async def test_a_folder_with_a_success_file_is_recovered(any_store: Store, tmp_path: Path) -> None:
    """manually transit folder from NEW state to PROCESSED"""
    files = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    ask = Ask(replace(any_store, files=files, bucket_name="acme"))
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    where = {"shredTypes": TYPES, "stagePath": "s3://acme/stage/"}
    assert await do(ask, "RecoverRun", **where) == "OUTPUT_MISSING"
    key = "stage/run=2018-12-11-00-00-00/_SUCCESS"
    await files.write(key, one_chunk(b""), content_type="text/plain")
    assert await do(ask, "ResetRun", savedTo=SAVED_TO) == "OUTPUT_EXISTS"
    run = await do(ask, "RecoverRun", **where)
    assert (run["state"], run["shredTypes"], run["savedTo"]) == ("PROCESSED", TYPES, SAVED_TO)
    await files.close()


async def test_a_folder_without_a_success_file_is_deleted_from_the_manifest(
    any_store: Store, tmp_path: Path
) -> None:
    """just delete the record"""
    files = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    ask = Ask(replace(any_store, files=files, bucket_name="acme"))
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1")
    gone = await do(ask, "ResetRun", savedTo=SAVED_TO, delete=True)
    assert gone["runId"] == RUN_ID
    assert await list_runs(ask) == []
    assert (await do(ask, "DiscoverRun", addedBy="0.4.2"))["addedBy"] == "0.4.2"
    await files.close()


async def test_a_run_by_its_name(ask: Ask) -> None:
    """one run"""
    await make_processed_run(ask)
    query = """query($runId: String!, $group: GroupPath) {
      run(manifest: "snowplow", group: $group, runId: $runId) { state } }"""
    reader = as_caller("rita", "/usa=reader")
    assert (await ask(query, {"runId": RUN_ID}, reader)).value == {"state": "PROCESSED"}
    assert (await ask(query, {"runId": RUN_ID[:-1]}, reader)).code == "NOT_FOUND"
    stranger = as_caller("eve", "/eu=admin")
    assert (await ask(query, {"runId": RUN_ID, "group": "/usa"}, stranger)).code == "NOT_FOUND"


async def test_runs_by_state_and_time(ask: Ask) -> None:
    """runs of a state and a time"""
    await make_processed_run(ask)
    for n in range(3):
        await do(ask, "DiscoverRun", runId=f"run={n}/", addedBy="0.4.1")
    new = ["run=0/", "run=1/", "run=2/"]
    assert await list_runs(ask) == [RUN_ID, *new]
    assert await list_runs(ask, state="NEW", order="NEWEST_FIRST") == new[::-1]
    assert await list_runs(ask, state="PROCESSED") == [RUN_ID]
    assert await list_runs(ask, to='"2018-01-01T00:00:00Z"') == []
    window = {"from": '"2018-01-01T00:00:00Z"', "to": '"2999-01-01T00:00:00Z"'}
    assert await list_runs(ask, state="NEW", **window) == new


async def test_the_runs_of_a_batch_are_listed(ask: Ask) -> None:
    """runs of a batch, also in a state"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1", batch="2018-12-11")
    await do(ask, "DiscoverRun", addedBy="0.4.1", runId="other/")
    assert await list_runs(ask, batch='"2018-12-11"') == [RUN_ID]
    await do(ask, "ClaimRun", stage="TRANSFORM", owner="t")
    assert await list_runs(ask, batch='"2018-12-11"', state="NEW") == []
    assert await list_runs(ask, batch='"2018-12-11"', state="PROCESSING") == [RUN_ID]


async def test_the_runs_with_a_tag_are_listed(ask: Ask) -> None:
    """runs with a tag, also in a state"""
    await ask.create_groups("/usa")
    await do(ask, "DiscoverRun", addedBy="0.4.1", tags=[{"key": "country", "value": "de"}])
    await do(ask, "DiscoverRun", addedBy="0.4.1", runId="other/")
    german = '{key: "country", value: "de"}'
    assert await list_runs(ask, tag=german) == [RUN_ID]
    await do(ask, "SetRunTags", tags=[], batch=None)
    assert await list_runs(ask, tag=german, state="NEW") == []


async def test_a_consumer_has_its_own_progress(ask: Ask) -> None:
    """several systems read the processed runs"""
    run = await make_processed_run(ask)
    make = """mutation($input: CreateRunConsumerInput!) { createRunConsumer(input: $input) {
      ...on CreateRunConsumerPayload { manifest { consumes isFilled } }
      ...on UserError { code } } }"""
    place = {"group": "/usa", "manifest": "snowplow"}
    made = await ask.input(make, ROOT, **place, consumer="lake", start="BEGINNING")
    assert made["manifest"] == {"consumes": "snowplow", "isFilled": True}
    claim = await do(ask, "ClaimRun", manifest="lake", stage="LOAD", owner="l")
    assert (claim["state"], claim["savedTo"]) == ("LOADING", run["savedTo"])
    loaded = await do(ask, "MarkRunLoaded", manifest="lake", fence=claim["fence"], loadedBy="1")
    assert loaded["state"] == "LOADED"
    assert await list_runs(ask, state="PROCESSED") == [RUN_ID]


async def test_the_history_tells_what_happened(ask: Ask) -> None:
    """what happened to a run"""
    run = await make_processed_run(ask)
    assert [tuple(event.values()) for event in run["history"]["nodes"]] == [
        ("PROCESSED", "PROCESSING", "PROCESSED"),
        ("CLAIM", "NEW", "PROCESSING"),
        ("DISCOVER", None, "NEW"),
    ]


async def test_the_manifests_of_a_group(ask: Ask) -> None:
    """the manifests of a group"""
    await ask.create_groups("/usa", "/eu")
    for n, name in enumerate(("snowplow", "Matomo", "snowplow")):
        await do(ask, "DiscoverRun", manifest=name, runId=f"run={n}/", addedBy="0.4.1")
    await do(ask, "DiscoverRun", group="/eu", addedBy="0.4.1")
    query = '{ manifests(group: "/usa") { nodes { name runCount } } }'
    assert (await ask(query)).value["nodes"] == [
        {"name": "Matomo", "runCount": 1},
        {"name": "snowplow", "runCount": 2},
    ]


async def test_a_manifest_of_others_is_taken_over(ask: Ask, any_store: Store) -> None:
    """take over a manifest that others kept"""
    await ask.create_groups("/usa")
    item: dict[str, Any] = {"RunId": RUN_ID, "AddedAt": 1544529600, "AddedBy": "t", "ToSkip": False}
    broken = {"RunId": "run=2/", "AddedAt": "yesterday"}
    name = ManifestName(GroupPath("/usa"), "snowplow")
    importing = any_store.open_session(ROOT).run_importer
    items = [SourceItem("line 1", item), SourceItem("line 2", broken)]
    imported = await importing.batch(name, items)
    assert (imported.entered, imported.standing) == (1, 0)
    assert [(each.place, each.run_id) for each in imported.invalid] == [("line 2", "run=2/")]
    assert (await importing.batch(name, items)).standing == 1
    assert await list_runs(ask, state="NEW") == [RUN_ID]

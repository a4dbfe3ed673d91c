"""Executions run by outside workers, who may do no more than the fence lets them."""

from datetime import timedelta

import pytest

from datastore.access import Role
from datastore.errors import IllegalState, Invalid, NotFound, NotPermitted
from datastore.executions.keys import errors_key, ingest_key, input_key, output_key
from datastore.records import Pipeline
from datastore.store import Store
from kernel.outcome import Counts
from tests.datastore.recount import contents, faults
from tests.datastore.world import USA, Watch, caller, on_sqlite
from tests.executions.world import ANN, ERRORS, EVE, INPUT, NORA, OUTPUT, content, now, put, ready

pytestmark = on_sqlite

COUNTS = Counts(3, 2, 1, 43, 121)


async def test_a_claim_brings_all_that_it_takes(store: Store, pipeline: Pipeline) -> None:
    made = await ready(store, pipeline)
    claimed = await store.seen_by(ANN).executions.external.claim(made.id, "far")
    assert await content(store.files, input_key(made)) == INPUT
    assert dict(claimed.output.fields)["key"] == output_key(made)
    assert dict(claimed.errors.fields)["key"] == errors_key(made)
    assert claimed.input.url.startswith("http://x/files/")
    assert claimed.plan["columns"][0] == {
        "key": "distance",
        "type": "number",
        "required": True,
        "label": None,
    }


async def test_only_contributors_of_the_owner_run_things_elsewhere(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready(store, pipeline)
    before = await contents(store.table)
    for who, refusal in ((EVE, NotFound), (NORA, NotPermitted)):
        with pytest.raises(refusal):
            await store.seen_by(who).executions.external.claim(made.id, "far")
    assert await contents(store.table) == before
    al = store.seen_by(caller({USA: Role.CONTRIBUTOR}, "al")).executions.external
    assert (await al.claim(made.id, "far")).execution.worker == "al: far"


async def test_what_was_taken_over_is_lost(store: Store, pipeline: Pipeline, watch: Watch) -> None:
    external = store.seen_by(ANN).executions.external
    made = await ready(store, pipeline)
    await external.claim(made.id, "slow")
    watch.move(timedelta(minutes=5))
    assert (await external.claim(made.id, "heir")).execution.fence == 2
    before = await contents(store.table)
    for call in (
        external.heartbeat(made.id, 1, COUNTS),
        external.complete(made.id, 1, COUNTS),
        external.fail(made.id, 1, "LATE", "too late"),
    ):
        with pytest.raises(IllegalState, match="Another worker took it over"):
            await call
    assert await contents(store.table) == before


async def test_a_failure_says_why(store: Store, pipeline: Pipeline) -> None:
    external = store.seen_by(ANN).executions.external
    made = await ready(store, pipeline)
    await external.claim(made.id, "far")
    await external.heartbeat(made.id, 1, COUNTS)
    with pytest.raises(Invalid):
        await external.fail(made.id, 1, "", "no code")
    failed = await external.fail(made.id, 1, "DISK_FULL", "There was no room.")
    assert (failed.state, failed.code, failed.message) == (
        "failed",
        "DISK_FULL",
        "There was no room.",
    )
    assert failed.counts == COUNTS
    with pytest.raises(IllegalState, match="failed"):
        await external.heartbeat(made.id, 1, COUNTS)
    assert await faults(store.table) == []


async def test_success_needs_its_files(store: Store, pipeline: Pipeline) -> None:
    external = store.seen_by(ANN).executions.external
    made = await ready(store, pipeline)
    await external.claim(made.id, "far")
    await put(store.files, output_key(made), OUTPUT)
    with pytest.raises(IllegalState, match=r"errors\.csv was not uploaded yet"):
        await external.complete(made.id, 1, COUNTS)
    await put(store.files, errors_key(made), ERRORS)
    assert (await external.complete(made.id, 1, COUNTS)).state == "success"
    assert await faults(store.table) == []


async def test_an_input_that_is_gone_fails_at_the_claim(store: Store, pipeline: Pipeline) -> None:
    made = await ready(store, pipeline)
    await store.files.delete(ingest_key(made))
    with pytest.raises(IllegalState):
        await store.seen_by(ANN).executions.external.claim(made.id, "far")
    after = await now(store, made)
    assert (after.state, after.code) == ("failed", "INPUT_GONE")


async def test_a_worker_has_a_name(store: Store, pipeline: Pipeline) -> None:
    made = await ready(store, pipeline)
    with pytest.raises(Invalid):
        await store.seen_by(ANN).executions.external.claim(made.id, " ")

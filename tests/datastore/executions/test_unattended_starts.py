"""Neither the search for uploads nor an event of another starts an upload of who lost the right.

The form for an upload outlives a revoke. Nobody asks for these starts with a token, so what the
table tells of the creator's right is checked: the grants, and the API key.
"""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.executions.files import ingest_key, input_key, name_copy
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import GroupRole, Pipeline
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    INPUT,
    NORA,
    begin_execution,
    current_execution,
    plant_pipeline,
    put_file,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    Watch,
    caller,
)

BUCKET = caller({USA: Role.ADMIN}, "bucket")
UPLOAD_OVER = timedelta(hours=1, minutes=11)


async def shared_pipeline(store: Store, *groups: GroupPath) -> Pipeline:
    """A pipeline of /usa with grants to these groups."""
    pipeline = await plant_pipeline(store)
    for group in groups:
        await grant(store, pipeline, group)
    return pipeline


async def grant(store: Store, pipeline: Pipeline, group: GroupPath) -> None:
    await store.open_session(SUPER).pipelines.writing.grant(pipeline.id, group)


async def revoke(store: Store, pipeline: Pipeline, group: GroupPath) -> None:
    await store.open_session(SUPER).pipelines.writing.revoke(pipeline.id, group)


async def upload(store: Store, made: Execution) -> None:
    await put_file(store.files, ingest_key(made), INPUT)


async def tell(store: Store, who: Caller, made: Execution) -> Execution | None:
    """Tell of the upload, as an event does."""
    return await store.open_session(who).executions.uploads.confirm_key(ingest_key(made))


async def key_caller(
    store: Store, who: Caller, held: Mapping[GroupPath, Role], life: timedelta
) -> Caller:
    """A caller with an API key of the user, which has these roles for so long."""
    ends = iso_timestamp(store.clock.now() + life)
    roles = [GroupRole(group=group, role=role) for group, role in held.items()]
    key, _ = await store.open_session(who).api_keys.create("k", roles, ends)
    return Caller(who.user_id, held, api_key=key.id)


async def test_nothing_starts_an_upload_of_who_lost_the_grant(store: Store, watch: Watch) -> None:
    pipeline = await shared_pipeline(store, EU)
    made = await begin_execution(store, pipeline, EVE)
    await revoke(store, pipeline, EU)
    await upload(store, made)
    stat = await store.files.stat(ingest_key(made))
    assert stat is not None
    # A start that was killed before the revoke left it.
    left = input_key(replace(made, input_copy=name_copy(made, stat)))
    await store.files.copy(ingest_key(made), left)
    before = await contents(store.table)
    assert await store.confirm_uploads() == 0
    with pytest.raises(NotPermitted):
        await tell(store, BUCKET, made)
    with pytest.raises(NotFound):
        await tell(store, EVE, made)
    assert await contents(store.table) == before
    watch.move(UPLOAD_OVER)
    assert await store.confirm_uploads() == 0
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "NOT_STARTED")
    assert await store.files.list(f"pipelines/{pipeline.id}/") == ()
    assert await faults(store.table) == []


async def test_a_grant_that_comes_again_lets_the_search_start_it(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    made = await begin_execution(store, pipeline, EVE)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    assert await store.confirm_uploads() == 0
    await grant(store, pipeline, ROOT)
    assert await store.confirm_uploads() == 1
    assert (await current_execution(store, made)).started_by == "penstock"


async def test_a_grant_to_another_group_is_none_of_the_creator(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    made = await begin_execution(store, pipeline, EVE)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    await grant(store, pipeline, GroupPath("/usa"))
    assert await store.confirm_uploads() == 0


async def test_one_of_several_grants_suffices(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    both = caller({EU: Role.CONTRIBUTOR, NORTHWEST: Role.CONTRIBUTOR}, "both")
    made = await begin_execution(store, pipeline, both)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    assert await store.confirm_uploads() == 1
    assert (await current_execution(store, made)).ready_at is not None


async def test_the_group_of_the_owner_starts_what_its_guest_uploaded(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    made = await begin_execution(store, pipeline, EVE)
    await revoke(store, pipeline, EU)
    await upload(store, made)
    started = await store.open_session(ANN).executions.uploads.confirm(made.id)
    assert started.started_by == "ann"


@pytest.mark.parametrize("who", [ANN, NORA, EVE], ids=["owner", "below", "guest"])
async def test_the_search_starts_the_uploads_of_those_who_may(store: Store, who: Caller) -> None:
    pipeline = await shared_pipeline(store, EU)
    made = await begin_execution(store, pipeline, who)
    await upload(store, made)
    assert await store.confirm_uploads() == 1
    assert (await current_execution(store, made)).started_by == "penstock"


async def test_a_retry_notes_the_grants_of_then(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    both = caller({EU: Role.CONTRIBUTOR, SOUTH: Role.READER}, "both")
    made = await begin_execution(store, pipeline, both)
    await store.open_session(ANN).executions.changing.cancel(made.id)
    await revoke(store, pipeline, EU)
    again = await store.open_session(ANN).executions.changing.retry(made.id)
    await upload(store, again)
    assert await store.confirm_uploads() == 0, "the owner's retry gives its creator no right"
    await store.open_session(ANN).executions.changing.cancel(made.id)
    promoted = caller({SOUTH: Role.CONTRIBUTOR}, "both")
    again = await store.open_session(promoted).executions.changing.retry(made.id)
    await upload(store, again)
    assert await store.confirm_uploads() == 1


@pytest.mark.parametrize("group", [USA, EU], ids=["of the owner", "with a grant"])
async def test_nothing_starts_an_upload_of_a_key_that_was_revoked(
    store: Store, group: GroupPath
) -> None:
    pipeline = await shared_pipeline(store, EU)
    user = ANN if group == USA else EVE
    by_key = await key_caller(store, user, {group: Role.CONTRIBUTOR}, timedelta(days=1))
    first, second = [await begin_execution(store, pipeline, by_key) for _ in range(2)]
    await upload(store, first)
    assert await store.confirm_uploads() == 1
    await store.open_session(user).api_keys.revoke(by_key.api_key or "")
    await upload(store, second)
    before = await contents(store.table)
    assert await store.confirm_uploads() == 0
    with pytest.raises(NotPermitted):
        await tell(store, BUCKET, second)
    assert await contents(store.table) == before
    started = await store.open_session(user).executions.uploads.confirm(second.id)
    assert started.ready_at is not None, "another proof of the same user is as good"


async def test_nothing_starts_an_upload_of_a_key_that_has_expired(
    store: Store, watch: Watch
) -> None:
    pipeline = await shared_pipeline(store, EU)
    by_key = await key_caller(store, EVE, {EU: Role.CONTRIBUTOR}, timedelta(minutes=5))
    made = await begin_execution(store, pipeline, by_key)
    await upload(store, made)
    watch.move(timedelta(minutes=5))
    assert await store.confirm_uploads() == 0
    assert (await current_execution(store, made)).ready_at is None


async def test_nothing_starts_an_upload_of_a_key_without_a_grant(store: Store) -> None:
    pipeline = await shared_pipeline(store, EU)
    by_key = await key_caller(store, EVE, {EU: Role.CONTRIBUTOR}, timedelta(days=1))
    made = await begin_execution(store, pipeline, by_key)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    assert await store.confirm_uploads() == 0
    assert (await current_execution(store, made)).ready_at is None


async def test_a_group_that_was_made_again_starts_nothing_for_keys_of_the_one_before(
    store: Store, watch: Watch
) -> None:
    pipeline = await shared_pipeline(store, EU)
    by_key = await key_caller(store, EVE, {EU: Role.CONTRIBUTOR}, timedelta(days=1))
    made = await begin_execution(store, pipeline, by_key)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    groups = store.open_session(SUPER).groups
    await groups.delete(EU)
    watch.move(timedelta(seconds=1))
    await groups.create(EU, "eu")
    await grant(store, pipeline, EU)
    assert await store.confirm_uploads() == 0
    assert (await current_execution(store, made)).ready_at is None


@pytest.mark.parametrize("made_again", [False, True])
async def test_a_role_above_a_group_that_was_made_again_starts_nothing_there(
    store: Store, watch: Watch, made_again: bool
) -> None:
    below = GroupPath(f"{EU}/parks")
    pipeline = await shared_pipeline(store, EU)
    groups = store.open_session(SUPER).groups
    await groups.create(below, None)
    held = {EU: Role.CONTRIBUTOR, below: Role.READER}
    by_key = await key_caller(store, EVE, held, timedelta(days=1))
    made = await begin_execution(store, pipeline, by_key)
    await upload(store, made)
    await revoke(store, pipeline, EU)
    if made_again:
        await groups.delete(below)
        watch.move(timedelta(seconds=1))
        await groups.create(below, "Somebody else's")
    await grant(store, pipeline, below)
    assert await store.confirm_uploads() == 0
    assert (await current_execution(store, made)).ready_at is None


@pytest.mark.parametrize("who", [ANN, EVE], ids=["owner", "guest"])
async def test_a_start_by_the_search_reads_the_pipeline_once(store: Store, who: Caller) -> None:
    pipeline = await shared_pipeline(store, EU)
    await upload(store, await begin_execution(store, pipeline, who))
    metered = MeteredTable(store.table)
    assert await Store(metered, store.clock, files=store.files).confirm_uploads() == 1
    # 8 queries, the execution, its plan, its pipeline, the group, and the execution after it.
    assert (metered.units.rcu, metered.units.calls) == (13, 16)


async def test_nothing_starts_an_upload_for_a_deleted_pipeline(store: Store) -> None:
    pipeline = await shared_pipeline(store)
    made = await begin_execution(store, pipeline, ANN)
    await upload(store, made)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id, force=True)
    assert await store.confirm_uploads() == 0

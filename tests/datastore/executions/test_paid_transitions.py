"""Callers pay for each transition of an execution once, and for nothing that changes nothing."""

from dataclasses import replace
from types import ModuleType

import pytest

from penstock.datastore.access import open_uploads, work
from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.errors import IllegalState, QuotaExceeded
from penstock.datastore.executions import cancel_and_retry, create, start
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.workers import external, inline, run_one
from penstock.datastore.kept_rows import engine
from penstock.datastore.kept_rows.database import Connection, open_database
from penstock.datastore.records import Pipeline
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import ANN, ready_execution, uploaded_execution
from tests.datastore.executions.test_external_workers import upload_results
from tests.datastore.kept_rows.plants import keep_plants
from tests.support.sample_resources import on_sqlite
from tests.support.work_account import Account

pytestmark = on_sqlite

EACH = 1_000_000
"""So many units that everything else together is less."""


@pytest.fixture(autouse=True)
def dear_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: list[ModuleType] = [cancel_and_retry, create, external, inline, start]
    for module in modules:
        monkeypatch.setattr(module, "TRANSITION_UNITS", EACH)


class Payer:
    """A caller of a store, and the transitions paid since the last look."""

    def __init__(self, store: Store) -> None:
        self._account = Account()
        self._store = store

    @property
    def session(self) -> Session:
        return self._store.open_session(ANN, self._account)

    def take_paid(self) -> int:
        paid, self._account.owed = self._account.owed // EACH, 0
        return paid


async def test_creation_start_cancellation_and_retry_are_paid(
    store: Store, pipeline: Pipeline
) -> None:
    payer = Payer(store)
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    await payer.session.executions.creating.create(wanted, "key")
    assert payer.take_paid() == 1
    await payer.session.executions.creating.create(wanted, "key")
    assert payer.take_paid() == 0
    sent = await uploaded_execution(store, pipeline)
    for paid in (1, 0):
        await payer.session.executions.uploads.confirm(sent.id)
        assert payer.take_paid() == paid
    for paid in (1, 0):
        await payer.session.executions.changing.cancel(sent.id)
        assert payer.take_paid() == paid
    await payer.session.executions.changing.retry(sent.id)
    assert payer.take_paid() == 1
    with pytest.raises(IllegalState):
        await payer.session.executions.changing.retry(sent.id)
    assert payer.take_paid() == 0


async def test_claims_and_ends_from_outside_are_paid(store: Store, pipeline: Pipeline) -> None:
    payer, counts = Payer(store), RowCounts(3, 2, 1, 43, 121)
    done, failed = [await ready_execution(store, pipeline) for _ in range(2)]
    for one in (done, failed):
        await payer.session.executions.external.claim(one.id, "far")
        assert payer.take_paid() == 1
    with pytest.raises(IllegalState):
        await payer.session.executions.external.claim(done.id, "near")
    await payer.session.executions.external.heartbeat(done.id, 1, counts)
    assert payer.take_paid() == 0
    await upload_results(store, done)
    for paid in (1, 0):
        await payer.session.executions.external.complete(done.id, 1, counts)
        assert payer.take_paid() == paid
    await payer.session.executions.external.fail(failed.id, 1, "WORKER_FAILED", "no")
    assert payer.take_paid() == 1


async def test_rows_of_a_request_pay_for_creation_claim_and_end(
    store: Store, pipeline: Pipeline
) -> None:
    payer, wanted = Payer(store), ExecutionRequest(pipeline_id=pipeline.id)
    for paid in (3, 0):
        await payer.session.executions.inline.run(wanted, [{"distance": "1"}], "key")
        assert payer.take_paid() == paid


async def test_each_upload_that_is_opened_or_finds_no_place_is_paid(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_uploads, "UPLOAD_UNITS", 10 * EACH)
    store = replace(store, upload_limits=UploadLimits(per_caller=1))
    payer, wanted = Payer(store), ExecutionRequest(pipeline_id=pipeline.id)
    made = await payer.session.executions.creating.create(wanted)
    assert payer.take_paid() == 11
    with pytest.raises(QuotaExceeded):
        await payer.session.executions.creating.create(wanted)
    assert payer.take_paid() == 10
    await payer.session.executions.changing.cancel(made.id)
    assert payer.take_paid() == 1
    await payer.session.executions.changing.retry(made.id)
    assert payer.take_paid() == 11


async def test_a_worker_of_the_server_costs_nobody_a_transition(
    store: Store, pipeline: Pipeline
) -> None:
    payer = Payer(store)
    sent = await uploaded_execution(store, pipeline)
    await payer.session.executions.uploads.confirm(sent.id)
    await store.execution_worker("w").run_all()
    assert payer.take_paid() == 1


@pytest.mark.usefixtures("pipeline")
async def test_kept_rows_of_a_request_pay_for_the_time_of_their_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a key is there twice, so that nothing is kept; a repeat pays for nothing."""
    plants = await keep_plants(store)
    monkeypatch.setattr(run_one, "KEEPING_UNITS", EACH)
    monkeypatch.setattr(work, "cpu_units", lambda _: 10 * EACH)
    opened = list[Connection]()

    def open_counted() -> Connection:
        opened.append(open_database())
        return opened[-1]

    monkeypatch.setattr(engine, "open_database", open_counted)
    payer, wanted = Payer(store), ExecutionRequest(pipeline_id=plants.id)
    row = {"plant": "a", "kwh": "1"}
    for paid in (14, 0):
        await payer.session.executions.inline.run(wanted, [row], "key")
        assert payer.take_paid() == paid
    over = await payer.session.executions.inline.run(wanted, [row, row])
    assert (over.code, payer.take_paid()) == ("DUPLICATE_KEY", 14)
    assert len(opened) == 1

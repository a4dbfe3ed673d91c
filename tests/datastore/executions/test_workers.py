"""Workers announce themselves; those that fall silent, and those that stop, are not listed."""

from datetime import timedelta

from penstock.datastore.executions.workers.registry import Worker, WorkerKind
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import TTL
from tests.datastore.executions.sample_executions import ANN, ready_execution
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, Watch, walk

VERSION = "1.2.3"


def describe(store: Store, name: str, kind: WorkerKind = WorkerKind.SERVER) -> Worker:
    return store.workers.describe_process(name, kind, 2, VERSION)


async def names(store: Store) -> list[tuple[str, int]]:
    return [(one.name, one.running) for one in await store.workers.list_all()]


async def test_an_announced_worker_is_listed_with_its_load(store: Store) -> None:
    worker = describe(store, "b")
    await store.workers.announce(worker, 1)
    await store.workers.announce(describe(store, "a", WorkerKind.COMMAND), 0)
    await store.workers.announce(worker, 2)
    assert await names(store) == [("a", 0), ("b", 2)]
    _, listed = await store.workers.list_all()
    assert (listed.kind, listed.places, listed.version) == (WorkerKind.SERVER, 2, VERSION)
    assert (listed.host, listed.process) == (worker.host, worker.process)
    assert listed.started_at == worker.started_at
    assert await faults(store.table) == []


async def test_a_worker_that_stops_or_falls_silent_is_listed_no_more(
    store: Store, watch: Watch
) -> None:
    stopped, silent = describe(store, "stopped"), describe(store, "silent")
    for worker in (stopped, silent):
        await store.workers.announce(worker, 0)
    await store.workers.withdraw(stopped)
    await store.workers.withdraw(stopped)
    assert await names(store) == [("silent", 0)]
    watch.move(timedelta(seconds=59))
    assert await names(store) == [("silent", 0)]
    watch.move(timedelta(seconds=2))
    assert await names(store) == []
    (row,) = [row for key, row in (await contents(store.table)).items() if key.pk == "WK"]
    assert str(row[TTL]) < str(int(store.clock.now().timestamp()))


async def test_a_claim_of_a_worker_that_says_nothing_shows_as_an_external_one(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    execution = await ready_execution(store, pipeline)
    await store.open_session(ANN).executions.external.claim(execution.id, "lab")
    assert await store.workers.list_all() == [
        Worker(name="ann: lab", kind=WorkerKind.EXTERNAL, running=1)
    ]
    await store.workers.announce(describe(store, "ann: lab"), 1)
    assert await names(store) == [("ann: lab", 1)]
    watch.move(timedelta(hours=1))
    assert await names(store) == []


async def test_pages_of_workers_are_walked_both_ways(store: Store) -> None:
    for name in "cabd":
        await store.workers.announce(describe(store, name), 0)
    listed = store.open_session(SUPER).workers
    for backward in (False, True):
        found = await walk(listed.page, 1, backward=backward)
        assert [one.name for one in found] == list("abcd")
    page = await listed.page(Window(size=2))
    assert ([one.name for _, one in page.entries], page.more) == (["a", "b"], True)

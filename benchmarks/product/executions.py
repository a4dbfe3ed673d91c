"""Executions in the lists of a filled catalogue, in the rows that the server writes."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import execution_item
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Item, Put

_BATCH = 25
_PIPELINES = 100
ENDED: Final = (
    *[ExecutionState.SUCCESS] * 16,
    *[ExecutionState.FAILED] * 3,
    ExecutionState.CANCELLED,
)


async def add_executions(
    store: Store,
    session: Session,
    ids: Sequence[str],
    count: int,
    states: Sequence[ExecutionState] = ENDED,
) -> None:
    """Add executions of up to a hundred of the pipelines, newest last, in the states in turn."""
    samples = [
        await session.executions.creating.create(ExecutionRequest(pipeline_id=id))
        for id in ids[:_PIPELINES]
    ]
    rows = [row for n in range(count) for row in list_rows(store, samples, states, n)]
    for start in range(0, len(rows), _BATCH):
        await store.table.write([Put(row) for row in rows[start : start + _BATCH]])


def list_rows(
    store: Store, samples: Sequence[Execution], states: Sequence[ExecutionState], number: int
) -> Iterator[Item]:
    """Yield the rows of one more execution of one of the pipelines."""
    state, sample = states[number % len(states)], samples[number % len(samples)]
    now = iso_timestamp(store.clock.now()) if state.is_over else None
    made = structs.replace(
        sample, id=store.clock.new_id(), state=state, started_at=now, finished_at=now
    )
    yield execution_item(made)
    yield from list_items(made).values()

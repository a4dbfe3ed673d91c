"""The order in which a worker claims ready executions: callers take turns."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, zip_longest
from typing import Final, NamedTuple

from penstock.datastore.executions.claims.claims import is_claimable
from penstock.datastore.executions.claims.queue import due_executions, first_of_other_callers
from penstock.datastore.executions.records import Execution, ExecutionRules, ExecutionState
from penstock.datastore.executions.rows import DueStage
from penstock.datastore.table.pages import PAGE
from penstock.datastore.table.port import Table

MOST_PAGES: Final = 3
"""The pages of each of the queue's partitions that a claim looks at, of 100 executions each."""

MOST_PAGES_OF_ROWS: Final = 25
"""The pages in which it looks for callers who have no execution among those."""


class KeptPlace(NamedTuple):
    """A worker of a pool that runs executions of callers who have none running.

    It waits while another worker of the pool is free: the names of all of them end with `pool`,
    and there are `others`.
    """

    pool: str
    others: int


async def claimable_in_turn(
    table: Table, now: datetime, rules: ExecutionRules, kept: KeptPlace | None = None
) -> list[Execution]:
    """The executions that a worker may claim, in the order in which it should.

    Callers with few executions at workers of servers come first; each has one in each round. What
    others run elsewhere of a caller's executions takes no turn of that caller.
    """
    found = [one async for one in due_executions(table, DueStage.READY, pages=MOST_PAGES)]
    if len(found) >= MOST_PAGES * PAGE:
        known = {one.created_by for one in found}
        found += await first_of_other_callers(table, known, MOST_PAGES_OF_ROWS)
    ready = [one for one in found if is_claimable(one, now, rules)]
    names = {one.id for one in ready}
    running = [one for one in found if one.id not in names and _has_worker_of_server(one)]
    counts = Counter(one.created_by for one in running)
    if kept is not None:
        if sum((one.worker or "").endswith(kept.pool) for one in running) < kept.others:
            return []
        ready = [one for one in ready if not counts[one.created_by]]
    return list(_in_turn(ready, counts))


def _has_worker_of_server(execution: Execution) -> bool:
    return execution.state is ExecutionState.IN_PROGRESS and not execution.is_run_elsewhere


def _in_turn(ready: list[Execution], counts: Counter[str]) -> Iterator[Execution]:
    lines: dict[str, list[Execution]] = {}
    for one in ready:
        lines.setdefault(one.created_by, []).append(one)
    # The queue comes in random order, and so do callers with equal counts.
    ordered = sorted(lines.items(), key=lambda line: counts[line[0]])
    rounds = zip_longest(*(line for _, line in ordered))
    return (one for one in chain.from_iterable(rounds) if one is not None)

"""Measures the processor time of DynamoDB calls: the thin client beside the stock one."""

import argparse
import gc
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import uvloop

from benchmarks.canned_dynamodb import (
    PIPELINES,
    ROWS,
    SMALL,
    TABLE,
    canned_endpoint,
    small_item,
    small_key,
)
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.dynamodb.protocol import ClientKind
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.records import Pipeline
from penstock.datastore.table.items import load, resource_id
from penstock.datastore.table.port import Missing, Put, Query

MARK = "dynamodb client"
ROUNDS = 15
SECONDS = 0.15

Call = Callable[[DynamoDBTable], Awaitable[Any]]

_KEYS = [small_key(number) for number in range(ROWS)]
_PUTS = [Put(small_item(number)) for number in range(10)]
_NEW = [Put(small_item(number), Missing()) for number in range(10)]


async def _pipelines(table: DynamoDBTable) -> list[Pipeline]:
    page = await table.query(Query(partition=PIPELINES, index=True, limit=ROWS))
    return [load(Pipeline, item, id=resource_id(item)) for item in page.items]


CALLS: Mapping[str, Call] = {
    "get of one key": lambda table: table.get(_KEYS[:1]),
    f"get of {ROWS} keys": lambda table: table.get(_KEYS),
    f"query of {ROWS} rows": lambda table: table.query(Query(partition=SMALL, limit=ROWS)),
    f"query of {ROWS} pipelines, as records": _pipelines,
    "write of one item": lambda table: table.write(_PUTS[:1]),
    "transaction of 10 puts": lambda table: table.transact(_NEW),
}


class CallTimes(NamedTuple):
    """Microseconds of a call in each round."""

    stock: list[float]
    thin: list[float]

    @property
    def ratios(self) -> list[float]:
        return [stock / thin for stock, thin in zip(self.stock, self.thin, strict=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.dynamodb_client", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a call in a round")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    # As `penstock serve` does.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    nobody = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    with canned_endpoint() as url, patch.dict(os.environ, nobody):
        found = uvloop.run(measure_calls(url, options.rounds, options.seconds))
    show_tables({MARK: below_machine(table(found))}, options.write)


def table(found: Mapping[str, CallTimes]) -> str:
    """The microseconds and their ratios as a Markdown table."""
    rows = [
        (name, _spread(one.stock, ".0f"), _spread(one.thin, ".0f"), _spread(one.ratios, ".1f"))
        for name, one in found.items()
    ]
    return format_table("call | stock, µs | thin, µs | stock / thin", rows)


def _spread(values: Sequence[float], form: str) -> str:
    return " / ".join(format(value, form) for value in (min(values), median(values), max(values)))


async def measure_calls(url: str, rounds: int, seconds: float) -> dict[str, CallTimes]:
    """Run each call in turn with both clients, one call at a time, in every round."""
    stock, thin = await open_table(url, "stock"), await open_table(url, "thin")
    found = {name: CallTimes([], []) for name in CALLS}
    for number in range(rounds + 1):
        for name, call in CALLS.items():
            pair = await _cost(call, stock, seconds), await _cost(call, thin, seconds)
            # The first round warms up connections and caches.
            if number:
                found[name].stock.append(pair[0])
                found[name].thin.append(pair[1])
    await stock.close()
    await thin.close()
    return found


async def open_table(url: str, kind: ClientKind) -> DynamoDBTable:
    return await DynamoDBTable.open(TABLE, region="us-east-1", endpoint_url=url, kind=kind)


async def _cost(call: Call, asked: DynamoDBTable, seconds: float) -> float:
    """Repeat the call for `seconds`, at least once; return the processor microseconds of one."""
    until = time.perf_counter() + seconds
    calls, before = 0, time.process_time()
    while not calls or time.perf_counter() < until:
        await call(asked)
        calls += 1
    return (time.process_time() - before) / calls * 1e6


if __name__ == "__main__":
    main()

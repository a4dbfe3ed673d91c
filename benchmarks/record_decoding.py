"""Measures the processor time of decoding stored rows into the records that a list shows."""

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final, TypeAlias

import msgspec
import orjson

from benchmarks.canned_dynamodb import ROWS, pipeline_row
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.dynamodb.record_views import WireItem
from penstock.datastore.dynamodb.responses import parse_answer
from penstock.datastore.dynamodb.wire import decode_measured_item, encode_item
from penstock.datastore.records import Pipeline
from penstock.datastore.sqlite.rows import JsonItem, decode, encode
from penstock.datastore.table.items import Projection, load, resource_id
from penstock.datastore.table.port import Item, key_of

MARK: Final = "record decoding"
ASKED: Final[Projection] = frozenset(
    ("id", "name", "description", "state", "version", "tags", "groups")
)
WAYS: Final = ("items, then records", "records", "what is asked for")

Work: TypeAlias = Callable[[], list[Pipeline]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.record_decoding", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    gc.disable()
    found = measure_stores(options.rounds)
    show_tables({MARK: below_machine(table(found))}, options.write)


def measure_stores(rounds: int) -> dict[str, list[float]]:
    """The microseconds of each way, in the order of WAYS, by the name of the store."""
    rows = [pipeline_row(number) for number in range(ROWS)]
    stores = {"embedded": embedded_ways(rows), "DynamoDB": dynamodb_ways(rows)}
    return {name: measure_ways(works, rounds) for name, works in stores.items()}


def embedded_ways(rows: Sequence[Item]) -> list[Work]:
    """The ways to decode the texts of the embedded table, in the order of WAYS."""
    texts = [(key_of(row), encode(row)) for row in rows]

    def by_items() -> list[Pipeline]:
        return [_convert_item(decode(text)) for _, text in texts]

    def records(asked: Projection = None) -> list[Pipeline]:
        return [_load_record(JsonItem(key, text), asked) for key, text in texts]

    return [by_items, records, lambda: records(ASKED)]


def dynamodb_ways(rows: Sequence[Item]) -> list[Work]:
    """The ways to decode an answer of BatchGetItem, including the measurement of its units."""
    answer = orjson.dumps({"Responses": {"t": [encode_item(row) for row in rows]}})

    def by_items() -> list[Pipeline]:
        told = [decode_measured_item(raw) for raw in orjson.loads(answer)["Responses"]["t"]]
        return [_convert_item(item) for item, _ in told]

    def records(asked: Projection = None) -> list[Pipeline]:
        texts = parse_answer("BatchGetItem", 200, {}, answer)["Responses"]["t"]
        items = [WireItem.read(text) for text in texts]
        sum(item.charged_size for item in items)
        return [_load_record(item, asked) for item in items]

    return [by_items, records, lambda: records(ASKED)]


def _convert_item(item: Item) -> Pipeline:
    return msgspec.convert({**item, "id": resource_id(item)}, Pipeline)


def _load_record(row: JsonItem | WireItem, asked: Projection) -> Pipeline:
    return load(Pipeline, row, asked, id=resource_id(row))


def measure_ways(works: Sequence[Work], rounds: int) -> list[float]:
    """Run each in turn, round by round; return the median microseconds of each."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, found, strict=True):
            before = time.process_time_ns()
            work()
            times.append((time.process_time_ns() - before) / 1_000)
    return [median(times) for times in found]


def table(found: Mapping[str, Sequence[float]]) -> str:
    """The microseconds and the factor against decoding by items, as Markdown."""
    rows = [
        (name, *(f"{time:,.0f} · {times[0] / time:.1f}" for time in times))
        for name, times in found.items()
    ]
    return format_table(" | ".join((f"µs for {ROWS} rows", *WAYS)), rows)


if __name__ == "__main__":
    main()

"""Measures the processor time of decoding stored rows into the records that a list shows."""

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final, TypeAlias

import msgspec
import orjson

from benchmarks.canned_dynamodb import ROWS, pipeline
from penstock.datastore.dynamodb.record_views import WireItem
from penstock.datastore.dynamodb.responses import read
from penstock.datastore.dynamodb.wire import encode_item, measured_item
from penstock.datastore.records import Pipeline
from penstock.datastore.sqlite.rows import JsonItem, decode, encode
from penstock.datastore.table.items import Asked, load, resource_id
from penstock.datastore.table.port import Item, key_of

ASKED: Final[Asked] = frozenset(("id", "name", "description", "state", "version", "tags", "groups"))
WAYS: Final = ("items, then records", "records", "what is asked for")

Work: TypeAlias = Callable[[], list[Pipeline]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.record_decoding", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args(arguments)
    gc.disable()
    rows = [pipeline(number) for number in range(ROWS)]
    stores = {"embedded": embedded(rows), "DynamoDB": dynamodb(rows)}
    print(table({name: measured(works, options.rounds) for name, works in stores.items()}))


def embedded(rows: Sequence[Item]) -> list[Work]:
    """The ways to decode the texts of the embedded table, in the order of WAYS."""
    texts = [(key_of(row), encode(row)) for row in rows]

    def by_items() -> list[Pipeline]:
        return [_converted(decode(text)) for _, text in texts]

    def records(asked: Asked = None) -> list[Pipeline]:
        return [_loaded(JsonItem(key, text), asked) for key, text in texts]

    return [by_items, records, lambda: records(ASKED)]


def dynamodb(rows: Sequence[Item]) -> list[Work]:
    """The ways to decode an answer of BatchGetItem, including the measurement of its units."""
    answer = orjson.dumps({"Responses": {"t": [encode_item(row) for row in rows]}})

    def by_items() -> list[Pipeline]:
        told = [measured_item(raw) for raw in orjson.loads(answer)["Responses"]["t"]]
        return [_converted(item) for item, _ in told]

    def records(asked: Asked = None) -> list[Pipeline]:
        texts = read("BatchGetItem", 200, {}, answer)["Responses"]["t"]
        items = [WireItem.read(text) for text in texts]
        sum(item.charged_size for item in items)
        return [_loaded(item, asked) for item in items]

    return [by_items, records, lambda: records(ASKED)]


def _converted(item: Item) -> Pipeline:
    return msgspec.convert({**item, "id": resource_id(item)}, Pipeline)


def _loaded(row: JsonItem | WireItem, asked: Asked) -> Pipeline:
    return load(Pipeline, row, asked, id=resource_id(row))


def measured(works: Sequence[Work], rounds: int) -> list[float]:
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
    lines = [f"| µs for {ROWS} rows | {' | '.join(WAYS)} |", f"|---|{'--:|' * len(WAYS)}"]
    for name, times in found.items():
        cells = [f"{time:,.0f} · {times[0] / time:.1f}" for time in times]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

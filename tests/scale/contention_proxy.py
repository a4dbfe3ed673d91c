"""A proxy before a DynamoDB emulator that refuses and lags as AWS does, where emulators forgive.

A transaction holds its items for a window of time; a write that meets them is refused. Each
partition key, of the table and of the index apart, gives some write units a second. Eventually
consistent reads see for a time what stood there before. Run it as a command for any other client:
GET tells the counts as JSON, and begins them anew.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from tests.scale.lagging_reads import Images, keys_to_read
from tests.scale.partitions import (
    Capacity,
    Counts,
    Footprints,
    HeldItems,
    PlannedWrite,
    TableKey,
    units_of,
)
from tests.support.dynamodb_upstream import Body, DynamoDBUpstream, cancellation, operation_of
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request

NO_LIMIT = float("inf")


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """The limits that the proxy adds: times in ms, and write units a second for a key."""

    window: float = 0.0
    wcu: float = NO_LIMIT
    lag: float = 0.0
    hop: float = 0.0


class ContentionProxy:
    """Passes requests on to `upstream_url` within limits; `counts` tells what met them.

    `async with ContentionProxy(url, limits) as proxy` serves at `proxy.url`.
    """

    def __init__(self, upstream_url: str, limits: ProxyLimits, *, port: int = 0) -> None:
        self.url = ""
        self.counts = Counts()
        self._limits = limits
        self._port = port
        self._upstream = DynamoDBUpstream(upstream_url)
        self._server = LoopbackServer(self._serve)
        self._held = HeldItems()
        self._footprints = Footprints()

    async def __aenter__(self) -> Self:
        clock = asyncio.get_running_loop().time
        self._capacity = Capacity(self._limits.wcu, clock)
        self._images = Images(self._limits.lag / 1000, clock)
        await self._upstream.__aenter__()
        self.url = await self._server.start(self._port)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.stop()
        await self._upstream.__aexit__(kind, error, trace)

    def take_counts(self) -> Counts:
        """Return the counts, and begin new ones."""
        taken, self.counts = self.counts, Counts()
        return taken

    async def _serve(self, request: Request, connection: Connection) -> None:
        if request.method == "GET":
            await connection.answer(Answer(200, orjson.dumps(describe_counts(self.take_counts()))))
            return
        operation, body = operation_of(request.headers), orjson.loads(request.body)
        self.counts.requests[operation] += 1
        await asyncio.sleep(self._limits.hop / 1000)
        match operation:
            case "TransactWriteItems":
                answer = await self._transact(request, body)
            case "BatchWriteItem":
                answer = await self._write_batch(request, body)
            case "GetItem" | "BatchGetItem" | "Query":
                answer = await self._read(request, operation, body)
            case _:
                answer = await self._upstream.send(request.headers, body)
        await connection.answer(answer)

    async def _transact(self, request: Request, body: Body) -> Answer:
        writes = [self._plan(*next(iter(item.items()))) for item in body["TransactItems"]]
        keys = [write.at for write in writes]
        met = set(self._held.find_conflicts(keys)) if self._limits.window else set[TableKey]()
        if met:
            return self._refuse_conflict(keys, met)
        wanted, items = units_of(writes, transactional=True)
        short = self._capacity.take(wanted)
        if short is not None:
            self.counts.throttles[short] += 1
            self.counts.cancelled["ThrottlingError"] += 1
            rest: list[Body] = [{"Code": "None"}] * (len(keys) - 1)
            return cancellation([{"Code": "ThrottlingError", "Message": "throttled"}, *rest])
        with self._held.hold(keys):
            before = await self._images_before(request, keys)
            await asyncio.sleep(self._limits.window / 1000)
            answer = await self._upstream.send(request.headers, body)
        if answer.status == 200:
            self.counts.succeeded += 1
            self._footprints.note(writes)
            self._images.note(before)
            for partition, units in wanted.items():
                self.counts.units[partition] += units
            for key, units in items.items():
                self.counts.item_units[key] += units
        return answer

    def _plan(self, kind: str, operation: Body) -> PlannedWrite:
        return self._footprints.plan(operation["TableName"], kind, operation)

    def _refuse_conflict(self, keys: Sequence[TableKey], met: set[TableKey]) -> Answer:
        self.counts.cancelled["TransactionConflict"] += 1
        for _, key in met:
            self.counts.conflicts[key] += 1
        busy = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
        return cancellation([busy if key in met else {"Code": "None"} for key in keys])

    async def _write_batch(self, request: Request, body: Body) -> Answer:
        """Do the writes that meet no transaction and have capacity; leave the others undone."""
        done: dict[str, list[Body]] = {}
        left: dict[str, list[Body]] = {}
        writes: list[PlannedWrite] = []
        for table, asked in body["RequestItems"].items():
            for each in asked:
                ((kind, content),) = each.items()
                write = self._footprints.plan(table, kind.removesuffix("Request"), content)
                wanted, _ = units_of([write], transactional=False)
                fits = (
                    not self._held.find_conflicts([write.at])
                    and self._capacity.take(wanted) is None
                )
                (done if fits else left).setdefault(table, []).append(each)
                writes += [write] if fits else []
        if not done:
            return Answer(200, orjson.dumps({"UnprocessedItems": left}))
        before = await self._images_before(request, [write.at for write in writes])
        answer = await self._upstream.send(request.headers, {**body, "RequestItems": done})
        if answer.status != 200:
            return answer
        self._footprints.note(writes)
        self._images.note(before)
        told: dict[str, Any] = orjson.loads(answer.body)
        unprocessed = told.get("UnprocessedItems", {}) | left
        return Answer(200, orjson.dumps({**told, "UnprocessedItems": unprocessed}))

    async def _images_before(
        self, request: Request, keys: Sequence[TableKey]
    ) -> dict[TableKey, Body | None]:
        """Read the items as they are, if reads are to see them for some time."""
        if not self._limits.lag:
            return {}
        found: dict[TableKey, Body | None] = dict.fromkeys(keys)
        for table, wanted in keys_to_read(keys).items():
            body = {"RequestItems": {table: {"Keys": wanted, "ConsistentRead": True}}}
            answer = await self._upstream.send(request.headers, body, "BatchGetItem")
            for item in orjson.loads(answer.body)["Responses"][table]:
                at = next(each for each in keys if each[1] == (item["pk"]["S"], item["sk"]["S"]))
                found[at] = item
        return found

    async def _read(self, request: Request, operation: str, body: Body) -> Answer:
        answer = await self._upstream.send(request.headers, body)
        if not self._limits.lag or answer.status != 200:
            return answer
        told = orjson.loads(answer.body)
        consistent = body.get("ConsistentRead") and "IndexName" not in body
        if operation == "BatchGetItem":
            told = self._images.in_batch(body, told)
        elif not consistent:
            lagging = self._images.in_item if operation == "GetItem" else self._images.in_query
            told = lagging(body, told)
        return Answer(200, orjson.dumps(told))


def describe_counts(counts: Counts) -> dict[str, Any]:
    """Return the counts with their keys as texts, the largest first."""
    told: dict[str, Any] = {"succeeded": counts.succeeded}
    groups: dict[str, Mapping[Any, float]] = {
        "requests": counts.requests,
        "cancelled": counts.cancelled,
        "conflicts": counts.conflicts,
        "throttles": counts.throttles,
        "units": counts.units,
        "itemUnits": counts.item_units,
    }
    for name, group in groups.items():
        largest = sorted(group, key=group.__getitem__, reverse=True)
        told[name] = {_text(key): round(group[key]) for key in largest}
    return told


def _text(key: str | tuple[str, ...]) -> str:
    return key if isinstance(key, str) else " | ".join(key)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tests.scale.contention_proxy", description=__doc__)
    parser.add_argument("--upstream", required=True, help="URL of the emulator")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--window", type=float, default=10.0, help="ms that a transaction holds")
    parser.add_argument("--wcu", type=float, default=1000.0, help="write units a second for a key")
    parser.add_argument("--lag", type=float, default=0.0, help="ms that reads lag")
    parser.add_argument("--hop", type=float, default=0.0, help="ms on the way of each request")
    options = parser.parse_args(arguments)
    chosen = ProxyLimits(options.window, options.wcu, options.lag, options.hop)
    asyncio.run(_serve_for_ever(options.upstream, chosen, options.port))


async def _serve_for_ever(upstream: str, limits: ProxyLimits, port: int) -> None:
    async with ContentionProxy(upstream, limits, port=port) as proxy:
        sys.stdout.write(f"serving at {proxy.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()

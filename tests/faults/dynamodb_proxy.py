"""A proxy for a DynamoDB endpoint that injects faults which no emulator produces.

It also remembers the ClientRequestToken of transactions as AWS does; moto ignores these tokens.
"""

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self
from zlib import crc32

import orjson

from tests.support.dynamodb_upstream import (
    Body,
    DynamoDBUpstream,
    cancellation,
    error_answer,
    operation_of,
)
from tests.support.loop_clock import pass_time
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request

TOKEN_SECONDS = 600.0
SLOW_SECONDS = 0.05
SHORT_PAGE_ITEMS = 2


class Fault(StrEnum):
    """One fault of one request."""

    CONFLICT = "the transaction is cancelled: its last operation meets another transaction"
    DAMAGED = "the answer's body is not the one its checksum is of"
    INTERNAL = "500, nothing done"
    IN_PROGRESS = "a transaction with this token is still going on"
    RESET_AFTER = "done, then the connection is reset before the answer"
    RESET_BEFORE = "the connection is reset, nothing done"
    SHORT_PAGE = "the page ends after two items"
    SILENT_AFTER = "done, but no answer ever comes"
    SLOW = "done and answered after 50 ms"
    THROTTLED = "ProvisionedThroughputExceededException, nothing done"
    THROTTLING = "ThrottlingException, nothing done"
    UNAVAILABLE = "503 with a page of HTML, nothing done"
    UNPROCESSED = "only the first half of the batch is done"


ANYWHERE = frozenset(Fault) - {
    Fault.CONFLICT,
    Fault.IN_PROGRESS,
    Fault.SHORT_PAGE,
    Fault.UNPROCESSED,
}
FITTING = defaultdict(
    lambda: ANYWHERE,
    {
        "TransactWriteItems": ANYWHERE | {Fault.CONFLICT, Fault.IN_PROGRESS},
        "BatchGetItem": ANYWHERE | {Fault.UNPROCESSED},
        "BatchWriteItem": ANYWHERE | {Fault.UNPROCESSED},
        "Query": ANYWHERE | {Fault.SHORT_PAGE},
    },
)
"""The possible faults of each operation."""

_REFUSING: dict[Fault | None, str] = {
    Fault.THROTTLED: "ProvisionedThroughputExceededException",
    Fault.THROTTLING: "ThrottlingException",
    Fault.IN_PROGRESS: "TransactionInProgressException",
}


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """A request that reached the proxy, and its fault."""

    operation: str
    headers: dict[str, str]
    body: Body
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class RememberedAnswer:
    """The answer of a successful transaction, for its body and until a time."""

    body: Body
    answer: Answer
    until: float


class FaultProxy:
    """Passes requests on to `upstream_url`, one at a time, with scripted or random faults.

    `async with FaultProxy(url) as proxy` serves at `proxy.url`; `proxy.seen` lists the requests and
    `proxy.upstream` counts the forwarded ones by operation. `proxy.silence` seconds of the loop's
    time pass as soon as it falls silent. Reads that ask for no consistency, and all of the index,
    come from the table `stale_table`, if it is given.
    """

    def __init__(self, upstream_url: str) -> None:
        self.url = ""
        self.silence = 0.0
        self.stale_table: str | None = None
        self.seen: list[ProxiedRequest] = []
        self.upstream: dict[str, int] = defaultdict(int)
        self._upstream = DynamoDBUpstream(upstream_url)
        self._server = LoopbackServer(self._serve)
        self._scripts: dict[str, deque[Fault | None]] = defaultdict(deque)
        self._chance = 0.0
        self._faults: tuple[Fault, ...] = ()
        self._dice = random.Random(0)
        self._tokens: dict[str, RememberedAnswer] = {}
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._upstream.__aenter__()
        self.url = await self._server.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.stop()
        await self._upstream.__aexit__(kind, error, trace)

    def script(self, operation: str, *faults: Fault | None) -> None:
        """Give the next requests of the operation these faults in turn; None is no fault."""
        unfit = set(faults) - FITTING[operation] - {None}
        if unfit:
            raise ValueError(f"{operation} cannot meet {unfit}")
        self._scripts[operation].extend(faults)

    def chance(self, probability: float, faults: Iterable[Fault], *, seed: int) -> None:
        """Give any request without a script one of its possible faults, with this probability."""
        self._chance = probability
        self._faults = tuple(sorted(faults))
        self._dice = random.Random(seed)

    async def _serve(self, request: Request, connection: Connection) -> None:
        operation = operation_of(request.headers)
        body = orjson.loads(request.body)
        fault = self._draw(operation)
        self.seen.append(ProxiedRequest(operation, dict(request.headers), body, fault))
        if fault is Fault.RESET_BEFORE:
            connection.reset()
            return
        answer = _refusal(fault, body)
        if answer is None:
            answer = await self._carry_out(request, operation, body, fault)
        match fault:
            case Fault.RESET_AFTER:
                connection.reset()
            case Fault.SILENT_AFTER:
                await pass_time(self.silence)
                await connection.fall_silent()
            case _:
                await connection.answer(answer)

    def _draw(self, operation: str) -> Fault | None:
        if script := self._scripts[operation]:
            return script.popleft()
        fitting = [fault for fault in self._faults if fault in FITTING[operation]]
        if not fitting or self._dice.random() >= self._chance:
            return None
        return self._dice.choice(fitting)

    async def _carry_out(
        self, request: Request, operation: str, body: Body, fault: Fault | None
    ) -> Answer:
        """Carry the request out, as far as its fault allows."""
        if fault is Fault.SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        async with self._one_at_a_time:
            if "ClientRequestToken" in body:
                answer = await self._transact_once(request, operation, body)
            elif fault is Fault.UNPROCESSED:
                answer = await self._send_half(request, operation, body)
            elif fault is Fault.SHORT_PAGE:
                most = min(SHORT_PAGE_ITEMS, body.get("Limit", SHORT_PAGE_ITEMS))
                answer = await self._pass_on(request, operation, {**body, "Limit": most})
            else:
                answer = await self._pass_on(request, operation, body)
        return _damage_answer(answer) if fault is Fault.DAMAGED else answer

    async def _transact_once(self, request: Request, operation: str, body: Body) -> Answer:
        token, now = body["ClientRequestToken"], asyncio.get_running_loop().time()
        remembered = self._tokens.get(token)
        if remembered and now < remembered.until:
            if remembered.body == body:
                return remembered.answer
            return error_answer("IdempotentParameterMismatchException")
        answer = await self._pass_on(request, operation, body)
        if answer.status == 200:
            self._tokens[token] = RememberedAnswer(body, answer, now + TOKEN_SECONDS)
        return answer

    async def _send_half(self, request: Request, operation: str, body: Body) -> Answer:
        """Forward the first half of a batch over one table; a single item is forwarded whole."""
        ((table, wanted),) = body["RequestItems"].items()
        reading = operation == "BatchGetItem"
        things: list[Body] = wanted["Keys"] if reading else wanted
        done, left = _halves(things)
        first, rest = (
            ({**wanted, "Keys": done}, {**wanted, "Keys": left}) if reading else (done, left)
        )
        answer = await self._pass_on(request, operation, {**body, "RequestItems": {table: first}})
        unprocessed = "UnprocessedKeys" if reading else "UnprocessedItems"
        parsed = orjson.loads(answer.body) | ({unprocessed: {table: rest}} if left else {})
        return Answer(answer.status, orjson.dumps(parsed))

    async def _pass_on(self, request: Request, operation: str, body: Body) -> Answer:
        self.upstream[operation] += 1
        table = None if self.stale_table is None else _table_read_eventually(operation, body)
        if table is not None:
            return await self._read_stale(request, body, table)
        return await self._upstream.send(request.headers, body)

    async def _read_stale(self, request: Request, body: Body, table: str) -> Answer:
        """Read from the stale table, as if it was the one that the request names."""
        current, stale = f'"{table}"'.encode(), f'"{self.stale_table}"'.encode()
        asked: Body = orjson.loads(orjson.dumps(body).replace(current, stale))
        answer = await self._upstream.send(request.headers, asked)
        return Answer(answer.status, answer.body.replace(stale, current))


def _table_read_eventually(operation: str, body: Body) -> str | None:
    """Return the table of a read that asks for no consistency; None for other requests."""
    if operation == "BatchGetItem":
        ((table, wanted),) = body["RequestItems"].items()
        return None if wanted.get("ConsistentRead") else str(table)
    if operation not in ("GetItem", "Query") or body.get("ConsistentRead"):
        return None
    return str(body["TableName"])


def _halves(things: Sequence[Body]) -> tuple[list[Body], list[Body]]:
    middle = max(1, len(things) // 2)
    return list(things[:middle]), list(things[middle:])


def _refusal(fault: Fault | None, body: Body) -> Answer | None:
    """Return the answer of a fault that prevents the request; None for other faults."""
    match fault:
        case Fault.INTERNAL:
            return error_answer("InternalServerError", status=500)
        case Fault.UNAVAILABLE:
            return Answer(503, b"<html>down</html>", {"Content-Type": "text/html"})
        case Fault.CONFLICT:
            others: list[Body] = [{"Code": "None"}] * (len(body["TransactItems"]) - 1)
            return cancellation([*others, {"Code": "TransactionConflict", "Message": "busy"}])
    code = _REFUSING.get(fault)
    return error_answer(code) if code else None


def _damage_answer(answer: Answer) -> Answer:
    return Answer(answer.status, b'{"Damaged": true}', {"x-amz-crc32": str(crc32(answer.body))})

"""A stream service over a small schema, and clients that speak ASGI without a socket."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import strawberry
from starlette.types import ASGIApp, Message

from penstock.datastore.change_log.opening_deadline import end_opening
from penstock.datastore.errors import (
    NotAuthenticated,
    NotFound,
    RequestRefused,
    Unavailable,
)
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.table.instrumentation import Units
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from penstock.server.auth.tokens import Authentication
from penstock.server.edge.graphql import AdmittedOperation, GraphQLApp, OperationReader
from penstock.server.edge.rate_limit import CallerLimits, RateBucket, RateLimiter
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.messages import PROTOCOL
from penstock.server.streams.operations import OperationRunner, StreamService
from penstock.server.streams.registry import StreamRegistry
from penstock.server.streams.sse import EventStreamApp
from penstock.server.streams.standing_requests import StandingRequests
from penstock.server.streams.websocket import WebSocketApp
from penstock.server.telemetry.operation import OperationEnded, OperationRecord
from tests.support.patience import HUNG_SECONDS

QUICK = StreamLimits(messages_per_second=100_000)
INIT = {"type": "connection_init", "payload": {"authorization": "Bearer ann"}}
ACK = {"type": "connection_ack"}


class World:
    """The effects of operations."""

    def __init__(self) -> None:
        self.units = Units(rcu=1.0, calls=1)
        self.consistency_token: str | None = None
        self.written: list[str] = []
        self.produced = 0
        self.closed_sources = 0
        self.go = asyncio.Event()


Info = strawberry.Info[World, None]


@strawberry.type
class Tick:
    number: int

    @strawberry.field
    def fails(self) -> int | None:
        raise RuntimeError("secret of the house")


@strawberry.type
class Query:
    @strawberry.field
    def hello(self) -> str:
        return "world"

    @strawberry.field
    def number(self, value: int) -> int:
        return value

    @strawberry.field
    def text(self, length: int) -> str:
        return "x" * length

    @strawberry.field
    def numbers(self, count: int) -> list[int] | None:
        return [1] * count

    @strawberry.field
    def crash(self) -> str | None:
        raise RuntimeError("secret of the house")

    @strawberry.field
    async def wait(self, info: Info) -> str:
        await info.context.go.wait()
        return "waited"


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def write(self, info: Info, text: str) -> str:
        await info.context.go.wait()
        info.context.written.append(text)
        return text


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def ticks(self, info: Info, to: int) -> AsyncIterator[Tick]:
        try:
            for number in range(to):
                info.context.produced += 1
                yield Tick(number=number)
        finally:
            info.context.closed_sources += 1

    @strawberry.subscription
    async def silence(self, info: Info) -> AsyncIterator[Tick]:
        try:
            yield Tick(number=0)
            await asyncio.Event().wait()
        finally:
            info.context.closed_sources += 1

    @strawberry.subscription
    async def late(self, info: Info, opens: bool) -> AsyncIterator[Tick]:
        try:
            if opens:
                end_opening()
            await info.context.go.wait()
            yield Tick(number=0)
        finally:
            info.context.closed_sources += 1

    @strawberry.subscription
    async def texts(self, info: Info, length: int) -> AsyncIterator[str]:
        for _ in range(2):
            info.context.produced += 1
            yield "x" * length

    @strawberry.subscription
    async def breaks(self, expected: bool) -> AsyncIterator[Tick]:
        yield Tick(number=0)
        raise NotFound("It is gone.") if expected else RuntimeError("secret of the house")


SCHEMA = strawberry.Schema(Query, Mutation, Subscription)


class StreamHouse:
    """The service with its two transports; `Bearer NAME` is the user NAME, valid for `valid`.

    `Bearer slow` is refused when the issuer answers; `waiting` counts those who wait for it.
    Each caller may spend `share` in all; None means no limit.
    """

    def __init__(
        self,
        limits: StreamLimits = QUICK,
        *,
        per_caller: int = 20,
        unproven: int = 200,
        share: int | None = None,
        valid: float | None = None,
        introspection: bool = True,
        engine: Limits | None = None,
        running: int = 8,
    ) -> None:
        self.world = World()
        self.opened: list[AdmittedOperation] = []
        self.seen: list[OperationRecord] = []
        self.valid = valid
        self.withdrawn: Exception | None = None
        self.issuer_answers = asyncio.Event()
        self.waiting = 0
        self.streams = StreamRegistry(per_caller, unproven)
        self.limiter = RateLimiter(1 if share else 0, share or 1, clock=lambda: 0.0)
        self.engine = GraphQLEngine(SCHEMA, engine)
        self.callers = CallerLimits.of(self.limiter, running)
        reader = OperationReader(self.engine, self.callers, introspection)
        runner = OperationRunner(reader, self._open, StandingRequests())
        service = StreamService(runner, self.authenticate, self.streams, limits)
        self.service = replace(service, watchers=(self._watch,))
        plain = GraphQLApp(reader, authenticate=self._caller_of, open_context=self._open)
        self.websocket: ASGIApp = WebSocketApp(self.service, origins=["https://app.example.org"])
        self.http: ASGIApp = EventStreamApp(self.service, plain)

    def learn(self, *texts: str) -> None:
        """Put documents into the cache, so that no caller pays for reading them."""
        for text in texts:
            self.engine.prepare(OperationRequest(query=text))

    def spending_of(self, user: str = "ann") -> float:
        """Return what a user has spent of the share."""
        levels: list[float] = []

        def look(bucket: RateBucket | None) -> RateBucket:
            found = bucket or RateBucket(self.limiter._burst, 0.0)
            levels.append(found.level)
            return found

        self.limiter._buckets.update(user, look)
        return self.limiter._burst - levels[0]

    async def authenticate(self, headers: Mapping[str, object]) -> Authentication:
        match [value for name, value in headers.items() if name.lower() == "authorization"]:
            case ["Bearer away"]:
                raise Unavailable("The issuer's keys cannot be had.", retry_after=5)
            case ["Bearer slow"]:
                self.waiting += 1
                await self.issuer_answers.wait()
            case ["Bearer withdrawn"] if self.withdrawn is not None:
                raise self.withdrawn
            case ["Bearer denied"]:
                raise RequestRefused("GetItem", "AccessDeniedException", "not allowed")
            case ["Bearer crash"]:
                raise RuntimeError("secret of the house")
            case [str(text)] if text.startswith("Bearer "):
                caller = Caller(text.removeprefix("Bearer "), {ROOT: Role.ADMIN})
                return Authentication(
                    caller, None if self.valid is None else time.time() + self.valid
                )
        raise NotAuthenticated("There is no one token.")

    async def _caller_of(self, headers: Mapping[str, object]) -> Caller:
        return (await self.authenticate(headers)).caller

    def _open(self, caller: Caller, admission: AdmittedOperation) -> World:
        self.limiter.spend(caller.user_id, admission.cost)
        self.opened.append(admission)
        return self.world

    def _watch(self, _seen: OperationRecord) -> OperationEnded:
        return self.seen.append


class AsgiConnection:
    """One connection as the application sees it; `blocked` stops its outgoing messages."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        self.outgoing: asyncio.Queue[Message] = asyncio.Queue()
        self.free = asyncio.Event()
        self.free.set()
        self.task: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        await self.free.wait()
        self.outgoing.put_nowait(message)

    async def next_sent(self) -> Message:
        async with asyncio.timeout(HUNG_SECONDS):
            return await self.outgoing.get()

    async def wait_until_returned(self) -> None:
        """Wait until the application has returned."""
        assert self.task is not None
        async with asyncio.timeout(HUNG_SECONDS):
            await asyncio.wait([self.task])
        self.task.result()


@asynccontextmanager
async def run_app(
    line: AsgiConnection, app: ASGIApp, scope: Mapping[str, Any]
) -> AsyncIterator[None]:
    line.task = asyncio.create_task(_call(app, line, dict(scope)))
    try:
        yield
    finally:
        line.task.cancel()
        await asyncio.wait([line.task])


async def _call(app: ASGIApp, line: AsgiConnection, scope: dict[str, Any]) -> None:
    call: Awaitable[None] = app(scope, line.incoming.get, line.send)
    await call


class ProtocolClient(AsgiConnection):
    """A client of graphql-transport-ws."""

    def say(self, message: object) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self.incoming.put_nowait({"type": "websocket.receive", "text": text})

    def ask(self, id: str, query: str, **more: Any) -> None:
        self.say({"type": "subscribe", "id": id, "payload": {"query": query, **more}})

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})

    async def next_message(self) -> Any:
        message = await self.next_sent()
        assert set(message) == {"type", "text"}, message
        return json.loads(message["text"])

    async def all_messages(self, id: str) -> list[Any]:
        """Return all messages of an operation, to its end."""
        messages: list[Any] = []
        while not messages or messages[-1]["type"] == "next":
            messages.append(await self.next_message())
            assert messages[-1]["id"] == id
        return messages

    async def is_served(self) -> bool:
        self.ask("still here?", "{ hello }")
        messages = await self.all_messages("still here?")
        return [one.get("payload") for one in messages] == [{"data": {"hello": "world"}}, None]

    async def wait_for_close(self) -> tuple[int, str]:
        message = await self.next_sent()
        assert message["type"] == "websocket.close", message
        await self.wait_until_returned()
        return message["code"], message["reason"]


def header_list(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return [(name.encode(), value.encode("latin-1")) for name, value in named.items()]


@asynccontextmanager
async def handshake(
    house: StreamHouse,
    protocols: tuple[str, ...] = (PROTOCOL,),
    client: str = "127.0.0.1",
    **headers: str,
) -> AsyncIterator[ProtocolClient]:
    sent = header_list({"host": "api.example.org", **headers})
    scope = {
        "type": "websocket",
        "client": (client, 50_000),
        "headers": sent,
        "subprotocols": list(protocols),
    }
    talk = ProtocolClient()
    talk.incoming.put_nowait({"type": "websocket.connect"})
    async with run_app(talk, house.websocket, scope):
        yield talk


@asynccontextmanager
async def accepted_client(
    house: StreamHouse, client: str = "127.0.0.1", **headers: str
) -> AsyncIterator[ProtocolClient]:
    async with handshake(house, (PROTOCOL,), client, **headers) as talk:
        assert await talk.next_sent() == {"type": "websocket.accept", "subprotocol": PROTOCOL}
        yield talk


@asynccontextmanager
async def connected_client(house: StreamHouse, user: str = "ann") -> AsyncIterator[ProtocolClient]:
    async with accepted_client(house) as talk:
        talk.say({"type": "connection_init", "payload": {"authorization": f"Bearer {user}"}})
        assert await talk.next_message() == ACK
        yield talk

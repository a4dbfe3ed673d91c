"""The edge over the example schema on a free port, and a client with one connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.datastructures import Headers
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from penstock.datastore.errors import NotAuthenticated, Unavailable
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.schema.engine.documents import PersistedDocuments
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.interpreter import Executor
from penstock.schema.engine.limits import Limits
from penstock.server.connections.gate import ConnectionGate, Gates, time_limits
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class
from penstock.server.edge.graphql import AdmittedOperation, GraphQLApp, OperationReader
from penstock.server.edge.rate_limit import CallerLimits, RateLimiter
from penstock.server.edge.response import Statuses
from penstock.server.settings.settings import Settings
from tests.support.example_schema import FakeContext, shelves_schema

TOKEN = "Bearer good"
JSON = "application/json; charset=utf-8"
GRAPHQL = "application/graphql-response+json; charset=utf-8"


async def by_token(headers: Headers) -> Caller:
    match headers.get("authorization"):
        case "Bearer good":
            return Caller("ann", {ROOT: Role.ADMIN})
        case "Bearer narrow":
            return Caller("bob", {GroupPath("/usa"): Role.ADMIN})
        case "Bearer away":
            raise Unavailable("The issuer's keys cannot be had.", retry_after=5)
        case "Bearer crash":
            raise RuntimeError("secret of the house")
        case None:
            raise NotAuthenticated("There is no token.")
    raise NotAuthenticated("The token is not accepted.")


class Edge:
    """The application, with the effects of its mutations."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        statuses: Statuses = "2025",
        introspection: bool = True,
        persisted: PersistedDocuments | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.notes = FakeContext()
        self.admitted: list[AdmittedOperation] = []
        engine = GraphQLEngine(shelves_schema(), limits, persisted=persisted, executor=executor)
        self.limits = CallerLimits.of(RateLimiter(0, 1), 8)
        self.app: ASGIApp = GraphQLApp(
            OperationReader(engine, self.limits, introspection),
            authenticate=by_token,
            open_context=self._open,
            statuses=statuses,
        )

    def _open(self, caller: Caller, admission: AdmittedOperation) -> FakeContext:
        self.admitted.append(admission)
        return self.notes


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        (error,) = self.json["errors"]
        assert "data" not in self.json
        code: str = error["extensions"]["code"]
        return code


class Client:
    """Sends raw requests over one connection; `connections` counts the opened ones."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, raw: bytes) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            self.connections += 1
        reader, writer = self._streams
        writer.write(raw)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip()
        first, *lines = head.split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)
        }
        body = b""
        if not raw.startswith(b"HEAD"):
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            await self.close()
        return Reply(int(first.split()[1]), headers, body)

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()
            self._streams = None

    async def request(
        self, method: str, target: str, headers: dict[str, str | None], body: bytes = b""
    ) -> Reply:
        """Send a request with the usual headers; a header of None is left out."""
        sent: dict[str, str | None] = {"host": "localhost", "accept": "application/json"}
        sent["authorization"] = TOKEN
        if method == "POST":
            sent |= {"content-type": "application/json", "content-length": str(len(body))}
        sent |= headers
        lines = [f"{name}: {value}\r\n" for name, value in sent.items() if value is not None]
        head = f"{method} {target} HTTP/1.1\r\n{''.join(lines)}\r\n"
        return await self.send(head.encode("latin-1") + body)

    async def post(self, body: object, **headers: str | None) -> Reply:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.request("POST", "/graphql", _names(headers), raw)

    async def get(self, parameters: dict[str, str] | str, **headers: str | None) -> Reply:
        query = parameters if isinstance(parameters, str) else urlencode(parameters)
        return await self.request("GET", f"/graphql?{query}", _names(headers))

    async def is_served(self) -> bool:
        reply = await self.post({"query": "{ hello }"})
        return reply.status == 200 and reply.json == {"data": {"hello": "world"}}


def _names(headers: dict[str, str | None]) -> dict[str, str | None]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def serve_app(app: ASGIApp) -> AsyncIterator[int]:
    """Serve an application as in production, in this event loop; yields the port."""
    gates = Gates(ConnectionGate(1_000, time_limits(Settings.load())))
    config = uvicorn.Config(
        RequestWatcher(app),
        http=connection_class(gates),
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="none",
        interface="asgi3",
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    connect: Callable[..., asyncio.Protocol] = config.http_protocol_class
    server = await loop.create_server(
        lambda: connect(config=config, server_state=state, app_state={}), "127.0.0.1"
    )
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        await server.wait_closed()


@asynccontextmanager
async def client_of(edge: Edge) -> AsyncIterator[Client]:
    async with serve_app(edge.app) as port:
        client = Client(port)
        try:
            yield client
        finally:
            await client.close()

"""The whole application over a store, and an admin who sends it HTTP within the process."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpx import ASGITransport, AsyncClient, Response

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.settings.settings import Settings
from tests.faults.dynamodb_proxy import FaultProxy
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import moto_endpoint, open_dynamodb

SECRET = "s3cr3t-literal"
"""A text in every literal, variable and stored value of the documents below."""

CREATE = """mutation Add($path: GroupPath!) {
  createGroup(input: {path: $path, name: "s3cr3t-literal-name"}) { __typename } }"""
FIND = """query Find {
  a: group(path: "/s3cr3t-literal") { path name }
  b: group(path: "/usa") { path }
  c: group(path: "/s3cr3t-literal-2") { path } }"""


@dataclass(frozen=True, slots=True)
class ApplicationClient:
    """A client of the application."""

    client: AsyncClient

    async def ask(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        body = {"query": query, "variables": variables or {}}
        return await self.client.post(
            "/graphql",
            content=json.dumps(body),
            headers={"content-type": "application/json", **(headers or {})},
        )

    async def metrics(self) -> dict[str, float]:
        """Return every sample by its name and labels, as Prometheus reads them."""
        answer = await self.client.get("/metrics")
        assert answer.status_code == 200
        lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (each.rpartition(" ") for each in lines)}


@asynccontextmanager
async def open_application(
    over: Store, data_dir: Path, /, **settings: Any
) -> AsyncIterator[ApplicationClient]:
    chosen = Settings.load(data_dir=data_dir, **{"deadline_seconds": HUNG_SECONDS, **settings})
    token = sign_dev_token(dev_key(data_dir), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
    async with (
        open_app(chosen, over, None) as app,
        AsyncClient(
            transport=ASGITransport(app),
            base_url="http://localhost",
            headers={"authorization": f"Bearer {token}"},
        ) as client,
    ):
        yield ApplicationClient(client)


@asynccontextmanager
async def open_faulty_table(
    deadline: float = HUNG_SECONDS,
) -> AsyncIterator[tuple[FaultProxy, DynamoDBTable]]:
    """Open a fresh table on moto behind a faulty proxy."""
    async with AsyncExitStack() as held:
        made = await open_dynamodb(moto_endpoint())
        held.push_async_callback(made.close)
        await made.create()
        proxy = await held.enter_async_context(FaultProxy(moto_endpoint()))
        table = await open_dynamodb(proxy.url, name=made._name, deadline=deadline)
        held.push_async_callback(table.close)
        yield proxy, table

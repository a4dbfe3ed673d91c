"""Penstock's application with the schema of the benchmark."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from starlette.types import ASGIApp
from strawberry import Schema

from benchmarks.peers import records, strawberry_types
from benchmarks.peers.record_sources import MemorySource, TableSource
from benchmarks.peers.server_options import REGION, PeerOptions
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import InstrumentedTable, MeteredTable
from penstock.server import app, app_options
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure_logging
from penstock.server.telemetry.metrics import Metrics

SPENDING = 10**9
"""A limit that a load generator does not reach; the rate limiter still runs."""


@asynccontextmanager
async def penstock(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    """The application with the defaults of `penstock serve`, with log and metrics."""
    async with _open_app(served, quiet=False) as opened:
        yield opened


@asynccontextmanager
async def penstock_quiet(served: PeerOptions) -> AsyncIterator[ASGIApp]:
    """The application without log and metrics, which no peer has, but with all checks."""
    async with _open_app(served, quiet=True) as opened:
        yield opened


@asynccontextmanager
async def _open_app(served: PeerOptions, *, quiet: bool) -> AsyncIterator[ASGIApp]:
    settings = Settings.load(
        data_dir=served.data_dir,
        metrics=not quiet,
        access_log=not quiet,
        rate_limit_per_second=SPENDING,
        rate_limit_burst=SPENDING,
    )
    configure_logging(settings.log_format)
    own = SqliteTable.open(served.data_dir / "penstock.db")
    await own.create()
    async with _open_source(served, quiet=quiet):
        try:
            own_schema = Schema(strawberry_types.Query)
            with (
                patch.object(app, "schema", own_schema),
                patch.object(app_options, "schema", own_schema),
            ):
                async with app.open_app(settings, Store(own), None) as opened:
                    yield opened
        finally:
            await own.close()


@asynccontextmanager
async def _open_source(served: PeerOptions, *, quiet: bool) -> AsyncIterator[None]:
    """Read from memory, or from the table through Penstock's instrumentation."""
    if served.endpoint is None:
        source = MemorySource(records.make_data())
        strawberry_types.access.source = lambda _: source
        strawberry_types.access.owner = lambda _, owner: _one(source.owners([owner]))
        yield
        return
    table = await DynamoDBTable.open(served.table, region=REGION, endpoint_url=served.endpoint)
    observed = table if quiet else InstrumentedTable(table, [Metrics().call])

    def reader(context: Any) -> TableSource:
        return TableSource(MeteredTable(observed, context.units))

    async def owner(context: Any, id: str) -> records.Owner:
        (found,) = await reader(context).owners([id])
        return found

    strawberry_types.access.source, strawberry_types.access.owner = reader, owner
    try:
        yield
    finally:
        await table.close()


async def _one(found: Sequence[records.Owner]) -> records.Owner:
    return found[0]

"""Opens the NGSI sink of the settings, and runs it with the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version

from penstock.datastore.ngsi.destinations import Destinations, EmbeddedDestinations
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.sink import NotificationSink, SinkContext, open_sink
from penstock.datastore.objects.port import LOCAL_BUCKET
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.server.settings.settings import Settings

SAMPLES = "samples.db"


def has_samples(settings: Settings) -> bool:
    """Whether the store may have tables of samples; opening them makes the embedded one."""
    return settings.store != "sqlite" or (settings.data_dir / SAMPLES).exists()


@asynccontextmanager
async def open_destinations(settings: Settings) -> AsyncIterator[Destinations]:
    """Open the tables of samples: a separate file for the embedded store, or DynamoDB tables."""
    if settings.store == "sqlite":
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        shared = SqliteTable.open(settings.data_dir / SAMPLES)
        await shared.create()
        destinations: Destinations = EmbeddedDestinations(shared)
    else:
        # It loads AWS's library, which would cost the embedded store half a second at its start.
        from penstock.server.runtime.sample_tables import open_sample_tables  # noqa: PLC0415

        destinations = await open_sample_tables(settings)
    try:
        yield destinations
    finally:
        await destinations.close()


@asynccontextmanager
async def run_sink(
    settings: Settings, store: Store, destinations: Destinations
) -> AsyncIterator[NotificationSink | None]:
    """Run the sink until the end; None if the settings have none."""
    if not settings.takes_notifications:
        yield None
        return
    ground = SinkContext(
        table=store.table,
        files=store.files,
        destinations=destinations,
        clock=store.clock,
        storage_name=store.bucket_name or LOCAL_BUCKET,
        written_by=f"penstock-{version('penstock')}",
        lease_seconds=settings.ngsi_lease_seconds,
        retention=settings.ngsi_retention,
        shards=store.shards,
        watch_run=store.watch_run,
    )
    async with open_sink(
        ground, settings.sink_options, drain_seconds=settings.shutdown_seconds
    ) as sink:
        yield sink


def with_ingest(
    store: Store, settings: Settings, destinations: Destinations, sink: NotificationSink | None
) -> Store:
    """Return the store with access to the sink's samples, and to its replay of failed ones."""
    replay = None if sink is None else sink.replayer.replay
    backlog = None if sink is None else sink.backlog
    seconds = settings.change_poll_seconds
    return replace(
        store, ngsi_access=SinkAccess(destinations, settings.sink_options, replay, seconds, backlog)
    )

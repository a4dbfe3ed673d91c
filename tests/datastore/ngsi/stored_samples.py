"""Samples and letters that tests write as a sink does, but without files or a manifest."""

from collections.abc import Mapping, Sequence

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.ngsi.catalog import Catalog
from penstock.datastore.ngsi.counts import IngestCounts, Tally
from penstock.datastore.ngsi.dead_letters import DeadLetter, dead_letter_insert
from penstock.datastore.ngsi.directory import Directory
from penstock.datastore.ngsi.events import EntityUpdate, Json, NotifiedAttribute
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.latest_rows import LatestRows, wanted_entries
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter
from penstock.datastore.ngsi.naming.table_names import NamingPlace, TableNameRegistry
from penstock.datastore.ngsi.options import ItemLayout, NamingOptions, Persistence
from penstock.datastore.ngsi.rows import Event, recv_time
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit

AT = 1_429_535_775_005


async def store_locations(
    store: Store, service: str, path: str, places: Mapping[str, Sequence[Json]]
) -> None:
    """Store values of `location` for each car, a second apart."""
    events = []
    for entity, values in places.items():
        for n, value in enumerate(values):
            update = EntityUpdate(entity, "car", (NotifiedAttribute("location", "geo", value),))
            at, mark = AT + 1000 * n, f"{service} {path} {entity} {n}"
            events.append(Event(service, path, at, mark, "locations", Persistence.ROW, update))
    await store_events(store, events)


async def store_events(store: Store, events: Sequence[Event]) -> None:
    """Store events with their rows of the directory and of latest samples, as a loader does."""
    destinations = store.ngsi_access.destinations
    access = Access(store.table, SINK_CALLER, store.clock, Budget())
    latest = LatestRows(Directory(access), destinations)
    raises = await latest.plan(wanted_entries(events))
    catalog = Catalog(store.table)
    await catalog.record_paths({(each.service, each.path) for each in events})
    await catalog.record_entities(events)
    await latest.raise_rows(raises)
    await SampleWriter(destinations, ItemLayout(), LargeValues(store.files)).store_events(events)


async def store_samples(
    store: Store,
    service: str = "vehicles",
    path: str = "/4wheels",
    entities: Sequence[str] = ("car1",),
    samples: int = 2,
    values: Sequence[int] = (),
) -> None:
    """Store samples of `speed` and `oil_level` for each entity, a second apart.

    They have the `values`, or as many numbers as `samples` says.
    """
    events = []
    registry, now = TableNameRegistry(store.table), store.clock.timestamp()
    for entity in entities:
        table = await registry.name_table(
            service, NamingPlace(service, path, entity, "car"), NamingOptions(), now
        )
        for n, value in enumerate(values or range(samples)):
            attributes = (
                NotifiedAttribute("speed", "float", value),
                NotifiedAttribute("oil_level", "float", -value),
            )
            update = EntityUpdate(entity, "car", attributes)
            mark = f"{service} {path} {entity} {n}"
            event = Event(service, path, AT + 1000 * n, mark, table, Persistence.ROW, update)
            events.append(event)
    tally = Tally()
    await store_events(store, events)
    received = IngestCounts(received=len(events), persisted=len(events), items=2 * len(events))
    tally.add((service, path), received)
    await commit(store.table, tally.writes(0))


async def store_dead_letter(
    store: Store, service: str = "vehicles", path: str = "/4wheels", reason: str = "busy"
) -> str:
    """Store the row of a dead letter of one event, without its file; return its id."""
    tally = Tally()
    tally.add((service, path), IngestCounts(received=1, dead_lettered=1))
    await Catalog(store.table).record_paths([(service, path)])
    letter = DeadLetter(
        id=store.clock.new_id(),
        service=service,
        path=path,
        reason=reason,
        events=1,
        attempts=11,
        first_seen=recv_time(AT),
        created_at=store.clock.timestamp(),
        file="ngsi/dead-letters/none.ndjson.gz",
        line=0,
    )
    await commit(store.table, [dead_letter_insert(letter), *tally.writes(0)])
    return letter.id

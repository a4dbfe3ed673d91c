"""Samples and letters that tests write as a sink does, but without files or a manifest."""

from collections.abc import Sequence

from penstock.datastore.ngsi.batch_writer import Persisting
from penstock.datastore.ngsi.counts import Counts, Tally
from penstock.datastore.ngsi.dead_letters import DeadLetter, written
from penstock.datastore.ngsi.directory import Catalog
from penstock.datastore.ngsi.events import Attribute, Update
from penstock.datastore.ngsi.options import Layout, Naming, Persistence
from penstock.datastore.ngsi.rows import Event, recv_time
from penstock.datastore.ngsi.table_names import Place, Registry
from penstock.datastore.store import Store
from penstock.datastore.table.transaction import commit

AT = 1_429_535_775_005


async def stored(
    store: Store,
    service: str = "vehicles",
    path: str = "/4wheels",
    entities: Sequence[str] = ("car1",),
    samples: int = 2,
) -> None:
    """Store `samples` samples of `speed` and `oil_level` for each entity, a second apart."""
    events = []
    registry, now = Registry(store.table), store.clock.timestamp()
    for entity in entities:
        table = await registry.name(service, Place(service, path, entity, "car"), Naming(), now)
        for n in range(samples):
            attributes = (Attribute("speed", "float", n), Attribute("oil_level", "float", -n))
            update = Update(entity, "car", attributes)
            mark = f"{service} {path} {entity} {n}"
            event = Event(service, path, AT + 1000 * n, mark, table, Persistence.ROW, update)
            events.append(event)
    catalog, tally = Catalog(store.table), Tally()
    await catalog.note_paths([(service, path)])
    await catalog.note_events(events)
    await Persisting(store.ingest.destinations, Layout()).store(events)
    received = Counts(received=len(events), persisted=len(events), items=2 * len(events))
    tally.add((service, path), received)
    await commit(store.table, tally.writes(0))


async def lettered(
    store: Store, service: str = "vehicles", path: str = "/4wheels", reason: str = "busy"
) -> str:
    """Store the row of a dead letter of one event, without its file; return its id."""
    tally = Tally()
    tally.add((service, path), Counts(received=1, dead_lettered=1))
    await Catalog(store.table).note_paths([(service, path)])
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
    await commit(store.table, [written(letter), *tally.writes(0)])
    return letter.id

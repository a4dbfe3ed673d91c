"""Listeners with tracks and playlists, and a recount of all playlists, for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import uuid7
from penstock.datastore.playlists.add_entries import entry_for
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.delete import write_in_batches
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rows import entry_item, header_key
from penstock.datastore.roles import Caller
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put, Table, Update
from tests.datastore.audio.sample_library import draft
from tests.support.consistency_check import Rows, contents

ANN = Caller("ann", {})
BOB = Caller("bob", {})
ABSENT = "018f3b6e-0000-7000-8000-000000000001"


def open_session(store: Store, caller: Caller = ANN) -> Session:
    return store.open_session(caller)


async def add_tracks(session: Session, count: int, start: int = 0) -> list[str]:
    """Add tracks t0, t1 ... to the library of a session's caller; return their ids."""
    user = session.caller.user_id
    drafts = [
        draft(uuid7(), f"t{n}", "Abba", user=user, album="Gold", duration_ms=1_000 + n)
        for n in range(start, start + count)
    ]
    return [made.id for made in await session.audio.adding.add_many(drafts)]  # type: ignore[union-attr]


async def make_mix(session: Session, count: int, name: str = "Mix") -> tuple[Playlist, list[Entry]]:
    """Make a playlist of `count` new tracks, at most 98; return it with its entries."""
    made = await session.playlists.writing.create(name)
    playlist, entries = await session.playlists.adding.add(
        ChangeTarget(id=made.id), await add_tracks(session, count)
    )
    return playlist, [*entries]


async def make_ranked_playlist(
    session: Session, ranks: Sequence[str]
) -> tuple[Playlist, list[Entry]]:
    """Make a playlist of one track with entries of exactly these ranks, in this order."""
    made = await session.playlists.writing.create("Ranked")
    access, (audio,) = session.playlists.reading.access, await add_tracks(session, 1)
    (track,) = await session.audio.reading.many([audio])
    assert isinstance(track, Audio)
    now = made.created_at
    entries = [entry_for(made.id, access.clock.new_id(), rank, track, now) for rank in ranks]
    await write_in_batches(access, [Put(entry_item(entry)) for entry in entries])
    add = {"entryCount": len(ranks), "durationMs": len(ranks) * track.duration_ms}
    await access.table.transact([Update(key=header_key(made.id), add=add)])
    return await session.playlists.reading.one(made.id), entries


async def read_order(session: Session, id: str, size: int = 1000) -> list[Entry]:
    """Every entry of a playlist, in order."""
    playlist = await session.playlists.reading.one(id)
    found: list[Entry] = []
    after: str | None = None
    while True:
        page = await session.playlists.reading.entries(playlist, Window(size=size, after=after))
        found += [entry for _, entry in page.entries]
        if not page.more:
            return found
        after = page.reached


async def titles(session: Session, id: str) -> list[str | None]:
    return [entry.title for entry in await read_order(session, id)]


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in entries]


async def drift(table: Table) -> list[str]:
    """Describe every playlist row that contradicts its entries; empty if all are exact."""
    rows = await contents(table)
    headers = {key.pk: item for key, item in rows.items() if key.sk == "PL"}
    return sorted(
        [fault for pk, header in headers.items() for fault in _header_faults(pk, header, rows)]
        + [
            f"orphan {key}"
            for key in rows
            if (key.sk.startswith("PLI:") and key.pk not in headers)
            or (key.pk.startswith("U:") and key.sk.startswith("PL:") and key.sk not in headers)
        ]
    )


def _header_faults(pk: str, header: Mapping[str, Any], rows: Rows) -> list[str]:
    entries = [item for key, item in rows.items() if key.pk == pk and key.sk.startswith("PLI:")]
    member = rows.get((f"U:{header['owner']}", pk), {})  # type: ignore[call-overload]
    length = sum(int(str(entry.get("durationMs", 0))) for entry in entries)
    facts = {
        "entryCount": (header["entryCount"], len(entries)),
        "durationMs": (header["durationMs"], length),
        "name": (header["name"], member.get("name")),
        "siKey1": (pk, member.get("siKey1")),
        "alive": ("deletedAt" in header, False),
    }
    ids = [str(entry["sk"]).rpartition(":")[2] for entry in entries]
    found = [f"{pk} {name}: {a} and {b}" for name, (a, b) in facts.items() if a != b]
    return found + [f"{pk}: an entry stands twice"] * (len(set(ids)) < len(ids))

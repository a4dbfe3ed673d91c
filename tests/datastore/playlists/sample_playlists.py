"""Listeners with tracks and playlists, and a recount of all playlists, for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import uuid7
from penstock.datastore.playlists.add_entries import entry_for
from penstock.datastore.playlists.change_target import Target
from penstock.datastore.playlists.delete import written
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rows import entry_item, header_key
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store, View
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put, Table, Update
from tests.datastore.audio.sample_library import draft
from tests.support.consistency_check import Rows, contents

ANN = Caller("ann", {})
BOB = Caller("bob", {})
ABSENT = "018f3b6e-0000-7000-8000-000000000001"


def seen_by(store: Store, caller: Caller = ANN) -> View:
    return store.seen_by(caller)


async def tracks(view: View, count: int, start: int = 0) -> list[str]:
    """Add tracks t0, t1 ... to the library of a view's caller; return their ids."""
    user = view.caller.user_id
    drafts = [
        draft(uuid7(), f"t{n}", "Abba", user=user, album="Gold", duration_ms=1_000 + n)
        for n in range(start, start + count)
    ]
    return [made.id for made in await view.audio.adding.add_many(drafts)]  # type: ignore[union-attr]


async def mix(view: View, count: int, name: str = "Mix") -> tuple[Playlist, list[Entry]]:
    """Make a playlist of `count` new tracks, at most 98; return it with its entries."""
    made = await view.playlists.writing.create(name)
    playlist, entries = await view.playlists.adding.add(
        Target(id=made.id), await tracks(view, count)
    )
    return playlist, [*entries]


async def ranked(view: View, ranks: Sequence[str]) -> tuple[Playlist, list[Entry]]:
    """Make a playlist of one track with entries of exactly these ranks, in this order."""
    made = await view.playlists.writing.create("Ranked")
    scope, (audio,) = view.playlists.reading.scope, await tracks(view, 1)
    (track,) = await view.audio.reading.many([audio], consistent=True)
    assert isinstance(track, Audio)
    now = made.created_at
    entries = [entry_for(made.id, scope.clock.new_id(), rank, track, now) for rank in ranks]
    await written(scope, [Put(entry_item(entry)) for entry in entries])
    add = {"entryCount": len(ranks), "durationMs": len(ranks) * track.duration_ms}
    await scope.table.transact([Update(key=header_key(made.id), add=add)])
    return await view.playlists.reading.one(made.id, consistent=True), entries


async def order(view: View, id: str, size: int = 1000) -> list[Entry]:
    """Every entry of a playlist, in order."""
    playlist = await view.playlists.reading.one(id, consistent=True)
    found: list[Entry] = []
    after: str | None = None
    while True:
        page = await view.playlists.reading.entries(playlist, Window(size=size, after=after))
        found += [entry for _, entry in page.entries]
        if not page.more:
            return found
        after = page.reached


async def titles(view: View, id: str) -> list[str | None]:
    return [entry.title for entry in await order(view, id)]


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

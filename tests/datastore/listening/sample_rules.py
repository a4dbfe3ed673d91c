"""A library with plays, stars and ratings, and smart playlists of it, for tests of rules."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.records import Kind, Play
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rules import PlaylistRule, TrackFilter, TrackOrder
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import ANN, BOB, add
from tests.support.sample_resources import Watch

DAY = timedelta(days=1)
MINUTE = 60_000


def rule(order: TrackOrder = TrackOrder.TITLE, limit: int = 100, **filter: Any) -> PlaylistRule:
    """A rule with the conditions of a filter."""
    return PlaylistRule(filter=TrackFilter(**filter), order=order, limit=limit)


def make_smart(rule: PlaylistRule, id: str = "018f3b6e-0000-7000-8000-000000000001") -> Playlist:
    """A smart playlist that is not stored."""
    return Playlist(
        id=id,
        name="Smart",
        owner="ann",
        version=1,
        ranked=0,
        entry_count=0,
        duration_ms=0,
        created_at="",
        updated_at="",
        rule=rule,
    )


async def shelve(store: Store, watch: Watch) -> Session:
    """Add five tracks of Ann's on five days, which begin with A to E, and one of Bob's.

    A is starred and played three times, B has five stars and one play, D two stars; E is starred
    after A.
    """
    session, bob = store.open_session(ANN), store.open_session(BOB)
    tracks: Sequence[tuple[str, str, tuple[str, ...], dict[str, Any]]] = (
        ("grain/a.flac", "Ash", ("Abel",), {"album": "Grain", "genres": ("Folk",), "track": 2}),
        (
            "grain/b.flac",
            "Birch",
            ("Abel", "Zoë"),
            {"album": "Grain", "genres": ("Folk", "Jazz"), "track": 1},
        ),
        ("wood/c.mp3", "The Cedar", ("Zoë",), {"album": "Wood"}),
        ("wood/d.mp3", "Date palm", ("The Mill",), {"album": "Wood", "genres": ("Jazz",)}),
        ("e.mp3", "Élan", ("The Mill",), {"compilation": True, "genres": ("Rock",)}),
    )
    years = {"a": 2001, "b": 2001, "c": 0, "d": 1987, "e": 2010}
    ids = {}
    for n, (key, title, artists, more) in enumerate(tracks):
        letter = "abcde"[n]
        track = await add(
            session.audio,
            key,
            title,
            *artists,
            year=years[letter],
            duration_ms=(n + 1) * MINUTE,
            **more,
        )
        ids[letter] = track.id
        await add(bob.audio, f"{n}", f"Bob's {n}", "Abel", album="Grain", genres=("Folk",))
        watch.move(DAY)
    listening = session.listening
    for letter, times in (("a", 3), ("b", 1)):
        for _ in range(times):
            at = iso_timestamp(watch.time)
            play = Play(audio_id=ids[letter], started_at=at, listened_ms=5 * MINUTE)
            await listening.plays.record(play)
            watch.move(DAY)
    for letter in "ae":
        await listening.favourites.mark((Kind.AUDIO, ids[letter]))
        watch.move(DAY)
    for letter, rating in (("b", 5), ("d", 2)):
        await listening.annotations.rate((Kind.AUDIO, ids[letter]), rating)
    return session


def letters(entries: Sequence[Entry]) -> str:
    """The letters of the tracks of entries, in their order."""
    known = {"Ash": "a", "Birch": "b", "The Cedar": "c", "Date palm": "d", "Élan": "e"}
    return "".join(known[str(entry.title)] for entry in entries)


async def choose(session: Session, rule: PlaylistRule) -> str:
    """The letters of the tracks that a rule chooses, in its order."""
    return letters((await session.listening.ruled.choose(RuledRequest(make_smart(rule)))).entries)

"""Loaders of what a library of audio is read by: tracks, artists, albums, storages and streams."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiodataloader import DataLoader

from penstock.datastore.audio.records import Album, Artist, Audio, Connection, Totals
from penstock.datastore.files import Download
from penstock.datastore.store import View
from penstock.resolvers.loading import loader


@dataclass(frozen=True, slots=True)
class AudioLoaders:
    """Loaders by id, but of artists and albums by their places.

    A stream is read by its track and whether it is to be saved, the totals by the caller alone.
    """

    tracks: "DataLoader[str, Audio]"
    artists: "DataLoader[str, Artist]"
    albums: "DataLoader[str, Album]"
    storages: "DataLoader[str, Connection]"
    streams: "DataLoader[tuple[Audio, bool], Download]"
    totals: "DataLoader[str, Totals]"

    @classmethod
    def over(cls, view: View) -> "AudioLoaders":
        library, watch = view.audio, view.watch

        async def totals(users: Sequence[str]) -> list[Totals]:
            return [await library.reading.totals() for _ in users]

        return cls(
            loader("audio", watch, library.reading.many),
            loader("artists", watch, library.reading.artists),
            loader("albums", watch, library.reading.albums),
            loader("storages", watch, library.connections.many),
            loader("audio_streams", watch, library.streaming.streams, _told_apart),
            loader("audio_totals", watch, totals),
        )


def _told_apart(key: tuple[Audio, bool]) -> tuple[str, int, bool]:
    return key[0].id, key[0].version, key[1]

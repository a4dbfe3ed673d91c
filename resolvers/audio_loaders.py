"""The loaders of a library, made for one request and one caller."""

from dataclasses import dataclass

from aiodataloader import DataLoader

from datastore.audio.records import Audio
from datastore.store import View
from resolvers.loading import loader


@dataclass(frozen=True, slots=True)
class AudioLoaders:
    """Loaders of tracks by id."""

    tracks: "DataLoader[str, Audio]"

    @classmethod
    def over(cls, view: View) -> "AudioLoaders":
        return cls(tracks=loader("audio", view.watch, view.audio.reading.many))

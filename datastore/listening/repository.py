"""The listening data of one caller: annotations, favourites, plays and the play queue."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.listening.album_lists import AlbumLists
from penstock.datastore.listening.annotations import Annotations
from penstock.datastore.listening.favourites import Favourites
from penstock.datastore.listening.play_queue import QueueRepository
from penstock.datastore.listening.plays import Plays


@dataclass(frozen=True, slots=True)
class Listening:
    """The caller's annotations, favourites, plays, play queue and lists of albums."""

    annotations: Annotations
    favourites: Favourites
    plays: Plays
    queue: QueueRepository
    albums: AlbumLists

    @classmethod
    def of(cls, access: Access) -> "Listening":
        return cls(
            Annotations(access),
            Favourites(access),
            Plays(access),
            QueueRepository(access),
            AlbumLists(access),
        )

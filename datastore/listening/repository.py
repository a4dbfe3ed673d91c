"""The listening data of one caller: annotations, favourites, plays and the play queue."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.listening.album_lists import AlbumLists
from penstock.datastore.listening.annotations import Annotations
from penstock.datastore.listening.favourites import Favourites
from penstock.datastore.listening.play_queue import QueueRepository
from penstock.datastore.listening.plays import Plays
from penstock.datastore.listening.rename_things import ThingRenamer
from penstock.datastore.listening.ruled_entries import RuledEntries


@dataclass(frozen=True, slots=True)
class Listening:
    """The caller's annotations, favourites, plays, play queue, lists of albums, and other names.

    Also the entries of their smart playlists.
    """

    annotations: Annotations
    favourites: Favourites
    plays: Plays
    queue: QueueRepository
    albums: AlbumLists
    renaming: ThingRenamer
    ruled: RuledEntries

    @classmethod
    def of(cls, access: Access, on_job_created: Callable[[Job], None]) -> "Listening":
        """Make them; `on_job_created` is called for each new job."""
        return cls(
            Annotations(access),
            Favourites(access),
            Plays(access),
            QueueRepository(access),
            AlbumLists(access),
            ThingRenamer(access, on_job_created),
            RuledEntries(access),
        )

"""The listening data of one caller: annotations, favourites, plays and the play queue."""

from dataclasses import dataclass

from penstock.datastore.access.scope import Scope
from penstock.datastore.listening.annotations import Annotations
from penstock.datastore.listening.favourites import Favourites
from penstock.datastore.listening.play_queue import Queue
from penstock.datastore.listening.plays import Plays


@dataclass(frozen=True, slots=True)
class Listening:
    """The caller's annotations, favourites, plays and play queue."""

    annotations: Annotations
    favourites: Favourites
    plays: Plays
    queue: Queue

    @classmethod
    def of(cls, scope: Scope) -> "Listening":
        return cls(Annotations(scope), Favourites(scope), Plays(scope), Queue(scope))

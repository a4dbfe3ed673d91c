"""Everything one caller keeps about what they listen to."""

from dataclasses import dataclass

from datastore.listening.annotations import Annotations
from datastore.listening.favourites import Favourites
from datastore.listening.plays import Plays
from datastore.listening.queue import Queue
from datastore.resources.scope import Scope


@dataclass(frozen=True, slots=True)
class Listening:
    """The caller's ratings and places, favourites, plays and queue."""

    annotations: Annotations
    favourites: Favourites
    plays: Plays
    queue: Queue

    @classmethod
    def of(cls, scope: Scope) -> "Listening":
        return cls(Annotations(scope), Favourites(scope), Plays(scope), Queue(scope))

"""Everything one caller can do with their own audio; nothing here names an owner."""

from dataclasses import dataclass

from datastore.audio.adding import Adding
from datastore.audio.editing import Editing
from datastore.audio.lists import Lists
from datastore.audio.reading import Reading
from datastore.resources.scope import Scope


@dataclass(frozen=True, slots=True)
class AudioLibrary:
    """The reads, lists, additions and changes of the caller's library."""

    reading: Reading
    lists: Lists
    adding: Adding
    editing: Editing

    @classmethod
    def of(cls, scope: Scope) -> "AudioLibrary":
        return cls(Reading(scope), Lists(scope), Adding(scope), Editing(scope))

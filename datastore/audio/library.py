"""Everything one caller can do with their own audio; nothing here names an owner."""

from dataclasses import dataclass

from datastore.audio.adding import Adding
from datastore.audio.editing import Editing
from datastore.audio.lists import Lists
from datastore.audio.reading import Reading
from datastore.audio.registering import Registering
from datastore.audio.removing import Removing
from datastore.audio.streaming import Streaming
from datastore.files import Files
from datastore.resources.scope import Scope


@dataclass(frozen=True, slots=True)
class AudioLibrary:
    """The reads, lists, additions and changes of the caller's library, and its files."""

    reading: Reading
    lists: Lists
    adding: Adding
    editing: Editing
    removing: Removing
    registering: Registering
    streaming: Streaming

    @classmethod
    def of(cls, scope: Scope, files: Files) -> "AudioLibrary":
        return cls(
            Reading(scope),
            Lists(scope),
            Adding(scope),
            Editing(scope),
            Removing(scope, files),
            Registering(scope, files),
            Streaming(scope, files),
        )

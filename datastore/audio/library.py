"""Everything one caller can do with their own audio; nothing here names an owner."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.datastore.audio.adding import Adding
from penstock.datastore.audio.bucket_pool import BucketPool
from penstock.datastore.audio.connections import Connections
from penstock.datastore.audio.editing import Editing
from penstock.datastore.audio.endpoints import PUBLIC, EndpointRules
from penstock.datastore.audio.importing import Importing
from penstock.datastore.audio.lists import Lists
from penstock.datastore.audio.reading import Reading
from penstock.datastore.audio.registering import Registering
from penstock.datastore.audio.removing import Removing
from penstock.datastore.audio.roles import NO_ROLES, Roles
from penstock.datastore.audio.sources import Sources
from penstock.datastore.audio.streaming import Streaming
from penstock.datastore.files import Files
from penstock.datastore.resources.scope import Scope
from penstock.datastore.vault import NO_VAULT, Vault


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a server has to reach buckets of users: by default it keeps no secrets and no roles."""

    vault: Vault = NO_VAULT
    roles: Roles = NO_ROLES
    rules: EndpointRules = PUBLIC
    pool: BucketPool = field(default_factory=BucketPool)

    def sources(self, scope: Scope, files: Files) -> Sources:
        """The buckets that the audio of the scope's caller may lie in."""
        connections = Connections(scope, self.vault, self.rules, files.bucket)
        return Sources(files, connections, self.pool, self.roles)


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
    connections: Connections
    importing: Importing

    @classmethod
    def of(
        cls, scope: Scope, files: Files, buckets: Buckets, begun: Callable[[], None]
    ) -> "AudioLibrary":
        """Make the library of the scope's caller; `begun` is called for each job."""
        sources = buckets.sources(scope, files)
        return cls(
            Reading(scope),
            Lists(scope),
            Adding(scope),
            Editing(scope),
            Removing(scope, files),
            Registering(scope, sources),
            Streaming(scope, sources),
            sources.connections,
            Importing(scope, sources, begun),
        )

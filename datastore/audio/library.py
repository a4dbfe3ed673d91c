"""The audio library of one caller: all operations, none of which takes an owner."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.datastore.access.access import Access
from penstock.datastore.access.vault import NO_VAULT, Vault
from penstock.datastore.audio.add_tracks import Adding
from penstock.datastore.audio.buckets import BucketPool
from penstock.datastore.audio.connections import Connections
from penstock.datastore.audio.edit_tracks import Editing, Removing
from penstock.datastore.audio.endpoint_rules import PUBLIC, EndpointRules
from penstock.datastore.audio.import_job import Importing
from penstock.datastore.audio.lists import Lists
from penstock.datastore.audio.sources import NO_ROLES, Roles, Sources
from penstock.datastore.audio.stream_urls import Streaming
from penstock.datastore.audio.tracks import Reading
from penstock.datastore.audio.uploads import Registering
from penstock.datastore.objects.port import Files


@dataclass(frozen=True, slots=True)
class Buckets:
    """The services that open users' buckets; by default without a vault and without roles."""

    vault: Vault = NO_VAULT
    roles: Roles = NO_ROLES
    rules: EndpointRules = PUBLIC
    pool: BucketPool = field(default_factory=BucketPool)

    def sources(self, access: Access, files: Files) -> Sources:
        """The buckets that may hold the audio of the scope's caller."""
        connections = Connections(access, self.vault, self.rules, files.bucket)
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
        cls, access: Access, files: Files, buckets: Buckets, begun: Callable[[], None]
    ) -> "AudioLibrary":
        """Make the library of the scope's caller; `begun` is called for each new job."""
        sources = buckets.sources(access, files)
        return cls(
            Reading(access),
            Lists(access),
            Adding(access),
            Editing(access),
            Removing(access, files),
            Registering(access, sources),
            Streaming(access, sources),
            sources.connections,
            Importing(access, sources, begun),
        )

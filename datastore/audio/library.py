"""Everything one caller can do with their own audio; nothing here names an owner."""

from dataclasses import dataclass, field

from datastore.audio.adding import Adding
from datastore.audio.bucket_pool import BucketPool
from datastore.audio.connections import Connections
from datastore.audio.editing import Editing
from datastore.audio.endpoints import PUBLIC, EndpointRules
from datastore.audio.lists import Lists
from datastore.audio.reading import Reading
from datastore.audio.registering import Registering
from datastore.audio.removing import Removing
from datastore.audio.roles import NO_ROLES, Roles
from datastore.audio.sources import Sources
from datastore.audio.streaming import Streaming
from datastore.files import Files
from datastore.resources.scope import Scope
from datastore.vault import NO_VAULT, Vault


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a server has to reach buckets of users: by default it keeps no secrets and no roles."""

    vault: Vault = NO_VAULT
    roles: Roles = NO_ROLES
    rules: EndpointRules = PUBLIC
    pool: BucketPool = field(default_factory=BucketPool)


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

    @classmethod
    def of(cls, scope: Scope, files: Files, buckets: Buckets) -> "AudioLibrary":
        connections = Connections(scope, buckets.vault, buckets.rules, files.bucket)
        sources = Sources(files, connections, buckets.pool, buckets.roles)
        return cls(
            Reading(scope),
            Lists(scope),
            Adding(scope),
            Editing(scope),
            Removing(scope, files),
            Registering(scope, sources),
            Streaming(scope, sources),
            connections,
        )

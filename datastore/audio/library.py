"""The audio library of one caller: all operations, none of which takes an owner."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.datastore.access.access import Access
from penstock.datastore.access.vault import NO_VAULT, Vault
from penstock.datastore.audio.add_tracks import TrackAdder
from penstock.datastore.audio.artwork.cover_sizes import CoverSizes
from penstock.datastore.audio.artwork.remove_covers import CoverRemover
from penstock.datastore.audio.artwork.set_covers import CoverSetter
from penstock.datastore.audio.browsing import LibraryBrowser
from penstock.datastore.audio.buckets import BucketPool
from penstock.datastore.audio.by_name import NameReader
from penstock.datastore.audio.connections import BucketConnections
from penstock.datastore.audio.edit_tracks import TrackEditor, TrackRemover
from penstock.datastore.audio.endpoint_rules import PUBLIC, EndpointRules
from penstock.datastore.audio.import_job import AudioImporter
from penstock.datastore.audio.imports.report import ImportReports
from penstock.datastore.audio.lists import LibraryLists
from penstock.datastore.audio.sources import NO_ROLES, AudioSources, Roles
from penstock.datastore.audio.stream_urls import StreamSigner
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.audio.transcoding.converted_streams import ConvertedStreams
from penstock.datastore.audio.transcoding.ffmpeg import Transcoder
from penstock.datastore.audio.uploads import UploadRegistrar
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.objects.port import Files


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """The services that open users' buckets; by default without a vault and without roles."""

    vault: Vault = NO_VAULT
    roles: Roles = NO_ROLES
    rules: EndpointRules = PUBLIC
    pool: BucketPool = field(default_factory=BucketPool)

    def sources(self, access: Access, files: Files) -> AudioSources:
        """The buckets that may hold the audio of the caller."""
        takes_roles = self.roles is not NO_ROLES
        connections = BucketConnections(access, self.vault, self.rules, files.bucket, takes_roles)
        return AudioSources(files, connections, self.pool, self.roles)


@dataclass(frozen=True, slots=True)
class AudioLibrary:
    """The reads, lists, additions and changes of the caller's library, and its files."""

    reading: TrackReader
    by_name: NameReader
    lists: LibraryLists
    browsing: LibraryBrowser
    adding: TrackAdder
    editing: TrackEditor
    removing: TrackRemover
    registering: UploadRegistrar
    streaming: StreamSigner
    converting: ConvertedStreams
    cover_sizes: CoverSizes
    covers: CoverSetter
    removing_covers: CoverRemover
    connections: BucketConnections
    importing: AudioImporter
    import_reports: ImportReports

    @classmethod
    def of(
        cls,
        access: Access,
        files: Files,
        buckets: BucketAccess,
        transcoder: Transcoder,
        on_job_created: Callable[[Job], None],
    ) -> "AudioLibrary":
        """Make the caller's library; `on_job_created` is called for each new job."""
        sources = buckets.sources(access, files)
        return cls(
            TrackReader(access),
            NameReader(access),
            LibraryLists(access),
            LibraryBrowser(access),
            TrackAdder(access),
            TrackEditor(access),
            TrackRemover(access),
            UploadRegistrar(access, sources),
            StreamSigner(access, sources),
            ConvertedStreams(access, sources, transcoder),
            CoverSizes(access),
            CoverSetter(access),
            CoverRemover(access),
            sources.connections,
            AudioImporter(access, sources, on_job_created),
            ImportReports(access),
        )

"""The types of playlists and their entries, and the fields that query them."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.playlists import records, rules
from penstock.datastore.playlists.export import MAX_LOCATED
from penstock.datastore.playlists.formats import files
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.resolvers import playlists
from penstock.schema.audio.annotations import AnnotationFields
from penstock.schema.audio.playlist_rules import PlaylistRule
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import After, Before, First, Info, Last, Order
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    parse_key,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime, Long, bound_int
from penstock.schema.engine.cost import price_metadata

strawberry.enum(PlaylistFormat, description="The format of a playlist file.")
describe_values(
    PlaylistFormat,
    {
        PlaylistFormat.M3U8: "M3U: a list of paths or URLs with comments, in UTF-8.",
        PlaylistFormat.XSPF: "XSPF: the XML Shareable Playlist Format.",
        PlaylistFormat.JSPF: "JSPF: the JSON form of XSPF.",
    },
)


def entry_list_key(id: str, rule: rules.PlaylistRule | None = None) -> tuple[object, ...]:
    """The key that identifies the list of a playlist's entries in cursors."""
    return ("entries", id) if rule is None else ("entries", id, rule)


@strawberry.type(
    description="One entry of a playlist. A track may have several entries in a playlist."
)
class PlaylistEntry:
    id: strawberry.ID = strawberry.field(
        description="The id of the entry, unique in its playlist; it does not change if the entry "
        "is moved."
    )
    location: str | None = strawberry.field(
        description="The location of the track in the imported file, if the entry matched no "
        "track of the library; null otherwise."
    )
    title: str | None = strawberry.field(
        description="The title of the track at the time when the entry was added."
    )
    artist: str | None = strawberry.field(
        description="The artists of the track at the time when the entry was added."
    )
    album: str | None = strawberry.field(
        description="The album of the track at the time when the entry was added."
    )
    added_at: DateTime = strawberry.field(description="The time when the entry was added, in UTC.")
    added_by: str = strawberry.field(description="The id of the user who added the entry.")

    @strawberry.field(
        metadata=price_metadata(0),
        description="The length of the track at the time when the entry was added, in "
        "milliseconds; of an import of an earlier release, at most 2147483647.",
    )
    @staticmethod
    def duration_ms(entry: strawberry.Parent[records.Entry]) -> int | None:
        return None if entry.duration_ms is None else bound_int(entry.duration_ms)

    @strawberry.field(
        graphql_type=Audio | None,
        description="The track in its present state; null if it has been deleted or was never in "
        "the library.",
    )
    @staticmethod
    async def audio(
        entry: strawberry.Parent[records.Entry], info: Info
    ) -> audio_records.Audio | None:
        return await playlists.load_track(info.context, entry)

    @strawberry.field(
        description="True if the library has no track that can be played for this entry."
    )
    @staticmethod
    async def missing(entry: strawberry.Parent[records.Entry], info: Info) -> bool:
        return await playlists.load_track(info.context, entry) is None


@strawberry.type(description="A playlist of the caller.")
class Playlist(Node, AnnotationFields):
    name: str = strawberry.field(
        description="The name of the playlist; several playlists may have the same name."
    )
    version: int = strawberry.field(
        description="The version of the playlist: a number that starts at 1 and grows with each "
        "change of its name or entries."
    )
    rule: rules.PlaylistRule | None = strawberry.field(
        graphql_type=PlaylistRule | None,
        description="The rule that chooses the entries of a smart playlist whenever they are read; "
        "null for a playlist with entries of its own.",
    )
    created_at: DateTime = strawberry.field(
        description="The time when the playlist was created, in UTC."
    )
    updated_at: DateTime = strawberry.field(
        description="The time when the playlist was last changed, in UTC."
    )

    is_type_of = record_type_check(records.Playlist)

    @strawberry.field(
        description="The number of entries in the playlist. Those of a smart playlist are chosen "
        "to be counted."
    )
    @staticmethod
    async def entry_count(playlist: strawberry.Parent[records.Playlist], info: Info) -> int:
        return await playlists.count_entries(info.context, playlist)

    @strawberry.field(
        description="The total length of the entries in milliseconds, as of the times when they "
        "were added; of a smart playlist, as it is now."
    )
    @staticmethod
    async def duration_ms(playlist: strawberry.Parent[records.Playlist], info: Info) -> Long:
        return Long(await playlists.total_duration(info.context, playlist))

    @strawberry.field(
        graphql_type=Connection[PlaylistEntry],
        description="The entries of the playlist in order. The cursor of an entry can be given to "
        "mutations as its last known position. Each page of a smart playlist chooses all entries "
        "anew.",
    )
    @staticmethod
    async def entries(
        playlist: strawberry.Parent[records.Playlist],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Entry]:
        return await read_connection(
            info,
            entry_list_key(playlist.id, playlist.rule),
            page_from_arguments(first, after, last, before),
            lambda window: playlists.list_entries(info.context, playlist, window),
        )


@strawberry.type(description="A playlist written as a file.")
class PlaylistFile:
    text: str = strawberry.field(
        description="The content of the file, to be saved in the encoding UTF-8."
    )
    media_type: str = strawberry.field(description="The media type of the file's format.")
    file_name: str = strawberry.field(description="The suggested name of the file.")


@strawberry.type
class PlaylistQuery:
    @strawberry.field(
        graphql_type=Playlist | None, description="The playlist with the given global id."
    )
    @staticmethod
    async def playlist(
        info: Info,
        id: Annotated[
            strawberry.ID, strawberry.argument(description="The global id of the playlist.")
        ],
    ) -> records.Playlist | None:
        return await info.context.loaders.listener.playlists.load(parse_key("Playlist", id))

    @strawberry.field(
        graphql_type=Connection[Playlist],
        description="The caller's playlists, sorted by the time of their creation.",
    )
    @staticmethod
    async def playlists(
        info: Info,
        order: Annotated[
            Order | None,
            strawberry.argument(description="The order by time of creation; NEWEST_FIRST if null."),
        ] = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Playlist]:
        newest_first = order is not Order.OLDEST_FIRST
        return await read_connection(
            info,
            ("playlists", newest_first),
            page_from_arguments(first, after, last, before),
            lambda window: playlists.list_playlists(info.context, window, newest_first),
        )

    @strawberry.field(
        graphql_type=PlaylistFile | None,
        description="A playlist as a file with all its entries; `importPlaylist` can read it "
        "without loss.",
        metadata=price_metadata(100),
    )
    @staticmethod
    async def export_playlist(
        info: Info,
        id: Annotated[
            strawberry.ID, strawberry.argument(description="The global id of the playlist.")
        ],
        format: Annotated[
            PlaylistFormat, strawberry.argument(description="The format of the file.")
        ],
        playable: Annotated[
            bool | None,
            strawberry.argument(
                description="True to give each track a URL by which any player opens it, of at "
                f"most {MAX_LOCATED} entries. They are valid for twice the length of the playlist, "
                "and for at most seven days; anyone who has the file can use them."
            ),
        ] = False,
    ) -> files.PlaylistFile | None:
        key = parse_key("Playlist", id)
        return await playlists.export_file(info.context, key, format, playable=bool(playable))

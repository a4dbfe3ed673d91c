"""The orders in which the albums of a library are listed."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Annotated, Final, TypeAlias

import strawberry

from penstock.datastore.audio.records import Album
from penstock.datastore.errors import BadArgument
from penstock.datastore.listening.album_lists import AlbumLists
from penstock.datastore.table.pages import Slice, Window
from penstock.schema.core.context import Info, PageArguments
from penstock.schema.core.relay import Connection, read_connection

AlbumList: TypeAlias = Callable[[AlbumLists, Window], Awaitable[Slice[Album]]]


@strawberry.enum(description="The order of a list of albums.")
class AlbumOrder(Enum):
    NAME = strawberry.enum_value("NAME", description="By name, without a leading article.")
    NEWEST = strawberry.enum_value(
        "NEWEST",
        description="By the time when the newest track of the album was added, the latest first.",
    )
    YEAR = strawberry.enum_value(
        "YEAR", description="By year, the latest first; albums without a year come last."
    )
    MOST_PLAYED = strawberry.enum_value(
        "MOST_PLAYED",
        description="By the number of counted plays of the tracks, the most first. Albums that "
        "were never played are left out.",
    )
    RECENTLY_PLAYED = strawberry.enum_value(
        "RECENTLY_PLAYED",
        description="By the time of the latest counted play, the latest first. Albums that were "
        "never played are left out.",
    )
    RANDOM = strawberry.enum_value(
        "RANDOM", description="In an order that is drawn for each list; its pages belong together."
    )


AlbumOrderArgument = Annotated[
    AlbumOrder | None, strawberry.argument(description="The order of the albums; NAME if left out.")
]

_LISTS: Final[Mapping[AlbumOrder, AlbumList]] = {
    AlbumOrder.NEWEST: AlbumLists.newest,
    AlbumOrder.YEAR: AlbumLists.by_year,
    AlbumOrder.MOST_PLAYED: AlbumLists.most_played,
    AlbumOrder.RECENTLY_PLAYED: AlbumLists.recently_played,
    AlbumOrder.RANDOM: AlbumLists.at_random,
}


async def read_ordered(
    info: Info, order: AlbumOrder, prefix: str | None, page: PageArguments
) -> Connection[Album]:
    """Read a page of albums in an order other than that of names."""
    if prefix:
        raise BadArgument("`prefix` can be used with the order NAME only.", ("prefix",))
    albums, read = info.context.session.listening.albums, _LISTS[order]
    return await read_connection(
        info, ("albums", order.value), page, lambda window: read(albums, window)
    )

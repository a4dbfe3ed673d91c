"""The lists of tracks that `audios` gives, by their filters and orders."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

import strawberry

from penstock.datastore.audio import records
from penstock.datastore.errors import BadArgument
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.playlists.rules import MAX_SEED
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.text import line_problem
from penstock.graphql_jit import projected_attributes
from penstock.resolvers import audio
from penstock.schema.core.context import Info


@strawberry.enum(description="The order of a list of tracks.")
class AudioOrder(Enum):
    NEWEST_FIRST = strawberry.enum_value(
        "NEWEST_FIRST", description="The tracks that were added last come first."
    )
    OLDEST_FIRST = strawberry.enum_value(
        "OLDEST_FIRST", description="The tracks that were added first come first."
    )
    RANDOM = strawberry.enum_value(
        "RANDOM",
        description="In an order that `seed` draws, or that is drawn for each list; its pages "
        "belong together. Each page reads the rows of the whole list.",
    )


@dataclass(frozen=True, slots=True)
class TrackList:
    """A list of tracks: those of one artist, album, bucket, genre or part of a title, or all."""

    wanted: dict[str, str]
    title: NameFilter | None
    order: AudioOrder | None
    seed: str | None

    def __post_init__(self) -> None:
        given = [*self.wanted, *(["title"] if self.title else [])]
        if len(given) > 1:
            raise BadArgument(f"Give only one of {' and '.join(given)}.")
        if self.order is not None and self.wanted and "genre" not in self.wanted:
            raise BadArgument("`order` cannot be used with artist, album or bucket.", ("order",))
        if self.is_random and self.title:
            raise BadArgument("The order RANDOM cannot be used with title.", ("order",))
        if self.seed is not None:
            self._check_seed(self.seed)

    @property
    def is_random(self) -> bool:
        return self.order is AudioOrder.RANDOM

    @property
    def is_newest_first(self) -> bool:
        return self.order is not AudioOrder.OLDEST_FIRST

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that decides the content of the list, by which its cursors are bound."""
        drawn = ["random", self.seed] if self.is_random else []
        titled = [] if self.title is None else [self.title]
        return ("audios", self.wanted, self.is_newest_first, *drawn, *titled)

    def _check_seed(self, seed: str) -> None:
        if not self.is_random:
            raise BadArgument("`seed` can be used with the order RANDOM only.", ("seed",))
        if problem := line_problem(seed, MAX_SEED):
            raise BadArgument(f"The seed {problem}.", ("seed",))


async def read_tracks(info: Info, listed: TrackList, window: Window) -> Slice[records.Audio]:
    """Read a page of a list of tracks."""
    lists = info.context.session.audio.lists
    links: Callable[[Window], Awaitable[Slice[records.AudioLink]]]
    match tuple(listed.wanted.items()):
        case _ if listed.is_random:
            links = partial(lists.at_random, listed.wanted.get("genre"), listed.seed)
        case (("artist", name),):
            links = partial(lists.get_audio_id_by_user_id_by_artist, name)
        case (("album", name),):
            links = partial(lists.get_audio_id_by_user_id_by_album, name)
        case (("bucket", name),):
            links = partial(lists.get_audio_id_by_user_id_by_s3bucket_name, name)
        case (("genre", name),):
            links = partial(lists.by_genre, name, newest_first=listed.is_newest_first)
        case _:
            return await audio.list_tracks(
                info.context,
                window,
                projected_attributes(info, "Audio"),
                listed.title,
                newest_first=listed.is_newest_first,
            )
    return await audio.load_linked_tracks(info.context, window, links)

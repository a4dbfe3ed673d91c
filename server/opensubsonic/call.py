"""A call of the OpenSubsonic API: its parameters and the session of its caller."""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.responses import Response

from penstock.datastore.clock import Clock
from penstock.datastore.session import Session
from penstock.server.opensubsonic.answers import Fields, SubsonicCode, SubsonicError
from penstock.server.opensubsonic.elements import ALBUM, ARTIST
from penstock.server.opensubsonic.parameters import Parameters

MAX_NAMES: Final = 10_000
"""The most artists, albums or genres that one answer holds or is chosen from."""

PAGE: Final = 1_000
"""The rows of a list that are read at once."""


class Call(NamedTuple):
    """A call of an authenticated caller."""

    session: Session
    parameters: Parameters
    clock: Clock

    @property
    def user(self) -> str:
        return self.session.caller.user_id


Handler: TypeAlias = Callable[[Call], Coroutine[Any, Any, Fields | Response]]
"""Runs a call; returns the fields of its answer, or the response of a file."""


def no_such(noun: str) -> SubsonicError:
    return SubsonicError(SubsonicCode.NOT_FOUND, f"There is no {noun} with this id.")


def read_album_id(text: str) -> str:
    """Return the id of an album in the store; raises SubsonicError for the id of another thing."""
    if not text.startswith(ALBUM):
        raise no_such("album")
    return text.removeprefix(ALBUM)


def read_artist_id(text: str) -> str:
    """Return the id of an artist in the store, as `read_album_id`."""
    if not text.startswith(ARTIST):
        raise no_such("artist")
    return text.removeprefix(ARTIST)

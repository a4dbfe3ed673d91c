"""`/rest/<call>`: reads a call, authenticates its caller, lets them pay, and runs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.store import Store
from penstock.schema.engine.cost import ANSWER_BYTES
from penstock.schema.engine.limits import Limits
from penstock.server.connections.request_watcher import current_request
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import request_headers, request_id_of
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import CallerAccount, CallerLimits
from penstock.server.edge.request import ClientGone, read_body
from penstock.server.edge.response import HttpProblem, internal_problem
from penstock.server.opensubsonic import (
    annotations,
    browsing,
    lists,
    media,
    playlists,
    queue,
    search,
    system,
)
from penstock.server.opensubsonic.answers import (
    Fields,
    SubsonicCode,
    SubsonicError,
    answer_response,
    error_response,
    measure_answer,
)
from penstock.server.opensubsonic.authentication import PlayerSignIn
from penstock.server.opensubsonic.call import Call, Handler
from penstock.server.opensubsonic.parameters import Parameters, decoding_units

COST: Final = 2
"""What a call costs that reads little; what it reads beyond is paid as it is read."""

_PREFIX: Final = "/rest/"
_VIEW: Final = ".view"
_EXTENSIONS: Final = "getOpenSubsonicExtensions"

HANDLERS: Final[Mapping[str, Handler]] = {
    "createBookmark": annotations.create_bookmark,
    "createPlaylist": playlists.create_playlist,
    "deleteBookmark": annotations.delete_bookmark,
    "deletePlaylist": playlists.delete_playlist,
    "download": media.download,
    "getAlbum": browsing.get_album,
    "getAlbumList2": lists.get_album_list2,
    "getArtist": browsing.get_artist,
    "getArtists": browsing.get_artists,
    "getBookmarks": annotations.get_bookmarks,
    "getCoverArt": media.get_cover_art,
    "getGenres": browsing.get_genres,
    "getIndexes": browsing.get_indexes,
    "getLicense": system.get_license,
    "getMusicFolders": browsing.get_music_folders,
    "getPlayQueue": queue.get_play_queue,
    "getPlayQueueByIndex": queue.get_play_queue_by_index,
    "getPlaylist": playlists.get_playlist,
    "getPlaylists": playlists.get_playlists,
    "getRandomSongs": lists.get_random_songs,
    "getSong": browsing.get_song,
    "getSongsByGenre": lists.get_songs_by_genre,
    "getStarred2": annotations.get_starred2,
    "getUser": system.get_user,
    "ping": system.ping,
    "savePlayQueue": queue.save_play_queue,
    "savePlayQueueByIndex": queue.save_play_queue_by_index,
    "scrobble": annotations.scrobble,
    "search3": search.search3,
    "setRating": annotations.set_rating,
    "star": annotations.star,
    "stream": media.stream,
    "tokenInfo": system.token_info,
    "unstar": annotations.unstar,
    "updatePlaylist": playlists.update_playlist,
}


FILE_CALLS: Final = ("download", "getCoverArt", "stream")
"""The calls that are answered by a file."""

READING_CALLS: Final = frozenset(
    name for name in HANDLERS if name.startswith(("get", "search")) and name not in FILE_CALLS
)
"""The calls that change nothing, and end when their client leaves."""

MAX_ANSWER: Final = 8 * 1024 * 1024
"""Characters of an answer; of some letters each takes four bytes."""

STRANGER_BYTES: Final = 4_096
"""Bytes of a URL and a form that are decoded before their caller is known."""

STRANGER_BEGIN: Final = 65_536
"""Bytes of a form that are received before its caller is known."""


@dataclass(frozen=True, slots=True)
class OpenSubsonicApp:
    """Answers calls of music players, each with the sessions and repositories of GraphQL."""

    store: Store
    sign_in: PlayerSignIn
    limits: Limits
    callers: CallerLimits

    def routes(self) -> list[Route]:
        """Return the route of all calls, and that of a URL that names none."""
        paths = (f"{_PREFIX}{{call:path}}", _PREFIX.removesuffix("/"))
        return [Route(path, self._answer, methods=["GET", "POST"]) for path in paths]

    async def _answer(self, request: Request) -> Response:
        """Answer in the wanted form; nothing of the parameters reaches a log or an error."""
        as_json = False
        name = request.path_params.get("call", "").removesuffix(_VIEW)
        current_request.get().ends_with_client = name in READING_CALLS
        try:
            parameters = await self._read_parameters(request)
            as_json = parameters.get("f") == "json"
            return await Deadline(
                self.limits.deadline_seconds, self._run(name, parameters, as_json), _too_late
            )
        except ClientGone:
            return Response(status_code=400)
        except SubsonicError as error:
            failure = error.with_traceback(None)
        except PenstockError as error:
            failure = SubsonicError.of(error, of_file=name in FILE_CALLS)
        except HttpProblem as problem:
            failure = SubsonicError(SubsonicCode.GENERIC, problem.error["message"])
        except Exception as error:
            fault = internal_problem(error, request_id_of(request_headers(request.scope)))
            failure = SubsonicError.of_problem(fault, of_file=name in FILE_CALLS)
        return error_response(failure, as_json=as_json)

    async def _read_parameters(self, request: Request) -> Parameters:
        query, body = request.scope["query_string"], b""
        if request.method == "POST":
            headers = request_headers(request.scope)
            receive = self._receive_from_callers(query, request.receive)
            body = await read_body(headers, receive, self.limits)
        if len(query) + len(body) <= STRANGER_BYTES:
            return Parameters.parse(query, body, units=decoding_units(query, body))
        # They are decoded for callers only, who pay first: strangers send no more than credentials.
        given = Parameters.credentials(query, body[:STRANGER_BEGIN])
        caller = await self.sign_in.authenticate(given)
        units = decoding_units(query, body)
        self.callers.rate.spend(caller.user_id, units)
        decode = partial(Parameters.parse, query, body, units=units, paid=units)
        return await run_in_request_thread(lambda _: decode(), WorkPayer(caller.user_id))

    def _receive_from_callers(self, query: bytes, receive: Receive) -> Receive:
        """Receive a form, of which strangers send a beginning only; raises SubsonicError."""
        begin, is_caller = bytearray(), False

        async def receive_part() -> Message:
            nonlocal is_caller
            message = await receive()
            if not is_caller:
                begin.extend(message.get("body", b""))
                if len(begin) > STRANGER_BEGIN:
                    given = Parameters.credentials(query, bytes(begin[:STRANGER_BEGIN]))
                    await self.sign_in.authenticate(given)
                    is_caller = True
            return message

        return receive_part

    async def _run(self, name: str, parameters: Parameters, as_json: bool) -> Response:
        if name == _EXTENSIONS:
            return await answer_response(
                {"openSubsonicExtensions": system.EXTENSIONS}, as_json=as_json
            )
        handler = HANDLERS.get(name)
        if handler is None:
            message = "The server does not have this call."
            raise SubsonicError(SubsonicCode.GENERIC, message, status=404)
        _check_version(parameters)
        caller = await self.sign_in.authenticate(parameters)
        paid = COST + parameters.units
        self.callers.rate.spend(caller.user_id, paid - parameters.paid)
        async with CallerTurn(self.callers.running, caller.user_id) as turn:
            account = CallerAccount(self.callers, caller.user_id, paid)
            session = self.store.open_session(caller, account)
            found = await handler(Call(session, parameters, self.store.clock))
            if isinstance(found, Response):
                return found
            # The answer is paid by its size, so that it is not paid again by time.
            fields = _within_bounds(found, account)
            answer = await answer_response(fields, as_json=as_json, user=caller.user_id)
            return turn.keep_for(answer)


def _within_bounds(found: Fields, account: CallerAccount) -> Fields:
    """Pay for an answer by its size; raises SubsonicError for one that is too large."""
    size = measure_answer(found, MAX_ANSWER)
    account.owe(size // ANSWER_BYTES)
    if size > MAX_ANSWER:
        message = f"The answer has more than {MAX_ANSWER} characters: ask for less at once."
        raise SubsonicError(SubsonicCode.GENERIC, message)
    return found


def _check_version(parameters: Parameters) -> None:
    """Raise SubsonicError for a client of another major version of the API."""
    major = (parameters.get("v") or "1").partition(".")[0]
    if major != "1":
        older = major.isdecimal() and int(major[:9]) < 1
        code = SubsonicCode.CLIENT_MUST_UPGRADE if older else SubsonicCode.SERVER_MUST_UPGRADE
        raise SubsonicError(code, "The server speaks version 1.16.1 of the API.")


def _too_late() -> Exception:
    return Unavailable("The call took too long.")

"""The documents that ask for another listener's things, and the failures, by field."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.schema.audio.sample_playlists import ABSENT, global_id, make_playlist
from tests.support.graphql_client import Ask

UNION = "{ __typename ...on UserError { code message path } }"
QUERY = "query($id: ID!) { "
Told = tuple[str, dict[str, Any], str, list[str] | None, dict[str, Any]]
"""A field, its input, and the code, the path and more of the failure it ends in."""


class Things(NamedTuple):
    """A playlist with an entry and a track of a listener, or ids of things that do not exist."""

    playlist: str
    audio: str
    entry: str


NOWHERE = Things(global_id("Playlist", ABSENT), global_id("Audio", ABSENT), ABSENT)


async def make_things(ask: Ask) -> dict[str, Any]:
    """Make the things of the failure cases: a playlist of two entries, and an empty one."""
    made = await make_playlist(ask, "Mix", "a", "b")
    other = await make_playlist(ask, "Other")
    return {
        "@mix": made["id"],
        "@other": other["id"],
        "@a": made["audio"][0],
        "@first": made["entries"][0],
        "@second": made["entries"][1],
    }


def replace_names(input: Any, made: Mapping[str, Any]) -> Any:
    """Return the input with ids in place of the names."""
    if isinstance(input, dict):
        return {name: replace_names(value, made) for name, value in input.items()}
    if isinstance(input, list):
        return [replace_names(value, made) for value in input]
    return made.get(input, input) if isinstance(input, str) else input


async def make_things_of_another(ask: Ask) -> Things:
    """Make the things of another listener."""
    made = await make_playlist(ask, "Theirs", "a", "b")
    return Things(made["id"], made["audio"][0], made["entries"][0])


def mutation(field: str, **input: Any) -> tuple[str, dict[str, Any]]:
    type = f"{field[0].upper()}{field[1:]}Input"
    return f"mutation($in: {type}!) {{ {field}(input: $in) {UNION} }}", {"in": input}


def documents_by_field(things: Things) -> Mapping[str, list[tuple[str, dict[str, Any]]]]:
    """Return the documents that ask for the things, by field; none where a field names nothing."""
    mix = {"id": things.playlist}
    play = {"startedAt": "2022-08-10T23:55:20Z", "listenedMs": 900}
    marked = [{"id": each} for each in (things.playlist, things.audio)]
    return {
        "audio": [
            (
                QUERY + "audio(id: $id) { id title playlists { nodes { id } } } }",
                {"id": things.audio},
            )
        ],
        "playlist": [(QUERY + "playlist(id: $id) { id name entries { nodes { id } } } }", mix)],
        "playlists": [("{ playlists { nodes { id } } }", {})],
        "exportPlaylist": [
            (QUERY + f"exportPlaylist(id: $id, format: {format}) {{ text }} }}", mix)
            for format in ("M3U8", "XSPF", "JSPF")
        ],
        "createPlaylist": [],
        "evaluatePlaylistRule": [],
        "importPlaylist": [],
        "savePlayQueue": [],
        "renamePlaylist": [
            mutation("renamePlaylist", **mix, name="Mine"),
            mutation("renamePlaylist", **mix, name="Mine", expectedVersion=7),
        ],
        "setPlaylistRule": [
            mutation("setPlaylistRule", **mix, rule={"order": "TITLE"}),
            mutation("setPlaylistRule", **mix, rule={"order": "TITLE"}, expectedVersion=7),
        ],
        "deletePlaylist": [
            mutation("deletePlaylist", **mix),
            mutation("deletePlaylist", **mix, expectedVersion=7),
        ],
        "addPlaylistEntries": [
            mutation("addPlaylistEntries", **mix, audioIds=[things.audio]),
            mutation("addPlaylistEntries", **mix, audioIds=[things.audio], after=things.entry),
        ],
        "movePlaylistEntries": [mutation("movePlaylistEntries", **mix, entryIds=[things.entry])],
        "removePlaylistEntries": [
            mutation("removePlaylistEntries", **mix, entryIds=[things.entry]),
            mutation("removePlaylistEntries", **mix, entryIds=[things.entry], expectedVersion=7),
        ],
        "setFavourite": [
            mutation("setFavourite", **each, favourite=favourite)
            for each in marked
            for favourite in (True, False)
        ],
        "setRating": [
            mutation("setRating", **each, rating=rating) for each in marked for rating in (3, None)
        ],
        "recordPlay": [mutation("recordPlay", id=things.audio, **play)],
        "setPlayPosition": [mutation("setPlayPosition", id=things.audio, positionMs=1)],
    }


LISTENERS_FIELDS = {*documents_by_field(NOWHERE)}
ENTRIES = {"limit": "entries added at once", "maximum": 98, "actual": 99}


def _failures_of_changes(
    field: str, noun: str, maximum: int, more: dict[str, Any]
) -> dict[tuple[str, str], Told]:
    """Return the failures of a change of entries; `more` holds its further arguments."""
    union = f"{field[0].upper()}{field[1:]}Result"
    one = {"id": "@mix", "entryIds": ["@first"], **more}
    many = {**one, "entryIds": [f"{n}" for n in range(maximum + 1)]}
    limit = {"limit": f"entries {noun} at once", "maximum": maximum, "actual": maximum + 1}
    missing = {**one, "entryIds": ["@first", ABSENT]}
    return {
        (union, "NotFound"): (field, missing, "NOT_FOUND", ["entryIds"], {}),
        (union, "ValidationProblem"): (
            field,
            {**one, "entryIds": ["@first", "@first"]},
            "BAD_USER_INPUT",
            ["entryIds"],
            {},
        ),
        (union, "VersionConflict"): (
            field,
            {**one, "expectedVersion": 1},
            "CONFLICT",
            ["expectedVersion"],
            {"currentVersion": 2},
        ),
        (union, "LimitExceeded"): (field, many, "LIMIT_EXCEEDED", ["entryIds"], limit),
    }


PLAY = {"startedAt": "2022-08-10T23:55:20Z", "listenedMs": 900}
NO_AUDIO = NOWHERE.audio
NO_PLAYLIST = NOWHERE.playlist
LISTENERS_FAILURES: dict[tuple[str, str], Told] = {
    ("CreatePlaylistResult", "ValidationProblem"): (
        "createPlaylist",
        {"name": " "},
        "BAD_USER_INPUT",
        ["name"],
        {},
    ),
    ("EvaluatePlaylistRuleResult", "ValidationProblem"): (
        "evaluatePlaylistRule",
        {"rule": {"order": "TITLE", "limit": 0}},
        "BAD_USER_INPUT",
        ["rule", "limit"],
        {},
    ),
    ("RenamePlaylistResult", "NotFound"): (
        "renamePlaylist",
        {"id": NO_PLAYLIST, "name": "New"},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("RenamePlaylistResult", "ValidationProblem"): (
        "renamePlaylist",
        {"id": "@mix", "name": ""},
        "BAD_USER_INPUT",
        ["name"],
        {},
    ),
    ("RenamePlaylistResult", "VersionConflict"): (
        "renamePlaylist",
        {"id": "@mix", "name": "New", "expectedVersion": 1},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 2},
    ),
    ("SetPlaylistRuleResult", "NotFound"): (
        "setPlaylistRule",
        {"id": NO_PLAYLIST, "rule": {"order": "TITLE"}},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("SetPlaylistRuleResult", "ValidationProblem"): (
        "setPlaylistRule",
        {"id": "@mix", "rule": {"order": "TITLE"}},
        "BAD_USER_INPUT",
        ["id"],
        {},
    ),
    ("SetPlaylistRuleResult", "VersionConflict"): (
        "setPlaylistRule",
        {"id": "@mix", "rule": {"order": "TITLE"}, "expectedVersion": 1},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 2},
    ),
    ("DeletePlaylistResult", "NotFound"): ("deletePlaylist", {"id": "@a"}, "NOT_FOUND", ["id"], {}),
    ("DeletePlaylistResult", "VersionConflict"): (
        "deletePlaylist",
        {"id": "@mix", "expectedVersion": 3},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 2},
    ),
    ("AddPlaylistEntriesResult", "NotFound"): (
        "addPlaylistEntries",
        {"id": "@mix", "audioIds": ["@a", NO_AUDIO]},
        "NOT_FOUND",
        ["audioIds"],
        {},
    ),
    ("AddPlaylistEntriesResult", "ValidationProblem"): (
        "addPlaylistEntries",
        {"id": "@mix", "audioIds": []},
        "BAD_USER_INPUT",
        ["audioIds"],
        {},
    ),
    ("AddPlaylistEntriesResult", "VersionConflict"): (
        "addPlaylistEntries",
        {"id": "@mix", "audioIds": ["@a"], "expectedVersion": 1},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 2},
    ),
    ("AddPlaylistEntriesResult", "LimitExceeded"): (
        "addPlaylistEntries",
        {"id": "@mix", "audioIds": ["@a"] * 99},
        "LIMIT_EXCEEDED",
        ["audioIds"],
        ENTRIES,
    ),
    **_failures_of_changes("movePlaylistEntries", "moved", 49, {"after": "@second"}),
    **_failures_of_changes("removePlaylistEntries", "removed", 98, {}),
    ("ImportPlaylistResult", "ValidationProblem"): (
        "importPlaylist",
        {"format": "JSPF", "text": "{"},
        "BAD_USER_INPUT",
        ["text"],
        {},
    ),
    ("ImportPlaylistResult", "LimitExceeded"): (
        "importPlaylist",
        {"format": "M3U8", "text": "a\n" * 10_001},
        "LIMIT_EXCEEDED",
        ["text"],
        {"limit": "entries of a playlist", "maximum": 10_000, "actual": 10_001},
    ),
    ("SetFavouriteResult", "NotFound"): (
        "setFavourite",
        {"id": NO_AUDIO, "favourite": True},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("SetRatingResult", "NotFound"): (
        "setRating",
        {"id": "no id", "rating": 1},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("SetRatingResult", "ValidationProblem"): (
        "setRating",
        {"id": "@mix", "rating": 6},
        "BAD_USER_INPUT",
        ["rating"],
        {},
    ),
    ("RecordPlayResult", "NotFound"): (
        "recordPlay",
        {"id": "@mix", **PLAY},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("RecordPlayResult", "ValidationProblem"): (
        "recordPlay",
        {"id": "@a", **PLAY, "listenedMs": -1},
        "BAD_USER_INPUT",
        ["listenedMs"],
        {},
    ),
    ("SetPlayPositionResult", "NotFound"): (
        "setPlayPosition",
        {"id": NO_AUDIO, "positionMs": 1},
        "NOT_FOUND",
        ["id"],
        {},
    ),
    ("SetPlayPositionResult", "ValidationProblem"): (
        "setPlayPosition",
        {"id": "@a", "positionMs": 1_001},
        "BAD_USER_INPUT",
        ["positionMs"],
        {},
    ),
    ("SavePlayQueueResult", "NotFound"): (
        "savePlayQueue",
        {"audioIds": ["@mix"]},
        "NOT_FOUND",
        ["audioIds"],
        {},
    ),
    ("SavePlayQueueResult", "ValidationProblem"): (
        "savePlayQueue",
        {"audioIds": ["@a"], "index": 1},
        "BAD_USER_INPUT",
        ["index"],
        {},
    ),
    ("SavePlayQueueResult", "LimitExceeded"): (
        "savePlayQueue",
        {"audioIds": ["@a"] * 1_001},
        "LIMIT_EXCEEDED",
        ["audioIds"],
        {"limit": "tracks in a queue", "maximum": 1_000, "actual": 1_001},
    ),
}

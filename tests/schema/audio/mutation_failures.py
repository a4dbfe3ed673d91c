"""The failures of every mutation of audio, and the documents of outsiders, by field."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from penstock.datastore.roles import Caller
from penstock.schema.core.relay import GlobalId
from tests.support.graphql_client import ROOT

ABSENT = "01a1fd33-4531-77f0-8555-cdb912a93fef"
BY_KEY = Caller("root", ROOT.roles, api_key="a key")
KEYS = {"accessKeyId": "AKIAIOSFODNN7EXAMPLE", "secretAccessKey": "wJalrXUtnFEMI/K7MDENG"}
STORAGE = {"name": "n", "bucket": "my-music", "region": "us-east-1", "keys": KEYS}


class AudioCase(NamedTuple):
    """An input that ends in a failure; the names that the test gives stand for ids."""

    field: str
    input: dict[str, Any]
    code: str
    path: list[str] | None
    more: Mapping[str, Any] = MappingProxyType({})
    caller: Caller = ROOT


AUDIO_CASES: dict[tuple[str, str], AudioCase] = {
    ("CreateAudioUploadResult", "ValidationProblem"): AudioCase(
        "createAudioUpload", {"fileName": "../x"}, "BAD_USER_INPUT", ["fileName"]
    ),
    ("CreateAudioUploadResult", "QuotaExceeded"): AudioCase(
        "createAudioUpload",
        {"fileName": "x.mp3"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "OPEN_UPLOADS", "maximum": 100, "used": 100},
        Caller("cora", {}),
    ),
    ("CreatePlaylistUploadResult", "ValidationProblem"): AudioCase(
        "createPlaylistUpload", {"fileName": "../x"}, "BAD_USER_INPUT", ["fileName"]
    ),
    ("CreatePlaylistUploadResult", "QuotaExceeded"): AudioCase(
        "createPlaylistUpload",
        {"fileName": "x.m3u8"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "OPEN_UPLOADS", "maximum": 100, "used": 100},
        Caller("cora", {}),
    ),
    ("AddAudioResult", "NotFound"): AudioCase(
        "addAudio", {"objectKey": "audio/other/x.mp3"}, "NOT_FOUND", ["objectKey"]
    ),
    ("AddAudioResult", "ValidationProblem"): AudioCase(
        "addAudio", {"objectKey": "garbage"}, "BAD_USER_INPUT", ["objectKey"]
    ),
    ("AddAudioResult", "QuotaExceeded"): AudioCase(
        "addAudio",
        {"objectKey": "more"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "FILES", "maximum": 1, "used": 1},
    ),
    ("AddAudioResult", "DuplicateObject"): AudioCase(
        "addAudio", {"objectKey": "there"}, "DUPLICATE_OBJECT", ["objectKey"], {"existing": "track"}
    ),
    ("AddAudioResult", "IllegalState"): AudioCase(
        "addAudio",
        {"objectKey": "x.mp3", "storageId": "storage"},
        "ILLEGAL_STATE",
        None,
        {"state": "ENDPOINT"},
    ),
    ("UpdateAudioResult", "NotFound"): AudioCase(
        "updateAudio", {"id": "absent", "expectedVersion": 1}, "NOT_FOUND", ["id"]
    ),
    ("UpdateAudioResult", "ValidationProblem"): AudioCase(
        "updateAudio",
        {"id": "track", "expectedVersion": 1, "artists": ["a", " "]},
        "BAD_USER_INPUT",
        ["artists", "1"],
    ),
    ("UpdateAudioResult", "VersionConflict"): AudioCase(
        "updateAudio",
        {"id": "track", "expectedVersion": 7, "title": "x"},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("DeleteAudioResult", "NotFound"): AudioCase(
        "deleteAudio", {"id": "absent"}, "NOT_FOUND", ["id"]
    ),
    ("DeleteAudioResult", "VersionConflict"): AudioCase(
        "deleteAudio",
        {"id": "track", "expectedVersion": 7},
        "CONFLICT",
        ["expectedVersion"],
        {"currentVersion": 1},
    ),
    ("ImportAudioResult", "NotFound"): AudioCase(
        "importAudio", {"storageId": "no storage"}, "NOT_FOUND", ["storageId"]
    ),
    ("ImportAudioResult", "ValidationProblem"): AudioCase(
        "importAudio", {"prefix": "audio/bob/"}, "BAD_USER_INPUT", ["prefix"]
    ),
    ("CreateArtworkUploadResult", "ValidationProblem"): AudioCase(
        "createArtworkUpload", {"fileName": "../x"}, "BAD_USER_INPUT", ["fileName"]
    ),
    ("CreateArtworkUploadResult", "QuotaExceeded"): AudioCase(
        "createArtworkUpload",
        {"fileName": "x.png"},
        "QUOTA_EXCEEDED",
        None,
        {"quota": "OPEN_UPLOADS", "maximum": 100, "used": 100},
        Caller("cora", {}),
    ),
    ("SetArtworkResult", "NotFound"): AudioCase(
        "setArtwork", {"id": "absent", "objectKey": "x"}, "NOT_FOUND", ["id"]
    ),
    ("SetArtworkResult", "ValidationProblem"): AudioCase(
        "setArtwork", {"id": "album", "objectKey": "garbage"}, "BAD_USER_INPUT", ["objectKey"]
    ),
    ("SetArtworkResult", "LimitExceeded"): AudioCase(
        "setArtwork",
        {"id": "large album", "objectKey": "x"},
        "LIMIT_EXCEEDED",
        ["id"],
        {"limit": "tracks whose cover changes at once", "maximum": 500, "actual": 501},
    ),
    ("RemoveArtworkResult", "NotFound"): AudioCase(
        "removeArtwork", {"id": "absent"}, "NOT_FOUND", ["id"]
    ),
    ("RemoveArtworkResult", "LimitExceeded"): AudioCase(
        "removeArtwork",
        {"id": "large album"},
        "LIMIT_EXCEEDED",
        ["id"],
        {"limit": "tracks whose cover changes at once", "maximum": 500, "actual": 501},
    ),
    ("RenameArtistResult", "NotFound"): AudioCase(
        "renameArtist", {"id": "no artist", "name": "New"}, "NOT_FOUND", ["id"]
    ),
    ("RenameArtistResult", "ValidationProblem"): AudioCase(
        "renameArtist", {"id": "artist", "name": " "}, "BAD_USER_INPUT", ["name"]
    ),
    ("RenameAlbumResult", "NotFound"): AudioCase(
        "renameAlbum", {"id": "no album", "name": "New"}, "NOT_FOUND", ["id"]
    ),
    ("RenameAlbumResult", "ValidationProblem"): AudioCase(
        "renameAlbum", {"id": "album", "artistName": "a\u200bb"}, "BAD_USER_INPUT", ["artistName"]
    ),
    ("MergeAlbumResult", "NotFound"): AudioCase(
        "mergeAlbum", {"id": "album", "into": "no album"}, "NOT_FOUND", ["into"]
    ),
    ("MergeAlbumResult", "ValidationProblem"): AudioCase(
        "mergeAlbum", {"id": "album", "into": "album"}, "BAD_USER_INPUT", ["into"]
    ),
    ("RenameGenreResult", "NotFound"): AudioCase(
        "renameGenre", {"name": "None", "newName": "New"}, "NOT_FOUND", ["name"]
    ),
    ("RenameGenreResult", "ValidationProblem"): AudioCase(
        "renameGenre", {"name": "None", "newName": "x" * 257}, "BAD_USER_INPUT", ["newName"]
    ),
    ("CreateStorageResult", "NotPermitted"): AudioCase(
        "createStorage", STORAGE, "FORBIDDEN", None, {}, BY_KEY
    ),
    ("CreateStorageResult", "ValidationProblem"): AudioCase(
        "createStorage", {**STORAGE, "keys": None}, "BAD_USER_INPUT", ["keys"]
    ),
    ("CreateStorageResult", "LimitExceeded"): AudioCase(
        "createStorage",
        STORAGE,
        "LIMIT_EXCEEDED",
        None,
        {"limit": "connections of a user", "maximum": 100, "actual": 101},
        Caller("cora", {}),
    ),
    ("CreateStorageResult", "IllegalState"): AudioCase(
        "createStorage",
        {**STORAGE, "endpoint": "https://localhost"},
        "ILLEGAL_STATE",
        None,
        {"state": "ENDPOINT"},
    ),
    ("DeleteStorageResult", "NotFound"): AudioCase(
        "deleteStorage", {"id": "no storage"}, "NOT_FOUND", ["id"]
    ),
    ("DeleteStorageResult", "NotPermitted"): AudioCase(
        "deleteStorage", {"id": "storage"}, "FORBIDDEN", None, {}, BY_KEY
    ),
}
AUDIO_CASES |= {
    (former, member): case._replace(field=former[0].lower() + former[1:].removesuffix("Result"))
    for (union, member), case in AUDIO_CASES.items()
    if (former := union.replace("StorageResult", "StorageConnectionResult")) != union
}
"""The mutations of storages have their former names too."""


class Theirs(NamedTuple):
    """Ids and names of things in another user's library, or of things that do not exist."""

    audio: str
    artist: str
    album: str
    storage: str
    object_key: str
    name: str


NOTHING = Theirs(
    GlobalId("Audio", ABSENT).encode(),
    GlobalId("Artist", "nobody:abc").encode(),
    GlobalId("Album", "nobody:abc").encode(),
    GlobalId("Storage", ABSENT).encode(),
    "audio/nobody/uploads/x.mp3",
    "Nobody",
)


def mutation(field: str, told: str = "__typename ...on UserError { code path message }") -> str:
    return (
        f"mutation($in: {field[0].upper()}{field[1:]}Input!) {{ {field}(input: $in) {{ {told} }} }}"
    )


def documents_by_field(theirs: Theirs) -> Mapping[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return the documents that ask for another user's audio, by field."""
    id, name = {"id": theirs.audio}, {"name": theirs.name}
    return {
        "audio": [("query($id: ID!) { audio(id: $id) { id title } }", id)],
        "audios": [
            ("{ audios { nodes { id } } }", {}),
            *(
                (f"query($name: String) {{ audios({by}: $name) {{ nodes {{ id }} }} }}", name)
                for by in ("artist", "album", "bucket", "genre")
            ),
        ],
        "artists": [
            ("query($name: String) { artists(prefix: $name) { nodes { id name } } }", name)
        ],
        "albums": [("query($name: String) { albums(prefix: $name) { nodes { id name } } }", name)],
        "genres": [("query($name: String) { genres(prefix: $name) { nodes { name } } }", name)],
        "artistByName": [("query($name: String!) { artistByName(name: $name) { id } }", name)],
        "albumByName": [
            (
                "query($name: String!) { albumByName(name: $name, artistName: $name) { id } }",
                name,
            )
        ],
        "genreByName": [("query($name: String!) { genreByName(name: $name) { count } }", name)],
        "storages": [("{ storages { nodes { id } } }", {})],
        "addAudio": [
            (mutation("addAudio"), {"in": {"objectKey": theirs.object_key}}),
            (
                mutation("addAudio"),
                {"in": {"objectKey": theirs.object_key, "storageId": theirs.storage}},
            ),
        ],
        "updateAudio": [
            (mutation("updateAudio"), {"in": {**id, "expectedVersion": version, "title": "mine"}})
            for version in (1, 7)
        ],
        "deleteAudio": [(mutation("deleteAudio"), {"in": id})],
        "setArtwork": [
            (mutation("setArtwork"), {"in": {"id": each, "objectKey": theirs.object_key}})
            for each in (theirs.audio, theirs.album)
        ],
        "removeArtwork": [
            (mutation("removeArtwork"), {"in": {"id": each}})
            for each in (theirs.audio, theirs.album)
        ],
        "renameArtist": [(mutation("renameArtist"), {"in": {"id": theirs.artist, "name": "Mine"}})],
        "renameAlbum": [(mutation("renameAlbum"), {"in": {"id": theirs.album, "name": "Mine"}})],
        "mergeAlbum": [
            (mutation("mergeAlbum"), {"in": {"id": theirs.album, "into": theirs.album}})
        ],
        "renameGenre": [
            (mutation("renameGenre"), {"in": {"name": theirs.name, "newName": "Mine"}})
        ],
        "importAudio": [(mutation("importAudio"), {"in": {"storageId": theirs.storage}})],
        **{
            field: [(mutation(field), {"in": {"id": theirs.storage}})]
            for field in ("deleteStorage", "deleteStorageConnection")
        },
    }


WITHOUT_NAMES = {
    "audioLibrary",
    "createArtworkUpload",
    "createAudioUpload",
    "createPlayerPassword",
    "createPlaylistUpload",
    "createStorage",
    "createStorageConnection",
}
"""Fields that name nothing that could belong to another user."""

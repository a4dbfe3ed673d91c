"""Reading the audio document's own layout: one item for each attribute, owners told by a prefix.

`ID` and `DataType` are the key, `DataValue1` the value, for some types behind `{UserId}-`, and
`Owner` the user. Nothing there keeps a value from saying that it is of another user's, so a row is
only believed where its prefix is its owner; what is not believed is set aside with the reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

PREFIXED: Final = frozenset({"S3BucketName", "AudioFileName", "Artist", "Album"})
PLAIN: Final = frozenset({"UserId", "AudioS3Path", "AlbumArtWorkS3Path"})
SECRET: Final = frozenset({"AccessKey", "SecretAccessKey"})
OF_PLAYLISTS: Final = frozenset({"PlayListId", "PlayListName", "PlayListAudios"})


class Quarantined(NamedTuple):
    """A row that is not believed, named by its key; its value is not repeated."""

    id: str
    data_type: str
    reason: str


class LegacyAudio(NamedTuple):
    """An audio file as its rows describe it."""

    id: str
    owner: str
    bucket: str
    object_key: str
    artist: str | None
    album: str | None


@dataclass(frozen=True, slots=True)
class Legacy:
    """What a table of that layout holds.

    `secrets` counts the rows of access keys, which were dropped; `playlists` those of playlists.
    """

    audio: tuple[LegacyAudio, ...]
    quarantined: tuple[Quarantined, ...]
    secrets: int
    playlists: int


def read_legacy(rows: Iterable[Mapping[str, object]]) -> Legacy:
    """Sort the rows out; the order of audio is that of their ids."""
    reader = _Reader()
    for row in rows:
        reader.take(row)
    return reader.result()


class _Reader:
    def __init__(self) -> None:
        self._values: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._quarantined: list[Quarantined] = []
        self._secrets = self._playlists = 0

    def take(self, row: Mapping[str, object]) -> None:
        id, kind, owner = (str(row.get(name, "")) for name in ("ID", "DataType", "Owner"))
        if kind in SECRET:
            self._secrets += 1
        elif kind in OF_PLAYLISTS:
            self._playlists += 1
        elif kind not in PREFIXED | PLAIN:
            self._set_aside(id, kind, "the type is not known")
        elif not id or not owner:
            self._set_aside(id, kind, "it has no id or no owner")
        else:
            self._take_value(id, kind, owner, row.get("DataValue1"))

    def result(self) -> Legacy:
        owners = defaultdict(set)
        for id, owner in self._values:
            owners[id].add(owner)
        audio = []
        for (id, owner), values in sorted(self._values.items()):
            if len(owners[id]) > 1:
                self._set_aside(id, "*", "its rows name several owners")
            elif problem := _problem(values):
                self._set_aside(id, "*", problem)
            else:
                audio.append(_audio(id, owner, values))
        return Legacy(tuple(audio), tuple(self._quarantined), self._secrets, self._playlists)

    def _take_value(self, id: str, kind: str, owner: str, value: object) -> None:
        if not isinstance(value, str):
            self._set_aside(id, kind, "its value is no text")
        elif kind == "UserId" and value != owner:
            self._set_aside(id, kind, "it names another user than its owner")
        elif kind in PREFIXED and not value.startswith(f"{owner}-"):
            self._set_aside(id, kind, "its prefix is not its owner")
        else:
            text = value.removeprefix(f"{owner}-") if kind in PREFIXED else value
            self._values[id, owner][kind] = text

    def _set_aside(self, id: str, kind: str, reason: str) -> None:
        self._quarantined.append(Quarantined(id, kind, reason))


def _problem(values: Mapping[str, str]) -> str | None:
    if "UserId" not in values:
        return "no row says whose it is"
    if not values.get("S3BucketName"):
        return "no row names its bucket"
    if not _path(values):
        return "no row names its object"
    return None


def _path(values: Mapping[str, str]) -> str:
    """The key of the object: the document puts the user's id where its path should be."""
    path = values.get("AudioS3Path", "")
    if path.startswith("s3://"):
        return path.removeprefix("s3://").partition("/")[2]
    return values.get("AudioFileName", "") if path in ("", values["UserId"]) else path


def _audio(id: str, owner: str, values: Mapping[str, str]) -> LegacyAudio:
    return LegacyAudio(
        id,
        owner,
        values["S3BucketName"],
        _path(values),
        values.get("Artist") or None,
        values.get("Album") or None,
    )

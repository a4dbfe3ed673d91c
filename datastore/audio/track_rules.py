"""The rules of a track's tags and file; all problems are reported at once, before any write."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.audio.records import AudioFile, Tags
from penstock.datastore.errors import FieldProblem
from penstock.datastore.text import is_id, line_problem, normalisation_problem

MAX_TITLE: Final = 512
MAX_NAME: Final = 256
MAX_ARTISTS: Final = 16
MAX_GENRES: Final = 6
"""With MAX_ARTISTS artists, an edit writes at most 98 rows, which fit into one transaction."""

MAX_KEY: Final = 1024
MAX_DURATION_MS: Final = 7 * 24 * 3600 * 1000
HIGHEST: Final = {"disc": 999, "track": 9999, "track_total": 9999, "year": 9999}
MAX_RATING: Final = 5
_FIELDS: Final = {"track_total": "trackTotal", "album_artist": "albumArtist"}


def tag_problems(tags: Tags) -> list[FieldProblem]:
    """List every broken rule of a track's tags."""
    return [*_text_problems(tags), *_list_problems(tags), *_number_problems(tags)]


def new_name_problems(changes: Mapping[str, object]) -> list[FieldProblem]:
    """List the new names with characters that they may not have; some may be from before."""
    new = {_FIELDS.get(field, field): value for field, value in changes.items()}
    return name_character_problems(new)


def file_problems(file: AudioFile) -> list[FieldProblem]:
    """List every broken rule of a track's file."""
    texts = {
        "bucket": (file.bucket, MAX_NAME),
        "objectKey": (file.object_key, MAX_KEY),
        "fileName": (file.file_name, MAX_KEY),
        "etag": (file.etag, MAX_NAME),
    }
    problems = [FieldProblem([f], m) for f, text in texts.items() if (m := line_problem(*text))]
    if not 0 < file.duration_ms <= MAX_DURATION_MS:
        problems.append(FieldProblem(["duration"], "must be more than nothing, at most 7 days"))
    return problems


def _text_problems(tags: Tags) -> Iterator[FieldProblem]:
    if message := _text_problem(tags.title, MAX_TITLE):
        yield FieldProblem(["title"], message)
    for field, text in (("album", tags.album), ("albumArtist", tags.album_artist)):
        if text is not None and (message := _text_problem(text, MAX_NAME)):
            yield FieldProblem([field], message)
    for field, id in (("recordingMbid", tags.recording_mbid), ("albumMbid", tags.album_mbid)):
        if id is not None and not is_id(id):
            yield FieldProblem([field], "must be a UUID in lower case")


def _list_problems(tags: Tags) -> Iterator[FieldProblem]:
    lists = (("artists", tags.artists, MAX_ARTISTS), ("genres", tags.genres, MAX_GENRES))
    for field, names, most in lists:
        if len(names) > most:
            yield FieldProblem([field], f"at most {most} are allowed")
            continue
        for n, name in enumerate(names):
            if message := _text_problem(name, MAX_NAME):
                yield FieldProblem([field, str(n)], message)


def _number_problems(tags: Tags) -> Iterator[FieldProblem]:
    for field, highest in HIGHEST.items():
        if not 0 <= getattr(tags, field) <= highest:
            yield FieldProblem([_FIELDS.get(field, field)], f"must be 0 to {highest}")


def _text_problem(text: str, maximum: int) -> str | None:
    return normalisation_problem(text, maximum) or line_problem(text, maximum)

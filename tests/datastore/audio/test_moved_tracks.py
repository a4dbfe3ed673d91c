"""Tracks that miss their objects are found by what was in these, however many are alike."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.imports.moved_tracks import MissingTracks
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import Clock
from penstock.datastore.objects.port import FileEntry
from penstock.datastore.table.port import Table
from tests.datastore.audio.copies.test_transcoding import TRACK
from tests.datastore.audio.sample_library import ANN
from tests.support.processor_time import yardsticks
from tests.support.sample_resources import on_sqlite

pytestmark = on_sqlite

MISSING = replace(TRACK, missing_since="2022-08-10T23:55:20.322Z")


def tracks(*names: str) -> dict[str, Audio]:
    """Tracks of one content with these names of files, by their ids."""
    ids = [f"{number:08d}" for number in range(len(names))]
    made = zip(ids, names, strict=True)
    return {id: replace(MISSING, id=id, file_name=name) for id, name in made}


@pytest.fixture
def missing(table: Table, monkeypatch: pytest.MonkeyPatch) -> Callable[..., MissingTracks]:
    """Makes tracks that are missed, whose rows are changed in memory only."""
    held: dict[str, Audio] = {}

    async def rewrite(editor: TrackEditor, id: str, move: Callable[[Audio], Audio]) -> Audio:
        held[id] = move(held[id])
        return held[id]

    monkeypatch.setattr(TrackEditor, "rewrite", rewrite)

    def make(*names: str) -> MissingTracks:
        held.update(tracks(*names))
        access = Access(table, ANN, Clock(), Budget())
        return MissingTracks(access, [*reversed(held.values())])

    return make


async def test_a_track_with_the_name_of_the_object_comes_first_and_each_has_one_object(
    missing: Callable[..., MissingTracks],
) -> None:
    found = missing("a", "b", "c", "b")
    keys = ["new/b", "new/x", "new/b", "other/x", "other/b"]
    moved = [await found.move_to(FileEntry(key, 1, "e")) for key in keys]
    assert [each and (each.id[-1], each.object_key) for each in moved] == [
        ("1", "new/b"),
        ("0", "new/x"),
        ("3", "new/b"),
        ("2", "other/x"),
        None,
    ]
    assert await found.move_to(FileEntry("new/a", 2, "e")) is None


def test_thousands_of_tracks_with_one_content_are_found_in_linear_time(
    missing: Callable[..., MissingTracks],
) -> None:
    count = 6_000

    async def move_all() -> None:
        found = missing(*(f"a{number}" for number in range(count)))
        for number in range(count):
            assert await found.move_to(FileEntry(f"b/c{number}", 1, "e")) is not None

    assert yardsticks(lambda: asyncio.run(move_all()), 80) < 80

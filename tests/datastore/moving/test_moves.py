"""A store moves to another kind of store and back, with everything in it."""

import json
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from penstock.datastore.access.sealed_rows import SEALED, sealing_context
from penstock.datastore.errors import BadArgument
from penstock.datastore.moving import export
from penstock.datastore.moving.archive import Archive, DamagedArchive
from penstock.datastore.moving.export import MovableStore
from penstock.datastore.moving.import_ import EndedElsewhere, Import, NotEmpty
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.table.layout import PLAYER_PASSWORD, SCHEMA_MARKER
from penstock.datastore.table.port import Attributes, Delete, Key, Put, Update
from penstock.datastore.table.schema_marker import (
    GuardedTable,
    SchemaMarker,
    raise_minimums,
    read_marker,
)
from penstock.datastore.table.unfinished_imports import (
    UnfinishedImport,
    abandon_imports,
    require_ended_imports,
)
from tests.datastore.moving.furnished_store import (
    export_of,
    furnish,
    furnish_little,
    ignore_progress,
    open_empty,
    read_everything,
    rows_of_samples,
    run_import,
)
from tests.support.consistency_check import contents
from tests.support.stores import TWO
from tests.support.table_interceptors import CutOffTable, PausedTable, ProcessDied


async def test_a_store_moves_to_another_one_and_back_with_everything(tmp_path: Path) -> None:
    async with (
        open_empty("sqlite", tmp_path) as first,
        open_empty(TWO[1], tmp_path, b"o" * 32) as second,
        open_empty("sqlite", tmp_path, b"z" * 32) as third,
    ):
        await furnish(first)
        before = await read_everything(first)
        assert len(before.rows) > 300
        assert len(before.samples) == 4
        assert len(before.files) > 10

        manifest = await export_of(first, tmp_path / "there").run()
        assert manifest.complete
        counts = (len(before.rows), len(before.samples), len(before.files))
        assert await run_import(second, tmp_path / "there") == counts
        assert await read_everything(second) == before
        assert len(await rows_of_samples(first)) == 2
        assert await rows_of_samples(second) == []

        await export_of(second, tmp_path / "back").run()
        assert await run_import(third, tmp_path / "back") == counts
        assert await read_everything(third) == before


@pytest.mark.parametrize("name", TWO)
async def test_a_store_with_nothing_but_its_marker_moves(tmp_path: Path, name: str) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        await raise_minimums(first.table, reader=3, writer=3)
        manifest = await export_of(first, tmp_path / "archive").run()
        assert manifest.count("rows") == 1
        assert await run_import(second, tmp_path / "archive") == (1, 0, 0)
        assert await read_marker(second.table) == await read_marker(first.table)


class CutOffArchive(Archive):
    """An archive whose process dies before it publishes the next file."""

    def __init__(self, folder: Path, files: int) -> None:
        super().__init__(folder)
        self.left = files

    def publish(self, draft: Path, name: str) -> None:
        if self.left == 0:
            raise ProcessDied
        self.left -= 1
        super().publish(draft, name)


@pytest.mark.parametrize("files", [3, 4, 7])
async def test_an_export_that_is_killed_again_and_again_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    monkeypatch.setattr(export, "PART_LINES", 1)
    monkeypatch.setattr(export, "FILES_PAGE", 1)
    async with open_empty("sqlite", tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        await furnish_little(first)
        deaths = 0
        while True:
            half = export_of(first, tmp_path / "archive")
            half.archive = CutOffArchive(tmp_path / "archive", files)
            try:
                manifest = await half.run()
                break
            except ProcessDied:
                deaths += 1
        assert deaths >= 1
        assert manifest.complete
        before = await read_everything(first)
        assert await run_import(second, tmp_path / "archive") == (len(before.rows), 1, 3)
        assert await read_everything(second) == before


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("writes", [2, 3])
async def test_an_import_that_is_killed_again_and_again_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int, name: str
) -> None:
    monkeypatch.setattr(export, "PART_LINES", 1)
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
        before = await read_everything(first)
        deaths = 0
        while True:
            half = replace(second, table=CutOffTable(second.table, writes))
            try:
                done = await run_import(half, tmp_path / "archive")
                break
            except ProcessDied:
                deaths += 1
        assert deaths >= 1
        assert done == (len(before.rows), 1, 3)
        assert await read_everything(second) == before


@pytest.mark.parametrize("name", TWO)
async def test_a_table_is_no_whole_store_from_the_beginning_of_an_import_to_its_end(
    name: str, tmp_path: Path
) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
        await require_ended_imports(second.table)
        for writes in (1, 2, 3):
            half = replace(second, table=CutOffTable(second.table, writes))
            with pytest.raises(ProcessDied):
                await run_import(half, tmp_path / "archive")
            with pytest.raises(UnfinishedImport, match="Repeat `penstock import`, which goes on"):
                await require_ended_imports(second.table)
        await run_import(second, tmp_path / "archive")
        await require_ended_imports(second.table)


@pytest.mark.parametrize("name", TWO)
async def test_an_import_that_is_abandoned_leaves_what_it_wrote_and_does_not_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PART_LINES", 1)
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
        standing: dict[Key, Attributes] = {}

        async def abandon() -> None:
            assert await abandon_imports(second.table) == 1
            standing.update(await contents(second.table))

        # Behind the notes of two parts: the next call is the note of another one.
        paused = PausedTable(second.table, abandon, calls=5)
        with pytest.raises(EndedElsewhere):
            await run_import(replace(second, table=paused), tmp_path / "archive")
        await require_ended_imports(second.table)
        assert await contents(second.table) == standing
        assert await abandon_imports(second.table) == 0


async def pause_import(target: MovableStore, archive: Path, calls: int) -> bool:
    """Pause an import behind so many calls, while another process ends it and rows are changed.

    Returns False if it did not make as many.
    """
    changed, removed = Key("P:0", "PV:latest"), Key("P:1", "PV:latest")
    standing: dict[Key, Attributes] = {}

    async def import_and_change() -> None:
        await run_import(target, archive)
        await target.table.transact([Update(key=changed, set={"changed": True}), Delete(removed)])
        standing.update(await contents(target.table))

    paused = PausedTable(target.table, import_and_change, calls=calls)
    with suppress(EndedElsewhere, NotEmpty):
        await run_import(replace(target, table=paused), archive)
    if paused.left >= 0:
        return False
    assert await contents(target.table) == standing, f"after {calls} calls"
    return True


@pytest.mark.parametrize(("name", "most"), [(TWO[0], 100), (TWO[1], 4)])
async def test_an_import_that_was_paused_writes_no_rows_over_what_came_since_another_ended_it(
    name: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At DynamoDB those that were behind the look are written, so only the beginning is paused."""
    monkeypatch.setattr(export, "PART_LINES", 1)
    async with open_empty("sqlite", tmp_path) as first:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
    for calls in range(most):
        folder = tmp_path / f"{calls}"
        folder.mkdir()
        async with open_empty(name, folder) as second:
            if not await pause_import(second, tmp_path / "archive", calls):
                break
    assert calls == min(most - 1, 9)


TELLING = ("NH", "NL")
"""The beginnings of the keys of rows that tell of samples: kept hours, and latest samples."""


async def test_an_import_into_a_table_with_rows_is_refused_unless_told(tmp_path: Path) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
        await second.table.write([Put({"pk": "P:other", "sk": "PV:latest"})])
        before = await read_everything(second)
        with pytest.raises(NotEmpty):
            await run_import(second, tmp_path / "archive")
        assert await read_everything(second) == before

        for _ in range(2):
            # They tell of the samples that were there.
            await second.table.write([Put({"pk": f"{name}:s", "sk": name}) for name in TELLING])
            await run_import(second, tmp_path / "archive", into_existing=True)
            assert await rows_of_samples(second) == []
            wanted = await read_everything(first)
            assert await read_everything(second) == replace(wanted, rows=before.rows | wanted.rows)


async def test_an_archive_that_is_not_complete_or_is_damaged_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    async with open_empty("sqlite", tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        with pytest.raises(DamagedArchive, match="is no archive"):
            await run_import(second, folder)
        await furnish_little(first)
        half = export_of(first, folder)
        half.archive = CutOffArchive(folder, 4)
        with pytest.raises(ProcessDied):
            await half.run()
        with pytest.raises(DamagedArchive, match="not complete"):
            await run_import(second, folder)

        await export_of(first, folder).run()
        blobs = {path: path.read_bytes() for path in (folder / "blobs").glob("*/*")}
        for path in blobs:
            path.write_bytes(b"other")
        with pytest.raises(DamagedArchive, match="content of"):
            await run_import(second, folder)
        left = await read_everything(second)
        assert ({key.pk[:3] for key in left.rows}, left.files) == ({"MI"}, {})

        for path, content in blobs.items():
            path.write_bytes(content)
        (part,) = (folder / "rows").iterdir()
        kept = part.read_bytes()
        part.write_bytes(kept.replace(b"odd", b"off", 1))
        with pytest.raises(DamagedArchive, match="is damaged"):
            await run_import(second, folder)
        part.unlink()
        with pytest.raises(DamagedArchive, match="has lost"):
            await run_import(second, folder)
        part.write_bytes(kept)
        (folder / "vault-key").write_bytes(b"short")
        with pytest.raises(DamagedArchive, match="vault-key is damaged"):
            await run_import(second, folder)
        left = await read_everything(second)
        assert ({key.pk[:3] for key in left.rows}, len(left.files)) == ({"MI"}, 3)


@pytest.mark.parametrize("digest", ["../../outside", "/outside", "A" * 64, f"{'a' * 64}\n"])
async def test_an_archive_names_nothing_outside_its_folder(tmp_path: Path, digest: str) -> None:
    folder = tmp_path / "archive"
    async with open_empty("sqlite", tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        await furnish_little(first)
        await export_of(first, folder).run()
        manifest = json.loads((folder / "manifest.json").read_bytes())
        part = manifest["streams"]["files-0"]["parts"][0]
        lines = (folder / part["name"]).read_bytes().splitlines()
        named = msgspec.json.encode({**msgspec.json.decode(lines[0]), "sha256": digest})
        text = b"\n".join([named, *lines[1:], b""])
        (folder / part["name"]).write_bytes(text)
        part["sha256"] = sha256(text).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(DamagedArchive, match="is damaged"):
            await run_import(second, folder)
        part["name"] = digest
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(DamagedArchive, match=r"manifest\.json is damaged"):
            await run_import(second, folder)
        assert (await read_everything(second)).files == {}


async def test_an_archive_goes_on_only_with_its_own_store(tmp_path: Path) -> None:
    async with open_empty("sqlite", tmp_path) as first:
        await export_of(first, tmp_path / "archive").run()
        other = replace(first, source="another")
        with pytest.raises(BadArgument, match="another store: sqlite"):
            await export_of(other, tmp_path / "archive").run()


async def test_only_the_owner_can_read_an_archive(tmp_path: Path) -> None:
    async with open_empty("sqlite", tmp_path) as first:
        await furnish_little(first)
        await export_of(first, tmp_path / "archive").run()
    found = [tmp_path / "archive", *(tmp_path / "archive").rglob("*")]
    assert len(found) > 10
    assert [path for path in found if path.stat().st_mode & 0o077] == []


async def test_an_archive_never_lowers_what_its_rows_demand_of_a_release(tmp_path: Path) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        await furnish(first)
        marker = {**SCHEMA_MARKER.item(), "schema": 2, "minimumReader": 1, "minimumWriter": 1}
        await first.table.write([Put(marker)])
        await export_of(first, tmp_path / "archive").run()
        guarded = replace(second, table=GuardedTable(second.table))
        await guarded.table.create()
        await run_import(guarded, tmp_path / "archive")
        # The newest form of the furnished rows: pipelines name the form of their timestamps.
        newest = 25
        assert await read_marker(second.table) == SchemaMarker(
            schema=2, minimum_reader=newest, minimum_writer=newest
        )


class MortalArchive(Archive):
    """An archive whose process dies before it publishes the second part of the files."""

    def publish(self, draft: Path, name: str) -> None:
        if name == "files/files-0-000001.jsonl":
            raise ProcessDied
        super().publish(draft, name)


async def test_an_export_leaves_out_objects_whose_keys_no_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PART_LINES", 1)
    monkeypatch.setattr(export, "FILES_PAGE", 2)
    async with open_empty(TWO[1], tmp_path) as first, open_empty("sqlite", tmp_path) as second:
        await furnish_little(first)
        before = await read_everything(first)
        assert isinstance(first.files, S3Files)
        for key in ("archive/", "archive//run=2/x", "archive/Icon\r", "datasets/1/", "z/"):
            await first.files._client.put_object(Bucket=first.files.bucket, Key=key, Body=b"")
        # It goes on in the middle of the files, and counts no object twice.
        half = export_of(first, tmp_path / "archive")
        half.archive = MortalArchive(tmp_path / "archive")
        with pytest.raises(ProcessDied):
            await half.run()
        begun = half.archive.read_manifest()
        assert begun is not None
        assert begun.count_left_out() == 3
        manifest = await export_of(first, tmp_path / "archive").run()
        assert (manifest.count("files"), manifest.count_left_out()) == (3, 5)
        await run_import(second, tmp_path / "archive")
        assert (await read_everything(second)).files == before.files


async def seal_secret(store: MovableStore) -> Key:
    """Write the row of a player password, sealed by the vault of the store; return its key."""
    key = PLAYER_PASSWORD.key(user="ann", password="1")
    context = sealing_context(key)
    assert context is not None
    sealed = await store.vault.seal(b"secret", context)
    await store.table.write([Put({"pk": key.pk, "sk": key.sk, SEALED: sealed})])
    return key


def flip_bit(path: Path) -> None:
    first, *others = path.read_bytes()
    path.write_bytes(bytes([first ^ 1, *others]))


@pytest.mark.parametrize("name", TWO)
async def test_an_archive_with_a_damaged_key_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        await seal_secret(first)
        await export_of(first, tmp_path / "archive").run()
        flip_bit(tmp_path / "archive" / "vault-key")
        with pytest.raises(DamagedArchive, match="vault-key is damaged"):
            await run_import(second, tmp_path / "archive")
        assert await contents(second.table) == {}


@pytest.mark.parametrize("name", TWO)
async def test_lost_secrets_of_an_archive_without_the_digest_of_its_key_are_counted_once(
    tmp_path: Path, name: str
) -> None:
    async with open_empty("sqlite", tmp_path) as first, open_empty(name, tmp_path) as second:
        key = await seal_secret(first)
        manifest = await export_of(first, tmp_path / "archive").run()
        archive = Archive(tmp_path / "archive")
        manifest.vault_key_sha256 = None
        archive.write_manifest(manifest)
        flip_bit(tmp_path / "archive" / "vault-key")
        for _ in range(2):
            importing = Import(second, archive, ignore_progress)
            assert await importing.run() == (1, 0, 0)
            assert importing.lost_secrets == 1
        await importing.end()
        assert [*await contents(second.table)] == [key]

"""The document's own layout, read with suspicion: what is not its owner's is set aside."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from datastore.audio.endpoints import EndpointRules
from datastore.audio.legacy import LegacyAudio, Quarantined, read_legacy
from datastore.audio.legacy_import import import_legacy
from datastore.audio.library import Buckets
from datastore.aws_credentials import Credentials
from datastore.dynamodb.scan import scanned
from datastore.store import Store
from datastore.vault import LocalVault
from server.__main__ import run
from tests.audio.uploads import TAGS, chunked, open_files, sound
from tests.audio.world import ANN, BOB, drift, listener
from tests.datastore.recount import contents
from tests.datastore.world import walk
from tests.stores import REGION, aws_environment, moto_endpoint, open_dynamodb, open_table

SECRET = "wJalrXUtnFEMI/K7MDENG"


def rows(id: str, owner: str, **values: str) -> list[dict[str, Any]]:
    """The rows of one audio as the document draws them."""
    told = {
        "UserId": owner,
        "S3BucketName": f"{owner}-music",
        "AudioFileName": f"{owner}-songs/{id}.mp3",
        "Artist": f"{owner}-Old Name",
        "Album": f"{owner}-Old Album",
        "AlbumArtWorkS3Path": "s3://music/cover.png",
        "AudioS3Path": owner,
        "AccessKey": "AKIAIOSFODNN7EXAMPLE",
        "SecretAccessKey": SECRET,
        **values,
    }
    return [
        {"ID": id, "DataType": kind, "DataValue1": value, "Owner": owner}
        for kind, value in told.items()
        if value
    ]


def test_an_audio_is_put_together_from_its_rows() -> None:
    legacy = read_legacy([*rows("2", "ann"), *rows("1", "bob", AudioS3Path="s3://music/a/b.mp3")])
    assert legacy.audio == (
        LegacyAudio("1", "bob", "music", "a/b.mp3", "Old Name", "Old Album"),
        LegacyAudio("2", "ann", "music", "songs/2.mp3", "Old Name", "Old Album"),
    )
    assert (legacy.quarantined, legacy.secrets, legacy.playlists) == ((), 4, 0)
    assert SECRET not in repr(legacy)


def test_rows_whose_prefix_is_not_their_owner_are_set_aside() -> None:
    """`a` with artist `b-c` against `a-b` with artist `c`: the key was the same."""
    legacy = read_legacy(rows("1", "a-b", Artist="a-b-c") + rows("2", "a", Artist="a-b-c"))
    assert [(audio.owner, audio.artist) for audio in legacy.audio] == [("a-b", "c"), ("a", "b-c")]
    stolen = read_legacy(rows("1", "ann", Artist="bob-Planted", S3BucketName="bob-music"))
    assert stolen.audio == ()
    assert stolen.quarantined == (
        Quarantined("1", "S3BucketName", "its prefix is not its owner"),
        Quarantined("1", "Artist", "its prefix is not its owner"),
        Quarantined("1", "*", "no row names its bucket"),
    )


STRANGE: list[tuple[list[dict[str, Any]], str]] = [
    (rows("1", "bob"), "its rows name several owners"),
    ([{"ID": "1", "DataType": "UserId", "DataValue1": "bob", "Owner": "ann"}], "it names"),
    ([{"ID": "1", "DataType": "Odd", "DataValue1": "x", "Owner": "ann"}], "the type is not"),
    ([{"ID": "1", "DataType": "Artist", "DataValue1": ["x"], "Owner": "ann"}], "is no text"),
    ([{"ID": "", "DataType": "Artist", "DataValue1": "x", "Owner": "ann"}], "no id"),
]


@pytest.mark.parametrize(("more", "reason"), STRANGE)
def test_what_does_not_fit_is_set_aside_with_its_reason(
    more: list[dict[str, Any]], reason: str
) -> None:
    quarantined = read_legacy([*rows("1", "ann"), *more]).quarantined
    assert any(reason in each.reason for each in quarantined)


def test_rows_of_playlists_are_counted() -> None:
    listed: list[dict[str, Any]] = [
        {"ID": "1", "DataType": "PlayListId", "DataValue1": "p", "DataValue2": "1", "Owner": "ann"},
        {"ID": "p", "DataType": "PlayListName", "DataValue1": "n", "Owner": "ann"},
        {"ID": "p", "DataType": "PlayListAudios", "DataValue1": ["1"], "Owner": "ann"},
    ]
    assert read_legacy(listed).playlists == 3


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    buckets = Buckets(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    async with open_table("sqlite", tmp_path) as table, open_files("local", tmp_path) as files:
        yield Store(table, files=files, buckets=buckets)
        await buckets.pool.close()


async def test_audio_comes_into_the_library_of_an_owner_who_has_connected_the_bucket(
    store: Store, tmp_path: Path
) -> None:
    async with open_files("s3", tmp_path) as theirs:
        await theirs.write("songs/1.mp3", chunked(sound("mp3", 1, TAGS)), content_type="a/b")
        name = theirs.bucket
        old = [
            row
            for id, owner in (("1", "ann"), ("2", "ann"), ("1b", "bob"))
            for row in rows(id, owner, S3BucketName=f"{owner}-{name}")
        ]
        library = listener(store, ANN)
        keys = Credentials("AKIAIOSFODNN7EXAMPLE", SECRET[::-1])
        await library.connections.add_keys("n", name, REGION, keys, moto_endpoint())
        first = await import_legacy(store, read_legacy(old))
        again = await import_legacy(store, read_legacy(old))
    assert (first.added, first.found, again.added, again.found) == (1, 0, 0, 1)
    told = {each.id: each.reason for each in first.quarantined}
    assert told == {
        "2": "There is no such object.",
        "1b": f"bob has no connection to the bucket {name}.",
    }
    (track,) = await walk(library.lists.audios)
    assert (track.title, track.artists, track.album) == (TAGS.title, ("Old Name",), "Old Album")
    assert await walk(listener(store, BOB).lists.audios) == []
    assert SECRET not in repr(await contents(store.table))
    assert await drift(store.table) == []


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("exported", [False, True])
def test_a_file_is_imported_by_command(
    exported: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = [*rows("1", "ann"), *rows("2", "bob", Artist="ann-Planted")]
    if exported:
        old = [{"Item": {name: {"S": value} for name, value in row.items()}} for row in old]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, old)) + "\n\n")
    data = str(tmp_path / "data")
    assert run(["seed", "--size", "1", "--data-dir", data]) == 0
    capsys.readouterr()
    assert run(["audio", "import-legacy", str(file), "--data-dir", data, "--json"]) == 0
    answer = told(capsys)
    assert (answer["added"], answer["found"], answer["secretsDropped"]) == (0, 0, 4)
    assert ["2", "Artist", "its prefix is not its owner"] in [
        list(each.values()) for each in answer["quarantined"]
    ]
    assert SECRET not in str(answer)
    assert run(["audio", "import-legacy", str(file), "--data-dir", data]) == 0
    text = capsys.readouterr().out
    assert "4 rows of access keys were dropped" in text
    assert SECRET not in text


@pytest.mark.parametrize("content", ["no json", '["a list"]', '{"Item": 1}'])
def test_a_file_that_is_none_is_told_by_its_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{json.dumps(rows('1', 'ann')[0])}\n{content}\n")
    assert run(["audio", "import-legacy", str(file), "--data-dir", str(tmp_path)]) == 2
    assert "rows.jsonl:2" in capsys.readouterr().err


async def test_a_table_of_the_old_layout_is_read_whole() -> None:
    table = await open_dynamodb(moto_endpoint())
    client, name = table._client, f"{table._name}-old"
    await client.call(
        "CreateTable",
        {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": "ID", "KeyType": "HASH"},
                {"AttributeName": "DataType", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "ID", "AttributeType": "S"},
                {"AttributeName": "DataType", "AttributeType": "S"},
            ],
        },
    )
    old = [*rows("1", "ann"), *rows("2", "bob")]
    for row in old:
        item = {key: {"S": value} for key, value in row.items()}
        await client.call("PutItem", {"TableName": name, "Item": {**item, "odd": {"SS": ["a"]}}})
    with aws_environment():
        found = [row async for row in scanned(name, REGION, moto_endpoint())]
    assert read_legacy(found) == read_legacy(old)
    await table.close()

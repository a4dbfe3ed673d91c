"""Audio as a client adds, lists, plays, edits and deletes it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId, parse_key
from tests.datastore.audio.sample_library import draft, drift
from tests.datastore.audio.sample_uploads import COVER, TAGS, open_files, single_chunk, sound
from tests.schema.audio.sample_tracks import (
    ADD,
    UPLOAD,
    album_tracks,
    connect_bucket,
    global_id,
    shelve,
)
from tests.support.graphql_client import Ask, as_caller
from tests.support.table_interceptors import TracedTable

PAGE = """query($first: Int) { audios(artist: "The Band", first: $first) { nodes {
  id title displayArtist disc track year durationMs format size version
  artists { name count } album { name count artworkUrl { url } }
  artworkUrl { url expiresAt } streamUrl { url expiresAt } } } }"""
WHOLE = """query($id: ID!) { audio(id: $id) { id title displayArtist artists { name count }
  album { name artistName count durationMs year artworkUrl { url } } compilation genres
  disc track trackTotal year recordingMbid albumMbid durationMs format bitrate sampleRate size
  bucket objectKey fileName version createdAt updatedAt
  streamUrl { url } file: streamUrl(attachment: true) { url } artworkUrl { url } } }"""
UPDATE = """mutation($input: UpdateAudioInput!) { updateAudio(input: $input) { __typename
  ...on UpdateAudioPayload { audio { title version artists { name count }
    album { name } genres disc year compilation } }
  ...on UserError { code path } } }"""
DELETE = """mutation($input: DeleteAudioInput!) { deleteAudio(input: $input) { __typename
  ...on DeleteAudioPayload { audio { title } } ...on UserError { code path } } }"""


@pytest.fixture
async def whole_store(store: Store, tmp_path: Path) -> AsyncIterator[Store]:
    """Open a store with files, and with the parts that connect buckets."""
    buckets = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    async with open_files("local", tmp_path) as files:
        yield replace(store, files=files, user_buckets=buckets)
        await buckets.pool.close()


async def test_an_upload_becomes_a_track_that_plays(whole_store: Store) -> None:
    ask, content = Ask(whole_store), sound("flac", 2, TAGS, COVER)
    allowed = (await ask(UPLOAD, {"input": {"fileName": "02.flac"}})).value
    assert [field["name"] for field in allowed["form"]["fields"]] == ["key", "Content-Type"]
    key = allowed["objectKey"]
    await whole_store.files.write(key, single_chunk(content), content_type="audio/flac")
    added = (await ask(ADD, {"input": {"objectKey": key}})).value
    assert added["__typename"] == "AddAudioPayload"
    found = (await ask(WHOLE, {"id": added["audio"]["id"]})).value
    assert found["title"] == TAGS.title
    assert found["displayArtist"] == "AC/DC, B"
    assert found["artists"] == [{"name": "AC/DC", "count": 1}, {"name": "B", "count": 1}]
    assert (found["album"]["name"], found["album"]["artistName"]) == ("Back in Black", "AC/DC")
    assert (found["disc"], found["track"], found["trackTotal"], found["year"]) == (1, 2, 10, 1980)
    assert (found["format"], found["size"]) == ("FLAC", len(content))
    assert found["streamUrl"]["url"].startswith("http://files.example/files/")
    assert found["file"]["url"] != found["streamUrl"]["url"]
    assert found["artworkUrl"]["url"].startswith("http://files.example/files/")
    assert found["album"]["artworkUrl"] is not None
    again = (await ask(ADD, {"input": {"objectKey": key}})).value
    assert again == {
        "__typename": "DuplicateObject",
        "existing": found["id"],
        "code": "DUPLICATE_OBJECT",
        "path": ["objectKey"],
    }


async def test_what_is_absent_is_null(ask: Ask) -> None:
    (track,) = await shelve(ask.store, draft("x.mp3", user="root"))
    found = (
        await ask(
            WHOLE.replace("streamUrl { url }", "")
            .replace("file: ", "")
            .replace("streamUrl(attachment: true) { url }", ""),
            {"id": global_id(track)},
        )
    ).value
    for field in ("displayArtist", "disc", "track", "trackTotal", "year", "artworkUrl", "bitrate"):
        assert found[field] is None
    assert found["artists"] == []
    assert found["album"]["name"] == "[Unknown Album]"


async def test_tags_are_edited_by_version(ask: Ask) -> None:
    first, _ = await shelve(ask.store, *album_tracks(2))
    changes: dict[str, Any] = {
        "title": "new",
        "artists": ["The Band", "Else"],
        "album": None,
        "genres": None,
        "disc": 2,
        "year": None,
    }
    told = await ask(UPDATE, {"input": {"id": global_id(first), "expectedVersion": 1, **changes}})
    assert told.value["audio"] == {
        "title": "new",
        "version": 2,
        "artists": [{"name": "The Band", "count": 2}, {"name": "Else", "count": 1}],
        "album": {"name": "[Unknown Album]"},
        "genres": [],
        "disc": 2,
        "year": None,
        "compilation": False,
    }
    stale = (await ask(UPDATE, {"input": {"id": global_id(first), "expectedVersion": 1}})).value
    assert (stale["__typename"], stale["code"]) == ("VersionConflict", "CONFLICT")
    assert await drift(ask.store.table) == []


async def test_a_deleted_track_is_gone(whole_store: Store) -> None:
    ask = Ask(whole_store)
    (track,) = await shelve(ask.store, draft("x.mp3", "gone", user="root"))
    deleted = (await ask(DELETE, {"input": {"id": global_id(track)}})).value
    assert deleted["audio"] == {"title": "gone"}
    node = "query($id: ID!) { node(id: $id) { id } }"
    assert (await ask(node, {"id": global_id(track)})).value is None
    counted = (await ask("{ audioLibrary { count durationMs size } }")).value
    assert counted == {"count": 0, "durationMs": 0, "size": 0}


async def test_everything_of_a_library_is_a_node(whole_store: Store) -> None:
    ask = Ask(whole_store)
    (track,) = await shelve(ask.store, *album_tracks(1))
    storage = (await connect_bucket(ask))["storage"]["id"]
    query = "{ artists { nodes { id name } } albums { nodes { id name } } }"
    found = (await ask(query)).data
    wanted = [*found["artists"]["nodes"], *found["albums"]["nodes"]]
    ids = [global_id(track), storage, *(node["id"] for node in wanted)]
    nodes = """query($ids: [ID!]!) { nodes(ids: $ids) { __typename id
      ...on Artist { name } ...on Album { name } } }"""
    told = (await ask(nodes, {"ids": ids})).value
    assert [node["id"] for node in told] == ids
    assert [node["__typename"] for node in told] == [
        "Audio",
        "Storage",
        "Artist",
        "Artist",
        "Album",
    ]
    assert [node["name"] for node in told[2:]] == [node["name"] for node in wanted]
    stranger = (await ask(nodes, {"ids": ids}, as_caller("eve", "/=admin"))).value
    assert stranger == [None] * 5


@pytest.mark.parametrize("place", ["", ":", "a", "a:b:c", "x" * 700, "\u0000:x"])
async def test_places_that_are_none_are_nothing(ask: Ask, place: str) -> None:
    ids = [GlobalId(kind, place).encode() for kind in ("Artist", "Album", "Audio", "Storage")]
    told = (await ask("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ids})).value
    assert told == [None] * 4


@pytest.mark.parametrize(
    "arguments",
    [
        'artist: "a", album: "b"',
        'bucket: "a", genre: "b"',
        'artist: "a", order: NEWEST_FIRST',
        'bucket: "a", order: OLDEST_FIRST',
        'title: { contains: "a" }, artist: "b"',
        'title: { contains: "" }',
        "title: {}",
        'order: RANDOM, title: { contains: "a" }',
        'order: RANDOM, artist: "a"',
        'seed: "monday"',
        'order: RANDOM, seed: ""',
        f'order: RANDOM, seed: "{"x" * 129}"',
    ],
)
async def test_arguments_that_do_not_go_together_are_refused(ask: Ask, arguments: str) -> None:
    assert (await ask(f"{{ audios({arguments}) {{ nodes {{ id }} }} }}")).code == "BAD_USER_INPUT"


async def test_cursors_of_one_seed_are_refused_with_another(ask: Ask) -> None:
    await shelve(ask.store, *album_tracks(5))
    query = """query($seed: String, $after: String) { audios(order: RANDOM, seed: $seed, first: 2,
      after: $after) { nodes { title } pageInfo { endCursor hasNextPage } } }"""
    read, after = list[str](), None
    for more in (True, True, False):
        page = (await ask(query, {"seed": "monday", "after": after})).value
        read += [node["title"] for node in page["nodes"]]
        assert page["pageInfo"]["hasNextPage"] is more
        after = page["pageInfo"]["endCursor"] if more else after
    assert sorted(read) == ["t0", "t1", "t2", "t3", "t4"]
    assert (await ask(query, {"seed": "tuesday", "after": after})).code == "BAD_USER_INPUT"


async def test_the_use_cases_of_the_document_are_fields_of_one_query_each(store: Store) -> None:
    (track, *_) = await shelve(store, *album_tracks(3))
    traced = TracedTable(store.table)
    ask = Ask(Store(traced))
    for field, shown in (
        (f'getAudioFilesByAudioId(audioId: "{global_id(track)}")', "title"),
        ("getAudioIdByUserId", "nodes { audioId }"),
        ('getAudioIdByUserIdByArtist(artist: "a1")', "nodes { audioId title album durationMs }"),
        ('getAudioIdByUserIdByAlbum(album: "big pink")', "nodes { audioId title }"),
        ('getAudioIdByUserIdByS3bucketName(s3BucketName: "penstock")', "nodes { audioId }"),
        ("getArtistsByUserId", "nodes { name count }"),
        ("getAlbumByUserId", "nodes { name count }"),
    ):
        traced.start()
        found = (await ask(f"{{ audioLibrary {{ it: {field} {{ {shown} }} }} }}")).value["it"]
        assert found, field
        assert traced.seen == (1, 0, 1), field


async def test_a_page_takes_as_many_calls_for_50_tracks_as_for_10(whole_store: Store) -> None:
    await shelve(whole_store, *album_tracks(60, artwork="c0ffee", year=1968))
    traced = TracedTable(whole_store.table)
    costs = []
    for size in (10, 50):
        traced.start()
        answer = await Ask(replace(whole_store, table=traced))(PAGE, {"first": size})
        assert len(answer.value["nodes"]) == size
        for node in answer.value["nodes"]:
            assert node["artists"][0]["name"] == "The Band"
            assert node["album"]["count"] == 60
            assert node["streamUrl"]["url"] != node["artworkUrl"]["url"]
        assert answer.units.calls == traced.reads
        costs.append(traced.seen)
    # The list; its tracks; their artists and albums side by side.
    assert costs == [(4, 0, 3), (4, 0, 3)]


async def test_streams_of_connected_buckets_cost_one_read_a_page(whole_store: Store) -> None:
    storage = (await connect_bucket(Ask(whole_store), endpoint="http://127.0.0.1:9"))["storage"][
        "id"
    ]
    connection = parse_key("Storage", storage)
    await shelve(whole_store, *album_tracks(20, bucket="my-music", connection_id=connection))
    query = "{ audios { nodes { streamUrl { url } } } }"
    await Ask(whole_store)(query)  # from now on the bucket is open
    traced = TracedTable(whole_store.table)
    answer = await Ask(replace(whole_store, table=traced))(query)
    urls = {node["streamUrl"]["url"] for node in answer.value["nodes"]}
    assert len(urls) == 20
    assert all(url.startswith("http://127.0.0.1:9/my-music/audio/") for url in urls)
    assert traced.seen == (2, 0, 2)

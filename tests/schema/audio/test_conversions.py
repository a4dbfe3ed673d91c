"""`Audio.stream` plays a track in a format and a bit rate, or says why not."""

from dataclasses import replace
from pathlib import Path

from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.audio.sample_transcoder import CountedTranscoder, key_behind
from tests.datastore.audio.sample_uploads import (
    TAGS,
    content_of,
    open_files,
    sound,
    upload_and_register,
)
from tests.schema.audio.sample_tracks import global_id
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller

PLAY = """query($id: ID!, $format: StreamFormat, $rate: Int) {
  audio(id: $id) { stream(format: $format, bitRate: $rate) { url expiresAt } } }"""


async def test_a_track_is_played_as_asked(store: Store, tmp_path: Path) -> None:
    async with open_files("local", tmp_path) as files:
        made = replace(store, files=files, transcoder=CountedTranscoder())
        ask = Ask(made)
        track = await upload_and_register(
            made.open_session(ROOT).audio, "a.flac", sound("flac", 1, TAGS)
        )
        id = {"id": global_id(track)}
        for asked, content in (
            ({"format": "MP3", "rate": 100}, b"mp3 at 96 of fLaC"),
            ({"rate": 64}, b"mp3 at 64 of fLaC"),
            ({"format": "OPUS"}, b"opus at 128 of fLaC"),
        ):
            url = (await ask(PLAY, {**id, **asked})).value["stream"]["url"]
            assert await content_of(files, key_behind(files, url)) == content
        url = (await ask(PLAY, id)).value["stream"]["url"]
        assert key_behind(files, url) == track.object_key
        before = await contents(store.table)
        low = await ask(PLAY, {**id, "rate": 31})
        assert [error["extensions"]["code"] for error in low.errors] == ["BAD_USER_INPUT"]
        plain = Ask(replace(made, transcoder=store.transcoder))
        none = await plain(PLAY, {**id, "format": "AAC"})
        (refused,) = [error["extensions"] for error in none.errors]
        assert (refused["code"], refused["state"]) == ("ILLEGAL_STATE", "NO_TRANSCODER")
        for outsider in (Caller("eve", {}), as_caller("eve", "/=admin")):
            foreign = await ask(PLAY, {**id, "format": "MP3"}, outsider)
            assert [error["extensions"]["code"] for error in foreign.errors] == ["NOT_FOUND"]
        assert await contents(store.table) == before

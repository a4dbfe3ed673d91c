"""Both file stores behave in the same way, and describe their own problems."""

import re
from base64 import b64decode
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from botocore.exceptions import ClientError
from httpx import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument, LimitExceeded, NotFound, Unavailable
from penstock.datastore.objects import chunks
from penstock.datastore.objects.port import FileReplaced, Files, content_disposition
from penstock.datastore.objects.s3 import S3Files
from tests.datastore.objects.conftest import (
    breaking,
    broken_stream,
    known_stat,
    send,
    stream,
    whole,
)
from tests.support.loopback_server import Answer
from tests.support.stores import aws_environment

BAD_KEYS = (
    "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\nb", "a\0", "a\x7f",
    "a\x85", "\ud800", "a/${filename}", "é" * 512 + "a",
)  # fmt: skip
BAD_TYPES = (
    "", "text", "text/", "text/plain\r\nX: y", "text/plain; a=\u00e9", "a b/c", "a/" + "b" * 254,
)  # fmt: skip


ONE_OF_TWO = bytes.fromhex(
    "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89"
    "55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0"
    "e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70"
)
"""The first of two contents with the same MD5, found by X. Wang and H. Yu."""

_CHANGED_BYTES = (19, 45, 59, 83, 109, 123)
OTHER_OF_TWO = bytes(
    byte ^ 0x80 if place in _CHANGED_BYTES else byte for place, byte in enumerate(ONE_OF_TWO)
)


async def test_a_file_that_is_not_there_is_not_found(files: Files, http: AsyncClient) -> None:
    download = await files.presign_download("a/b.txt", expires_in=60)

    assert (await http.get(download.url)).status_code == 404
    assert await files.stat("a/b.txt") is None
    with pytest.raises(NotFound):
        await whole(files.read("a/b.txt"))
    with pytest.raises(NotFound):
        await whole(files.read("a/b.txt", start=3, end=3))
    with pytest.raises(NotFound):
        await files.copy("a/b.txt", "c.txt")
    await files.delete("a/b.txt")
    assert await files.list("") == ()
    assert await files.verify() == []


async def test_what_is_written_is_read_with_its_type_and_size(files: Files) -> None:
    key = "audio/ü/Ångström & co?#%2e.txt"
    before = datetime.now(UTC)
    etag = await files.write(key, stream(b"one,", b"", b"two"), content_type="text/csv")

    stat = await files.stat(key)
    assert stat is not None
    assert (stat.size, stat.content_type, stat.etag) == (7, "text/csv", etag)
    assert re.fullmatch('"[0-9a-f]+"', etag)
    assert stat.modified.utcoffset() == timedelta(0)
    if isinstance(files, S3Files):
        second = timedelta(seconds=1)
        assert before - second < stat.modified < datetime.now(UTC) + second
    assert await whole(files.read(key)) == b"one,two"


async def test_an_empty_file_is_a_file(files: Files) -> None:
    await files.write("empty", stream(), content_type="text/plain")
    assert await known_stat(files, "empty") == (0, "text/plain")
    assert await whole(files.read("empty")) == b""
    assert await whole(files.read("empty", start=0, end=5)) == b""


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, None, b"0123456789"), (0, 1, b"0"), (3, 7, b"3456"), (9, None, b"9"), (4, 4, b""),
        (8, 100, b"89"), (10, None, b""), (10, 20, b""), (99, 100, b""), (0, 10, b"0123456789"),
    ],
)  # fmt: skip
async def test_a_range_ends_before_its_end_and_with_the_file(
    files: Files, start: int, end: int | None, expected: bytes
) -> None:
    await files.write("digits", stream(b"0123456789"), content_type="text/plain")
    assert await whole(files.read("digits", start=start, end=end)) == expected


async def test_writing_again_replaces_the_whole_file(files: Files) -> None:
    first = await files.write("a", stream(b"long content"), content_type="text/plain")
    second = await files.write("a", stream(b"short"), content_type="text/csv")

    assert await known_stat(files, "a") == (5, "text/csv")
    assert first != second
    assert await files.list("") == ("a",)


async def test_a_large_file_comes_back_in_small_chunks(files: Files) -> None:
    part = bytes(range(256)) * 4096
    await files.write("large", stream(*[part] * 17), content_type="audio/flac")

    sizes = 0
    async for chunk in files.read("large"):
        assert 0 < len(chunk) <= 256 * 1024
        assert chunk[0] == sizes % 256
        sizes += len(chunk)
    assert sizes == 17 * len(part)
    middle = files.read("large", start=8 * len(part) - 2, end=8 * len(part) + 2)
    assert await whole(middle) == b"\xfe\xff\x00\x01"


async def test_a_writer_that_fails_leaves_the_old_file(files: Files) -> None:
    await files.write("a", stream(b"old"), content_type="text/plain")

    with pytest.raises(ZeroDivisionError):
        await files.write("a", broken_stream(), content_type="text/csv")
    with pytest.raises(ZeroDivisionError):
        await files.write("b", broken_stream(), content_type="text/csv")
    assert await known_stat(files, "a") == (3, "text/plain")
    assert await whole(files.read("a")) == b"old"
    assert await files.list("") == ("a",)


async def test_too_large_a_file_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "OBJECT_BYTES", 10)
    await files.write("ten", stream(b"12345", b"67890"), content_type="text/plain")
    with pytest.raises(LimitExceeded) as refused:
        await files.write("eleven", stream(b"12345", b"678901"), content_type="text/plain")

    assert (refused.value.maximum, refused.value.actual) == (10, 11)
    assert await files.list("") == ("ten",)


async def test_a_copy_of_a_content_that_was_replaced_is_refused(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = await files.write("a", stream(b"content"), content_type="text/csv")
    await files.copy("a", "b", etag)
    assert await whole(files.read("b")) == b"content"
    await files.write("a", stream(b"replaced"), content_type="text/csv")
    if isinstance(files, S3Files):  # moto copies whatever is there
        sent = dict[str, Any]()

        async def refuse(**arguments: Any) -> None:
            sent.update(arguments)
            told = {"Error": {"Code": "PreconditionFailed", "Message": "no"}}
            raise ClientError({**told, "ResponseMetadata": {"HTTPStatusCode": 412}}, "CopyObject")

        monkeypatch.setattr(files._client, "copy_object", refuse)
    with pytest.raises(FileReplaced):
        await files.copy("a", "b", etag)
    if isinstance(files, S3Files):
        assert sent["CopySourceIfMatch"] == etag
    assert await whole(files.read("b")) == b"content"


async def test_a_copy_has_the_content_and_the_type_and_a_life_of_its_own(files: Files) -> None:
    await files.write("a", stream(b"content"), content_type="text/csv")
    await files.write("b", stream(b"replaced"), content_type="text/plain")
    await files.copy("a", "b")
    await files.delete("a")

    assert await files.stat("a") is None
    assert await known_stat(files, "b") == (7, "text/csv")
    assert await whole(files.read("b")) == b"content"
    with pytest.raises(BadArgument):
        await files.copy("b", "b")


async def test_copies_of_different_contents_with_one_md5_have_different_digests(
    files: Files,
) -> None:
    contents = {"a": ONE_OF_TWO, "b": OTHER_OF_TWO}
    assert len({md5(content).digest() for content in contents.values()}) == 1
    for key, content in contents.items():
        await files.write(key, stream(content), content_type="text/csv")
        await files.copy(key, f"copy of {key}")
    await files.copy("a", "again")
    copies = [await files.stat(key) for key in ("copy of a", "again", "copy of b")]
    found = [one for one in copies if one is not None]
    first, again, other = [one.digest for one in found]
    assert first == again != other
    if isinstance(files, S3Files):
        assert len({one.etag for one in found}) == 1
        assert b64decode(first) == sha256(ONE_OF_TWO).digest()


async def test_a_listing_is_in_byte_order_and_goes_on_behind_a_key(files: Files) -> None:
    ordered = (
        "a", "a!", "a.b", "a/b", "a/b/c", "aa", "b/\U0010ffff", "z", "é", "\uffff", "\U0001f600",
    )  # fmt: skip
    for key in reversed(ordered):
        await files.write(key, stream(b""), content_type="text/plain")

    assert await files.list("") == ordered
    assert await files.list("a") == ordered[:6]
    assert await files.list("a/") == ("a/b", "a/b/c")
    assert await files.list("b/\U0010ffff") == ("b/\U0010ffff",)
    assert await files.list("nothing") == ()
    assert await files.list("a", after="a.b") == ("a/b", "a/b/c", "aa")
    assert await files.list("a/", after="A") == ("a/b", "a/b/c")
    assert await files.list("a/", after="b") == ()
    assert await files.list("a", after="a/b\r") == ("a/b/c", "aa")
    assert await files.list("", limit=2) == ("a", "a!")
    paged: list[str] = []
    while page := await files.list("", after=paged[-1] if paged else "", limit=3):
        paged += page
    assert tuple(paged) == ordered


async def test_folders_are_listed_in_byte_order_and_go_on_behind_one(files: Files) -> None:
    keys = (
        "top", "r/file", "r/run=1/a", "r/run=1/b/c", "r/run=1/\uffff", "r/run=10/a", "r/run=1a/x",
        "r/run=2", "r/run=2/\U0001f600", "r/zz", "s/a", "é/a",
    )  # fmt: skip
    for key in keys:
        await files.write(key, stream(b""), content_type="text/plain")

    found = ("r/run=1/", "r/run=10/", "r/run=1a/", "r/run=2/")
    assert await files.list_folders("r/") == found
    assert await files.list_folders("") == ("r/", "s/", "é/")
    assert await files.list_folders("r/run=1/") == ("r/run=1/b/",)
    assert await files.list_folders("s/") == ()
    assert await files.list_folders("none/") == ()
    assert await files.list_folders("r/", after="r/run=10/") == found[2:]
    assert await files.list_folders("", after="s/") == ("é/",)
    assert await files.list_folders("", after="r\r/") == ("r/", "s/", "é/")
    paged: list[str] = []
    while page := await files.list_folders("r/", after=paged[-1] if paged else "", limit=1):
        paged += page
    assert tuple(paged) == found
    with pytest.raises(BadArgument, match="ends with a slash"):
        await files.list_folders("r")
    with pytest.raises(BadArgument, match="1 to 1000"):
        await files.list_folders("r/", limit=1001)


async def test_what_no_store_takes_is_refused_before_anything_happens(files: Files) -> None:
    write, link, send_to = files.write, files.presign_download, files.presign_upload
    text: dict[str, Any] = {"content_type": "text/plain"}
    minute: dict[str, Any] = {"expires_in": 60}
    calls: list[Awaitable[object]] = [
        *(write(key, stream(b"x"), **text) for key in BAD_KEYS),
        *(link(key, **minute) for key in BAD_KEYS),
        *(send_to(key, max_bytes=1, **text, **minute) for key in BAD_KEYS),
        *(whole(files.read(key)) for key in BAD_KEYS),
        *(files.copy("a", key) for key in BAD_KEYS),
        *(files.copy(key, "a") for key in BAD_KEYS),
        *(files.delete(key) for key in BAD_KEYS),
        *(files.stat(key) for key in BAD_KEYS),
        *(write("a", stream(b"x"), content_type=bad) for bad in BAD_TYPES),
        *(send_to("a", max_bytes=1, content_type=bad, **minute) for bad in BAD_TYPES),
        *(link("a", content_type=bad, **minute) for bad in BAD_TYPES),
        *(link("a", filename=bad, **minute) for bad in ("a/b", "a\\b", "..", "a\r\nb", "x" * 256)),
        *(link("a", expires_in=bad) for bad in (0, -1, 604_801)),
        *(send_to("a", max_bytes=1, expires_in=bad, **text) for bad in (0, -1, 604_801)),
        *(send_to("a", max_bytes=bad, **text, **minute) for bad in (0, 5 * 1024**3 + 1)),
        *(whole(files.read("a", start=start, end=end)) for start, end in ((-1, None), (3, 2))),
        *(files.list("", limit=bad) for bad in (0, 1001)),
        files.list("\0"), files.list("", after="\ud800"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(BadArgument):
            await call
    assert await files.list("") == ()


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_a_file_name_can_neither_end_its_header_nor_leave_its_quotes(name: str) -> None:
    shape = r"attachment; filename=\"[ !#$&-\[\]-~]+\"; filename\*=UTF-8''[A-Za-z0-9%._~-]+"
    assert re.fullmatch(shape, content_disposition(name))


async def test_an_uploaded_file_is_there_with_its_type(files: Files, http: AsyncClient) -> None:
    key = "pipelines/p/1/input ü.txt"
    form = await files.presign_upload(key, max_bytes=99, content_type="text/csv", expires_in=60)

    assert (await send(http, form, b"a,b\r\n1,2\r\n")).status_code == 204
    assert await known_stat(files, key) == (10, "text/csv")
    assert await whole(files.read(key)) == b"a,b\r\n1,2\r\n"


async def test_a_download_serves_any_range(files: Files, http: AsyncClient) -> None:
    await files.write("a/ü b.flac", stream(b"0123456789"), content_type="audio/flac")
    url = (await files.presign_download("a/ü b.flac", expires_in=60)).url

    all_of_it = await http.get(url)
    some_of_it = await http.get(url, headers={"Range": "bytes=2-4"})
    none_of_it = await http.get(url, headers={"Range": "bytes=10-"})
    assert (all_of_it.status_code, all_of_it.content) == (200, b"0123456789")
    assert all_of_it.headers["content-type"] == "audio/flac"
    assert (some_of_it.status_code, some_of_it.content) == (206, b"234")
    assert some_of_it.headers["content-range"] == "bytes 2-4/10"
    assert none_of_it.status_code == 416


async def test_a_download_may_name_the_file_and_its_type(files: Files, http: AsyncClient) -> None:
    await files.write("a", stream(b"x"), content_type="application/octet-stream")
    name, kind = 'Ü "1".mp3', "audio/mpeg"
    download = await files.presign_download("a", expires_in=60, filename=name, content_type=kind)
    answer = await http.get(download.url)
    assert answer.content == b"x"
    assert answer.headers["content-type"] == "audio/mpeg"
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"_ _1_.mp3\"; filename*=UTF-8''%C3%9C%20%221%22.mp3"
    )


async def test_a_bucket_that_is_missing_is_named(s3: S3Files) -> None:
    nowhere = S3Files("penstock-nowhere", s3._client, s3._held, s3._patience)
    assert await nowhere.verify() == ["There is no bucket penstock-nowhere."]


async def test_an_abandoned_multipart_upload_leaves_no_parts(s3: S3Files) -> None:
    with pytest.raises(ZeroDivisionError):
        await s3.write("a", broken_stream(), content_type="text/csv")
    assert "Uploads" not in await s3._client.list_multipart_uploads(Bucket=s3.bucket)


async def test_the_policy_of_an_s3_upload_binds_key_type_size_and_time(s3: S3Files) -> None:
    form = await s3.presign_upload("a/b", max_bytes=10, content_type="text/csv", expires_in=900)
    fields = dict(form.fields)
    policy = orjson.loads(b64decode(fields["policy"]))

    assert (form.method, form.headers) == ("POST", ())
    for condition in (
        {"key": "a/b"}, {"bucket": s3.bucket}, {"Content-Type": "text/csv"},
        ["content-length-range", 0, 10], {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
    ):  # fmt: skip
        assert condition in policy["conditions"]
    assert (fields["key"], fields["Content-Type"]) == ("a/b", "text/csv")
    signed_at = datetime.strptime(fields["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert form.expires_at == signed_at + timedelta(seconds=900)
    expiration = datetime.fromisoformat(policy["expiration"])
    assert abs(expiration - form.expires_at) <= timedelta(seconds=1)


async def test_an_s3_download_is_signed_with_version_4_and_any_range(s3: S3Files) -> None:
    download = await s3.presign_download("a", expires_in=900, content_type="audio/mpeg")
    query = {name: values[0] for name, values in parse_qs(urlsplit(download.url).query).items()}

    assert query["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert (query["X-Amz-Expires"], query["X-Amz-SignedHeaders"]) == ("900", "host")
    assert query["response-content-type"] == "audio/mpeg"
    assert "AWSAccessKeyId" not in query
    signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert download.expires_at == signed_at + timedelta(seconds=900)


async def test_a_read_that_breaks_off_goes_on_where_it_was() -> None:
    rest = Answer(206, b"56789", {"ETag": '"e"', "Content-Range": "bytes 5-9/10"})
    async with breaking(rest) as (store, s3):
        assert await whole(store.read("a")) == b"0123456789"
    assert s3.seen == [(None, None), ("bytes=5-", '"e"')]


async def test_a_read_that_breaks_off_does_not_go_on_in_another_content() -> None:
    body = b"<Error><Code>PreconditionFailed</Code><Message>m</Message></Error>"
    async with breaking(Answer(412, body)) as (store, _):
        with pytest.raises(Unavailable):
            await whole(store.read("a"))


async def test_urls_on_aws_name_the_region_and_the_bucket() -> None:
    with aws_environment(), pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL")
        store = await S3Files.open("bucket", region="eu-central-1")
        download = await store.presign_download("a/b", expires_in=60)
        form = await store.presign_upload("a", max_bytes=1, content_type="a/b", expires_in=60)
        await store.close()
    assert download.url.startswith("https://bucket.s3.eu-central-1.amazonaws.com/a/b?")
    assert form.url == "https://bucket.s3.eu-central-1.amazonaws.com/"

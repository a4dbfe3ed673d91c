"""The local store alone: refused URLs, its HTTP answers, and recovery from a crash."""

import asyncio
import signal
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from httpx import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.chunks import read_exactly, single_chunk
from penstock.datastore.objects.directory import (
    BLOCK_BYTES,
    FORM_USES,
    FormUsedUp,
    LocalFiles,
    UploadRefused,
    in_thread,
)
from penstock.datastore.objects.port import EXPIRY_SECONDS, UploadForm
from penstock.datastore.objects.signed_links import SignedLink, UrlSigner
from penstock.server.edge.multipart_form import (
    EMPTY_LINES,
    FORM_BYTES,
    MultipartForm,
    RefusedFileRequest,
)
from tests.datastore.objects.conftest import (
    DIGITS,
    END,
    FIELDS,
    KIND,
    NOW,
    SECRET,
    Clock,
    debris,
    digits,
    endless,
    fresh,
    part,
    post,
    raw,
    send,
    stream,
    upload,
    whole,
    writer,
)
from tests.support.patience import HUNG_SECONDS, until

NONE = b"No such bytes."
KEY, TYPE, FILE = part("key", b"a"), part("Content-Type", b"text/csv"), part("file", b"x")


async def test_a_url_ends_at_its_expiry(local: LocalFiles, http: AsyncClient, clock: Clock) -> None:
    url, form, expires = await digits(local), await upload(local), NOW + 60.75
    assert form.expires_at.timestamp() == expires
    clock.now = expires - 0.01
    assert (await http.get(url)).status_code == 200
    assert (await send(http, form, b"first")).status_code == 204
    clock.now = expires
    assert (await http.get(url)).status_code == 403
    assert (await send(http, form, b"second")).status_code == 403
    assert await whole(local.read("a")) == b"first"


async def test_every_changed_byte_of_a_url_is_refused(local: LocalFiles) -> None:
    url = await digits(local)
    path = urlsplit(url).path
    assert await raw(url, f"GET {path}") == 200
    for at in range(len("/files/"), len(path)):
        other = "B" if path[at] == "A" else "A"
        assert await raw(url, f"GET {path[:at]}{other}{path[at + 1 :]}") == 403
    for changed in (path + "0", path[:-1], path + "?a=b", "/files/", "/files/."):
        assert await raw(url, f"GET {changed}") == 403


async def test_no_path_leads_out_of_the_store(local: LocalFiles) -> None:
    url = await digits(local)
    for path in ("../../etc/passwd", "%2e%2e/index.db", "/etc/passwd", "..%2findex.db", "%0a"):
        assert await raw(url, f"GET /files/{path}") == 403


@given(at=st.integers(min_value=0), byte=st.integers(0, 255), how=st.sampled_from("rid"))
def test_a_signed_text_that_was_edited_is_not_ours(at: int, byte: int, how: str) -> None:
    signer = UrlSigner("http://x", SECRET, lambda: NOW)
    ours = signer.sign(SignedLink("GET", "a/b", None, "ü"), 60).url.rpartition("/")[2].encode()
    at %= len(ours)
    edited = ours[:at] + (b"" if how == "d" else bytes([byte])) + ours[at + (how != "i") :]
    assert signer.check("GET", ours) is not None
    assert signer.check("POST", ours) is None
    assert UrlSigner("http://x", b"l" * 32, lambda: NOW).check("GET", ours) is None
    assert (signer.check("GET", edited) is not None) == (edited == ours)


async def test_a_url_works_for_its_own_method_only(local: LocalFiles, http: AsyncClient) -> None:
    url, form = await digits(local), await upload(local)
    assert (await http.get(form.url)).status_code == 403
    assert (await http.head(form.url)).status_code == 403
    assert (await http.post(url, content=FIELDS + FILE + END, headers=KIND)).status_code == 403
    assert (await http.post(form.url, json={})).status_code == 415
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = await http.request(method, url)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
    assert await local.list("") == ("digits",)


async def test_an_upload_is_no_larger_than_signed(local: LocalFiles, http: AsyncClient) -> None:
    form = await upload(local)
    accepted = await send(http, form, b"123456789")
    refused = await send(http, form, b"1234567890")
    assert (accepted.status_code, refused.status_code) == (204, 413)
    stat = await local.stat("a")
    assert stat
    assert (stat.size, stat.etag) == (9, accepted.headers["etag"])
    assert debris(local) == ["contents"]


async def test_a_form_is_refused_once_its_file_was_confirmed(
    local: LocalFiles, http: AsyncClient, clock: Clock
) -> None:
    async def new_form() -> UploadForm:
        kind = "text/csv"
        return await local.presign_upload("once", max_bytes=9, content_type=kind, expires_in=60)

    form = await new_form()
    assert (await send(http, form, b"first")).status_code == 204
    await local.refuse_uploads("once")
    for one in (form, await new_form()):
        answer = await send(http, one, b"second")
        assert (answer.status_code, answer.text) == (
            409,
            "The file was confirmed and cannot be replaced any more.",
        )
    assert await whole(local.read("once")) == b"first"
    assert debris(local) == ["contents"]
    await local.write("once", stream(b"third"), content_type="text/csv")
    assert await whole(local.read("once")) == b"third"
    clock.now += EXPIRY_SECONDS + 1
    await local.refuse_uploads("other")
    assert (await send(http, await new_form(), b"fourth")).status_code == 204


async def test_a_form_is_used_so_often_and_no_more(
    local: LocalFiles, http: AsyncClient, clock: Clock
) -> None:
    form = await upload(local)
    for n in range(FORM_USES):
        assert (await send(http, form, b"%d" % n)).status_code == 204
    before = await local.stat("a")
    refused = await send(http, form, b"more")
    assert (refused.status_code, refused.text) == (
        409,
        "The form was used 20 times; take another one.",
    )
    assert await local.stat("a") == before
    assert await whole(local.read("a")) == b"19"
    assert debris(local) == ["contents"]
    clock.now += 1
    assert (await send(http, await upload(local), b"new form")).status_code == 204


async def test_what_a_form_sends_at_once_counts_as_well(local: LocalFiles) -> None:
    link = SignedLink("POST", "a", "text/csv", None, 9, 2**33)
    uses = [local.write_upload(link, stream(b"x")) for _ in range(FORM_USES + 5)]
    ended = await asyncio.gather(*uses, return_exceptions=True)
    assert sum(isinstance(one, FormUsedUp) for one in ended) == 5
    assert debris(local) == ["contents"]


async def test_forms_that_ended_are_forgotten(
    local: LocalFiles, http: AsyncClient, clock: Clock
) -> None:
    for _ in range(3):
        assert (await send(http, await upload(local), b"x")).status_code == 204
        clock.now += EXPIRY_SECONDS
    assert len(local._index.execute("SELECT key FROM used_forms").fetchall()) == 1


async def test_an_upload_that_is_under_way_is_refused_as_well(local: LocalFiles) -> None:
    await local.write("under way", stream(b"first"), content_type="text/csv")

    async def chunks() -> AsyncIterator[bytes]:
        yield b"second"
        await local.refuse_uploads("under way")

    with pytest.raises(UploadRefused):
        await local.write_upload(SignedLink("POST", "under way", "text/csv", None, 9), chunks())
    assert await whole(local.read("under way")) == b"first"
    assert debris(local) == ["contents"]


async def test_an_endless_upload_is_ended_early(local: LocalFiles) -> None:
    form, begin = await upload(local), FIELDS + part("file", b"")
    headers = (f"Content-Type: {KIND['Content-Type']}", "Transfer-Encoding: chunked")
    chunks = (b"%x\r\n%b\r\n" % (len(data), data) for data in (begin, bytes(65536)))
    assert await post(form, *headers, body=next(chunks), forever=next(chunks)) == 413
    await until(lambda: debris(local) == [])


@pytest.mark.parametrize("begin", [b"\r\n", FIELDS + part("file", b"x") + END[:-4]])
async def test_a_form_holds_no_endless_blanks(local: LocalFiles, begin: bytes) -> None:
    form = await upload(local)
    headers = (f"Content-Type: {KIND['Content-Type']}", "Transfer-Encoding: chunked")
    chunks = (b"%x\r\n%b\r\n" % (len(data), data) for data in (begin, b" " * 8192))
    assert await post(form, *headers, body=next(chunks), forever=next(chunks)) == 400
    await until(lambda: debris(local) == [])


async def test_an_announced_size_is_refused_before_the_body_is_sent(local: LocalFiles) -> None:
    form = await upload(local)
    assert await post(form, "Expect: 100-continue", "Content-Length: 1000000") == 413


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (204, FIELDS + part("file", b"x", '; filename="\u00fc \\"; name=\\"key.csv"') + END),
        (204, TYPE + KEY + part("file", b"") + END),
        (400, b""), (400, b"key=a"), (400, END), (400, FIELDS + END), (400, FIELDS + FILE),
        (400, FIELDS + FILE + part("more", b"x") + END), (400, KEY + FIELDS + FILE + END),
        (400, FIELDS + part("more", b"x" * 5000) + FILE + END),
        (400, FIELDS + b"".join(part(f"f{at}", b"") for at in range(20)) + FILE + END),
        (403, FILE + FIELDS + END), (403, KEY + FILE + END), (403, TYPE + FILE + END),
        (403, part("key", b"b") + TYPE + FILE + END),
        (403, KEY + part("Content-Type", b"text/html") + FILE + END),
        (403, FIELDS + part("more", b"x") + FILE + END),
    ],
)  # fmt: skip
async def test_a_form_is_taken_as_it_was_signed_or_not_at_all(
    local: LocalFiles, http: AsyncClient, status: int, body: bytes
) -> None:
    form = await upload(local)
    assert (await http.post(form.url, content=body, headers=KIND)).status_code == status
    assert await local.list("") == (("a",) if status == 204 else ())
    assert debris(local) == (["contents"] if status == 204 else [])


@given(
    st.lists(st.sampled_from([b"\r\n--b0undar", b"\r", b"\n", b"--", b"b0undary", b"\0x"])),
    st.integers(1, 80),
)
async def test_a_form_reads_the_same_however_it_is_cut(content: list[bytes], cut: int) -> None:
    file = b"".join(content).replace(b"\r\n--b0undary", b"")
    body = FIELDS + part("file", file) + END
    pieces = (body[at : at + cut] for at in range(0, len(body), cut))
    form = MultipartForm(b"b0undary", stream(*pieces))
    assert await form.fields() == {"key": "a", "Content-Type": "text/csv"}
    assert await whole(form.content()) == file


async def test_content_that_is_nearly_a_boundary_goes_past_the_parser() -> None:
    file = b"\r\n--b0undar" * 50_000
    form = MultipartForm(b"b0undary", stream(FIELDS + part("file", b"")[:-2], file, b"\r\n" + END))
    await form.fields()
    form._parser.write = pytest.fail  # type: ignore[assignment]
    assert await whole(form.content()) == file


@pytest.mark.parametrize("sent_at_once", [997, 1_000_000])
@pytest.mark.parametrize(
    "again",
    [b"\r\n", b"\r\n\r\n", b"--b0undary\r\n\r\n", KEY, part("", b"\r\n" * 9), b"\r", b" ", b"A: b"],
)
async def test_what_comes_before_a_file_is_parsed_in_few_pieces(
    again: bytes, sent_at_once: int
) -> None:
    begin = again * (1_000_000 // len(again))
    pieces = [begin[at : at + sent_at_once] for at in range(0, len(begin), sent_at_once)]
    form = MultipartForm(b"b0undary", stream(*pieces))
    parse, parsed = form._parser.write, list[bytes]()

    def write(data: bytes) -> int:
        parsed.append(data)
        return parse(data)

    form._parser.write = write  # type: ignore[method-assign]
    with pytest.raises(RefusedFileRequest) as caught:
        await form.fields()
    assert caught.value.status == 400
    assert sum(map(len, parsed)) <= FORM_BYTES
    assert len(parsed) <= EMPTY_LINES + FORM_BYTES // sent_at_once


async def test_a_form_may_begin_with_empty_lines_and_have_empty_fields() -> None:
    begin = b"\r\n" * 9 + part("key", b"") + FILE + END
    for size in range(1, len(begin)):
        pieces = (begin[at : at + size] for at in range(0, len(begin), size))
        form = MultipartForm(b"b0undary", stream(*pieces))
        assert await form.fields() == {"key": ""}
        assert await whole(form.content()) == b"x"


async def test_a_client_that_goes_away_leaves_nothing(local: LocalFiles) -> None:
    form, body = await upload(local, 999_999), FIELDS + part("file", b"x" * 500_000)
    headers = (f"Content-Type: {KIND['Content-Type']}", "Content-Length: 900000")
    sending = asyncio.create_task(post(form, *headers, body=body))
    await until(lambda: debris(local) == ["drafts"])
    sending.cancel()
    await until(lambda: debris(local) == [])
    assert await local.list("") == ()


@pytest.mark.parametrize(
    ("asked", "status", "content", "where"),
    [
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"), ("bytes=0-", 206, DIGITS, "bytes 0-9/10"),
        ("Bytes=8-99", 206, b"89", "bytes 8-9/10"), ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, DIGITS, "bytes 0-9/10"), ("bytes=10-", 416, NONE, "bytes */10"),
        ("bytes=-0", 416, NONE, "bytes */10"), ("bytes=5-4", 200, DIGITS, None),
        ("bytes=-", 200, DIGITS, None), ("bytes=0-1,3-4", 200, DIGITS, None),
        ("lines=0-1", 200, DIGITS, None), ("bytes=9999999999999999999999-", 200, DIGITS, None),
    ],
)  # fmt: skip
async def test_a_range_is_answered_as_http_has_it(
    local: LocalFiles, http: AsyncClient, asked: str, status: int, content: bytes, where: str | None
) -> None:
    answer = await http.get(await digits(local), headers={"Range": asked})
    assert (answer.status_code, answer.content) == (status, content)
    assert answer.headers.get("content-range") == where
    assert answer.headers["content-length"] == str(len(content))


async def test_conditions_go_by_the_entity_tag(local: LocalFiles, http: AsyncClient) -> None:
    url = await digits(local)
    tag = (await http.get(url)).headers["etag"]
    for status, headers in (
        (206, {"Range": "bytes=0-1", "If-Range": tag}),
        (200, {"Range": "bytes=0-1", "If-Range": '"other"'}),
        (304, {"If-None-Match": f'"x", W/{tag}'}),
        (200, {"If-None-Match": '"x"'}),
    ):
        assert (await http.get(url, headers=headers)).status_code == status


async def test_head_tells_what_get_would(local: LocalFiles, http: AsyncClient) -> None:
    url = await digits(local)
    head, get = await http.head(url, headers={"Range": "bytes=1-2"}), await http.get(url)
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert head.headers["last-modified"] == "Fri, 15 Jan 2027 08:00:00 GMT"
    assert head.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    ("content_type", "shown"),
    [
        ("audio/flac", "inline"), ("image/png", "inline"), ("text/plain; charset=utf-8", "inline"),
        ("text/html", "attachment"), ("image/svg+xml", "attachment"), ("text/xml", "attachment"),
        ("application/xhtml+xml", "attachment"), ("TEXT/HTML", "attachment"),
    ],
)  # fmt: skip
async def test_no_file_becomes_a_page_of_the_site(
    local: LocalFiles, http: AsyncClient, content_type: str, shown: str
) -> None:
    headers = (await http.get(await digits(local, content_type))).headers
    assert (headers["content-type"], headers["content-disposition"]) == (content_type, shown)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_a_killed_writer_leaves_the_old_file_and_its_debris_is_swept(tmp_path: Path) -> None:
    async with fresh(tmp_path) as files:
        await files.write("a", stream(b"old"), content_type="text/plain")
    async with writer(tmp_path) as process, fresh(tmp_path) as files:
        assert debris(files) == ["contents", "drafts"]
    assert process.returncode == -signal.SIGKILL
    async with fresh(tmp_path) as files:
        assert debris(files) == ["contents"]
        assert await whole(files.read("a")) == b"old"
        assert await files.list("") == ("a",)


async def test_a_reader_keeps_the_content_that_it_began_with(local: LocalFiles) -> None:
    await digits(local)
    async with local.open_file("digits") as opened:
        await local.write("digits", stream(b"new"), content_type="text/plain")
        assert await whole(opened.read(0, 10)) == DIGITS
    await local.copy("digits", "copy")
    await local.delete("digits")
    assert await whole(local.read("copy")) == b"new"
    await local.delete("copy")
    assert debris(local) == []


async def test_a_lost_content_is_named_and_is_no_missing_file(local: LocalFiles) -> None:
    await digits(local)
    next(local._contents.iterdir()).unlink()
    assert await local.verify() == ["digits has lost its content."]
    with pytest.raises(Unavailable):
        await whole(local.read("digits"))


async def test_slow_disks_hold_nobody(local: LocalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over, in_time = threading.Event(), threading.Event(), list[bool]()

    def fsync(_: int) -> None:
        begun.set()
        in_time.append(over.wait(HUNG_SECONDS))

    monkeypatch.setattr("os.fsync", fsync)
    writing = asyncio.create_task(digits(local))
    await until(begun.is_set)
    over.set()
    await writing
    assert in_time == [True, True]


async def test_a_file_of_one_block_is_written_in_one_turn_of_a_thread(
    local: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = list[object]()

    async def in_counted_thread(work: Callable[..., Any], *given: Any) -> Any:
        turns.append(work)
        return await in_thread(work, *given)

    monkeypatch.setattr("penstock.datastore.objects.directory.in_thread", in_counted_thread)
    for size, expected in ((0, 1), (BLOCK_BYTES - 1, 1), (BLOCK_BYTES, 4), (BLOCK_BYTES + 1, 5)):
        turns.clear()
        await local.write("a/b", single_chunk(b"x" * size), content_type="text/csv")
        assert len(turns) == expected
        assert await read_exactly(local.read("a/b"), size) == b"x" * size


async def test_a_write_that_is_cancelled_leaves_nothing(local: LocalFiles) -> None:
    writing = asyncio.create_task(local.write("a", endless(), content_type="text/csv"))
    await until(lambda: debris(local) == ["drafts"])
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert (debris(local), await local.list("")) == ([], ())


async def test_a_read_that_is_cancelled_while_its_file_opens_closes_it(
    local: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await digits(local)
    begun, goes_on = threading.Event(), threading.Event()
    opens, opened = Path.open, list[IO[Any]]()

    def open_slowly(path: Path, *args: Any, **kwargs: Any) -> IO[Any]:
        begun.set()
        goes_on.wait(HUNG_SECONDS)
        opened.append(opens(path, *args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(Path, "open", open_slowly)
    reading = asyncio.create_task(whole(local.read("digits")))
    await until(begun.is_set)
    for _ in range(3):
        reading.cancel()
        await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert [file.closed for file in opened] == [True]


async def test_memory_stays_flat(local: LocalFiles, http: AsyncClient, tmp_path: Path) -> None:
    form = await upload(local, size := 32 * 1024**2)
    url = (await local.presign_download("a", expires_in=60)).url
    with (tmp_path / "zeros").open("w+b") as zeros:
        zeros.truncate(size)
        tracemalloc.start()
        answer = await http.post(form.url, data=dict(form.fields), files={"file": zeros})
        async with http.stream("GET", url) as download:
            received = sum([len(chunk) async for chunk in download.aiter_bytes()])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (answer.status_code, received) == (204, size)
    assert peak < 6 * 1024**2


def test_a_loop_that_ends_during_downloads_reports_no_error(tmp_path: Path) -> None:
    reported: list[dict[str, Any]] = []
    held: list[Any] = []

    async def chunks() -> AsyncIterator[bytes]:
        yield bytes(2**20)

    async def begin_downloads() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, found: reported.append(found))
        files = await LocalFiles.open(tmp_path, base_url="http://x", key=b"k" * 32)
        await files.write("a", chunks(), content_type="a/b")
        held.extend(files.read("a") for _ in range(20))
        for one in held:
            assert await anext(one)

    asyncio.run(begin_downloads())
    assert reported == []


async def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        await LocalFiles.open(tmp_path, base_url="http://x", key=b"k" * 31)

"""A scan of tags leaves no garbage, makes few attempts, and is paid by who wants it."""

import asyncio
import gc
import struct
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

from penstock.datastore.audio.tags import tag_parser, tag_reader
from penstock.datastore.audio.tags.partial_file import BLOCK, PartialFile
from penstock.datastore.audio.tags.tag_reader import ScanBudget, TagScan
from penstock.datastore.errors import Invalid, RateLimited
from penstock.datastore.turn_threads import TurnThreads
from tests.datastore.audio.sample_uploads import TAGS, sound
from tests.datastore.audio.test_tag_reader import OneFile
from tests.support.patience import until
from tests.support.work_account import Account

RATE = struct.pack("<IBIiiiBB", 0, 2, 44100, 0, 128000, 0, 0xB8, 1)


def ogg_page(data: bytes, number: int, flags: int = 0) -> bytes:
    lengths = bytes([255] * (len(data) // 255))
    head = struct.pack("<4sBBqIIIB", b"OggS", 0, flags, 1, 7, number, 0, len(lengths))
    return head + lengths + data


def endless_comment(blocks: int) -> bytes:
    """An Ogg file whose comment goes on for so many blocks, page after page."""
    first = b"\x01vorbis" + RATE
    head = struct.pack("<4sBBqIIIBB", b"OggS", 0, 2, 1, 7, 0, 0, 1, len(first)) + first
    pages = [ogg_page(b"a" * 255 * 255, n, 1) for n in range(1, blocks + 1)]
    return head + b"".join(pages)


def scan_of(content: bytes, budget: ScanBudget | None = None) -> tuple[TagScan, OneFile]:
    files: Any = OneFile(content)
    return TagScan(files, "key", len(content), {}, budget or ScanBudget()), files


@pytest.fixture
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
async def test_a_refused_file_leaves_nothing_for_the_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[ref[PartialFile]] = []

    class WatchedFile(PartialFile):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            seen.append(ref(self))

    monkeypatch.setattr(tag_reader, "PartialFile", WatchedFile)
    scan, _ = scan_of(endless_comment(40))
    with pytest.raises(Invalid):
        await scan.run("title")
    assert len(seen) > 3
    # The frames of the error that was just raised hold the last one, and a thread that has not
    # had the processor again holds what it worked on: what only the collector frees would stay.
    await until(lambda: not any(one() for one in seen[:-1]))


async def test_a_comment_over_many_blocks_takes_few_attempts() -> None:
    account = Account()
    scan, files = scan_of(endless_comment(90), ScanBudget(work=account))
    with pytest.raises(Invalid):
        await scan.run("title")
    assert account.taken <= 20
    assert len(files.ranges) <= 20


async def test_an_ordinary_file_reads_no_block_ahead() -> None:
    content = sound("flac", 2, TAGS)
    scan, files = scan_of(content)
    await scan.run("title")
    assert sum((end or 0) - start for start, end in files.ranges) <= 3 * BLOCK


async def test_a_caller_in_debt_has_nothing_scanned() -> None:
    account = Account(most=0)
    scan, _ = scan_of(sound("mp3", 1, TAGS), ScanBudget(work=account))
    with pytest.raises(RateLimited):
        await scan.run("title")
    assert account.owed == 0


async def test_each_attempt_is_paid_and_all_share_one_time() -> None:
    account, budget = Account(), ScanBudget(work=Account())
    budget.work = account
    whole = budget.seconds
    budget.end(0.5)
    assert (budget.seconds, account.owed) == (whole - 0.5, 12_500)
    budget.end(whole)
    scan, _ = scan_of(endless_comment(40), budget)
    with pytest.raises(Invalid) as refused:
        await scan.run("title")
    assert "too long" in refused.value.problems[0].message
    assert account.taken <= 2


async def test_users_take_turns_at_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    parse = tag_parser.try_parse

    def note_parse(excerpt: PartialFile, format: Any, title: str, **more: Any) -> Any:
        order.append(title)
        return parse(excerpt, format, title, **more)

    monkeypatch.setattr(tag_reader, "try_parse", note_parse)
    monkeypatch.setattr(tag_reader, "_THREADS", TurnThreads("one", 1))
    content = sound("mp3", 1, TAGS)
    users = ["ann"] * 4 + ["bob"]
    scans = [scan_of(content, ScanBudget(user))[0].run(user) for user in users]
    await asyncio.gather(*scans)
    assert order.index("bob") <= 2

"""Turns at a few places: those who wait are bounded, for each caller and in all."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.datastore.audio.artwork import smaller_pictures
from penstock.datastore.audio.transcoding import ffmpeg
from penstock.datastore.audio.transcoding.converted_streams import ConvertedStreams
from penstock.datastore.audio.transcoding.ffmpeg import FFmpeg
from penstock.datastore.audio.transcoding.formats import Conversion, StreamFormat
from penstock.datastore.errors import ErrorCode, PenstockError, RateLimited, Unavailable
from penstock.datastore.store import Store
from penstock.datastore.turn_threads import Turns, TurnThreads, WaitingLimits
from tests.datastore.audio.sample_library import ANN
from tests.datastore.audio.sample_uploads import TAGS, open_files, sound, upload_and_register
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite
from tests.support.work_account import Account

LIMITS = WaitingLimits(of_one=2, in_all=3)


async def wait_for(turns: Turns, *callers: str) -> list["asyncio.Task[None]"]:
    """Let callers wait for turns, in this order."""
    waiting = [asyncio.create_task(turns.enter(caller)) for caller in callers]
    await asyncio.sleep(0)
    return waiting


async def end(tasks: list["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_a_caller_lets_only_so_many_wait_and_others_still_find_a_place() -> None:
    turns = Turns(1, 1, LIMITS)
    waiting = await wait_for(turns, "eve", "eve", "eve")
    with pytest.raises(RateLimited) as refused:
        await turns.enter("eve")
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert refused.value.retry_after == 10
    waiting += await wait_for(turns, "ann")
    assert [task.done() for task in waiting] == [True, False, False, False]
    for _ in range(2):
        turns.leave("eve")
        await asyncio.sleep(0)
    # Ann's turn comes before Eve's last.
    assert [task.done() for task in waiting] == [True, True, False, True]
    await end(waiting)


async def test_so_many_wait_in_all() -> None:
    turns = Turns(1, 1, LIMITS)
    waiting = await wait_for(turns, "ann", "bob", "eve", "eve")
    with pytest.raises(Unavailable) as refused:
        await turns.enter("joe")
    assert refused.value.code is ErrorCode.SERVICE_UNAVAILABLE
    assert refused.value.retry_after == 10
    await end(waiting)


async def test_a_place_is_free_again_when_a_caller_gives_up() -> None:
    turns = Turns(1, 1, LIMITS)
    waiting = await wait_for(turns, "eve", "eve", "eve")
    waiting[1].cancel()
    await asyncio.wait([waiting[1]])
    waiting += await wait_for(turns, "eve")
    with pytest.raises(RateLimited):
        turns.require_place("eve")
    await end(waiting)


async def test_callers_who_give_up_leave_their_line_at_once() -> None:
    turns = Turns(1, 1)
    held, *others = await wait_for(turns, *(["eve"] * 100), "ann")
    (*gone, last), ann = others[:-1], others[-1]
    await end(gone)
    assert {caller: len(line) for caller, line in turns._waiting.items()} == {"eve": 1, "ann": 1}
    await end([last])
    assert list(turns._waiting) == ["ann"]
    turns.leave("eve")
    await asyncio.wait([ann])
    assert turns._waiting == {}
    assert held.done()


async def test_a_caller_who_gives_up_as_the_turn_comes_passes_it_on() -> None:
    turns = Turns(1, 1)
    for is_first in (True, False):
        await turns.enter("eve")
        ann, bob = await wait_for(turns, "ann", "bob")
        for step in (ann.cancel, lambda: turns.leave("eve"))[:: 1 if is_first else -1]:
            step()
        await asyncio.wait([ann])
        await asyncio.wait([bob])
        assert (ann.cancelled(), bob.exception()) == (True, None)
        turns.leave("bob")
        assert (turns._free, turns._waiting) == (1, {})


async def test_turns_without_limits_let_everybody_wait() -> None:
    turns = Turns(1, 1)
    waiting = await wait_for(turns, *(["eve"] * 100))
    turns.require_place("eve")
    await end(waiting)


async def test_threads_refuse_work_beyond_the_limits() -> None:
    threads = TurnThreads("tests", 1, 1, WaitingLimits(of_one=1, in_all=10))
    release, loop = asyncio.Event(), asyncio.get_running_loop()

    def work() -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    running = [asyncio.create_task(threads.run(work, "eve")) for _ in range(2)]
    await asyncio.sleep(0)
    done: list[str] = []
    with pytest.raises(RateLimited):
        await threads.run(lambda: done.append("eve"), "eve")
    assert done == []
    release.set()
    await asyncio.gather(*running)
    await threads.run(lambda: done.append("eve"), "eve")
    assert done == ["eve"]


def test_smaller_covers_have_limits() -> None:
    assert smaller_pictures._THREADS._limits == smaller_pictures.WAITING


@pytest.mark.parametrize(
    ("limits", "failure"),
    [(WaitingLimits(0, 10), RateLimited), (WaitingLimits(10, 0), Unavailable)],
)
@on_sqlite
async def test_a_conversion_that_finds_no_place_is_not_paid(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limits: WaitingLimits,
    failure: type[PenstockError],
) -> None:
    monkeypatch.setattr(ffmpeg, "WAITING", limits)
    async with open_files("local", tmp_path) as files:
        account = Account()
        over = replace(store, files=files, transcoder=FFmpeg("none", 1))
        library = over.open_session(ANN, account).audio
        track = await upload_and_register(library, "x.flac", sound("flac", 1, TAGS))
        before, paid = await contents(store.table), (account.taken, account.owed)
        converting: ConvertedStreams = library.converting
        with pytest.raises(failure):
            await converting.sign(track, Conversion(StreamFormat.OPUS, 32))
        assert (account.taken, account.owed) == paid
        assert await contents(store.table) == before


async def test_a_place_is_free_after_each_turn() -> None:
    turns = Turns(1, 1, WaitingLimits(1, 1))
    for _ in range(3):
        await turns.enter("eve")
        turns.require_place("eve")
        turns.leave("eve")

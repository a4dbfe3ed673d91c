"""The delivery of events: in order, again when the catalogue is away, and never in the way."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import httpx
import msgspec
import pytest

from penstock.datastore.errors import Unavailable
from penstock.server.core.http_client import open_http_client
from penstock.server.lineage import delivery as module
from penstock.server.lineage import senders
from penstock.server.lineage.delivery import MOST_FAILURES, Delivery, Outcome, Sending, delay_of
from penstock.server.lineage.events import EventType, Job, LineageEvent, Run
from penstock.server.lineage.senders import FileSender, HttpSender
from tests.support.patience import until

AGAIN, FAILED = Sending.TRY_AGAIN, Sending.FAILED
SENT, REFUSED = Sending.SENT, Sending.REFUSED


def event(name: str) -> LineageEvent:
    return LineageEvent(
        event_type=EventType.START,
        event_time="2026-01-01T00:00:00.000Z",
        run=Run(run_id="019a4d3c-7e10-7b52-9c1f-0a1b2c3d4e5f"),
        job=Job(namespace="n", name=name),
    )


async def describe(name: str) -> Sequence[LineageEvent]:
    return [event(name)]


class Catalogue:
    """A catalogue that answers as it is told, and as the last time from then on."""

    def __init__(self, *answers: Sending) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def send(self, event: bytes) -> Sending:
        self.asked.append(json.loads(event)["job"]["name"])
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def at_once(_attempt: int) -> float:
    return 0.0


def delivery(most: int = 10) -> Delivery[str]:
    return Delivery(most, delay=at_once)


async def test_events_are_sent_in_their_order_also_those_from_before() -> None:
    sending, catalogue = delivery(), Catalogue(SENT)
    sending.put("a")
    async with sending.running(catalogue, describe):
        sending.put("b")
        await until(lambda: not sending.pending)
        sending.put("c")
    assert catalogue.asked == ["a", "b", "c"]
    assert sending.outcomes == {Outcome.SENT: 3}


async def test_an_event_is_sent_again_until_it_is_taken_and_others_wait_behind_it() -> None:
    sending, catalogue = delivery(), Catalogue(AGAIN, AGAIN, SENT)
    async with sending.running(catalogue, describe):
        sending.put("a")
        sending.put("b")
        await until(lambda: not sending.pending)
    assert catalogue.asked == ["a", "a", "a", "b"]


async def test_an_event_at_which_the_catalogue_fails_each_time_holds_up_no_other() -> None:
    answers = [FAILED] * (MOST_FAILURES - 1) + [AGAIN, FAILED, SENT]
    sending, catalogue = delivery(), Catalogue(*answers)
    async with sending.running(catalogue, describe):
        sending.put("a")
        sending.put("b")
        await until(lambda: not sending.pending)
    assert catalogue.asked == ["a"] * (MOST_FAILURES + 1) + ["b"]
    assert sending.outcomes == {Outcome.REFUSED: 1, Outcome.SENT: 1}


class PickyCatalogue(Catalogue):
    """A catalogue that seems to be away for some events; `away` tells so of an attempt."""

    def __init__(self, away: Callable[[str, int], bool]) -> None:
        super().__init__(SENT)
        self.away = away

    async def send(self, event: bytes) -> Sending:
        await super().send(event)
        name = self.asked[-1]
        return AGAIN if self.away(name, len(self.asked)) else SENT


async def test_an_event_for_which_the_catalogue_is_away_each_time_holds_up_no_other() -> None:
    sending, catalogue = delivery(), PickyCatalogue(lambda name, _: name in "ac")
    for name in "abcdef":
        sending.put(name)
    async with sending.running(catalogue, describe):
        await until(lambda: catalogue.asked[-1:] == ["c"] and sending.pending == 1)
        sending.put("g")
        sending.put("h")
        sending.put("i")
        await until(lambda: not sending.pending)
    taken = [name for name in catalogue.asked if name not in "ac"]
    assert taken == ["b", "d", "e", "f", "g", "h", "i"]
    assert sending.outcomes == {Outcome.REFUSED: 2, Outcome.SENT: 7}


@pytest.mark.parametrize("most", [1, MOST_FAILURES, 10 * MOST_FAILURES])
async def test_a_catalogue_that_was_away_for_all_events_gets_each_of_them(most: int) -> None:
    sending, catalogue = delivery(), PickyCatalogue(lambda _, number: number <= most)
    for name in "abcdef":
        sending.put(name)
    async with sending.running(catalogue, describe):
        await until(lambda: not sending.pending)
    assert sorted(catalogue.asked[most:]) == ["a", "b", "c", "d", "e", "f"]
    assert sending.outcomes == {Outcome.SENT: 6}


async def test_a_report_of_which_the_catalogue_takes_a_part_is_sent_whole_in_its_turn() -> None:
    async def describe_twice(name: str) -> Sequence[LineageEvent]:
        return [event(name), event(name * 2)]

    def is_away(name: str, number: int) -> bool:
        return number < 40 and name != "b"

    sending, catalogue = delivery(), PickyCatalogue(is_away)
    for name in "ab":
        sending.put(name)
    async with sending.running(catalogue, describe_twice):
        await until(lambda: not sending.pending)
    assert sorted(catalogue.asked[-4:]) == ["a", "aa", "b", "bb"]
    assert sending.outcomes == {Outcome.SENT: 4}


async def test_a_refused_event_is_counted_and_the_next_one_is_sent() -> None:
    sending, catalogue = delivery(), Catalogue(REFUSED, SENT)
    sending.put("a")
    sending.put("b")
    async with sending.running(catalogue, describe):
        await until(lambda: not sending.pending)
    assert catalogue.asked == ["a", "b"]
    assert sending.outcomes == {Outcome.REFUSED: 1, Outcome.SENT: 1}


async def test_what_does_not_fit_is_dropped_and_counted_and_the_work_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sending = delivery(most=2)
    for name in "abcd":
        sending.put(name)
    assert (sending.pending, sending.outcomes[Outcome.DROPPED]) == (2, 2)
    assert caplog.text.count("are dropped: too many wait") == 1
    catalogue = Catalogue(SENT)
    async with sending.running(catalogue, describe):
        await until(lambda: not sending.pending)
    assert catalogue.asked == ["a", "b"]


async def test_at_the_end_the_rest_is_sent_and_a_catalogue_that_is_away_tried_once() -> None:
    sending, catalogue = delivery(), Catalogue(SENT)
    async with sending.running(catalogue, describe):
        for name in "abc":
            sending.put(name)
    assert catalogue.asked == ["a", "b", "c"]
    away, slow = Catalogue(AGAIN), Delivery[str](delay=lambda _attempt: 3600.0)
    async with slow.running(away, describe):
        for name in "abc":
            slow.put(name)
        await until(lambda: bool(away.asked))
    assert away.asked == ["a", "a"]
    assert (slow.pending, slow.outcomes) == (0, {Outcome.DROPPED: 3})


async def test_a_catalogue_that_never_answers_holds_the_end_up_no_longer_than_the_flush(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.01)

    class Silent:
        async def send(self, _event: bytes) -> Sending:
            await asyncio.Event().wait()
            return SENT

    sending = delivery()
    async with sending.running(Silent(), describe):
        sending.put("a")
    assert sending.outcomes == {Outcome.DROPPED: 1}


async def test_a_store_that_is_away_is_asked_again_and_a_fault_of_ours_loses_one_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures: list[Exception] = [Unavailable("away"), Unavailable("away"), ValueError("odd")]

    async def fail_first(name: str) -> Sequence[LineageEvent]:
        if failures:
            raise failures.pop(0)
        return [event(name)]

    sending, catalogue = delivery(), Catalogue(SENT)
    sending.put("a")
    sending.put("b")
    async with sending.running(catalogue, fail_first):
        await until(lambda: not sending.pending)
    assert catalogue.asked == ["b"]
    assert sending.outcomes == {Outcome.SENT: 1, Outcome.DROPPED: 1}
    assert "could not be described" in caplog.text


async def test_a_fault_of_the_sender_loses_one_event_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class BrokenCatalogue(Catalogue):
        async def send(self, event: bytes) -> Sending:
            sending = await super().send(event)
            if len(self.asked) == 1:
                raise ValueError("odd")
            return sending

    sending, catalogue = delivery(), BrokenCatalogue(SENT)
    sending.put("a")
    sending.put("b")
    async with sending.running(catalogue, describe):
        await until(lambda: not sending.pending)
    assert sending.outcomes == {Outcome.SENT: 1, Outcome.REFUSED: 1}
    assert "could not be sent" in caplog.text


def test_delays_double_up_to_a_minute() -> None:
    for attempt, longest in ((0, 1), (3, 8), (6, 60), (1000, 60)):
        found = {delay_of(attempt) for _ in range(50)}
        assert longest / 2 <= min(found) <= max(found) <= longest


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, SENT),
        (201, SENT),
        (400, REFUSED),
        (401, REFUSED),
        (307, REFUSED),
        (408, AGAIN),
        (429, AGAIN),
        (502, AGAIN),
        (503, AGAIN),
        (504, AGAIN),
        (501, FAILED),
    ],
)
async def test_a_status_tells_what_became_of_an_event(status: int, result: Sending) -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        elsewhere = {"location": "http://elsewhere"}
        return httpx.Response(status, headers=elsewhere, stream=httpx.ByteStream(b"x" * 100_000))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        sender = HttpSender(client, "https://c.example/api/v1/lineage", "k3y")
        assert await sender.send(msgspec.json.encode(event("a"))) is result
    (request,) = requests
    assert (request.method, str(request.url)) == ("POST", "https://c.example/api/v1/lineage")
    assert request.headers["authorization"] == "Bearer k3y"
    assert json.loads(request.content)["job"] == {"namespace": "n", "name": "a"}


async def test_a_catalogue_that_is_not_reached_is_tried_again_and_the_key_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    caplog.set_level(logging.WARNING)
    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        sender = HttpSender(client, "https://c.example/", "k3y")
        assert await sender.send(b"{}") is AGAIN
    assert "not reached: ConnectError" in caplog.text
    assert "k3y" not in caplog.text


async def test_cookies_of_a_catalogue_are_not_kept() -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("cookie"))
        headers = {"set-cookie": f"a{len(seen)}=x"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(b""))

    async with open_http_client(transport=httpx.MockTransport(answer)) as client:
        for _ in range(3):
            assert await HttpSender(client, "https://c.example/").send(b"{}") is SENT
        assert len(client.cookies.jar) == 0
    assert seen == [None] * 3


async def test_an_answer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senders, "ANSWER_SECONDS", 0.01)

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b""
                await asyncio.sleep(0)

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Endless()))
    async with open_http_client(transport=transport) as client:
        assert await HttpSender(client, "https://c.example/").send(b"{}") is AGAIN


async def test_a_file_gets_a_line_for_each_event(tmp_path: Path) -> None:
    file = tmp_path / "lineage.ndjson"
    sending = delivery()
    for name in "ab":
        sending.put(name)
    async with sending.running(FileSender(file), describe):
        await until(lambda: not sending.pending)
    lines = [json.loads(line)["job"]["name"] for line in file.read_text().splitlines()]
    assert lines == ["a", "b"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert await FileSender(tmp_path / "none" / "file").send(b"{}") is AGAIN


async def test_a_line_that_a_full_disk_cuts_is_taken_back_and_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lineage.ndjson"
    sender, write = FileSender(file), os.write
    assert await sender.send(b'{"n": 1}') is Sending.SENT
    monkeypatch.setattr(os, "write", lambda to, data: write(to, data[:-3]))
    assert await sender.send(b'{"n": 2}') is AGAIN
    assert file.read_bytes() == b'{"n": 1}\n'
    monkeypatch.setattr(os, "write", write)
    assert await sender.send(b'{"n": 2}') is Sending.SENT
    assert file.read_bytes() == b'{"n": 1}\n{"n": 2}\n'


async def test_several_senders_append_whole_lines_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lineage.ndjson"
    sent = [b'{"n": "%s"}' % (str(n).encode() * 5_000) for n in range(8)]
    await asyncio.gather(*(FileSender(file).send(event) for event in sent))
    assert sorted(file.read_bytes().splitlines()) == sent

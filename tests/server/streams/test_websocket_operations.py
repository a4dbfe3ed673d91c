"""The limits of a connection's operations, and the end of operations and connection."""

import asyncio
import time
from dataclasses import replace

import pytest

from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.limits import Limits
from tests.server.streams.stream_client import QUICK, StreamHouse, accepted_client, connected_client
from tests.support.error_details import extensions_of
from tests.support.loop_clock import LONG, let_tasks_run, pass_time

SILENCE = "subscription { silence { number } }"
WRITE = 'mutation { write(text: "x") }'


async def test_an_id_is_taken_while_its_operation_runs() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        talk.ask("1", "{ hello }")
        assert await talk.wait_for_close() == (4409, "Subscriber for 1 already exists")
    assert house.world.closed_sources == 1


async def test_a_long_id_leaves_the_reason_within_what_a_frame_holds() -> None:
    async with connected_client(StreamHouse()) as talk:
        talk.ask("ä" * 100, SILENCE)
        await talk.next_message()
        talk.ask("ä" * 100, SILENCE)
        reason = (await talk.wait_for_close())[1]
        assert reason.startswith("Subscriber for ää")
        assert len(reason.encode()) <= 123


async def test_a_completed_operation_says_no_more_and_its_id_is_free() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        talk.say({"type": "complete", "id": "1"})
        talk.say({"type": "complete", "id": "unknown"})
        talk.ask("1", "{ hello }")
        assert [m["type"] for m in await talk.all_messages("1")] == ["next", "complete"]
        assert house.world.closed_sources == 1


async def test_a_client_that_leaves_takes_its_subscriptions_with_it() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        for id in "123":
            talk.ask(id, SILENCE)
            await talk.next_message()
        talk.leave()
        await talk.wait_until_returned()
    assert (house.world.closed_sources, len(house.streams)) == (3, 0)


async def test_what_a_caller_may_not_spend_is_refused_and_the_connection_stays() -> None:
    house = StreamHouse(share=2)
    house.learn("{ hello }", WRITE)
    async with connected_client(house) as talk, connected_client(house, "bob") as other:
        for id in "12":
            talk.ask(id, "{ hello }")
            assert [m["type"] for m in await talk.all_messages(id)] == ["next", "complete"]
        talk.ask("3", WRITE)
        (refused,) = await talk.all_messages("3")
        assert refused["type"] == "error"
        message = "You used up your rate limit; try again in 1 s."
        socket = house.opened[0].request_id.rpartition(".")[0]
        extensions = extensions_of("RATE_LIMITED", f"{socket}.3", retryAfter=1)
        assert refused["payload"] == [{"message": message, "extensions": extensions}]
        assert await other.is_served()
        talk.say({"type": "ping"})
        assert await talk.next_message() == {"type": "pong"}
    assert house.world.written == []


async def test_a_subscription_ends_when_its_events_cost_more_than_the_caller_has() -> None:
    house, ticks = StreamHouse(share=3), "subscription { ticks(to: 9) { number } }"
    house.learn(ticks)
    async with connected_client(house) as talk:
        talk.ask("1", ticks)
        messages = await talk.all_messages("1")
        assert [m["type"] for m in messages] == ["next", "next", "error"]
        assert messages[-1]["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert house.world.closed_sources == 1


@pytest.mark.parametrize("how", ["complete", "leave"])
async def test_a_mutation_runs_to_its_end_although_nobody_waits_for_it(how: str) -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", WRITE)
        await let_tasks_run()
        if how == "leave":
            talk.leave()
        else:
            talk.say({"type": "complete", "id": "1"})
        await let_tasks_run()
        assert house.world.written == []
        house.world.go.set()
        await let_tasks_run()
        assert house.world.written == ["x"]
        if how == "leave":
            await talk.wait_until_returned()
        else:
            assert await talk.is_served()  # and got no message about the mutation


async def test_a_query_nobody_waits_for_is_given_up() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", "{ wait }")
        await let_tasks_run()
        assert len(house.opened) == 1
        talk.say({"type": "complete", "id": "1"})
        await let_tasks_run()


async def test_so_many_operations_run_at_once_and_no_more() -> None:
    house = StreamHouse(replace(QUICK, operations=2))
    async with connected_client(house) as talk:
        for id in "12":
            talk.ask(id, SILENCE)
            await talk.next_message()
        opened = len(house.opened)
        talk.ask("3", 'mutation { write(text: "no") }')
        refused = await talk.next_message()
        assert (refused["id"], refused["type"]) == ("3", "error")
        assert refused["payload"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
        assert (len(house.opened), house.world.written) == (opened, [])
        talk.say({"type": "complete", "id": "1"})
        assert await talk.is_served()


async def test_a_mutation_that_was_abandoned_still_counts() -> None:
    house = StreamHouse(replace(QUICK, operations=1))
    async with connected_client(house) as talk:
        talk.ask("1", WRITE)
        talk.say({"type": "complete", "id": "1"})
        talk.ask("2", "{ hello }")
        assert (await talk.next_message())["type"] == "error"
        house.world.go.set()
        await let_tasks_run()
        assert await talk.is_served()


async def test_a_caller_holds_so_many_connections_and_others_as_many() -> None:
    house = StreamHouse(per_caller=2)
    async with (
        connected_client(house) as first,
        connected_client(house),
        connected_client(house, "bob"),
    ):
        async with accepted_client(house) as third:
            third.say({"type": "connection_init", "payload": {"authorization": "Bearer ann"}})
            reason = "You hold 2 streams already; that is the most."
            assert await third.wait_for_close() == (4403, reason)
        first.leave()
        await first.wait_until_returned()
        async with connected_client(house) as third:
            assert await third.is_served()
    assert len(house.streams) == 0


async def test_messages_are_read_at_a_pace_and_none_is_lost() -> None:
    async with connected_client(StreamHouse(replace(QUICK, messages_per_second=40))) as talk:
        started = time.monotonic()
        for _ in range(60):
            talk.say({"type": "ping"})
        answers = [await talk.next_message() for _ in range(60)]
        seconds = time.monotonic() - started
        assert answers == [{"type": "pong"}] * 60
        assert seconds >= 0.5 - 0.05  # 40 at once with the one that initialised, then 40 a second


async def test_the_connection_ends_with_the_token() -> None:
    house = StreamHouse(valid=LONG)
    async with connected_client(house) as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        await pass_time(LONG)
        assert await talk.wait_for_close() == (4403, "The token has expired")
    assert (house.world.closed_sources, len(house.streams)) == (1, 0)


async def test_a_token_for_ages_makes_no_trouble() -> None:
    async with connected_client(StreamHouse(valid=1e300)) as talk:
        assert await talk.is_served()


async def test_the_opening_of_a_subscription_has_a_deadline_and_its_first_event_has_none() -> None:
    house = StreamHouse(engine=Limits(deadline_seconds=LONG))
    async with connected_client(house) as talk:
        talk.ask("1", "subscription { late(opens: true) { number } }")
        talk.ask("2", "subscription { late(opens: false) { number } }")
        await let_tasks_run()
        await pass_time(LONG)
        late = await talk.next_message()
        assert (late["id"], late["type"]) == ("2", "error")
        assert [one["message"] for one in late["payload"]] == [
            "The operation took longer than 1000 s."
        ]
        assert [one["extensions"]["code"] for one in late["payload"]] == ["TIMEOUT"]
        assert house.world.closed_sources == 1
        await pass_time(LONG)
        house.world.go.set()
        told = await talk.next_message()
        assert (told["id"], told["type"]) == ("1", "next")
    assert house.world.closed_sources == 2


async def test_an_operation_has_a_deadline_and_a_subscription_has_none() -> None:
    house = StreamHouse(engine=Limits(deadline_seconds=LONG))
    async with connected_client(house) as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        talk.ask("2", "{ wait }")
        await pass_time(LONG)
        late = await talk.next_message()
        assert (late["id"], late["type"]) == ("2", "error")
        assert late["payload"] == [
            {
                "message": "The operation took longer than 1000 s.",
                "extensions": extensions_of("TIMEOUT", house.opened[-1].request_id),
            }
        ]
        await pass_time(LONG)
        assert house.world.closed_sources == 0
        assert await talk.is_served()


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("{ crash }", ["next", "complete"]),
        ("subscription { ticks(to: 1) { fails } }", ["next", "complete"]),
        ("subscription { breaks(expected: false) { number } }", ["next", "error"]),
    ],
)
async def test_what_crashes_is_masked_and_named_by_its_request(
    query: str, kinds: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", query)
        messages = await talk.all_messages("1")
        assert [one["type"] for one in messages] == kinds
        answers = [one["payload"] for one in messages if "payload" in one]
        errors = answers[-1] if kinds[-1] == "error" else answers[-1]["errors"]
        (error,) = errors
        assert error["message"] == "Internal error"
        request = house.opened[0].request_id
        assert error["extensions"] == extensions_of("INTERNAL_SERVER_ERROR", request)
        assert await talk.is_served()
    assert "secret of the house" in caplog.text


@pytest.mark.parametrize("method", ["run", "run_event"])
async def test_a_cancel_inside_is_told_and_leaves_the_connection(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def await_cancelled(*_operation: object, **_named: object) -> None:
        raise asyncio.CancelledError

    document = {"run": WRITE, "run_event": SILENCE}[method]
    async with connected_client(StreamHouse()) as talk:
        with monkeypatch.context() as patch:
            patch.setattr(GraphQLEngine, method, await_cancelled)
            talk.ask("1", document)
            (told,) = await talk.all_messages("1")
        (error,) = told["payload"]
        assert (told["type"], error["message"]) == ("error", "Internal error")
        assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
        assert "CancelledError" in caplog.text
        assert await talk.is_served()


async def test_a_slow_reader_holds_up_the_source_and_nobody_else() -> None:
    house = StreamHouse(replace(QUICK, queue=3))
    async with connected_client(house) as slow, connected_client(house, "bob") as quick:
        slow.free.clear()
        slow.ask("1", "subscription { ticks(to: 100) { number } }")
        await let_tasks_run()
        # Three messages wait in the queue, one is being sent, one waits for a place.
        assert house.world.produced == 5
        assert await quick.is_served()
        assert house.world.produced == 5
        slow.free.set()
        *ticks, last = await slow.all_messages("1")
        numbers = [one["payload"]["data"]["ticks"]["number"] for one in ticks]
        assert (numbers, last["type"]) == (list(range(100)), "complete")


async def test_a_reader_that_takes_nothing_is_given_up() -> None:
    house = StreamHouse(replace(QUICK, queue=1, stall_seconds=LONG))
    async with connected_client(house) as talk:
        talk.free.clear()
        talk.ask("1", "subscription { ticks(to: 100) { number } }")
        await pass_time(LONG)
        await talk.wait_until_returned()
        assert (house.world.closed_sources, len(house.streams)) == (1, 0)


async def test_a_mutation_whose_answer_cannot_be_sent_does_not_hold_the_connection() -> None:
    house = StreamHouse(replace(QUICK, queue=1, stall_seconds=LONG))
    house.world.go.set()
    async with connected_client(house) as talk:
        talk.free.clear()
        for id in "1234":
            talk.ask(id, WRITE)
        await let_tasks_run()
        talk.leave()
        await pass_time(LONG)
        await talk.wait_until_returned()
    assert (house.world.written, len(house.streams)) == (["x"] * 4, 0)


async def test_every_operation_is_shown_with_how_it_went() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.ask("1", "query Q { hello }")
        await talk.all_messages("1")
        talk.ask("2", "{")
        await talk.all_messages("2")
        talk.ask("3", "subscription { ticks(to: 2) { number } }")
        await talk.all_messages("3")
        await let_tasks_run()
    shown = [(one.transport, one.kind, one.name, one.outcome) for one in house.seen]
    assert shown == [
        ("websocket", "query", "Q", "OK"),
        ("websocket", "unknown", None, "GRAPHQL_PARSE_FAILED"),
        ("websocket", "subscription", None, "OK"),
    ]
    assert [one.units.calls for one in house.seen if one.units] == [1, 3]
    ids = [one.request_id for one in house.seen]
    assert [id.rpartition(".")[2] for id in ids] == ["1", "2", "3"]


async def test_documents_are_checked_once_whatever_they_come_over() -> None:
    house = StreamHouse()
    async with connected_client(house) as one, connected_client(house, "bob") as other:
        assert await one.is_served()
        kept = house.engine.cached_documents
        assert await other.is_served()
        assert house.engine.cached_documents == kept == 1

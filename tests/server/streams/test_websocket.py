"""graphql-transport-ws, message by message."""

import json
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.schema.engine.limits import Limits
from penstock.server.core.sites import site_of
from penstock.server.streams.messages import PROTOCOL
from tests.server.streams.stream_client import (
    ACK,
    INIT,
    QUICK,
    ProtocolClient,
    StreamHouse,
    accepted_client,
    connected_client,
    handshake,
)
from tests.support.loop_clock import LONG, pass_time
from tests.support.patience import until

TICKS = "subscription T($to: Int!) { ticks(to: $to) { number } }"


@pytest.mark.parametrize("protocols", [(), ("graphql-ws",), ("graphql-ws", "soap")])
async def test_other_protocols_are_not_spoken(protocols: tuple[str, ...]) -> None:
    async with handshake(StreamHouse(), protocols) as talk:
        assert await talk.next_sent() == {"type": "websocket.accept"}
        assert await talk.wait_for_close() == (4406, "Subprotocol not acceptable")


async def test_the_protocol_is_found_among_others() -> None:
    async with handshake(StreamHouse(), ("graphql-ws", PROTOCOL)) as talk:
        assert (await talk.next_sent())["subprotocol"] == PROTOCOL


@pytest.mark.parametrize(
    "origin", ["https://api.example.org", "http://API.example.org", "https://app.example.org", None]
)
async def test_our_own_page_an_allowed_one_and_no_page_may_connect(origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    async with accepted_client(StreamHouse(), **headers) as talk:
        talk.say(INIT)
        assert await talk.next_message() == ACK


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example.org",
        "https://api.example.org.evil.org",
        "https://api.example.org:8443",
        "http://app.example.org",
        "ftp://api.example.org",
        "null",
        "",
        "https://[",
    ],
)
async def test_the_page_of_another_site_may_not(origin: str) -> None:
    async with handshake(StreamHouse(), origin=origin) as talk:
        assert await talk.next_sent() == {"type": "websocket.close"}
        await talk.wait_until_returned()


@pytest.mark.parametrize(
    ("host", "origin"),
    [("example.org:443", "https://example.org"), ("example.org", "http://example.org:80")],
)
async def test_the_usual_port_may_be_named_or_left_out(host: str, origin: str) -> None:
    async with accepted_client(StreamHouse(), host=host, origin=origin):
        pass


async def test_the_connection_has_to_be_initialised_in_time() -> None:
    house = StreamHouse(replace(QUICK, init_seconds=LONG))
    async with accepted_client(house) as talk:
        talk.say({"type": "ping"})
        assert await talk.next_message() == {"type": "pong"}
        await pass_time(LONG)
        assert await talk.wait_for_close() == (4408, "Connection initialisation timeout")
    assert len(house.streams) == 0


async def test_nothing_runs_before_the_acknowledgement() -> None:
    house = StreamHouse()
    async with accepted_client(house) as talk:
        talk.ask("1", "{ hello }")
        assert await talk.wait_for_close() == (4401, "Unauthorized")
    assert house.opened == []


CROWDED = (1013, "Too many clients are connecting")


async def test_the_oldest_client_without_a_token_makes_room_for_a_newcomer() -> None:
    house = StreamHouse(unproven=2)
    async with accepted_client(house) as first, accepted_client(house) as second:
        async with connected_client(house) as third:
            assert await first.wait_for_close() == CROWDED
            assert await third.is_served()
        second.say(INIT)
        assert await second.next_message() == ACK
        assert await second.is_served()
    assert len(house.streams) == 0


async def test_a_flood_from_one_site_crowds_out_itself() -> None:
    house = StreamHouse(unproven=3)
    async with AsyncExitStack() as stack:

        async def connect(address: str) -> ProtocolClient:
            return await stack.enter_async_context(accepted_client(house, client=address))

        early = await connect("192.0.2.1")
        flood = [await connect(f"2001:db8::{number}") for number in range(2)]
        other = await connect("192.0.2.2")
        assert await flood[0].wait_for_close() == CROWDED
        late = await connect("2001:db8::ffff")
        assert await flood[1].wait_for_close() == CROWDED
        for one in (early, other, late):
            one.say(INIT)
            assert await one.next_message() == ACK
            assert await one.is_served()


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_are_one_site(address: str, site: str) -> None:
    assert site_of(address) == site


async def test_a_handshake_with_a_valid_token_counts_for_its_caller_only() -> None:
    house = StreamHouse(unproven=2, per_caller=2)
    async with accepted_client(house) as silent:
        async with (
            accepted_client(house, authorization="Bearer ann") as first,
            accepted_client(house, authorization="Bearer ann"),
            accepted_client(house, authorization="Bearer ann") as third,
        ):
            code, reason = await third.wait_for_close()
            assert (code, "that is the most" in reason) == (4403, True)
            first.say({"type": "connection_init"})
            assert await first.next_message() == ACK
            assert await first.is_served()
        silent.say(INIT)
        assert await silent.next_message() == ACK
    assert len(house.streams) == 0


@pytest.mark.parametrize("token", ["Bearer away", "Basic ann", "Bearer", ""])
async def test_a_handshake_with_a_bad_token_counts_as_without_one(token: str) -> None:
    house = StreamHouse(unproven=1)
    async with (
        accepted_client(house, authorization=token) as first,
        accepted_client(house, authorization=token) as second,
    ):
        assert await first.wait_for_close() == CROWDED
        second.say(INIT)
        assert await second.next_message() == ACK


async def test_a_client_counts_as_unproven_while_its_token_is_looked_at() -> None:
    house = StreamHouse(unproven=2)
    async with (
        accepted_client(house, authorization="Bearer slow") as first,
        accepted_client(house, authorization="Bearer slow"),
    ):
        await until(lambda: house.waiting == 2)
        async with accepted_client(house, authorization="Bearer slow") as third:
            assert await first.wait_for_close() == CROWDED
            house.issuer_answers.set()
            third.say(INIT)
            assert await third.next_message() == ACK
    assert len(house.streams) == 0


async def test_the_payload_wins_over_a_valid_token_of_the_handshake() -> None:
    house = StreamHouse()
    async with accepted_client(house, authorization="Bearer ann") as talk:
        talk.say({"type": "connection_init", "payload": {"authorization": "Basic ben"}})
        assert await talk.wait_for_close() == (4401, "There is no one token.")


async def test_who_leaves_without_a_word_makes_room_for_the_next() -> None:
    house = StreamHouse(unproven=2)
    async with accepted_client(house) as staying:
        for _ in range(3):
            async with accepted_client(house) as talk:
                talk.leave()
                await talk.wait_until_returned()
        staying.say(INIT)
        assert await staying.next_message() == ACK


async def test_a_connection_is_initialised_once() -> None:
    async with connected_client(StreamHouse()) as talk:
        talk.say(INIT)
        assert await talk.wait_for_close() == (4429, "Too many initialisation requests")


@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
async def test_the_payload_names_the_token_in_any_case(name: str) -> None:
    async with accepted_client(StreamHouse()) as talk:
        talk.say({"type": "connection_init", "payload": {name: "Bearer ann", "other": [1]}})
        assert await talk.next_message() == ACK


@pytest.mark.parametrize("payload", [{}, {"payload": None}, {"payload": {"authorization": None}}])
async def test_without_one_the_handshake_is_asked_for_it(payload: dict[str, Any]) -> None:
    async with accepted_client(StreamHouse(), authorization="Bearer ann") as talk:
        talk.say({"type": "connection_init", **payload})
        assert await talk.next_message() == ACK


async def test_the_payload_wins_over_the_handshake() -> None:
    async with accepted_client(StreamHouse(), authorization="Bearer ann") as talk:
        talk.say({"type": "connection_init", "payload": {"authorization": "Basic x"}})
        assert (await talk.wait_for_close())[0] == 4401


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({}, 4401),
        ({"authorization": 5}, 4401),
        ({"authorization": "Bearer a", "Authorization": "Bearer b"}, 4401),
        ({"token": "Bearer ann"}, 4401),
        ({"authorization": "Bearer away"}, 1013),
        ({"authorization": "Bearer denied"}, 1013),
        ({"authorization": "Bearer crash"}, 1011),
    ],
)
async def test_without_a_caller_there_is_no_connection(
    payload: dict[str, Any], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    house = StreamHouse()
    async with accepted_client(house) as talk:
        talk.say({"type": "connection_init", "payload": payload})
        closed = await talk.wait_for_close()
    assert (closed[0], "secret" in closed[1], "not allowed" in closed[1]) == (code, False, False)
    assert ("not allowed" in caplog.text) == ("denied" in str(payload))
    assert ("secret of the house" in caplog.text) == (code == 1011)
    assert (len(house.streams), house.opened) == (0, [])


INVALID = [
    "",
    "{",
    "null",
    "[]",
    '"ping"',
    "{}",
    '{"type": "start"}',
    '{"type": "next", "id": "1", "payload": {}}',
    '{"type": 1}',
    '{"type": "ping", "payload": 1}',
    '{"type": "complete"}',
    '{"type": "complete", "id": 1}',
    '{"type": "subscribe", "payload": {"query": "{ hello }"}}',
    '{"type": "subscribe", "id": "", "payload": {"query": "{ hello }"}}',
    '{"type": "subscribe", "id": 1, "payload": {"query": "{ hello }"}}',
    '{"type": "subscribe", "id": "1"}',
    '{"type": "subscribe", "id": "1", "payload": null}',
    '{"type": "subscribe", "id": "1", "payload": []}',
    '{"type": "subscribe", "id": "1", "payload": {}}',
    '{"type": "subscribe", "id": "1", "payload": {"query": 1}}',
    '{"type": "subscribe", "id": "1", "payload": {"query": "{ hello }", "variables": []}}',
    '{"type": "subscribe", "id": "1", "payload": {"query": "{ hello }", "variables": {"a": NaN}}}',
    json.dumps({"type": "subscribe", "id": "x" * 129, "payload": {"query": "{ hello }"}}),
    "[" * 100_000,
    "\ud800",
]


@pytest.mark.parametrize("text", INVALID)
async def test_an_invalid_message_ends_the_connection(text: str) -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.say(text)
        assert (await talk.wait_for_close())[0] == 4400
    assert house.opened == []


async def test_a_binary_frame_ends_the_connection() -> None:
    async with connected_client(StreamHouse()) as talk:
        talk.incoming.put_nowait({"type": "websocket.receive", "bytes": b'{"type":"ping"}'})
        assert await talk.wait_for_close() == (4400, "Messages are text")


async def test_a_message_has_a_largest_size_in_bytes() -> None:
    async with connected_client(StreamHouse(engine=Limits(body_bytes=100))) as talk:
        talk.say('{"type":"ping","payload":{"a":"' + "ä" * 33 + '"}}')
        assert await talk.next_message() == {"type": "pong"}
        talk.say('{"type":"ping","payload":{"a":"' + "ä" * 34 + '"}}')
        assert await talk.wait_for_close() == (1009, "A message has at most 100 bytes.")


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=60,
)
@given(
    st.text(max_size=40)
    | st.fixed_dictionaries(
        {"type": st.sampled_from(["connection_init", "ping", "pong", "subscribe", "complete"])},
        optional={
            "id": st.text(max_size=3) | st.integers(),
            "payload": st.none() | st.dictionaries(st.sampled_from(["query"]), st.text(max_size=9)),
        },
    ).map(json.dumps)
)
async def test_no_message_does_more_than_be_answered_or_end_the_connection(text: str) -> None:
    house = StreamHouse()
    async with connected_client(house) as talk:
        talk.say(text)
        talk.say({"type": "ping"})
        answers = [await talk.next_sent()]
        while answers[-1].get("text") != '{"type":"pong"}' and "code" not in answers[-1]:
            answers.append(await talk.next_sent())
        assert answers[-1].get("code", 4400) in (4400, 4429)
        if "code" in answers[-1]:
            await talk.wait_until_returned()
    assert len(house.streams) == 0


async def test_pings_are_answered_and_pongs_are_not() -> None:
    async with accepted_client(StreamHouse()) as talk:
        talk.say({"type": "pong"})
        talk.say({"type": "complete", "id": "1"})
        talk.say({"type": "ping", "payload": {"a": 1}})
        assert await talk.next_message() == {"type": "pong"}
        talk.say(INIT)
        assert await talk.next_message() == ACK
        talk.say({"type": "pong", "payload": {}})
        talk.say({"type": "ping"})
        assert await talk.next_message() == {"type": "pong"}


async def test_a_query_a_mutation_and_a_subscription_are_answered() -> None:
    house = StreamHouse()
    house.world.go.set()
    async with connected_client(house) as talk:
        assert await talk.is_served()
        talk.ask("2", 'mutation { write(text: "x") }')
        first, last = await talk.all_messages("2")
        assert (first["payload"], last) == (
            {"data": {"write": "x"}},
            {"id": "2", "type": "complete"},
        )
        talk.ask("3", TICKS, variables={"to": 3})
        *ticks, last = await talk.all_messages("3")
        assert [t["payload"]["data"]["ticks"]["number"] for t in ticks] == [0, 1, 2]
        assert last == {"id": "3", "type": "complete"}
    assert (house.world.written, house.world.closed_sources) == (["x"], 1)
    assert len(house.opened) == 1 + 1 + (1 + 3)


async def test_a_consistency_token_goes_out_with_an_answer_and_comes_back_with_a_request() -> None:
    house = StreamHouse()
    house.world.go.set()
    house.world.consistency_token = "what was written"
    async with connected_client(house) as talk:
        talk.ask("1", 'mutation { write(text: "x") }')
        first, _ = await talk.all_messages("1")
        assert first["payload"] == {
            "data": {"write": "x"},
            "extensions": {"consistencyToken": "what was written"},
        }
        house.world.consistency_token = None
        talk.ask("2", "{ hello }", extensions={"consistencyToken": "what was written"})
        first, _ = await talk.all_messages("2")
        assert first["payload"] == {"data": {"hello": "world"}}
    assert [one.consistency_token for one in house.opened] == [None, "what was written"]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "subscription {"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        (
            {"query": "subscription { a: silence { number } b: silence { number } }"},
            "GRAPHQL_VALIDATION_FAILED",
        ),
        ({"query": "query($v: Int!) { number(value: $v) }"}, "BAD_USER_INPUT"),
        ({"query": "subscription($v: Int!) { ticks(to: $v) { number } }"}, "BAD_USER_INPUT"),
        ({"query": "query A { hello } query B { hello }"}, "OPERATION_RESOLUTION_FAILURE"),
        ({"query": "{ a: hello b: hello c: hello }"}, "QUERY_TOO_LARGE"),
        ({"query": "{ __schema { queryType { name } } }"}, "INTROSPECTION_DISABLED"),
        ({"documentId": "a" * 64}, "PERSISTED_QUERY_NOT_FOUND"),
        ({"query": "subscription { breaks(expected: true) { number } }"}, "NOT_FOUND"),
    ],
)
async def test_what_cannot_be_run_ends_with_an_error_and_never_a_bare_complete(
    payload: dict[str, Any], code: str
) -> None:
    house = StreamHouse(introspection=False, engine=Limits(aliases=2, introspection_fields=500))
    async with connected_client(house) as talk:
        talk.say({"type": "subscribe", "id": "1", "payload": payload})
        *before, last = await talk.all_messages("1")
        assert last["type"] == "error"
        assert last["payload"][0]["extensions"]["code"] == code
        assert [one["payload"] for one in before] == (
            [{"data": {"breaks": {"number": 0}}}] if code == "NOT_FOUND" else []
        )
        assert await talk.is_served()

"""A server that stops while streams are open."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.streams.messages import PROTOCOL
from tests.server.streams.stream_client import StreamHouse, accepted_client, connected_client
from tests.server.streams.test_sse import SILENCE, post_stream
from tests.support.graphql_client import draft
from tests.support.loop_clock import let_tasks_run
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import VERIFY_TLS, RunningServer, running_server

pytestmark = pytest.mark.runs_together("shutdown")

CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  ...on CreatePipelinePayload { pipeline { id } } } }"""
CHANGED = "subscription($id: ID!) { pipelineChanged(id: $id) { name } }"


async def test_a_subscription_is_closed_so_that_its_client_comes_back() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk, post_stream(house, {"query": SILENCE}) as stream:
        talk.ask("1", SILENCE)
        assert (await talk.next_message())["type"] == "next"
        await stream.expect_open()
        await stream.part()
        house.streams.stop()
        assert await talk.wait_for_close() == (1012, "The server is stopping")
        assert await stream.rest() == [b": the server is stopping\n\n"]
        await asyncio.wait_for(house.streams.wait_until_none(), HUNG_SECONDS)
    assert house.world.closed_sources == 2


async def test_what_is_answered_once_is_still_answered() -> None:
    house = StreamHouse()
    async with connected_client(house) as talk, post_stream(house, {"query": "{ wait }"}) as stream:
        talk.ask("1", 'mutation { write(text: "x") }')
        talk.ask("2", SILENCE)
        assert (await talk.next_message())["id"] == "2"
        await stream.expect_open()
        house.streams.stop()
        await let_tasks_run()
        assert (talk.outgoing.empty(), stream.outgoing.empty()) == (True, True)
        house.world.go.set()
        assert [one["type"] for one in await talk.all_messages("1")] == ["next", "complete"]
        assert await talk.wait_for_close() == (1012, "The server is stopping")
        assert (await stream.rest())[0] == b'event: next\ndata: {"data":{"wait":"waited"}}\n\n'
    assert house.world.written == ["x"]


async def test_no_stream_is_opened_any_more() -> None:
    house = StreamHouse()
    house.streams.stop()
    async with post_stream(house, {"query": "{ hello }"}) as stream:
        status, headers = await stream.head()
        assert (status, headers["retry-after"]) == (503, "1")
    async with accepted_client(house) as talk:
        assert await talk.wait_for_close() == (1012, "The server is stopping")
    assert house.opened == []


class Guest:
    """A client with open streams on a real server."""

    def __init__(self, server: RunningServer) -> None:
        key = dev_key(server.data_dir)
        token = sign_dev_token(key, "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
        self.headers = {"authorization": f"Bearer {token}"}
        self.url = f"{server.url}/graphql"

    async def pipeline(self, http: httpx.AsyncClient) -> str:
        asked = {"query": CREATE, "variables": {"input": draft("one", group="/")}}
        answer = (await http.post(self.url, json=asked, headers=self.headers)).json()
        id: str = answer["data"]["createPipeline"]["pipeline"]["id"]
        return id

    async def subscribe(self, socket: ClientConnection, id: str) -> Any:
        await socket.send(json.dumps({"type": "connection_init", "payload": self.headers}))
        assert await socket.recv() == '{"type":"connection_ack"}'
        payload = {"query": CHANGED, "variables": {"id": id}}
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
        return json.loads(await socket.recv())["payload"]


@pytest.mark.parametrize("signalled", [signal.SIGINT, signal.SIGTERM])
async def test_a_real_server_stops_in_time_while_streams_are_open(
    signalled: signal.Signals, tmp_path: Path
) -> None:
    patience = f"{2 * HUNG_SECONDS:.0f}"
    with running_server(tmp_path, ["--no-seed"], PENSTOCK_SHUTDOWN_SECONDS=patience) as server:
        guest = Guest(server)
        socket_url = guest.url.replace("http://", "ws://")
        async with (
            httpx.AsyncClient(timeout=HUNG_SECONDS, verify=VERIFY_TLS) as http,
            connect(
                socket_url,
                subprotocols=[PROTOCOL],  # type: ignore[list-item]
                open_timeout=HUNG_SECONDS,
                ping_interval=None,
            ) as socket,
        ):
            id = await guest.pipeline(http)
            first = {"data": {"pipelineChanged": {"name": "one"}}}
            assert await guest.subscribe(socket, id) == first
            asked = {"query": CHANGED, "variables": {"id": id}}
            headers = guest.headers | {"accept": "text/event-stream"}
            async with http.stream("POST", guest.url, json=asked, headers=headers) as events:
                parts = events.aiter_text()
                assert await anext(parts) == ":\n\n"
                assert json.loads((await anext(parts)).partition("data: ")[2]) == first
                server.process.send_signal(signalled)
                assert [part async for part in parts] == [": the server is stopping\n\n"]
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
                    1012,
                    "The server is stopping",
                )
        # Long before its own limit, because it waits for no stream.
        assert await asyncio.to_thread(server.process.wait, HUNG_SECONDS) == 0

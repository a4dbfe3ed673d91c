"""A stream ends when a new request with its token would be refused, whatever the token says."""

import asyncio

import pytest

from penstock.datastore.errors import NotAuthenticated, RequestRefused, Unavailable
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.server.auth.tokens import Authentication
from penstock.server.streams import registry
from penstock.server.streams.registry import EndReason, StreamLifetime
from tests.server.streams.stream_client import StreamHouse, connected_client
from tests.server.streams.test_sse import post_stream
from tests.support.loop_clock import LONG, let_tasks_run, pass_time

NOBODY = Caller("ann", {})
SILENCE = "subscription { silence { number } }"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SESSION_CHECK_SECONDS", LONG)


async def test_a_socket_ends_when_its_token_is_withdrawn() -> None:
    house = StreamHouse()
    async with connected_client(house, "withdrawn") as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        await pass_time(2 * LONG)
        assert len(house.streams) == 1
        house.withdrawn = Unavailable("The issuer does not answer.")
        await pass_time(2 * LONG)
        assert len(house.streams) == 1
        house.withdrawn = NotAuthenticated("The token is signed with an unknown key.")
        await pass_time(2 * LONG)
        assert await talk.wait_for_close() == (4403, "The token has expired")
    assert (house.world.closed_sources, len(house.streams)) == (1, 0)


async def test_an_event_stream_ends_when_its_token_is_withdrawn() -> None:
    house = StreamHouse()
    async with post_stream(house, {"query": SILENCE}, authorization="Bearer withdrawn") as stream:
        await stream.expect_open()
        await stream.part()
        house.withdrawn = NotAuthenticated("The API key is not accepted.")
        await pass_time(2 * LONG)
        assert (await stream.rest())[-1] == b": the token has expired\n\n"
    assert house.world.closed_sources == 1


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("The table does not answer."),
        RequestRefused("GetItem", "AccessDeniedException", "no"),
    ],
    ids=["unavailable", "refused"],
)
async def test_a_socket_whose_token_cannot_be_verified_for_a_minute_ends(error: Exception) -> None:
    house = StreamHouse()
    async with connected_client(house, "withdrawn") as talk:
        talk.ask("1", SILENCE)
        await talk.next_message()
        for found in (error, error, error, None, error, error, error):
            house.withdrawn = found
            await pass_time(LONG)
        assert len(house.streams) == 1
        await pass_time(LONG)
        assert await talk.wait_for_close() == (1013, "The token cannot be verified now")
    assert (house.world.closed_sources, len(house.streams)) == (1, 0)


async def test_an_event_stream_whose_token_cannot_be_verified_for_a_minute_ends() -> None:
    house = StreamHouse()
    async with post_stream(house, {"query": SILENCE}, authorization="Bearer withdrawn") as stream:
        await stream.expect_open()
        await stream.part()
        house.withdrawn = Unavailable("The table does not answer.")
        for _ in range(4):
            await pass_time(LONG)
        assert (await stream.rest())[-1] == b": the token cannot be verified now\n\n"
    assert house.world.closed_sources == 1


async def test_a_stream_that_has_ended_is_watched_no_more() -> None:
    lifetime, asked = StreamLifetime(), []

    async def authenticate() -> Authentication:
        asked.append(lifetime.ending)
        return Authentication(NOBODY, None)

    lifetime.end(EndReason.DONE)
    await lifetime.watch_session(NOBODY, authenticate)
    await let_tasks_run()
    assert asked == []


async def test_a_stream_ends_when_its_token_has_other_roles() -> None:
    usa = GroupPath("/usa")
    found = [{usa: Role.READER}, {usa: Role.READER}, {}]

    async def authenticate() -> Authentication:
        return Authentication(Caller("ann", found.pop(0)), None)

    lifetime = StreamLifetime()
    caller = Caller("ann", {usa: Role.READER})
    watching = asyncio.create_task(lifetime.watch_session(caller, authenticate))
    await pass_time(LONG)
    await pass_time(LONG)
    assert (lifetime.ending, len(found)) == (None, 1)
    await pass_time(LONG)
    await watching
    assert lifetime.ending is EndReason.EXPIRED


@pytest.mark.parametrize("expires_at", [10**400, 1e300, 10**15])
async def test_a_token_that_never_expires_makes_no_trouble(expires_at: float) -> None:
    lifetime = StreamLifetime()
    async with lifetime:
        lifetime.expire_at(expires_at)
    assert lifetime.ending is None

"""Liveness and readiness, as a load balancer sees them."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from starlette.applications import Starlette

from penstock.datastore.errors import Unavailable
from penstock.server.edge.health import health_routes


async def answers() -> None:
    """A ping of an available store."""


async def fails() -> None:
    raise Unavailable("The store did not answer.")


async def breaks() -> None:
    raise OSError("secret detail")


async def hangs() -> None:
    await asyncio.sleep(30)


async def get(ping: Callable[[], Awaitable[object]], path: str) -> httpx.Response:
    app = Starlette(routes=health_routes(ping, seconds=0.05))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.get(path)


@pytest.mark.parametrize("ping", [answers, fails, breaks, hangs])
async def test_a_process_is_up_whatever_its_store_does(
    ping: Callable[[], Awaitable[object]],
) -> None:
    response = await get(ping, "/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "up"})


async def test_a_store_that_answers_makes_the_server_ready() -> None:
    response = await get(answers, "/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ready"})
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("ping", "reason"),
    [
        (fails, "The store did not answer."),
        (breaks, "The store failed."),
        (hangs, "The store did not answer within 0.05 s."),
    ],
)
async def test_a_store_that_does_not_answer_is_the_reason_for_not_being_ready(
    ping: Callable[[], Awaitable[object]], reason: str
) -> None:
    response = await get(ping, "/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "reason": reason}
    assert response.headers["cache-control"] == "no-store"


async def test_probes_at_the_same_time_ask_the_store_once() -> None:
    pings = 0

    async def count() -> None:
        nonlocal pings
        pings += 1

    app = Starlette(routes=health_routes(count))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        found = await asyncio.gather(*(client.get("/readyz") for _ in range(50)))
    assert ({each.status_code for each in found}, pings) == ({200}, 1)

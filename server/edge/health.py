"""Liveness and readiness endpoints."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import PenstockError
from penstock.server.core.recent_value import RecentValue

READY_SECONDS = 1.0

_FRESH = {"cache-control": "no-store"}

_log = structlog.get_logger(__name__)


def health_routes(
    ping: Callable[[], Awaitable[object]], seconds: float | None = None
) -> list[Route]:
    """Return `/healthz`, always 200, and `/readyz`: 200 if `ping` returns in time, else 503.

    The time is READY_SECONDS unless `seconds` are given. The endpoints need no token and reveal
    nothing about the store except that it fails. The store is asked at most once a second.
    """
    limit = READY_SECONDS if seconds is None else seconds
    unready = RecentValue(partial(_unready_reason, ping, limit))

    async def readyz(_: Request) -> Response:
        reason = await unready.get()
        if reason is None:
            return JSONResponse({"status": "ready"}, headers=_FRESH)
        return JSONResponse({"status": "unavailable", "reason": reason}, 503, headers=_FRESH)

    return [Route("/healthz", _healthz), Route("/readyz", readyz)]


async def _healthz(_: Request) -> Response:
    return JSONResponse({"status": "up"}, headers=_FRESH)


async def _unready_reason(ping: Callable[[], Awaitable[object]], seconds: float) -> str | None:
    try:
        async with asyncio.timeout(seconds):
            await ping()
    except TimeoutError:
        return f"The store did not answer within {seconds:g} s."
    except PenstockError as error:
        return error.message
    except Exception:
        # A load balancer needs an answer for any failure; the log has the details.
        _log.exception("the store failed")
        return "The store failed."
    return None

"""Refuses requests sent to a host name that is not ours, as a rebound DNS name would be."""

from collections.abc import Sequence

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

HEALTH = frozenset({"/healthz", "/readyz"})


class KnownHosts:
    """Starlette's check of the Host header for all but the health endpoints, which probes ask."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._guarded = TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        open_to_all = scope["type"] == "http" and scope["path"] in HEALTH
        await (self._app if open_to_all else self._guarded)(scope, receive, send)

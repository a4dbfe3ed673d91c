"""Refuses requests sent to a host name that is not ours, as a rebound DNS name would be."""

from collections.abc import Awaitable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.server.fields import fields_of

HEALTH = frozenset({"/healthz", "/readyz"})
METRICS = "/metrics"


class KnownHosts:
    """Starlette's check of the Host header for all but what probes and scrapers ask."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._guarded = TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self._app if self._is_open(scope) else self._guarded)(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        """Whether any host will do, or the host is one of ours; else Starlette looks closer."""
        is_ours = scope["type"] == "http" and _host(fields_of(scope)) in self._hosts
        return is_ours or _is_open(scope)


def _host(headers: Headers) -> str:
    return headers.get("host", "").split(":")[0]


def _is_open(scope: Scope) -> bool:
    """Whether any host will do; for the metrics any address, which no DNS name can stand for."""
    if scope["type"] != "http":
        return False
    if scope["path"] == METRICS:
        return _is_address(fields_of(scope).get("host") or "")
    return scope["path"] in HEALTH


def _is_address(host: str) -> bool:
    try:
        ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True

"""The check of the Host header, which shuts out rebound DNS names."""

from collections.abc import Awaitable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.server.core.headers import request_headers

HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
METRICS_PATH = "/metrics"


class HostCheck:
    """Starlette's check of the Host header, left out for health probes and metrics scrapers.

    It refuses requests for other host names, such as one from a rebound DNS name.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._guarded = TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self._app if self._is_admitted(scope) else self._guarded)(scope, receive, send)

    def _is_admitted(self, scope: Scope) -> bool:
        """Tell whether the request needs no check, or names one of our hosts exactly."""
        is_ours = scope["type"] == "http" and _host_name(request_headers(scope)) in self._hosts
        return is_ours or _accepts_any_host(scope)


def _host_name(headers: Headers) -> str:
    return headers.get("host", "").split(":")[0]


def _accepts_any_host(scope: Scope) -> bool:
    """Tell whether any host name is accepted; metrics accept any IP address.

    No DNS name can stand for an IP address in the Host header.
    """
    if scope["type"] != "http":
        return False
    if scope["path"] == METRICS_PATH:
        return _is_address(request_headers(scope).get("host") or "")
    return scope["path"] in HEALTH_PATHS


def _is_address(host: str) -> bool:
    try:
        ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True

"""The path of the public URL, below which everything lies that a browser is led to."""

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send


def serve_below_public_path(app: ASGIApp, public_url: str | None) -> ASGIApp:
    """Serve an application below the path of its public URL, if that has one."""
    prefix = urlsplit(public_url or "").path
    return _PrefixedApp(app, prefix) if prefix else app


class _PrefixedApp:
    """Tells an application its prefix, whether a proxy takes it from the path or leaves it there.

    The path of a request has the prefix in both cases, as ASGI wants it, and routes are those
    without it: some proxies cannot rewrite a path. It is taken away once.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == self._prefix:
            path = f"{path}/"
        elif not path.startswith(f"{self._prefix}/"):
            path = f"{self._prefix}{path}"
        await self._app({**scope, "root_path": self._prefix, "path": path}, receive, send)

"""The HTTP client of the server for services that an operator names."""

from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx


def open_http_client(**options: Any) -> httpx.AsyncClient:
    """Open a client that follows no redirect and keeps no cookies.

    A jar keeps as many as answers set, in memory and in each request.
    """
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(cookies=cookies, follow_redirects=False, **options)

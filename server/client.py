"""Asks a server over HTTP, as any client does."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import httpx

from penstock.server.outcome import CommandFailed, ExitCode

SECONDS = 60.0


class Client:
    """One server, and somebody who may ask it."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/") + "/graphql"
        headers = {"authorization": f"Bearer {token}"}
        # Loading the certificates of the system takes a while.
        trusted = httpx.create_ssl_context()
        self._asking = httpx.AsyncClient(headers=headers, timeout=SECONDS, verify=trusted)
        # What is signed needs no token, and others must not see it.
        self._files = httpx.AsyncClient(timeout=SECONDS, verify=trusted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._asking.aclose()
        await self._files.aclose()

    async def ask(self, query: str, **variables: Any) -> Any:
        """Give the value of the one root field; CommandFailed says why there is none."""
        try:
            answer = await self._asking.post(
                self._url, json={"query": query, "variables": variables}
            )
        except httpx.TransportError as error:
            raise _unreachable(self._url, error) from None
        return _value(answer.json())

    async def follow(self, query: str, **variables: Any) -> AsyncIterator[Any]:
        """Yield the values of a subscription's one field, over server-sent events."""
        request = {"query": query, "variables": variables}
        headers = {"accept": "text/event-stream"}
        try:
            async with self._asking.stream(
                "POST", self._url, json=request, headers=headers
            ) as events:
                async for line in events.aiter_lines():
                    if line.startswith("data: "):
                        yield _value(json.loads(line.removeprefix("data: ")))
        except httpx.TransportError as error:
            raise _unreachable(self._url, error) from None

    async def upload(self, form: Any, file: Path) -> None:
        """Send a file with the form it is to be uploaded by."""
        fields = {field["name"]: field["value"] for field in form["fields"]}
        headers = {field["name"]: field["value"] for field in form["headers"]}
        try:
            with file.open("rb") as content:
                answer = await self._files.request(
                    form["method"],
                    form["url"],
                    data=fields,
                    files={"file": (file.name, content)},
                    headers=headers,
                )
        except httpx.TransportError as error:
            raise _unreachable(form["url"], error) from None
        if answer.is_error:
            raise CommandFailed(f"The upload was refused with {answer.status_code}.")

    async def download(self, url: str, to: Path) -> None:
        """Save what is behind a URL."""
        try:
            async with self._files.stream("GET", url) as answer:
                answer.raise_for_status()
                with to.open("wb") as file:
                    async for chunk in answer.aiter_bytes():
                        file.write(chunk)
        except httpx.HTTPError as error:
            raise _unreachable(url, error) from None


def _value(answer: Any) -> Any:
    """The value of the one root field; its failures, and errors, end the command."""
    for error in answer.get("errors", ()):
        raise CommandFailed(error["message"])
    (value,) = answer["data"].values()
    if isinstance(value, dict) and "code" in value and "message" in value:
        raise CommandFailed(value["message"])
    return value


def _unreachable(url: str, error: Exception) -> CommandFailed:
    words = str(error) or type(error).__name__
    return CommandFailed(f"{url.partition('?')[0]}: {words}", code=ExitCode.STORE)

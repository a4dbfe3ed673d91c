"""One hostile request, as bytes, and how it is to be answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MARK = "MARK"
"""Stands for a text that is another one at each try: what was refused once is refused at once."""

ABSENT = "ABSENT"
"""Stands for a header that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offence:
    """A request over HTTP; `headers` replace those that every client sends.

    It is answered with `status`, `says` is in the answer, and `keeps` tells whether the connection
    is good for more.
    """

    name: str
    method: str = "POST"
    target: str = "/graphql"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    status: int
    says: str = ""
    keeps: bool = True

    def __str__(self) -> str:
        return self.name

    def request(self, host: str, token: str, meant: Mapping[str, str]) -> bytes:
        """Write the request; `meant` gives the texts that words of the offence stand for."""
        sent = {"host": host, "authorization": f"Bearer {token}", "accept": "application/json"}
        if self.method == "POST":
            sent |= {"content-type": "application/json"}
            sent |= {"content-length": str(len(_meant(self.body, meant)))}
        given = [name.lower() for name, _ in self.headers]
        lines = [(name, value) for name, value in sent.items() if name not in given]
        lines += [(name, value) for name, value in self.headers if value != ABSENT]
        head = "".join(f"{name}: {value}\r\n" for name, value in lines)
        first = f"{self.method} {self.target} HTTP/1.1\r\n{head}\r\n".encode("latin-1")
        return _meant(first + self.body, meant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """Bytes that are no request; the server may answer 400, and closes the connection."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Talked:
    """Messages over a WebSocket, texts or whole frames, after `connection_init` if `opened`.

    The server closes with the code, or keeps the connection where that is None; `says` is in what
    it sends.
    """

    name: str
    messages: tuple[str | bytes, ...]
    opened: bool = True
    closes: int | None = None
    says: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def asks(
    name: str,
    document: str,
    says: str,
    variables: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
) -> Offence:
    """A document sent as it should be."""
    body = {"query": f"{document} #{MARK}", "variables": variables or {}}
    raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Offence(name=name, body=raw, status=status, says=says, headers=headers)


def _meant(raw: bytes, meant: Mapping[str, str]) -> bytes:
    for word, text in meant.items():
        raw = raw.replace(word.encode(), text.encode())
    return raw

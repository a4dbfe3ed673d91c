"""One hostile request as bytes, and its expected answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MARK = "MARK"
"""Stands for a text that differs at each try, because refused documents are cached."""

ABSENT = "ABSENT"
"""Stands for a header that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offence:
    """A hostile request over HTTP; `headers` replace the usual ones.

    Its answer has `status` and contains `says`; `keeps` tells whether the connection stays usable.
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
        """Return the request as bytes; `meant` maps the words of the offence to texts."""
        sent = {"host": host, "authorization": f"Bearer {token}", "accept": "application/json"}
        if self.method == "POST":
            sent |= {"content-type": "application/json"}
            sent |= {"content-length": str(len(_replace_words(self.body, meant)))}
        given = [name.lower() for name, _ in self.headers]
        lines = [(name, value) for name, value in sent.items() if name not in given]
        lines += [(name, value) for name, value in self.headers if value != ABSENT]
        head = "".join(f"{name}: {value}\r\n" for name, value in lines)
        first = f"{self.method} {self.target} HTTP/1.1\r\n{head}\r\n".encode("latin-1")
        return _replace_words(first + self.body, meant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbage:
    """Bytes that are no request; the server may answer 400, and closes the connection."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileTalk:
    """Hostile WebSocket messages, texts or whole frames, after `connection_init` if `opened`.

    The server closes with the code, or keeps the connection if that is None; it sends `says`.
    """

    name: str
    messages: tuple[str | bytes, ...]
    opened: bool = True
    closes: int | None = None
    says: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def hostile_document(
    name: str,
    document: str,
    says: str,
    variables: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
) -> Offence:
    """Return a document in an otherwise proper request."""
    body = {"query": f"{document} #{MARK}", "variables": variables or {}}
    raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Offence(name=name, body=raw, status=status, says=says, headers=headers)


def _replace_words(raw: bytes, meant: Mapping[str, str]) -> bytes:
    for word, text in meant.items():
        raw = raw.replace(word.encode(), text.encode())
    return raw

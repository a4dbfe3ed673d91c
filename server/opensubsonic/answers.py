"""Answers of the OpenSubsonic API, as JSON and as XML, and its error codes."""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.responses import Response

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import (
    NotAuthenticated,
    NotFound,
    NotPermitted,
    PenstockError,
    RateLimited,
    TryAgain,
    Unavailable,
)
from penstock.datastore.request_threads import run_in_request_thread
from penstock.schema.core.scalars import encode_json
from penstock.server.edge.response import HttpProblem

API_VERSION: Final = "1.16.1"

Fields: TypeAlias = Mapping[str, object]
"""An element: its attributes, and its children as further elements or lists of them."""

_NAMESPACE: Final = "http://subsonic.org/restapi"
_TEXT: Final = "value"
"""The field that is the text of an element in XML."""

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEADERS: Final = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class SubsonicCode(IntEnum):
    """The error codes of the specification that the server uses."""

    GENERIC = 0
    MISSING_PARAMETER = 10
    CLIENT_MUST_UPGRADE = 20
    SERVER_MUST_UPGRADE = 30
    WRONG_PASSWORD = 40
    CONFLICTING_AUTHENTICATION = 43
    INVALID_API_KEY = 44
    NOT_AUTHORIZED = 50
    NOT_FOUND = 70


class SubsonicError(Exception):
    """A failure that is answered with a code of the specification."""

    def __init__(
        self, code: SubsonicCode, message: str, *, status: int = 200, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after = retry_after

    @classmethod
    def of(cls, error: PenstockError, *, of_file: bool = False) -> "SubsonicError":
        """Give a failure of the store its code in the specification.

        Where a file was asked for and may be had later, the status says so: a player could take an
        answer of status 200 for the file.
        """
        if not isinstance(error, TryAgain):
            return cls(_code_of(error), error.message)
        busy = 429 if isinstance(error, RateLimited) else 503
        return cls(
            SubsonicCode.GENERIC,
            error.message,
            status=busy if of_file else 200,
            retry_after=error.retry_after,
        )

    @classmethod
    def of_problem(cls, problem: HttpProblem, *, of_file: bool) -> "SubsonicError":
        """Answer with an unexpected exception, which the log has."""
        wait = problem.error["extensions"].get("retryAfter")
        if wait is None:
            return cls(SubsonicCode.GENERIC, "Internal error.")
        return cls.of(Unavailable(problem.error["message"], wait), of_file=of_file)


def _code_of(error: PenstockError) -> SubsonicCode:
    match error:
        case NotFound():
            return SubsonicCode.NOT_FOUND
        case NotPermitted():
            return SubsonicCode.NOT_AUTHORIZED
        case NotAuthenticated():
            return SubsonicCode.INVALID_API_KEY
    return SubsonicCode.GENERIC


def measure_answer(fields: Fields, most: int) -> int:
    """Count the characters of an answer, roughly, until they are more than `most`."""
    size, waiting = 0, list[object]([fields])
    while waiting and size <= most:
        one = waiting.pop()
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            size += sum(map(len, one)) + _MARKS * len(one)
            waiting += one.values()
        elif isinstance(one, Sequence):
            size += _MARKS * len(one)
            waiting += one
        else:
            size += _MARKS
    return size


async def answer_response(fields: Fields, *, as_json: bool, user: str = "") -> Response:
    """Answer a call of a user that succeeded; an answer in XML is written at the user's turn."""
    body = {"status": "ok", **_envelope(), **fields}
    if as_json:
        return _json_response(body)
    return _xml_response(await run_in_request_thread(lambda _: encode_xml(body), WorkPayer(user)))


def error_response(error: SubsonicError, *, as_json: bool) -> Response:
    """Answer a call that failed, mostly with the status 200, as the specification demands."""
    failure = {"code": int(error.code), "message": error.message}
    body = {"status": "failed", **_envelope(), "error": failure}
    response = _json_response(body) if as_json else _xml_response(encode_xml(body))
    response.status_code = error.status
    if error.retry_after is not None:
        response.headers["retry-after"] = str(error.retry_after)
    return response


def _json_response(body: Fields) -> Response:
    content = encode_json({"subsonic-response": body})
    return Response(content, media_type="application/json", headers=_HEADERS)


def _xml_response(content: bytes) -> Response:
    return Response(content, media_type="application/xml", headers=_HEADERS)


_MARKS: Final = 6
"""The characters around a value, roughly, and those of a number."""


@cache
def _envelope() -> Fields:
    try:
        release = version("penstock")
    except PackageNotFoundError:
        release = "unknown"
    return {
        "version": API_VERSION,
        "type": "penstock",
        "serverVersion": release,
        "openSubsonic": True,
    }


def encode_xml(body: Fields) -> bytes:
    """Write an answer as XML: plain values are attributes, all else are children."""
    root = Element("subsonic-response", {"xmlns": _NAMESPACE})
    _fill(root, body)
    content: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return content


def _fill(element: Element, fields: Fields) -> None:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            _fill(SubElement(element, name), value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for each in value:
                _add_child(element, name, each)
        elif name == _TEXT:
            element.text = _xml_text(value)
        else:
            element.set(name, _xml_text(value))


def _add_child(element: Element, name: str, value: object) -> None:
    child = SubElement(element, name)
    if isinstance(value, Mapping):
        _fill(child, value)
    else:
        child.text = _xml_text(value)


def _xml_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _NOT_IN_XML.sub(" ", str(value))

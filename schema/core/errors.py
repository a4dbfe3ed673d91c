"""Errors as clients see them: a code of the closed list, and no internals of the server."""

import logging
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from graphql import GraphQLError, GraphQLSyntaxError, ValueNode

from penstock.datastore.errors import RETRYABLE, ErrorCode, PenstockError, RequestRefused

FormattedError: TypeAlias = dict[str, Any]

logger = logging.getLogger("penstock.graphql")

_CODES: Final = frozenset(code.value for code in ErrorCode)

REFUSED: Final = "AWS refused a request of the server, whose log says which."

ERROR_PAGES: Final = "/errors"
"""The path below which the server has a page for each code."""

_DETAILS: Final = {
    code.value: {"retryable": code in RETRYABLE, "docUrl": f"{ERROR_PAGES}/{code.value}"}
    for code in ErrorCode
}
_MAX_MESSAGE: Final = 300
# graphql-core repeats the input after these words, and texts of exceptions after the last ones.
_ECHO: Final = re.compile(
    r"[,;] found: .*|(?<=\?) Found: .*|(?<= value)(?<!invalid value): .*"
    r"|, but encountered error .*",
    re.DOTALL,
)


class ErrorReport(NamedTuple):
    """Errors in the form of the answer, and the seconds to wait before a retry that may help."""

    errors: list[FormattedError]
    retry_after: int | None = None


def format_error(
    message: str, code: ErrorCode, extensions: dict[str, object] | None = None
) -> FormattedError:
    """Format an error that belongs to no position in a document."""
    return {"message": message, "extensions": {"code": code.value, **(extensions or {})}}


def add_details(errors: Sequence[FormattedError], request_id: str | None) -> list[FormattedError]:
    """Return the errors with what clients learn beside the code of each.

    `retryable` says whether the same request may succeed later, `docUrl` is the path of the code's
    page on this server, and `requestId` is in the server's log. Without a request id the server
    could not read the request. The given errors stay as they are: requests share those of a
    document.
    """
    named = {} if request_id is None else {"requestId": request_id}
    return [{**error, "extensions": _detail(error["extensions"]) | named} for error in errors]


def _detail(extensions: dict[str, Any]) -> dict[str, Any]:
    return extensions | _DETAILS[extensions["code"]]


def format_syntax_error(error: GraphQLError) -> FormattedError:
    """Format an error of the parser; its own limits have codes of their own."""
    code = ErrorCode.GRAPHQL_PARSE_FAILED
    if error.message.endswith("nested too deeply. Parsing aborted."):
        code = ErrorCode.QUERY_TOO_DEEP
    elif isinstance(error, GraphQLSyntaxError) and error.message.endswith(" Parsing aborted."):
        code = ErrorCode.QUERY_TOO_LARGE
    return _format_with_code(error, code)


def format_request_error(error: GraphQLError) -> FormattedError:
    """Format an error of a validation rule or a limit, raised before the operation ran."""
    return _format_with_code(error, ErrorCode.GRAPHQL_VALIDATION_FAILED)


def report_errors(errors: Sequence[GraphQLError], request_id: str, most: int) -> ErrorReport:
    """Format the errors of an execution: at most `most`; unexpected ones are logged and masked."""
    answered = [_format_execution_error(error, request_id) for error in errors[:most]]
    if len(errors) > most:
        logger.warning(
            "errors left out of an answer: %d", len(errors) - most, extra={"request_id": request_id}
        )
    for error in errors:
        forget_tracebacks(error)
    waits = [getattr(_root_cause(error), "retry_after", None) for error in errors]
    return ErrorReport(answered, max((wait for wait in waits if wait is not None), default=None))


def format_known_error(error: PenstockError) -> FormattedError:
    """Format an error of Penstock's own, whose message is meant for the client."""
    extensions = dict(error.extensions)
    if error.path is not None:
        extensions["path"] = error.path
    return {"message": error.message, "extensions": extensions}


def mask_internal_error(error: BaseException, request_id: str) -> FormattedError:
    """Log an unexpected exception with its traceback; the client sees the request id only.

    What AWS refuses, the operator may repair: the client can try again later.
    """
    logger.error("unexpected exception", exc_info=error, extra={"request_id": request_id})
    if isinstance(error, RequestRefused) and not error.is_fault:
        wait: dict[str, object] = {"requestId": request_id, "retryAfter": error.retry_after}
        return format_error(REFUSED, ErrorCode.SERVICE_UNAVAILABLE, wait)
    return format_error(
        "Internal error", ErrorCode.INTERNAL_SERVER_ERROR, {"requestId": request_id}
    )


def forget_tracebacks(error: BaseException | None) -> None:
    """Let an error that was described go of the frames that it passed, with all its causes.

    Some of these frames hold it, or the list of errors. So they would stay, with a body or an
    answer of the store that they hold, until a full collection, which a server hardly ever makes.
    """
    waiting, known = [error], set[int]()
    while waiting:
        error = waiting.pop()
        if error is not None and id(error) not in known:
            known.add(id(error))
            error.__traceback__ = None
            waiting += [error.__cause__, error.__context__, getattr(error, "original_error", None)]


def _format_execution_error(error: GraphQLError, request_id: str) -> FormattedError:
    cause = _root_cause(error)
    if isinstance(cause, PenstockError):
        return {**_format_position(error), **format_known_error(cause)}
    if _is_coded(error) or error.path is None or _is_argument_error(cause):
        return _format_with_code(error, ErrorCode.BAD_USER_INPUT)
    return {**_format_position(error), **mask_internal_error(cause, request_id)}


def _root_cause(error: GraphQLError) -> Exception:
    """Find the exception that was raised first; graphql-core wraps some more than once."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error is not None:
        cause = cause.original_error
    return cause


def _is_coded(error: GraphQLError) -> bool:
    return (error.extensions or {}).get("code") in _CODES


def _is_argument_error(cause: Exception) -> bool:
    """Tell an invalid argument from a result that does not fit the schema, our own fault."""
    return (
        isinstance(cause, GraphQLError)
        and bool(cause.nodes)
        and isinstance(cause.nodes[0] if cause.nodes else None, ValueNode)
    )


def _format_with_code(error: GraphQLError, code: ErrorCode) -> FormattedError:
    coded = (error.extensions or {}) if _is_coded(error) else {"code": code.value}
    return {
        **_format_position(error),
        "message": _cut_message(error.message),
        "extensions": dict(coded),
    }


def _format_position(error: GraphQLError) -> FormattedError:
    placed = dict(error.formatted)
    placed.pop("extensions", None)
    return placed


def _cut_message(message: str) -> str:
    shown = _ECHO.sub("", message)[:_MAX_MESSAGE]
    return shown if shown == message or shown.endswith((".", "?")) else shown + "."

"""DynamoDB's error codes, and the errors of the table port that they become."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any

import aiohttp
from botocore.exceptions import (
    ChecksumError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    MetadataRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.wire import decode_item
from penstock.datastore.errors import LimitExceeded, RequestRefused, Unavailable
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.table import limits
from penstock.datastore.table.port import FailedCheck

_CREDENTIALS_SECONDS = 10

logger = logging.getLogger("penstock.aws")

LOST_ANSWER: tuple[type[Exception], ...] = (
    HTTPClientError,
    BotoConnectionError,
    ChecksumError,
    ResponseParserError,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
)
"""No complete answer came; whether the request took effect is unknown."""

STRANGE_ANSWER: tuple[type[Exception], ...] = (
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
)
"""An answer lacks what AWS always sends, or has it in a form that AWS never sends."""

NO_CREDENTIALS: tuple[type[Exception], ...] = (
    CredentialRetrievalError,
    MetadataRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
"""There are no credentials, or their source does not give them."""

EXPIRED = frozenset(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"))
"""The codes of all services with which AWS refuses credentials that are no longer valid."""

_CREDENTIAL_CALLS = frozenset(
    ("AssumeRole", "AssumeRoleWithSAML", "AssumeRoleWithWebIdentity", "GetRoleCredentials")
)
_STILL_EXPIRED = "refreshed credentials are still expired"


@contextmanager
def own_credentials() -> Iterator[None]:
    """Raise Unavailable where the server's own credentials cannot be had, or are not renewed."""
    try:
        yield
    except NO_CREDENTIALS as error:
        raise _credentials_failed(describe_error(error)) from error
    except RuntimeError as error:
        if _STILL_EXPIRED not in str(error):
            raise
        raise _credentials_failed(describe_error(error)) from error
    except ClientError as error:
        if error.operation_name not in _CREDENTIAL_CALLS and error_code(error) not in EXPIRED:
            raise
        raise _credentials_failed(error_code(error)) from error


def _credentials_failed(problem: str) -> Unavailable:
    # The words may name files and hosts of the server, so they go to the log alone.
    logger.warning("there are no valid credentials for AWS: %s", problem)
    return Unavailable("The server has no valid credentials for AWS.", _CREDENTIALS_SECONDS)


class ErrorMeaning(Enum):
    """The treatment of an error code."""

    RETRY = "nothing is wrong with the request: it may be sent again"
    CANCELLED = "a transaction was cancelled: its reasons decide"
    REFUSED = "the request, the table or the credentials are wrong: the same request never succeeds"


MEANINGS: Mapping[str, ErrorMeaning] = {
    "InternalFailure": ErrorMeaning.RETRY,
    "InternalServerError": ErrorMeaning.RETRY,
    "LimitExceededException": ErrorMeaning.RETRY,
    "ProvisionedThroughputExceeded": ErrorMeaning.RETRY,
    "ProvisionedThroughputExceededException": ErrorMeaning.RETRY,
    "ReplicatedWriteConflictException": ErrorMeaning.RETRY,
    "RequestLimitExceeded": ErrorMeaning.RETRY,
    "RequestTimeout": ErrorMeaning.RETRY,
    "ServiceUnavailable": ErrorMeaning.RETRY,
    "Throttling": ErrorMeaning.RETRY,
    "ThrottlingError": ErrorMeaning.RETRY,
    "ThrottlingException": ErrorMeaning.RETRY,
    "TransactionConflict": ErrorMeaning.RETRY,
    "TransactionConflictException": ErrorMeaning.RETRY,
    "TransactionInProgressException": ErrorMeaning.RETRY,
    "TransactionCanceledException": ErrorMeaning.CANCELLED,
    "AccessDeniedException": ErrorMeaning.REFUSED,
    "ExpiredTokenException": ErrorMeaning.REFUSED,
    "IdempotentParameterMismatchException": ErrorMeaning.REFUSED,
    "InvalidSignatureException": ErrorMeaning.REFUSED,
    "ItemCollectionSizeLimitExceededException": ErrorMeaning.REFUSED,
    "MissingAuthenticationTokenException": ErrorMeaning.REFUSED,
    "ResourceInUseException": ErrorMeaning.REFUSED,
    "ResourceNotFoundException": ErrorMeaning.REFUSED,
    "SerializationException": ErrorMeaning.REFUSED,
    "UnrecognizedClientException": ErrorMeaning.REFUSED,
    "ValidationException": ErrorMeaning.REFUSED,
}

LIMITS: Mapping[str, tuple[str, int]] = {
    "exceeded the maximum allowed size": ("bytes of an item", limits.ITEM_BYTES),
    "more than 38 significant digits": ("digits of a number", limits.NUMBER_DIGITS),
    "Number overflow": ("exponent of a number", limits.NUMBER_EXPONENT),
    "Number underflow": ("negative exponent of a number", limits.NUMBER_NEGATIVE_EXPONENT),
}
"""DynamoDB's text where an update passes a limit that the guards cannot check because they do not
know the stored item. The value is the limit's name and maximum."""


class TransactionCancelled(Exception):
    """A transaction changed nothing, because the `failed` conditions did not hold."""

    def __init__(self, failed: tuple[FailedCheck, ...]) -> None:
        super().__init__(f"{len(failed)} condition(s) failed")
        self.failed = failed


def error_code(error: ClientError) -> str:
    return _error_field(error, "Code")


def _error_field(error: ClientError, name: str) -> str:
    """Return a field of the error; the empty text where an answer has none that is a text."""
    found: object = error.response.get("Error")
    field = found.get(name) if isinstance(found, dict) else None
    return field if isinstance(field, str) else ""


def cancellation_reasons(error: ClientError) -> list[dict[str, Any]]:
    """The reasons for which a transaction was cancelled, one for each operation, in their order."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons") or []
    return reasons


def is_retryable(error: ClientError) -> bool:
    """Whether the same request may succeed later.

    A cancelled transaction may if any reason is transient, even beside failed conditions: DynamoDB
    did not evaluate the conditions of operations that met a conflict. So the list of failed
    conditions that a caller receives is complete.
    """
    if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
        return True
    meaning = meaning_of(error_code(error))
    if meaning is not ErrorMeaning.CANCELLED:
        return meaning is ErrorMeaning.RETRY
    return any(
        meaning_of(reason["Code"]) is ErrorMeaning.RETRY for reason in cancellation_reasons(error)
    )


def meaning_of(code: str) -> ErrorMeaning:
    """Look up the code; an unknown one counts as refused, because blind retries hide bugs."""
    return MEANINGS.get(code, ErrorMeaning.REFUSED)


def port_error(error: ClientError) -> Exception:
    """The error of the port for an answer that no further attempt would change."""
    failed = tuple(_failed_checks(error))
    if failed:
        return TransactionCancelled(failed)
    words = _error_text(error)
    for phrase, (limit, maximum) in LIMITS.items():
        if phrase in words:
            # DynamoDB does not give the size: this is the least above the limit.
            return LimitExceeded(limit, maximum, maximum + 1)
    return RequestRefused(error.operation_name, error_code(error), words)


def _failed_checks(error: ClientError) -> Iterator[FailedCheck]:
    for position, reason in enumerate(cancellation_reasons(error)):
        if reason["Code"] == "ConditionalCheckFailed":
            item = reason.get("Item")
            yield FailedCheck(position, decode_item(item) if item else None)


def _error_text(error: ClientError) -> str:
    reasons = [
        f"{position}: {reason['Code']} {reason.get('Message', '')}".rstrip()
        for position, reason in enumerate(cancellation_reasons(error))
        if reason["Code"] != "None"
    ]
    # Below its first line, AWS repeats the request with the token of its session.
    message = _error_field(error, "Message").partition("\n")[0]
    return "; ".join([message, *reasons])

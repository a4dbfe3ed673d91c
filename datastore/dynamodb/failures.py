"""What DynamoDB's error codes mean to a caller of the port."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import aiohttp
from botocore.exceptions import ChecksumError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.wire import decode_item
from penstock.datastore.errors import LimitExceeded, Refused
from penstock.datastore.table import limits
from penstock.datastore.table.port import FailedCheck

LOST_ANSWER: tuple[type[Exception], ...] = (
    HTTPClientError,
    BotoConnectionError,
    ChecksumError,
    ResponseParserError,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
)
"""No whole answer came; whether the request took effect is unknown."""


class Meaning(Enum):
    """What to do about an error code."""

    AGAIN = "nothing is wrong with the request: it may be sent again"
    CANCELLED = "a transaction was cancelled: its reasons say what follows"
    REFUSED = "the request, the table or the credentials are wrong: the same request never succeeds"


MEANINGS: Mapping[str, Meaning] = {
    "InternalFailure": Meaning.AGAIN,
    "InternalServerError": Meaning.AGAIN,
    "LimitExceededException": Meaning.AGAIN,
    "ProvisionedThroughputExceeded": Meaning.AGAIN,
    "ProvisionedThroughputExceededException": Meaning.AGAIN,
    "ReplicatedWriteConflictException": Meaning.AGAIN,
    "RequestLimitExceeded": Meaning.AGAIN,
    "RequestTimeout": Meaning.AGAIN,
    "ServiceUnavailable": Meaning.AGAIN,
    "Throttling": Meaning.AGAIN,
    "ThrottlingError": Meaning.AGAIN,
    "ThrottlingException": Meaning.AGAIN,
    "TransactionConflict": Meaning.AGAIN,
    "TransactionConflictException": Meaning.AGAIN,
    "TransactionInProgressException": Meaning.AGAIN,
    "TransactionCanceledException": Meaning.CANCELLED,
    "AccessDeniedException": Meaning.REFUSED,
    "ExpiredTokenException": Meaning.REFUSED,
    "IdempotentParameterMismatchException": Meaning.REFUSED,
    "InvalidSignatureException": Meaning.REFUSED,
    "ItemCollectionSizeLimitExceededException": Meaning.REFUSED,
    "MissingAuthenticationTokenException": Meaning.REFUSED,
    "ResourceInUseException": Meaning.REFUSED,
    "ResourceNotFoundException": Meaning.REFUSED,
    "SerializationException": Meaning.REFUSED,
    "UnrecognizedClientException": Meaning.REFUSED,
    "ValidationException": Meaning.REFUSED,
}

LIMITS: Mapping[str, tuple[str, int]] = {
    "exceeded the maximum allowed size": ("bytes of an item", limits.ITEM_BYTES),
    "more than 38 significant digits": ("digits of a number", limits.NUMBER_DIGITS),
    "Number overflow": ("exponent of a number", limits.NUMBER_EXPONENT),
    "Number underflow": ("negative exponent of a number", limits.NUMBER_NEGATIVE_EXPONENT),
}
"""What DynamoDB says where an update passes a limit that the guards cannot see: they do not know
what stands there. With the limit's name and maximum."""


class Cancelled(Exception):
    """A transaction changed nothing, because `failed` conditions did not hold."""

    def __init__(self, failed: tuple[FailedCheck, ...]) -> None:
        super().__init__(f"{len(failed)} condition(s) failed")
        self.failed = failed


def code_of(error: ClientError) -> str:
    code: str = error.response["Error"]["Code"]
    return code


def reasons_of(error: ClientError) -> list[dict[str, Any]]:
    """List why a transaction was cancelled: a reason for each of its operations, in their order."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons") or []
    return reasons


def may_go_again(error: ClientError) -> bool:
    """Tell whether the same request may succeed later.

    A cancelled transaction may if any reason is of a passing kind, even beside failed conditions:
    operations that met a conflict had no condition evaluated, and the list of failed conditions
    that a caller gets is complete.
    """
    if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
        return True
    meaning = meaning_of(code_of(error))
    if meaning is not Meaning.CANCELLED:
        return meaning is Meaning.AGAIN
    return any(meaning_of(reason["Code"]) is Meaning.AGAIN for reason in reasons_of(error))


def meaning_of(code: str) -> Meaning:
    """Look the code up; an unknown one is refused, as repeating the unexplained hides bugs."""
    return MEANINGS.get(code, Meaning.REFUSED)


def verdict(error: ClientError) -> Exception:
    """Say what a caller of the port gets for an answer that no further attempt would change."""
    failed = tuple(_failed_checks(error))
    if failed:
        return Cancelled(failed)
    words = _words(error)
    for phrase, (limit, maximum) in LIMITS.items():
        if phrase in words:
            # By how much is not told: this is the least that passes the limit.
            return LimitExceeded(limit, maximum, maximum + 1)
    return Refused(error.operation_name, code_of(error), words)


def _failed_checks(error: ClientError) -> Iterator[FailedCheck]:
    for position, reason in enumerate(reasons_of(error)):
        if reason["Code"] == "ConditionalCheckFailed":
            item = reason.get("Item")
            yield FailedCheck(position, decode_item(item) if item else None)


def _words(error: ClientError) -> str:
    reasons = [
        f"{position}: {reason['Code']} {reason.get('Message', '')}".rstrip()
        for position, reason in enumerate(reasons_of(error))
        if reason["Code"] != "None"
    ]
    return "; ".join([error.response["Error"]["Message"], *reasons])

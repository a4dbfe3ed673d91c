"""DynamoDB's error codes, and the errors of the table port that they become."""

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
"""No complete answer came; whether the request took effect is unknown."""


class Meaning(Enum):
    """The treatment of an error code."""

    AGAIN = "nothing is wrong with the request: it may be sent again"
    CANCELLED = "a transaction was cancelled: its reasons decide"
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
"""DynamoDB's text where an update passes a limit that the guards cannot check because they do not
know the stored item. The value is the limit's name and maximum."""


class Cancelled(Exception):
    """A transaction changed nothing, because the `failed` conditions did not hold."""

    def __init__(self, failed: tuple[FailedCheck, ...]) -> None:
        super().__init__(f"{len(failed)} condition(s) failed")
        self.failed = failed


def code_of(error: ClientError) -> str:
    code: str = error.response["Error"]["Code"]
    return code


def reasons_of(error: ClientError) -> list[dict[str, Any]]:
    """The reasons for which a transaction was cancelled, one for each operation, in their order."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons") or []
    return reasons


def may_go_again(error: ClientError) -> bool:
    """Whether the same request may succeed later.

    A cancelled transaction may if any reason is transient, even beside failed conditions: DynamoDB
    did not evaluate the conditions of operations that met a conflict. So the list of failed
    conditions that a caller receives is complete.
    """
    if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
        return True
    meaning = meaning_of(code_of(error))
    if meaning is not Meaning.CANCELLED:
        return meaning is Meaning.AGAIN
    return any(meaning_of(reason["Code"]) is Meaning.AGAIN for reason in reasons_of(error))


def meaning_of(code: str) -> Meaning:
    """Look up the code; an unknown one counts as refused, because blind retries hide bugs."""
    return MEANINGS.get(code, Meaning.REFUSED)


def verdict(error: ClientError) -> Exception:
    """The error of the port for an answer that no further attempt would change."""
    failed = tuple(_failed_checks(error))
    if failed:
        return Cancelled(failed)
    words = _words(error)
    for phrase, (limit, maximum) in LIMITS.items():
        if phrase in words:
            # DynamoDB does not give the size: this is the least above the limit.
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

"""The treatment of DynamoDB's error codes."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.session import get_session

from penstock.datastore.dynamodb.failures import (
    MEANINGS,
    ErrorMeaning,
    TransactionCancelled,
    is_retryable,
    meaning_of,
    port_error,
)
from penstock.datastore.errors import LimitExceeded, RequestRefused
from penstock.datastore.table.port import FailedCheck

CALLED = (
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DescribeTable",
    "DescribeTimeToLive",
    "GetItem",
    "Query",
    "TransactWriteItems",
    "UpdateTable",
    "UpdateTimeToLive",
)


def failure(code: str, *, status: int = 400, message: str = "", reasons: Any = ()) -> ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "CancellationReasons": list(reasons),
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "TransactWriteItems")


def cancelled_error(*codes: str) -> ClientError:
    return failure("TransactionCanceledException", reasons=[{"Code": code} for code in codes])


@pytest.mark.parametrize("operation", CALLED)
def test_every_error_that_a_called_operation_declares_has_a_meaning(operation: str) -> None:
    model = get_session().get_service_model("dynamodb").operation_model(operation)
    declared = {
        shape.metadata.get("error", {}).get("code", shape.name) for shape in model.error_shapes
    }
    assert declared
    assert declared <= MEANINGS.keys()


@pytest.mark.parametrize(
    "code",
    [
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionInProgressException",
    ],
)
def test_passing_failures_may_go_again(code: str) -> None:
    assert is_retryable(failure(code))


@pytest.mark.parametrize(
    "code",
    [
        "AccessDeniedException",
        "IdempotentParameterMismatchException",
        "ResourceNotFoundException",
        "ValidationException",
        "NeverHeardOfException",
    ],
)
def test_refusals_do_not_go_again(code: str) -> None:
    assert not is_retryable(failure(code))
    assert meaning_of(code) is ErrorMeaning.REFUSED
    refused = port_error(failure(code, message="because"))
    assert isinstance(refused, RequestRefused)
    assert str(refused) == f"TransactWriteItems was refused with {code}: because"


@pytest.mark.parametrize("status", [500, 502, 503])
def test_any_failure_of_the_server_may_go_again(status: int) -> None:
    assert is_retryable(failure(str(status), status=status))


@pytest.mark.parametrize(
    ("codes", "again"),
    [
        (["TransactionConflict", "None"], True),
        (["None", "ThrottlingError"], True),
        (["ProvisionedThroughputExceeded"], True),
        (["ConditionalCheckFailed", "TransactionConflict"], True),
        (["ConditionalCheckFailed", "None"], False),
        (["ValidationError"], False),
        (["ItemCollectionSizeLimitExceeded"], False),
    ],
)
def test_a_cancelled_transaction_goes_again_when_a_reason_passes(
    codes: list[str], again: bool
) -> None:
    assert is_retryable(cancelled_error(*codes)) is again


def test_failed_conditions_keep_their_places_and_old_items() -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Item": {"n": {"N": "7"}}},
        {"Code": "ConditionalCheckFailed"},
    ]
    verdict_ = port_error(failure("TransactionCanceledException", reasons=reasons))
    assert isinstance(verdict_, TransactionCancelled)
    assert verdict_.failed == (FailedCheck(1, {"n": 7}), FailedCheck(2, None))


@pytest.mark.parametrize(
    ("message", "limit", "maximum"),
    [
        ("Item size to update has exceeded the maximum allowed size", "bytes of an item", 409_600),
        (
            "Attempting to store more than 38 significant digits in a Number",
            "digits of a number",
            38,
        ),
        (
            "Number overflow. Attempting to store a number with magnitude larger than supported",
            "exponent of a number",
            125,
        ),
        (
            "Number underflow. Attempting to store a number with magnitude smaller than supported",
            "negative exponent of a number",
            130,
        ),
    ],
)
def test_an_update_that_grows_past_a_limit_says_which(
    message: str, limit: str, maximum: int
) -> None:
    reasons = [{"Code": "ValidationError", "Message": message}]
    exceeded = port_error(failure("TransactionCanceledException", reasons=reasons))
    assert isinstance(exceeded, LimitExceeded)
    assert (exceeded.limit, exceeded.maximum, exceeded.actual) == (limit, maximum, maximum + 1)


def test_an_invalid_operation_is_named_in_the_refusal() -> None:
    reasons = [{"Code": "None"}, {"Code": "ValidationError", "Message": "wrong type"}]
    refused = port_error(
        failure("TransactionCanceledException", message="cancelled", reasons=reasons)
    )
    assert str(refused) == (
        "TransactWriteItems was refused with TransactionCanceledException: "
        "cancelled; 1: ValidationError wrong type"
    )


def test_a_refused_signature_is_told_without_the_request_that_aws_repeats() -> None:
    told = "The request signature we calculated does not match the signature you provided."
    repeated = f"{told}\n\nThe Canonical String should have been\n'x-amz-security-token:s3cret'"
    refused = port_error(failure("InvalidSignatureException", message=repeated))
    assert str(refused) == (
        f"TransactWriteItems was refused with InvalidSignatureException: {told}"
    )

"""Why a request is sent again, for those who watch."""

from botocore.exceptions import ClientError

from penstock.datastore.dynamodb.failures import code_of, reasons_of
from penstock.datastore.observed import Again

_THROTTLES = ("Throttl", "ProvisionedThroughput", "RequestLimitExceeded", "SlowDown")
_CONFLICTS = ("TransactionConflict", "TransactionInProgress", "ReplicatedWriteConflict")


def why(cause: Exception | None) -> Again:
    """Name the reason; without a cause, the store left a part of a batch undone."""
    if cause is None:
        return Again.UNPROCESSED
    if not isinstance(cause, ClientError):
        return Again.LOST
    codes = [code_of(cause), *(str(reason["Code"]) for reason in reasons_of(cause))]
    if any(code.startswith(_THROTTLES) for code in codes):
        return Again.THROTTLED
    if any(code.startswith(_CONFLICTS) for code in codes):
        return Again.CONFLICT
    return Again.FAILED

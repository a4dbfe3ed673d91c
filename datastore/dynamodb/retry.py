"""Retries inside one deadline, with full jitter: 25 ms at first, never more than 1 s.

After a conflict with another transaction the pauses are shorter, because that one takes only some
milliseconds, and shorter still for those that wait long, so that they come before newer ones.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import TypeVar

from botocore.exceptions import ClientError

from penstock.datastore import errors
from penstock.datastore.dynamodb import failures
from penstock.datastore.dynamodb.failures import cancellation_reasons, error_code
from penstock.datastore.table.instrumentation import RetryReason, note_retry

_THROTTLES = ("Throttl", "ProvisionedThroughput", "RequestLimitExceeded", "SlowDown")
_CONFLICTS = ("TransactionConflict", "TransactionInProgress", "ReplicatedWriteConflict")


def retry_reason(cause: Exception | None) -> RetryReason:
    """The reason for the retry; without a cause, the store left a part of a batch undone."""
    if cause is None:
        return RetryReason.UNPROCESSED
    if not isinstance(cause, ClientError):
        return RetryReason.LOST
    codes = [error_code(cause), *(str(reason["Code"]) for reason in cancellation_reasons(cause))]
    if any(code.startswith(_THROTTLES) for code in codes):
        return RetryReason.THROTTLED
    if any(code.startswith(_CONFLICTS) for code in codes):
        return RetryReason.CONFLICT
    return RetryReason.FAILED


_FAILURES: Mapping[RetryReason, str] = {
    RetryReason.CONFLICT: "Other servers kept writing the same items for",
    RetryReason.FAILED: "The store failed for",
    RetryReason.LOST: "The store did not answer within",
    RetryReason.THROTTLED: "The store had no capacity left for",
    RetryReason.UNPROCESSED: "The store left a part of the request undone for",
}
"""The truth about a call whose deadline passed, by the reason for its last retry."""

BASE = 0.025
CAP = 1.0
DEADLINE = 8.0
CONFLICT_BASE = 0.01
CONFLICT_CAP = 0.2
DOUBLINGS = 6

Answer = TypeVar("Answer")

_jitter = random.SystemRandom().random


class Attempts:
    """The attempts of one call, at most `most`, which share a deadline (in seconds from now).

    With `own` they are made with the server's own credentials, of which the operator takes care.
    """

    def __init__(self, deadline: float, most: int | None = None, *, own: bool = True) -> None:
        self._credentials = failures.own_credentials if own else nullcontext
        self._deadline = deadline
        self._most = most
        self._until = asyncio.get_running_loop().time() + deadline
        self._pauses = 0

    async def send(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """Send the request, again while that can help, and return the answer.

        Raises Unavailable when the deadline passes or the server's own credentials fail, and
        `failures.port_error` where a further attempt would change nothing.
        """
        while True:
            try:
                with self._credentials():
                    async with asyncio.timeout_at(self._until):
                        return await request()
            except failures.LOST_ANSWER as error:
                await self.pause(error)
            except ClientError as error:
                if not failures.is_retryable(error):
                    raise failures.port_error(error) from error
                await self.pause(error)

    async def pause(self, cause: Exception | None = None) -> None:
        """Wait before the next attempt; raises Unavailable if there is none before the deadline."""
        reason = retry_reason(cause)
        delay = _jitter() * self._longest_pause(reason)
        self._pauses += 1
        if self._pauses == self._most:
            tried = f"at attempt {self._pauses} of {self._most}"
            raise errors.Unavailable(f"The store failed {tried}.") from cause
        if asyncio.get_running_loop().time() + delay >= self._until:
            message = f"{_FAILURES[reason]} {round(self._deadline, 1):g} seconds."
            raise errors.Unavailable(message) from cause
        note_retry(reason)
        await asyncio.sleep(delay)

    def _longest_pause(self, reason: RetryReason) -> float:
        doubled = float(1 << min(self._pauses, DOUBLINGS))
        if reason is not RetryReason.CONFLICT:
            return min(CAP, BASE * doubled)
        left = (self._until - asyncio.get_running_loop().time()) / self._deadline
        return min(CONFLICT_CAP, CONFLICT_BASE * doubled) * max(0.0, left)

    async def pause_before_rest(self, *, of: int, left: int) -> None:
        """Wait before sending the rest of a batch; after some progress, only shortly."""
        if left < of:
            self._pauses = 0
        await self.pause()

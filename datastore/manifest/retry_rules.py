"""The rules by which runs that failed are tried again: how often, and after how long."""

from typing import Final
from zlib import crc32

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.records import StoredRecord

MAX_ATTEMPTS: Final = 1000
MAX_DELAY: Final = 7 * 86_400
DEFAULT_ATTEMPTS: Final = 5
DEFAULT_FIRST_DELAY: Final = 30
DEFAULT_LONGEST_DELAY: Final = 3600

_MOST_DOUBLINGS: Final = 30
"""After so many the longest delay is reached, since no first delay is below a second."""


class RetryRules(StoredRecord, frozen=True, kw_only=True, omit_defaults=False):
    """The most claims of one stage, and the delays in seconds after failures.

    The delay doubles with each failure up to the longest one.
    """

    max_attempts: int = DEFAULT_ATTEMPTS
    first_delay: int = DEFAULT_FIRST_DELAY
    longest_delay: int = DEFAULT_LONGEST_DELAY

    def require_valid(self) -> None:
        """Raise Invalid with every problem of the rules."""
        problems = []
        if not 1 <= self.max_attempts <= MAX_ATTEMPTS:
            problems.append(("maxAttempts", f"must be 1 to {MAX_ATTEMPTS}"))
        if not 0 <= self.first_delay <= MAX_DELAY:
            problems.append(("firstDelaySeconds", f"must be 0 to {MAX_DELAY} seconds"))
        if not self.first_delay <= self.longest_delay <= MAX_DELAY:
            words = f"must be at least the first delay, and at most {MAX_DELAY} seconds"
            problems.append(("longestDelaySeconds", words))
        if problems:
            raise Invalid([FieldProblem(["retries", field], words) for field, words in problems])

    def delay(self, attempt: int, key: str) -> int:
        """The seconds after the failure of an attempt, which is counted from 1.

        They are from half of the delay to all of it, so that runs that failed together are not
        claimed together. The `key` of the claim decides, so that a repeated call finds the same.
        """
        doublings = min(max(attempt - 1, 0), _MOST_DOUBLINGS)
        whole = min(self.first_delay << doublings, self.longest_delay)
        return whole - whole * crc32(key.encode()) // (1 << 33)

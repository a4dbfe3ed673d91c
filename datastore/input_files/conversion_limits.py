"""The limits of a conversion, which the system holds its process to, and their errors."""

import resource
import sys
from typing import Final

import msgspec

from penstock.datastore.errors import ErrorCode
from penstock.transform.problems import InputRefused, TransformCode

FREE_SECONDS: Final = 60
MOST_SECONDS: Final = 900
"""Seconds of processor time that the conversion of a small file, and of any, may take."""

BYTES_A_SECOND: Final = 200_000
"""Bytes of a larger file for each second more; Excel has 340,000 on a busy machine."""

MOST_RATIO: Final = 400
"""Bytes of CSV to one byte of a packed file; those that people send have 2 to 100."""

FREE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of CSV that a packed file may have in any case."""

MEMORY_BYTES: Final = 1024**3
"""Bytes of memory that a conversion may take, those included that are not used yet."""

_ADVICE: Final = "send it as CSV, or in smaller files"


class ConversionLimits(msgspec.Struct, frozen=True):
    """The most bytes of CSV, seconds of processor time, and bytes of memory of a conversion."""

    csv_bytes: int
    seconds: int
    memory_bytes: int

    @classmethod
    def of_size(cls, size: int, most_bytes: int) -> "ConversionLimits":
        """The limits of a file of so many bytes, of which so many bytes of CSV may be made."""
        csv_bytes = min(most_bytes, FREE_BYTES + MOST_RATIO * size)
        seconds = min(MOST_SECONDS, FREE_SECONDS + size // BYTES_A_SECOND)
        return cls(csv_bytes, seconds, MEMORY_BYTES)

    def hold(self) -> None:
        """Hold this process to its processor time and, on Linux, to its memory, from now on.

        The system ends it by SIGXCPU, and gives it no more memory.
        """
        _lower_limit(resource.RLIMIT_CORE, 0, 0)
        _lower_limit(resource.RLIMIT_CPU, self.seconds, self.seconds + 1)
        if sys.platform == "linux":
            # Not the space of addresses, of which an engine reserves far more than it uses.
            _lower_limit(resource.RLIMIT_DATA, self.memory_bytes, self.memory_bytes)

    def too_large_error(self) -> InputRefused:
        """The error of a file that has more CSV than it may."""
        message = f"the file has more than {self.csv_bytes} bytes as CSV"
        return InputRefused(TransformCode.INPUT_TOO_LARGE, message)

    def too_long_error(self) -> InputRefused:
        """The error of a file that takes longer than it may."""
        message = (
            f"making CSV of the file takes more than {self.seconds} seconds of processor time; "
            f"{_ADVICE}"
        )
        return InputRefused(TransformCode.CONVERSION_TOO_LONG, message)

    def memory_error(self) -> InputRefused:
        """The error of a file that takes more memory than it may."""
        message = f"making CSV of the file takes more memory than it may; {_ADVICE}"
        return InputRefused(ErrorCode.LIMIT_EXCEEDED, message)


def _lower_limit(limit: int, soft: int, hard: int) -> None:
    """Set a limit of this process, which may have a lower one already."""
    _, highest = resource.getrlimit(limit)
    if highest != resource.RLIM_INFINITY:
        soft, hard = min(soft, highest), min(hard, highest)
    resource.setrlimit(limit, (soft, hard))

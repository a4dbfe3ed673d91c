"""How long things may take, and how much of them there may be."""

from dataclasses import dataclass
from datetime import timedelta

from penstock.datastore.files import OBJECT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRules:
    """The bounds an operator sets.

    A worker holds what it runs for `held` from each sign of life on; another takes it over when
    that is past by `skew`, as their clocks may differ by so much. After so many `attempts` to run
    one it has failed.
    """

    kept: timedelta = timedelta(days=30)
    upload: timedelta = timedelta(hours=1)
    download: timedelta = timedelta(minutes=15)
    max_bytes: int = OBJECT_BYTES
    inline_rows: int = 1000
    held: timedelta = timedelta(seconds=30)
    skew: timedelta = timedelta(seconds=60)
    beat: timedelta = timedelta(seconds=2)
    attempts: int = 8

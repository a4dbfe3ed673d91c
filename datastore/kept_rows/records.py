"""The records of kept rows: the head and the parts of a pipeline's rows, and single rows."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import msgspec

from penstock.datastore.records import StoredRecord, TimestampForm, ValueType
from penstock.datastore.roles import GroupPath

RowValue: TypeAlias = str | Decimal | bool | None


class PartKind(StrEnum):
    """Whether the rows of a part are new versions of rows, or withdraw rows."""

    ROWS = "rows"
    WITHDRAWAL = "withdrawal"


class RowsHead(StoredRecord, frozen=True, kw_only=True):
    """The number of commits of a pipeline's rows; `at` is the time of the latest.

    The first `gone` of them have left, the last of these at `gone_at`. No row that left has a time
    behind `gone_until`; it is None if rows without a time left. `merges` counts the merges of
    files.
    """

    commits: int = 0
    at: str = ""
    gone: int = 0
    gone_at: str = ""
    gone_until: str | None = None
    merges: int = 0


class RowsPart(StoredRecord, frozen=True, kw_only=True):
    """One commit of a pipeline's rows: a Parquet file under the key `file`.

    `types` are the types of the outputs by key; rows show timestamps in the form `timestamps`, and
    the file has epoch milliseconds. `key` are the outputs that identify a row. `count`
    is the number of rows, `size` that of bytes, `least` and `most` are the limits of their times.
    `digest` is the SHA-256 of the file; those of older releases have none.
    Rows have the execution and the version of the pipeline that made them; a withdrawal has none of
    its own, because its rows keep theirs. `by` is the user who withdrew, for a `reason`.
    A part that was read is `merged` if a merged file took the place of its own: `file` is that one,
    which has the rows of other commits too, each with its commit, and `size` is a share of its
    `merged_size`.
    An execution may add several commits at once, each with a file of its own; `until` is the last.
    """

    commit: int
    kind: PartKind = PartKind.ROWS
    file: str
    types: dict[str, ValueType]
    key: tuple[str, ...]
    count: int
    size: int
    least: str | None = None
    most: str | None = None
    execution: str | None = None
    version: int | None = None
    timestamps: TimestampForm = TimestampForm.EPOCH_MILLISECONDS
    at: str
    by: str | None = None
    reason: str | None = None
    merged: bool = False
    merged_size: int = 0
    until: int | None = None
    digest: str | None = None

    @property
    def file_size(self) -> int:
        """The bytes of the file in which the rows lie."""
        return self.merged_size if self.merged else self.size


class MergedFile(StoredRecord, frozen=True, kw_only=True):
    """A file of `size` bytes with the rows of all commits from `first` to `last`.

    The first of them may have left. `digest` is its SHA-256; those of older releases have none.
    """

    first: int
    last: int
    file: str
    size: int
    digest: str | None = None


class KeptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a row.

    `key` is its identity as texts and `digest` a hash of it. `number` is the row's number in the
    output of the execution, counted from 1. `commit` is the place of this version among the commits
    of the pipeline's rows, `at` its time. A version that withdrew the row has the values of the one
    before.
    """

    pipeline_id: str
    key: tuple[str, ...]
    digest: str
    values: Mapping[str, RowValue]
    time: datetime | None
    group: GroupPath
    execution_id: str
    pipeline_version: int
    number: int
    commit: int
    at: str
    withdrawn: bool
    reason: str | None = None

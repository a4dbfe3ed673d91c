"""The records of the manifest: runs, their events, and manifests."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.records import StoredRecord, Tag
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.keys import join_levels, split_levels
from penstock.datastore.text import comparison_form, escape, unescape

SUCCESS_FILE = "_SUCCESS"


class RunState(StrEnum):
    """The state of a run.

    Programs that read only the document's attributes see `PROCESSING` as `NEW`, `LOADING` as
    `PROCESSED`, `FAILED` and `GIVEN_UP` as the state before the failure. Workers may try a failed
    run again; one that was given up only after a person said so.
    """

    NEW = "NEW"
    PROCESSING = "PROCESSING"
    PROCESSED = "PROCESSED"
    LOADING = "LOADING"
    LOADED = "LOADED"
    FAILED = "FAILED"
    GIVEN_UP = "GIVEN_UP"


class Stage(StrEnum):
    """The two stages of a run: transform, done by the Transformer, and load, by the Loader."""

    TRANSFORM = "transform"
    LOAD = "load"


class Action(StrEnum):
    """The kinds of changes of a run."""

    DISCOVER = "discover"
    IMPORT = "import"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    PROCESSED = "processed"
    LOADED = "loaded"
    FAIL = "fail"
    GIVE_UP = "give-up"
    RETRY = "retry"
    SKIP = "skip"
    UNSKIP = "unskip"
    RECOVER = "recover"
    RESET = "reset"
    RELOAD = "reload"
    TAG = "tag"
    COPY = "copy"


class ManifestName(NamedTuple):
    """A manifest by its group and its name; names are compared in comparison form."""

    group: GroupPath
    name: str

    @property
    def key_parts(self) -> tuple[str, str]:
        """The parts that identify the manifest in keys."""
        return self.group, comparison_form(self.name)

    @property
    def text(self) -> str:
        """The name as one text."""
        return join_levels(self.key_parts)

    @classmethod
    def read(cls, text: str) -> "ManifestName | None":
        """Parse what `text` returned; None for any other text."""
        group, *names = split_levels(text)
        if len(names) != 1:
            return None
        found = cls(GroupPath(group), names[0])
        return found if found.text == text else None


class RunName(NamedTuple):
    """A run by its manifest and its `RunId`, which is compared letter by letter."""

    manifest: ManifestName
    run_id: str

    @property
    def text(self) -> str:
        """The name as one text: the run's key without its prefix."""
        return f"{self.manifest.text}:{escape(self.run_id)}"

    @classmethod
    def read(cls, text: str) -> "RunName | None":
        """Parse what `text` returned; None for any other text."""
        first, _, rest = text.partition(":")
        manifest = ManifestName.read(first)
        found = None if manifest is None else cls(manifest, unescape(rest))
        return found if found is not None and found.text == text else None


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="pascal", omit_defaults=True):
    """A run of the manifest; times are in seconds since the epoch.

    The document's attributes are those from `run_id` to `loaded_by`; by themselves they always form
    a valid run. `fence` is the number of claims so far, `attempt` the number of claims of the
    present stage. `version` counts the writes. `shard` is the row of the manifest's counts in which
    the run counts. `batch` names what runs that belong together have in common, such as a day.
    `retry_at` is the time from which a failed run may be claimed again. `id` differs from that of a
    deleted run of the same name.
    """

    id: str
    group: GroupPath
    manifest: str
    run_id: str
    added_at: int
    added_by: str
    to_skip: bool
    processed_at: int | None = None
    shred_types: tuple[str, ...] | None = None
    saved_to: str | None = None
    loaded_at: int | None = None
    loaded_by: str | None = None
    state: RunState
    version: int
    fence: int
    attempt: int
    lease_owner: str | None = None
    lease_until: int | None = None
    last_error: str | None = None
    retry_at: int | None = None
    counts: dict[str, int] | None = None
    skip_reason: str | None = None
    pipeline: str | None = None
    tags: tuple[Tag, ...] = ()
    batch: str | None = None
    shard: int = 0

    @property
    def name(self) -> RunName:
        return RunName(ManifestName(self.group, self.manifest), self.run_id)

    @property
    def idempotency_key(self) -> str:
        """The key under which a worker writes the effects of the latest claim exactly once."""
        return f"{self.id}-{self.fence}"

    @property
    def added_time(self) -> str:
        return _timestamp(self.added_at)

    @property
    def processed_time(self) -> str | None:
        return None if self.processed_at is None else _timestamp(self.processed_at)

    @property
    def loaded_time(self) -> str | None:
        return None if self.loaded_at is None else _timestamp(self.loaded_at)

    @property
    def lease_time(self) -> str | None:
        return None if self.lease_until is None else _timestamp(self.lease_until)

    @property
    def retry_time(self) -> str | None:
        return None if self.retry_at is None else _timestamp(self.retry_at)

    @property
    def stage(self) -> Stage:
        """The stage of the work on the run that comes next, or is done last."""
        return Stage.TRANSFORM if self.processed_at is None else Stage.LOAD

    @property
    def counted(self) -> "tuple[RunCount, ...] | None":
        """The counts in the order of their names."""
        if self.counts is None:
            return None
        return tuple(RunCount(name=name, count=self.counts[name]) for name in sorted(self.counts))

    def is_leased(self, now: int) -> bool:
        """Whether a worker has claimed the run and the lease has not expired."""
        return self.lease_until is not None and now < self.lease_until

    def is_due(self, now: int) -> bool:
        """Whether a worker need not wait until the run may be tried again."""
        return self.retry_at is None or self.retry_at <= now


class RunCount(StoredRecord, frozen=True, kw_only=True):
    """A named count of a run, as its worker reported it."""

    name: str
    count: int


class RunEvent(StoredRecord, frozen=True, kw_only=True):
    """One change of a run; `seq` is the version it made, and heartbeats make versions, too.

    `by` is the caller, `worker` the owner of the claim, and `call` an id of the request.
    """

    seq: int
    action: Action
    before: RunState | None = None
    after: RunState
    at: str
    by: str
    call: str
    fence: int
    worker: str | None = None
    reason: str | None = None
    error: str | None = None


class Manifest(StoredRecord, frozen=True, kw_only=True):
    """A manifest and the number of its runs, which lies in its own row and in `shards` others.

    Without rules of retries a failed run may be claimed at once, and as often as one likes.
    `consumers` are the manifests that get its runs when they are processed; `consumes` is the one
    whose runs this one gets, and `filled` the position up to which it has the earlier ones.
    `consumers_made` counts the consumers that it ever had.
    """

    group: GroupPath
    name: str
    created_at: str
    created_by: str
    runs: int = 0
    shards: int = 0
    retries: RetryRules | None = None
    consumers: tuple[str, ...] = ()
    consumers_made: int = 0
    consumes: str | None = None
    filled: str | None = None

    @property
    def is_filled(self) -> bool:
        """Whether no earlier run of the manifest that it consumes is still to be copied."""
        return self.filled is None

    @property
    def full_name(self) -> ManifestName:
        return ManifestName(self.group, self.name)


def _timestamp(seconds: int) -> str:
    return iso_timestamp(datetime.fromtimestamp(seconds, UTC))

"""What is kept of runs: their state, their history, and the manifests they belong to."""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from datastore.paths import GroupPath
from datastore.records import Struct
from datastore.text import comparison_form

SUCCESS = "_SUCCESS"


class RunState(StrEnum):
    """How far a run is; a `PROCESSING` one is `NEW` to readers of the document's attributes alone.

    Likewise is a `LOADING` one `PROCESSED` to them, and a `FAILED` one what it was before.
    """

    NEW = "NEW"
    PROCESSING = "PROCESSING"
    PROCESSED = "PROCESSED"
    LOADING = "LOADING"
    LOADED = "LOADED"
    FAILED = "FAILED"


class Stage(StrEnum):
    """The two pieces of work on a run: the Transformer's and the Loader's."""

    TRANSFORM = "transform"
    LOAD = "load"


class Action(StrEnum):
    """What can be done to a run."""

    DISCOVER = "discover"
    IMPORT = "import"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    PROCESSED = "processed"
    LOADED = "loaded"
    FAIL = "fail"
    SKIP = "skip"
    UNSKIP = "unskip"
    RECOVER = "recover"
    RESET = "reset"
    RELOAD = "reload"


class ManifestName(NamedTuple):
    """A manifest by its group and its name, which is matched in comparison form."""

    group: GroupPath
    name: str

    @property
    def segment(self) -> tuple[str, str]:
        """What stands for the manifest in keys."""
        return self.group, comparison_form(self.name)


class RunName(NamedTuple):
    """A run by its manifest and its `RunId`, which is matched letter by letter."""

    manifest: ManifestName
    run_id: str


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="pascal", omit_defaults=True):
    """A run; times are in seconds since the epoch.

    The document's attributes are those from `run_id` to `loaded_by`: what a reader of these alone
    makes of them is always a valid run. `fence` counts the claims there ever were, `attempt` those
    of the stage at hand. `version` counts the writes, and `id` tells a run from one of its name
    that was deleted before.
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
    counts: dict[str, int] | None = None
    skip_reason: str | None = None
    pipeline: str | None = None

    @property
    def name(self) -> RunName:
        return RunName(ManifestName(self.group, self.manifest), self.run_id)

    @property
    def token(self) -> str:
        """What makes the effects of the latest claim known again, whoever repeats them."""
        return f"{self.id}-{self.fence}"

    def is_leased(self, now: int) -> bool:
        """Whether a worker has the run in hand and their lease has not run out."""
        return self.lease_until is not None and now < self.lease_until


class RunEvent(Struct, frozen=True, kw_only=True):
    """One change of a run; `seq` is the version it made, which heartbeats also count.

    `by` is the caller and `worker` who claimed the run; `call` tells one request from another.
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


class Manifest(Struct, frozen=True, kw_only=True):
    """A manifest, and how many runs there are in it."""

    group: GroupPath
    name: str
    created_at: str
    created_by: str
    runs: int = 0

"""The transitions of an existing run, with their input and the fields that they change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from penstock.datastore.manifest import rules
from penstock.datastore.manifest.labels import label_problems
from penstock.datastore.manifest.records import Action, Run, RunState, Stage
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.records import Tag

Changes: TypeAlias = dict[str, Any]

IDLE_STATES = (RunState.NEW, RunState.PROCESSED, RunState.FAILED, RunState.GIVEN_UP)
WORKING_STATES = {Stage.TRANSFORM: RunState.PROCESSING, Stage.LOAD: RunState.LOADING}
LEASE_SECONDS = 300

_NO_LEASE: Changes = {"lease_owner": None, "lease_until": None}
_AT_ONCE: Changes = {"attempt": 0, "retry_at": None}
_NOT_PROCESSED: Changes = {"processed_at": None, "shred_types": None, "saved_to": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A transition with the fields that any may have; subclasses repeat those they require.

    One that obeys the manifest's rules of retries gets them when it is made.
    """

    action: ClassVar[Action]
    obeys_retry_rules: ClassVar[bool] = False
    makes_output: ClassVar[bool] = False
    stage: Stage | None = None
    fence: int | None = None
    reason: str | None = None
    error: str | None = None
    retries: RetryRules | None = None

    def problems(self) -> rules.NamedProblems:
        """The problems of the input, each with its field."""
        return (("reason", None if self.reason is None else rules.reason_problem(self.reason)),)

    def is_repetition(self, run: Run, now: int) -> bool:
        """Whether the run already is as this transition would leave it."""
        return False

    def changes(self, run: Run, now: int) -> Changes:
        """The fields of the run that change, besides its state."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Transition):
    """Claim a run for one stage for `seconds` from now; `owner` names one worker.

    An owner who claims a run that they hold already keeps the lease they have.
    """

    action = Action.CLAIM
    obeys_retry_rules = True
    stage: Stage
    owner: str
    seconds: int = LEASE_SECONDS

    def problems(self) -> rules.NamedProblems:
        yield "owner", rules.new_name_problem(self.owner)
        yield "leaseSeconds", rules.lease_problem(self.seconds)

    def is_repetition(self, run: Run, now: int) -> bool:
        held = run.state is WORKING_STATES[self.stage] and run.is_leased(now)
        return held and run.lease_owner == self.owner

    def changes(self, run: Run, now: int) -> Changes:
        again = run.state not in (RunState.NEW, RunState.PROCESSED)
        return {
            "lease_owner": self.owner,
            "lease_until": now + self.seconds,
            "fence": run.fence + 1,
            "attempt": run.attempt + 1 if again else 1,
            "retry_at": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(Transition):
    """Extend the lease to `seconds` from now."""

    action = Action.HEARTBEAT
    fence: int
    seconds: int = LEASE_SECONDS

    def problems(self) -> rules.NamedProblems:
        yield "fence", rules.fence_problem(self.fence)
        yield "leaseSeconds", rules.lease_problem(self.seconds)

    def changes(self, run: Run, now: int) -> Changes:
        return {"lease_until": now + self.seconds}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkProcessed(Transition):
    """The Transformer has finished: the types it found, and the folder it wrote to."""

    action = Action.PROCESSED
    makes_output = True
    fence: int
    shred_types: tuple[str, ...]
    saved_to: str
    counts: Mapping[str, int] | None = None

    def problems(self) -> rules.NamedProblems:
        yield "fence", rules.fence_problem(self.fence)
        yield from _output_problems(self.shred_types, self.saved_to)
        yield "counts", rules.counts_problem(self.counts)

    def is_repetition(self, run: Run, now: int) -> bool:
        done = run.state is RunState.PROCESSED and run.fence == self.fence
        said = (self.shred_types, rules.canonical_folder(self.saved_to))
        return done and (run.shred_types, run.saved_to) == said

    def changes(self, run: Run, now: int) -> Changes:
        return _processed_changes(run, now, self.shred_types, self.saved_to) | _count_changes(
            run, self.counts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkLoaded(Transition):
    """The Loader has finished; `loaded_by` names its version."""

    action = Action.LOADED
    fence: int
    loaded_by: str
    counts: Mapping[str, int] | None = None

    def problems(self) -> rules.NamedProblems:
        yield "fence", rules.fence_problem(self.fence)
        yield "loadedBy", rules.new_name_problem(self.loaded_by)
        yield "counts", rules.counts_problem(self.counts)

    def is_repetition(self, run: Run, now: int) -> bool:
        done = run.state is RunState.LOADED and run.fence == self.fence
        return done and run.loaded_by == self.loaded_by

    def changes(self, run: Run, now: int) -> Changes:
        at = max(now, run.processed_at or 0)
        done = {"loaded_at": at, "loaded_by": self.loaded_by, "last_error": None}
        return done | _NO_LEASE | _count_changes(run, self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(Transition):
    """The present stage has failed: it is tried again later, or given up."""

    action = Action.FAIL
    obeys_retry_rules = True
    fence: int
    error: str

    def problems(self) -> rules.NamedProblems:
        yield "fence", rules.fence_problem(self.fence)
        yield "error", rules.reason_problem(self.error)

    def is_repetition(self, run: Run, now: int) -> bool:
        failed = run.state in (RunState.FAILED, RunState.GIVEN_UP) and run.fence == self.fence
        return failed and run.last_error == self.error

    def changes(self, run: Run, now: int) -> Changes:
        failed = {"last_error": self.error} | _NO_LEASE
        if self.retries is None:
            return failed
        if run.attempt >= self.retries.max_attempts:
            return failed | {"state": RunState.GIVEN_UP}
        delay = self.retries.delay(run.attempt, run.idempotency_key)
        return failed | {"retry_at": now + delay}


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp(Transition):
    """The last attempt ended with its lease, without a result."""

    action = Action.GIVE_UP
    fence: int
    error: str

    def changes(self, run: Run, now: int) -> Changes:
        return {"last_error": self.error} | _NO_LEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Transition):
    """Let workers try a run again at once that failed or was given up, and count from none."""

    action = Action.RETRY

    def is_repetition(self, run: Run, now: int) -> bool:
        return run.state is RunState.FAILED and run.attempt == 0 and run.retry_at is None

    def changes(self, run: Run, now: int) -> Changes:
        return _AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip(Transition):
    """Mark the run to be skipped by all workers."""

    action = Action.SKIP
    reason: str

    def is_repetition(self, run: Run, now: int) -> bool:
        return run.state in IDLE_STATES and run.to_skip and run.skip_reason == self.reason

    def changes(self, run: Run, now: int) -> Changes:
        return {"to_skip": True, "skip_reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unskip(Transition):
    """Allow workers to claim the run again."""

    action = Action.UNSKIP

    def is_repetition(self, run: Run, now: int) -> bool:
        return run.state in IDLE_STATES and not run.to_skip

    def changes(self, run: Run, now: int) -> Changes:
        return {"to_skip": False, "skip_reason": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLabels(Transition):
    """Give the run these tags and this batch, in place of those it has."""

    action = Action.TAG
    tags: tuple[Tag, ...]
    batch: str | None

    def problems(self) -> rules.NamedProblems:
        return label_problems(self.tags, self.batch)

    def is_repetition(self, run: Run, now: int) -> bool:
        return (run.tags, run.batch) == (self.tags, self.batch)

    def changes(self, run: Run, now: int) -> Changes:
        return {"tags": self.tags, "batch": self.batch}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover(Transition):
    """Mark the run as processed, since its output is complete."""

    action = Action.RECOVER
    makes_output = True
    shred_types: tuple[str, ...]
    saved_to: str

    def changes(self, run: Run, now: int) -> Changes:
        return _AT_ONCE | _processed_changes(run, now, self.shred_types, self.saved_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Transition):
    """Return the run to the state NEW, without output."""

    action = Action.RESET

    def changes(self, run: Run, now: int) -> Changes:
        left: Changes = {"last_error": None, "counts": None}
        return left | _AT_ONCE | _NOT_PROCESSED | _NO_LEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload(Transition):
    """Load a loaded run once more; `force` confirms that this is intended."""

    action = Action.RELOAD
    reason: str
    force: bool

    def problems(self) -> rules.NamedProblems:
        yield "reason", rules.reason_problem(self.reason)
        yield "force", None if self.force else "must be true: the data may then be there twice"

    def changes(self, run: Run, now: int) -> Changes:
        return {"attempt": 0, "loaded_at": None, "loaded_by": None}


def _processed_changes(run: Run, now: int, shred_types: tuple[str, ...], saved_to: str) -> Changes:
    done: Changes = {
        "processed_at": max(now, run.added_at),
        "shred_types": shred_types,
        "saved_to": rules.canonical_folder(saved_to),
        "last_error": None,
    }
    return done | _NO_LEASE


def _output_problems(shred_types: tuple[str, ...], saved_to: str) -> rules.NamedProblems:
    yield "shredTypes", rules.shred_types_problem(shred_types)
    yield "savedTo", rules.folder_problem(saved_to)


def _count_changes(run: Run, counts: Mapping[str, int] | None) -> Changes:
    if counts is None:
        return {}
    together = {**(run.counts or {}), **counts}
    rules.require_valid([("counts", rules.all_counts_problem(together))])
    return {"counts": together}

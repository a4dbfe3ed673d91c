"""The inputs of the mutations of manifest runs, and the transitions that they request."""

import strawberry
from strawberry import UNSET

from penstock.datastore.manifest import transitions
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.labels import MAX_TAGS
from penstock.datastore.manifest.records import ManifestName, RunName, Stage
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.retry_rules import (
    DEFAULT_ATTEMPTS,
    DEFAULT_FIRST_DELAY,
    DEFAULT_LONGEST_DELAY,
    MAX_ATTEMPTS,
    MAX_DELAY,
    RetryRules,
)
from penstock.datastore.manifest.rules import (
    MAX_ALL_COUNTS,
    MAX_COUNTS,
    MAX_LEASE,
    MAX_NAME,
    MAX_PROSE,
)
from penstock.datastore.roles import GroupPath
from penstock.resolvers.manifest import manifest_name
from penstock.schema.core.context import Info, TagInput, input_records, unset_to_none
from penstock.schema.core.scalars import Long

_FENCE = "The fence of the claim, as `claimRun` returned it."
_LEASE = f"The length of the lease in seconds: 1 to {MAX_LEASE}; 300 if left out."
_COUNTS = (
    f"The counts of the worker: at most {MAX_COUNTS} names. They are added to those reported "
    f"before; a run has {MAX_ALL_COUNTS} in all."
)
_TAGS = f"The tags by which lists find the manifest run: at most {MAX_TAGS}, each key once."
_BATCH = (
    "The name of the batch, which is what runs that belong together have in common, such as a day."
)
_REASON = f"The reason for the change: at most {MAX_PROSE} characters."
_SAVED_TO = "The folder of the output, such as `s3://bucket/stage/run=1/`."
_STAGE_PATH = (
    "The parent of the output folder, given instead of `savedTo`; the output folder in it has the "
    "last part of `runId` as its name. Without both, it is the output folder stored with the "
    "manifest run."
)


@strawberry.input
class RunInputFields:
    """The input fields that name a manifest run; a base, not a type of the schema."""

    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description="The group of the manifest; the caller's default group if left out.",
    )
    manifest: str = strawberry.field(
        description=f"The name of the manifest in its group: 1 to {MAX_NAME} characters."
    )
    run_id: str = strawberry.field(
        description="The path of the manifest run's folder inside its bucket, without `s3://`."
    )
    dry_run: bool | None = strawberry.field(
        default=False,
        description="True to only answer what would happen now: the manifest run as it would be, "
        "or the reason why nothing would change. Nothing is written.",
    )

    def run_name(self, info: Info) -> RunName:
        manifest = manifest_name(info.context, unset_to_none(self.group), self.manifest)
        return RunName(manifest, self.run_id)


@strawberry.input(description="A named count of a manifest run, such as the number of rows.")
class RunCountInput:
    name: str = strawberry.field(
        description="The name of the count; if a name is given twice, the last count applies."
    )
    count: Long = strawberry.field(description="The number that was counted.")


@strawberry.input(description="The manifest run that was found.")
class DiscoverRunInput(RunInputFields):
    added_by: str = strawberry.field(
        description="The version of the Transformer that found the manifest run."
    )
    pipeline: str | None = strawberry.field(
        default=UNSET, description="The name of the pipeline that produced the folder."
    )
    skip_reason: str | None = strawberry.field(
        default=UNSET,
        description="The reason to skip the manifest run; if left out, it is not skipped.",
    )
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    batch: str | None = strawberry.field(default=UNSET, description=_BATCH)


@strawberry.input(description="The manifest run to claim, and the worker that claims it.")
class ClaimRunInput(RunInputFields):
    stage: Stage = strawberry.field(
        description="The stage of the work for which the manifest run is claimed."
    )
    owner: str = strawberry.field(
        description="The name of the worker: a single process that performs one stage of a "
        "manifest run at a time."
    )
    lease_seconds: int | None = strawberry.field(
        default=transitions.LEASE_SECONDS, description=_LEASE
    )

    def transition(self) -> transitions.Transition:
        return transitions.Claim(
            stage=self.stage, owner=self.owner, seconds=_lease_seconds(self.lease_seconds)
        )


@strawberry.input(description="The heartbeat of a worker for a manifest run that it has claimed.")
class HeartbeatRunInput(RunInputFields):
    fence: int = strawberry.field(description=_FENCE)
    lease_seconds: int | None = strawberry.field(
        default=transitions.LEASE_SECONDS, description=_LEASE
    )

    def transition(self) -> transitions.Transition:
        return transitions.Heartbeat(fence=self.fence, seconds=_lease_seconds(self.lease_seconds))


@strawberry.input(
    description="The manifest run that was transformed, and the folder of its output."
)
class MarkRunProcessedInput(RunInputFields):
    fence: int = strawberry.field(description=_FENCE)
    shred_types: list[str] = strawberry.field(
        description="The shredded types in the output; the list may be empty."
    )
    saved_to: str = strawberry.field(description=_SAVED_TO)
    counts: list[RunCountInput] | None = strawberry.field(default=UNSET, description=_COUNTS)

    def transition(self) -> transitions.Transition:
        return transitions.MarkProcessed(
            fence=self.fence,
            shred_types=tuple(self.shred_types),
            saved_to=self.saved_to,
            counts=_counts_by_name(self.counts),
        )


@strawberry.input(description="The manifest run that was loaded, and the version of the Loader.")
class MarkRunLoadedInput(RunInputFields):
    fence: int = strawberry.field(description=_FENCE)
    loaded_by: str = strawberry.field(description="The version of the Loader.")
    counts: list[RunCountInput] | None = strawberry.field(default=UNSET, description=_COUNTS)

    def transition(self) -> transitions.Transition:
        return transitions.MarkLoaded(
            fence=self.fence, loaded_by=self.loaded_by, counts=_counts_by_name(self.counts)
        )


@strawberry.input(description="The manifest run that failed, and the failure.")
class FailRunInput(RunInputFields):
    fence: int = strawberry.field(description=_FENCE)
    error: str = strawberry.field(
        description=f"The description of the failure: at most {MAX_PROSE} characters."
    )

    def transition(self) -> transitions.Transition:
        return transitions.Fail(fence=self.fence, error=self.error)


@strawberry.input(description="The manifest run to skip.")
class SkipRunInput(RunInputFields):
    reason: str = strawberry.field(description=_REASON)

    def transition(self) -> transitions.Transition:
        return transitions.Skip(reason=self.reason)


@strawberry.input(description="The manifest run to stop skipping.")
class UnskipRunInput(RunInputFields):
    reason: str | None = strawberry.field(default=UNSET, description=_REASON)

    def transition(self) -> transitions.Transition:
        return transitions.Unskip(reason=unset_to_none(self.reason))


@strawberry.input(description="The manifest run, and its tags and its batch from now on.")
class SetRunTagsInput(RunInputFields):
    tags: list[TagInput] = strawberry.field(description=_TAGS)
    batch: str | None = strawberry.field(
        description=f"{_BATCH} Null if the manifest run belongs to none."
    )

    def transition(self) -> transitions.Transition:
        return transitions.SetLabels(tags=input_records(self.tags), batch=self.batch)


@strawberry.input(description="The manifest run to try again at once.")
class RetryRunInput(RunInputFields):
    reason: str | None = strawberry.field(default=UNSET, description=_REASON)

    def transition(self) -> transitions.Transition:
        return transitions.Retry(reason=unset_to_none(self.reason))


@strawberry.input(description="The manifest run to load again.")
class ReloadRunInput(RunInputFields):
    reason: str = strawberry.field(description=_REASON)
    force: bool = strawberry.field(
        description="Must be true to confirm that the data loaded before is not removed and may "
        "exist twice afterwards."
    )

    def transition(self) -> transitions.Transition:
        return transitions.Reload(reason=self.reason, force=self.force)


@strawberry.input
class StuckRunInputFields(RunInputFields):
    """The input fields of recovery and reset; a base, not a type of the schema."""

    saved_to: str | None = strawberry.field(default=UNSET, description=_SAVED_TO)
    stage_path: str | None = strawberry.field(default=UNSET, description=_STAGE_PATH)
    reason: str | None = strawberry.field(default=UNSET, description=_REASON)

    def output_location(self) -> OutputLocation:
        return OutputLocation(unset_to_none(self.saved_to), unset_to_none(self.stage_path))


@strawberry.input(
    description="The manifest run whose output is complete although no worker reported it."
)
class RecoverRunInput(StuckRunInputFields):
    shred_types: list[str] | None = strawberry.field(
        default=UNSET,
        description="The shredded types in the output; those stored with the manifest run if left "
        "out.",
    )


@strawberry.input(description="The manifest run to reset or to delete.")
class ResetRunInput(StuckRunInputFields):
    force: bool | None = strawberry.field(
        default=False,
        description="True to reset without checking that the output folder has no `_SUCCESS` file.",
    )
    delete: bool | None = strawberry.field(
        default=False,
        description="True to delete the manifest run and its history; only for admins of the "
        "group.",
    )


@strawberry.input
class ManifestInputFields:
    """The input fields that name a manifest; a base, not a type of the schema."""

    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description="The group of the manifest; the caller's default group if left out.",
    )
    manifest: str = strawberry.field(description="The name of the manifest.")
    dry_run: bool | None = strawberry.field(
        default=False,
        description="True to only answer what would happen now: the manifest as it would be, or "
        "the reason why nothing would change. Nothing is written.",
    )

    def manifest_name(self, info: Info) -> ManifestName:
        return manifest_name(info.context, unset_to_none(self.group), self.manifest)


@strawberry.input(description="The manifest to delete.")
class DeleteManifestInput(ManifestInputFields):
    pass


@strawberry.input(description="The manifest, and its new consumer.")
class CreateRunConsumerInput(ManifestInputFields):
    consumer: str = strawberry.field(
        description="The name of the consumer's own manifest in the same group: 1 to "
        f"{MAX_NAME} characters."
    )
    start: ConsumerStart = strawberry.field(
        description="The first of the runs that the consumer gets."
    )


@strawberry.input(description="The manifest, and the consumer that gets no more runs of it.")
class RemoveRunConsumerInput(ManifestInputFields):
    consumer: str = strawberry.field(description="The name of the consumer's own manifest.")


@strawberry.input(
    description="The rules by which workers try failed manifest runs again. The delay after a "
    "failure doubles with each attempt; up to half of it is left out, so that runs that failed "
    "together are not claimed together."
)
class RetryRulesInput:
    max_attempts: int | None = strawberry.field(
        default=DEFAULT_ATTEMPTS,
        description=f"The most attempts at one stage of a manifest run: 1 to {MAX_ATTEMPTS}.",
    )
    first_delay_seconds: int | None = strawberry.field(
        default=DEFAULT_FIRST_DELAY,
        description=f"The delay in seconds after the first failure: 0 to {MAX_DELAY}.",
    )
    longest_delay_seconds: int | None = strawberry.field(
        default=DEFAULT_LONGEST_DELAY,
        description="The longest delay in seconds: not less than the first, and at most "
        f"{MAX_DELAY}.",
    )

    def rules(self) -> RetryRules:
        given = {
            "max_attempts": self.max_attempts,
            "first_delay": self.first_delay_seconds,
            "longest_delay": self.longest_delay_seconds,
        }
        return RetryRules(**{name: value for name, value in given.items() if value is not None})


@strawberry.input(
    description="The manifest, and the rules by which its failed runs are tried again."
)
class SetManifestRetriesInput(ManifestInputFields):
    retries: RetryRulesInput | None = strawberry.field(
        description="The rules; null to let workers claim failed manifest runs at once, and as "
        "often as they like."
    )

    def rules(self) -> RetryRules | None:
        return None if self.retries is None else self.retries.rules()


def _lease_seconds(given_seconds: int | None) -> int:
    return transitions.LEASE_SECONDS if given_seconds is None else given_seconds


def _counts_by_name(counts: list[RunCountInput] | None) -> dict[str, int] | None:
    named = unset_to_none(counts)
    return None if named is None else {each.name: each.count for each in named}

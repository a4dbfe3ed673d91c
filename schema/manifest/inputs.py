"""The inputs of the mutations of runs, each read as what is asked of the run."""

import strawberry
from strawberry import UNSET

from penstock.datastore.manifest import transitions
from penstock.datastore.manifest.records import ManifestName, RunName, Stage
from penstock.datastore.manifest.recovery import Output
from penstock.datastore.manifest.rules import MAX_COUNTS, MAX_LEASE, MAX_NAME, MAX_PROSE
from penstock.datastore.roles import GroupPath
from penstock.resolvers.manifest import manifest_named
from penstock.schema.core.context import Info, given
from penstock.schema.core.scalars import Long

_FENCE = "The fence of the claim, as `claimRun` answered it."
_LEASE = f"For how long, 1 to {MAX_LEASE}."
_COUNTS = f"What was counted, at most {MAX_COUNTS}; added to what was counted before."
_REASON = f"Why; at most {MAX_PROSE} characters."
_SAVED_TO = "The folder of the output, such as `s3://bucket/stage/run=1/`."
_STAGE_PATH = (
    "In place of `savedTo`: the folder above, in which that of the run bears the last part of its "
    "`runId`. With neither it is the folder that the run names itself."
)


@strawberry.input
class OfRun:
    """The common fields of what names a run; itself no type of the schema."""

    group: GroupPath | None = strawberry.field(
        default=UNSET, description="Where the manifest lies; the caller's default group if absent."
    )
    manifest: str = strawberry.field(
        description=f"The name of the manifest in its group: 1 to {MAX_NAME} characters."
    )
    run_id: str = strawberry.field(
        description="The path of the folder inside of its bucket, without `s3://`."
    )

    def name(self, info: Info) -> RunName:
        manifest = manifest_named(info.context, given(self.group), self.manifest)
        return RunName(manifest, self.run_id)


@strawberry.input(description="How many of something there are in a run.")
class RunCountInput:
    name: str = strawberry.field(description="What was counted; the last one of a name counts.")
    count: Long = strawberry.field(description="How many there are.")


@strawberry.input(description="The run that was found.")
class DiscoverRunInput(OfRun):
    added_by: str = strawberry.field(description="The version of the Transformer that found it.")
    pipeline: str | None = strawberry.field(
        default=UNSET, description="The pipeline it comes from."
    )
    skip_reason: str | None = strawberry.field(
        default=UNSET, description="Why nobody is to work on it; if absent, it is worked on."
    )


@strawberry.input(description="The run to take in hand.")
class ClaimRunInput(OfRun):
    stage: Stage = strawberry.field(description="For which piece of work.")
    owner: str = strawberry.field(
        description="The worker: one process, which does one thing at a time with a run."
    )
    lease_seconds: int | None = strawberry.field(
        default=transitions.LEASE_SECONDS, description=_LEASE
    )

    def ask(self) -> transitions.Ask:
        return transitions.Claim(
            stage=self.stage, owner=self.owner, seconds=_seconds(self.lease_seconds)
        )


@strawberry.input(description="The run to keep in hand.")
class HeartbeatRunInput(OfRun):
    fence: int = strawberry.field(description=_FENCE)
    lease_seconds: int | None = strawberry.field(
        default=transitions.LEASE_SECONDS, description=_LEASE
    )

    def ask(self) -> transitions.Ask:
        return transitions.Heartbeat(fence=self.fence, seconds=_seconds(self.lease_seconds))


@strawberry.input(description="The run that was transformed, and where to.")
class MarkRunProcessedInput(OfRun):
    fence: int = strawberry.field(description=_FENCE)
    shred_types: list[str] = strawberry.field(description="The shredded types; there may be none.")
    saved_to: str = strawberry.field(description=_SAVED_TO)
    counts: list[RunCountInput] | None = strawberry.field(default=UNSET, description=_COUNTS)

    def ask(self) -> transitions.Ask:
        return transitions.Processed(
            fence=self.fence,
            shred_types=tuple(self.shred_types),
            saved_to=self.saved_to,
            counts=_counted(self.counts),
        )


@strawberry.input(description="The run that was loaded, and by what.")
class MarkRunLoadedInput(OfRun):
    fence: int = strawberry.field(description=_FENCE)
    loaded_by: str = strawberry.field(description="The version of the Loader.")
    counts: list[RunCountInput] | None = strawberry.field(default=UNSET, description=_COUNTS)

    def ask(self) -> transitions.Ask:
        return transitions.Loaded(
            fence=self.fence, loaded_by=self.loaded_by, counts=_counted(self.counts)
        )


@strawberry.input(description="The run that failed, and why.")
class FailRunInput(OfRun):
    fence: int = strawberry.field(description=_FENCE)
    error: str = strawberry.field(description=f"What went wrong; at most {MAX_PROSE} characters.")

    def ask(self) -> transitions.Ask:
        return transitions.Fail(fence=self.fence, error=self.error)


@strawberry.input(description="The run that nobody is to work on.")
class SkipRunInput(OfRun):
    reason: str = strawberry.field(description=_REASON)

    def ask(self) -> transitions.Ask:
        return transitions.Skip(reason=self.reason)


@strawberry.input(description="The run that may be worked on again.")
class UnskipRunInput(OfRun):
    reason: str | None = strawberry.field(default=UNSET, description=_REASON)

    def ask(self) -> transitions.Ask:
        return transitions.Unskip(reason=given(self.reason))


@strawberry.input(description="The run that is to be loaded again.")
class ReloadRunInput(OfRun):
    reason: str = strawberry.field(description=_REASON)
    force: bool = strawberry.field(
        description="True: what was loaded is not taken back, and may be there twice."
    )

    def ask(self) -> transitions.Ask:
        return transitions.Reload(reason=self.reason, force=self.force)


@strawberry.input
class OfStuckRun(OfRun):
    """The common fields of what gets a run going again; itself no type of the schema."""

    saved_to: str | None = strawberry.field(default=UNSET, description=_SAVED_TO)
    stage_path: str | None = strawberry.field(default=UNSET, description=_STAGE_PATH)
    reason: str | None = strawberry.field(default=UNSET, description=_REASON)

    def output(self) -> Output:
        return Output(given(self.saved_to), given(self.stage_path))


@strawberry.input(description="The run whose output is there, though nobody said so.")
class RecoverRunInput(OfStuckRun):
    shred_types: list[str] | None = strawberry.field(
        default=UNSET, description="The shredded types; those of the run itself if absent."
    )


@strawberry.input(description="The run that is to begin again.")
class ResetRunInput(OfStuckRun):
    force: bool | None = strawberry.field(
        default=False, description="Whether not to look for a `_SUCCESS`."
    )
    delete: bool | None = strawberry.field(
        default=False,
        description="Whether the run is to go altogether, with its history; for admins.",
    )


@strawberry.input(description="The manifest to delete.")
class DeleteManifestInput:
    group: GroupPath | None = strawberry.field(
        default=UNSET, description="Where it lies; the caller's default group if absent."
    )
    manifest: str = strawberry.field(description="Its name.")

    def name(self, info: Info) -> ManifestName:
        return manifest_named(info.context, given(self.group), self.manifest)


def _seconds(given_seconds: int | None) -> int:
    return transitions.LEASE_SECONDS if given_seconds is None else given_seconds


def _counted(counts: list[RunCountInput] | None) -> dict[str, int] | None:
    named = given(counts)
    return None if named is None else {each.name: each.count for each in named}

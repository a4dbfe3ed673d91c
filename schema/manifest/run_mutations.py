"""The mutations of manifest runs, one for each action on a run, and their results."""

from typing import Annotated, Protocol, TypeAlias

import strawberry

from penstock.datastore.manifest import records
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Transition
from penstock.resolvers import manifest as run_resolvers
from penstock.schema.core.context import Info, input_records, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.manifest import inputs
from penstock.schema.manifest.runs import Run

TransitionFailure: TypeAlias = NotFound | NotPermitted | ValidationProblem | IllegalState


class TransitionInput(Protocol):
    """An input that names a manifest run and one change of its state."""

    dry_run: bool | None

    def run_name(self, info: Info) -> records.RunName: ...

    def transition(self) -> Transition: ...


async def _change_run(info: Info, input: TransitionInput) -> records.Run:
    name, transition = input.run_name(info), input.transition()
    return await run_resolvers.apply_transition(
        info.context, name, transition, dry_run=bool(input.dry_run)
    )


_RESULT = "The manifest run in its new state, or the reason why nothing changed."


@strawberry.type(description="The result of adding a manifest run.")
class DiscoverRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run,
        description="The manifest run as it is in the manifest, whether new or there before.",
    )


@strawberry.type(description="The result of claiming a manifest run.")
class ClaimRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run with the lease of the worker."
    )


@strawberry.type(description="The result of a heartbeat: the worker still holds the lease.")
class HeartbeatRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run with its extended lease."
    )


@strawberry.type(description="The result of reporting that a manifest run was transformed.")
class MarkRunProcessedPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which is now PROCESSED."
    )


@strawberry.type(description="The result of reporting that a manifest run was loaded.")
class MarkRunLoadedPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which is now LOADED."
    )


@strawberry.type(description="The result of reporting a failure.")
class FailRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which is now FAILED and has no lease."
    )


@strawberry.type(description="The result of skipping a manifest run.")
class SkipRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which workers now skip."
    )


@strawberry.type(description="The result of no longer skipping a manifest run.")
class UnskipRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which workers can now claim again."
    )


@strawberry.type(description="The result of setting the tags and the batch of a manifest run.")
class SetRunTagsPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run with its new tags and batch."
    )


@strawberry.type(description="The result of letting workers try a manifest run again.")
class RetryRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run,
        description="The manifest run, which is FAILED and can be claimed at once.",
    )


@strawberry.type(description="The result of allowing a manifest run to be loaded again.")
class ReloadRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which is PROCESSED again."
    )


@strawberry.type(description="The result of recovering a manifest run.")
class RecoverRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The manifest run, which is now PROCESSED."
    )


@strawberry.type(description="The result of resetting or deleting a manifest run.")
class ResetRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run,
        description="The manifest run, which is NEW again, or as it was before it was deleted.",
    )
    deleted: bool = strawberry.field(
        description="Whether the manifest run was deleted, or would be by a call that is no dry "
        "run."
    )


DiscoverRunResult = Annotated[
    DiscoverRunPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union("DiscoverRunResult", description=_RESULT),
]
ClaimRunResult = Annotated[
    ClaimRunPayload | TransitionFailure, strawberry.union("ClaimRunResult", description=_RESULT)
]
HeartbeatRunResult = Annotated[
    HeartbeatRunPayload | TransitionFailure,
    strawberry.union("HeartbeatRunResult", description=_RESULT),
]
MarkRunProcessedResult = Annotated[
    MarkRunProcessedPayload | TransitionFailure,
    strawberry.union("MarkRunProcessedResult", description=_RESULT),
]
MarkRunLoadedResult = Annotated[
    MarkRunLoadedPayload | TransitionFailure,
    strawberry.union("MarkRunLoadedResult", description=_RESULT),
]
FailRunResult = Annotated[
    FailRunPayload | TransitionFailure, strawberry.union("FailRunResult", description=_RESULT)
]
SkipRunResult = Annotated[
    SkipRunPayload | TransitionFailure, strawberry.union("SkipRunResult", description=_RESULT)
]
UnskipRunResult = Annotated[
    UnskipRunPayload | TransitionFailure, strawberry.union("UnskipRunResult", description=_RESULT)
]
SetRunTagsResult = Annotated[
    SetRunTagsPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union("SetRunTagsResult", description=_RESULT),
]
RetryRunResult = Annotated[
    RetryRunPayload | TransitionFailure, strawberry.union("RetryRunResult", description=_RESULT)
]
ReloadRunResult = Annotated[
    ReloadRunPayload | TransitionFailure, strawberry.union("ReloadRunResult", description=_RESULT)
]
RecoverRunResult = Annotated[
    RecoverRunPayload | TransitionFailure, strawberry.union("RecoverRunResult", description=_RESULT)
]
ResetRunResult = Annotated[
    ResetRunPayload | TransitionFailure, strawberry.union("ResetRunResult", description=_RESULT)
]


@strawberry.type
class RunMutation:
    @strawberry.mutation(
        graphql_type=DiscoverRunResult,
        description="Add a manifest run to a manifest, which is created with its first run. A "
        "manifest run that exists already is returned unchanged.",
    )
    @staticmethod
    async def discover_run(
        info: Info, input: InputOf[inputs.DiscoverRunInput]
    ) -> DiscoverRunPayload:
        found = Discovery(
            run_id=input.run_id,
            added_by=input.added_by,
            pipeline=unset_to_none(input.pipeline),
            skip_reason=unset_to_none(input.skip_reason),
            tags=input_records(unset_to_none(input.tags)),
            batch=unset_to_none(input.batch),
        )
        manifest = input.run_name(info).manifest
        run = await run_resolvers.discover(
            info.context, manifest, found, dry_run=bool(input.dry_run)
        )
        return DiscoverRunPayload(run=run)

    @strawberry.mutation(
        graphql_type=ClaimRunResult,
        description="Take the lease of a manifest run to transform or to load it. A worker that "
        "already holds the lease gets it again.",
    )
    @staticmethod
    async def claim_run(info: Info, input: InputOf[inputs.ClaimRunInput]) -> ClaimRunPayload:
        return ClaimRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=HeartbeatRunResult,
        description="Extend the lease of a manifest run; the new length counts from now.",
    )
    @staticmethod
    async def heartbeat_run(
        info: Info, input: InputOf[inputs.HeartbeatRunInput]
    ) -> HeartbeatRunPayload:
        return HeartbeatRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=MarkRunProcessedResult,
        description="Report that a manifest run was transformed, once its output is complete.",
    )
    @staticmethod
    async def mark_run_processed(
        info: Info, input: InputOf[inputs.MarkRunProcessedInput]
    ) -> MarkRunProcessedPayload:
        return MarkRunProcessedPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=MarkRunLoadedResult,
        description="Report that a manifest run was loaded, once the load can no longer be rolled "
        "back.",
    )
    @staticmethod
    async def mark_run_loaded(
        info: Info, input: InputOf[inputs.MarkRunLoadedInput]
    ) -> MarkRunLoadedPayload:
        return MarkRunLoadedPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=FailRunResult,
        description="Report that the current stage of a manifest run failed. Any worker can then "
        "claim it again for this stage, unless the rules of the manifest let it wait or give it "
        "up.",
    )
    @staticmethod
    async def fail_run(info: Info, input: InputOf[inputs.FailRunInput]) -> FailRunPayload:
        return FailRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=SkipRunResult,
        description="Exclude a manifest run from further work. It must have no lease and not be "
        "loaded.",
    )
    @staticmethod
    async def skip_run(info: Info, input: InputOf[inputs.SkipRunInput]) -> SkipRunPayload:
        return SkipRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=UnskipRunResult,
        description="Allow workers to claim a skipped manifest run again.",
    )
    @staticmethod
    async def unskip_run(info: Info, input: InputOf[inputs.UnskipRunInput]) -> UnskipRunPayload:
        return UnskipRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=SetRunTagsResult,
        description="Set the tags and the batch of a manifest run, in place of those it has.",
    )
    @staticmethod
    async def set_run_tags(info: Info, input: InputOf[inputs.SetRunTagsInput]) -> SetRunTagsPayload:
        return SetRunTagsPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=RetryRunResult,
        description="Let workers claim a manifest run at once that failed or was given up; its "
        "attempts are counted from none again.",
    )
    @staticmethod
    async def retry_run(info: Info, input: InputOf[inputs.RetryRunInput]) -> RetryRunPayload:
        return RetryRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=ReloadRunResult,
        description="Allow a manifest run that was loaded to be loaded again.",
    )
    @staticmethod
    async def reload_run(info: Info, input: InputOf[inputs.ReloadRunInput]) -> ReloadRunPayload:
        return ReloadRunPayload(run=await _change_run(info, input))

    @strawberry.mutation(
        graphql_type=RecoverRunResult,
        description="Set a stuck or failed manifest run to PROCESSED. Its output folder must "
        "contain a `_SUCCESS` file.",
    )
    @staticmethod
    async def recover_run(info: Info, input: InputOf[inputs.RecoverRunInput]) -> RecoverRunPayload:
        recovered = await run_resolvers.recover(
            info.context,
            input.run_name(info),
            unset_to_none(input.shred_types),
            input.output_location(),
            unset_to_none(input.reason),
            dry_run=bool(input.dry_run),
        )
        return RecoverRunPayload(run=recovered)

    @strawberry.mutation(
        graphql_type=ResetRunResult,
        description="Set a stuck or failed manifest run to NEW, or delete it. Its output folder "
        "must not contain a `_SUCCESS` file, unless `force` is true.",
    )
    @staticmethod
    async def reset_run(info: Info, input: InputOf[inputs.ResetRunInput]) -> ResetRunPayload:
        name, output = input.run_name(info), input.output_location()
        force, dry_run = bool(input.force), bool(input.dry_run)
        if input.delete:
            deleted = await run_resolvers.delete(
                info.context, name, output, force=force, dry_run=dry_run
            )
            return ResetRunPayload(run=deleted, deleted=True)
        reason = unset_to_none(input.reason)
        reset = await run_resolvers.reset(
            info.context, name, output, reason, force=force, dry_run=dry_run
        )
        return ResetRunPayload(run=reset, deleted=False)

"""The mutations of manifest runs: one for each action on a run."""

from typing import Annotated

import strawberry

from penstock.datastore.manifest import records
from penstock.datastore.manifest.runs import Discovery
from penstock.resolvers import manifest as runs
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.manifest import inputs
from penstock.schema.manifest.runs import Manifest, Run

_RESULT = "The run as it is now, or the reason why nothing changed."


@strawberry.type(description="The run is in the manifest, since now or since before.")
class DiscoverRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The run as it is in the manifest."
    )


@strawberry.type(description="The worker holds the lease of the run.")
class ClaimRunPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run with its lease.")


@strawberry.type(description="The worker keeps the lease of the run.")
class HeartbeatRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The run with its longer lease."
    )


@strawberry.type(description="The run is processed.")
class MarkRunProcessedPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run that was processed.")


@strawberry.type(description="The run is loaded.")
class MarkRunLoadedPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run that was loaded.")


@strawberry.type(description="The run has failed, and no worker holds its lease.")
class FailRunPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run that failed.")


@strawberry.type(description="The run is skipped: nobody is to work on it.")
class SkipRunPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run that is skipped.")


@strawberry.type(description="The run may be worked on again.")
class UnskipRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The run that is no longer skipped."
    )


@strawberry.type(description="The run is processed, as it was before it was loaded.")
class ReloadRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The run that is to be loaded again."
    )


@strawberry.type(description="The run is processed.")
class RecoverRunPayload:
    run: records.Run = strawberry.field(graphql_type=Run, description="The run that was recovered.")


@strawberry.type(description="The run is new again, or it is deleted.")
class ResetRunPayload:
    run: records.Run = strawberry.field(
        graphql_type=Run, description="The run as it is now, or as it was before it was deleted."
    )
    deleted: bool = strawberry.field(description="Whether the run was deleted.")


@strawberry.type(description="The manifest was deleted.")
class DeleteManifestPayload:
    manifest: records.Manifest = strawberry.field(
        graphql_type=Manifest, description="The manifest as it was before."
    )


DiscoverRunResult = Annotated[
    DiscoverRunPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union("DiscoverRunResult", description=_RESULT),
]
ClaimRunResult = Annotated[
    ClaimRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("ClaimRunResult", description=_RESULT),
]
HeartbeatRunResult = Annotated[
    HeartbeatRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("HeartbeatRunResult", description=_RESULT),
]
MarkRunProcessedResult = Annotated[
    MarkRunProcessedPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("MarkRunProcessedResult", description=_RESULT),
]
MarkRunLoadedResult = Annotated[
    MarkRunLoadedPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("MarkRunLoadedResult", description=_RESULT),
]
FailRunResult = Annotated[
    FailRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("FailRunResult", description=_RESULT),
]
SkipRunResult = Annotated[
    SkipRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("SkipRunResult", description=_RESULT),
]
UnskipRunResult = Annotated[
    UnskipRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("UnskipRunResult", description=_RESULT),
]
ReloadRunResult = Annotated[
    ReloadRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("ReloadRunResult", description=_RESULT),
]
RecoverRunResult = Annotated[
    RecoverRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("RecoverRunResult", description=_RESULT),
]
ResetRunResult = Annotated[
    ResetRunPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("ResetRunResult", description=_RESULT),
]
DeleteManifestResult = Annotated[
    DeleteManifestPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "DeleteManifestResult",
        description="The deleted manifest, or the reason why it is still there.",
    ),
]


@strawberry.type
class RunMutation:
    @strawberry.mutation(
        graphql_type=DiscoverRunResult,
        description="Put a run into a manifest, which its first run makes. A run that is there is "
        "answered as it is.",
    )
    @staticmethod
    async def discover_run(info: Info, input: inputs.DiscoverRunInput) -> DiscoverRunPayload:
        found = Discovery(
            run_id=input.run_id,
            added_by=input.added_by,
            pipeline=given(input.pipeline),
            skip_reason=given(input.skip_reason),
        )
        manifest = input.name(info).manifest
        return DiscoverRunPayload(run=await runs.discover(info.context, manifest, found))

    @strawberry.mutation(
        graphql_type=ClaimRunResult,
        description="Take the lease of a run, to transform or to load it. The worker that holds "
        "the lease already is answered with it.",
    )
    @staticmethod
    async def claim_run(info: Info, input: inputs.ClaimRunInput) -> ClaimRunPayload:
        return ClaimRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=HeartbeatRunResult,
        description="Extend the lease of a run from now.",
    )
    @staticmethod
    async def heartbeat_run(info: Info, input: inputs.HeartbeatRunInput) -> HeartbeatRunPayload:
        return HeartbeatRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=MarkRunProcessedResult,
        description="Say that a run was transformed, once its output is complete.",
    )
    @staticmethod
    async def mark_run_processed(
        info: Info, input: inputs.MarkRunProcessedInput
    ) -> MarkRunProcessedPayload:
        return MarkRunProcessedPayload(
            run=await runs.ask(info.context, input.name(info), input.ask())
        )

    @strawberry.mutation(
        graphql_type=MarkRunLoadedResult,
        description="Say that a run was loaded, once that can no longer be undone.",
    )
    @staticmethod
    async def mark_run_loaded(info: Info, input: inputs.MarkRunLoadedInput) -> MarkRunLoadedPayload:
        return MarkRunLoadedPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=FailRunResult,
        description="Say that the current stage failed. Any worker may claim the run for it again.",
    )
    @staticmethod
    async def fail_run(info: Info, input: inputs.FailRunInput) -> FailRunPayload:
        return FailRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=SkipRunResult,
        description="Keep everybody from working on a run that has no lease and is not loaded.",
    )
    @staticmethod
    async def skip_run(info: Info, input: inputs.SkipRunInput) -> SkipRunPayload:
        return SkipRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=UnskipRunResult,
        description="Let a run be worked on again.",
    )
    @staticmethod
    async def unskip_run(info: Info, input: inputs.UnskipRunInput) -> UnskipRunPayload:
        return UnskipRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=ReloadRunResult,
        description="Let a run be loaded that was loaded before.",
    )
    @staticmethod
    async def reload_run(info: Info, input: inputs.ReloadRunInput) -> ReloadRunPayload:
        return ReloadRunPayload(run=await runs.ask(info.context, input.name(info), input.ask()))

    @strawberry.mutation(
        graphql_type=RecoverRunResult,
        description="Take a run that got stuck or failed to PROCESSED, as its folder holds a "
        "`_SUCCESS`.",
    )
    @staticmethod
    async def recover_run(info: Info, input: inputs.RecoverRunInput) -> RecoverRunPayload:
        recovered = await runs.recover(
            info.context,
            input.name(info),
            given(input.shred_types),
            input.output(),
            given(input.reason),
        )
        return RecoverRunPayload(run=recovered)

    @strawberry.mutation(
        graphql_type=ResetRunResult,
        description="Take a run that got stuck or failed to NEW, or delete it, as its folder holds "
        "no `_SUCCESS`.",
    )
    @staticmethod
    async def reset_run(info: Info, input: inputs.ResetRunInput) -> ResetRunPayload:
        name, output, force = input.name(info), input.output(), bool(input.force)
        if input.delete:
            deleted = await runs.delete(info.context, name, output, force)
            return ResetRunPayload(run=deleted, deleted=True)
        reset = await runs.reset(info.context, name, output, given(input.reason), force)
        return ResetRunPayload(run=reset, deleted=False)

    @strawberry.mutation(
        graphql_type=DeleteManifestResult,
        description="Delete a manifest in which there are no runs; for admins of its group.",
    )
    @staticmethod
    async def delete_manifest(
        info: Info, input: inputs.DeleteManifestInput
    ) -> DeleteManifestPayload:
        deleted = await info.context.session.manifests.delete(input.name(info))
        return DeleteManifestPayload(manifest=deleted)

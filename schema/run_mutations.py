"""The mutations of runs: one for each thing that can be done to one."""

from functools import reduce
from operator import or_
from typing import Annotated, Any

import strawberry

from datastore.manifest import records
from datastore.manifest.runs import Discovery
from resolvers import runs
from schema import run_inputs as inputs
from schema.common import Info, given
from schema.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from schema.resource_results import make_class
from schema.runs import Manifest, Run

_CHANGING = (NotFound, NotPermitted, ValidationProblem, IllegalState)


def _payload(name: str, description: str) -> Any:
    """Make the type of success, which carries the run."""
    fields = {"run": strawberry.field(graphql_type=Run)}
    made = make_class(f"{name}Payload", {"run": records.Run}, fields)
    return strawberry.type(made, description=description)


def _result(name: str, payload: Any, failures: tuple[Any, ...] = _CHANGING) -> Any:
    """Make the union of success and the ways to fail."""
    description = "The run as it is now, or why nothing changed."
    union = strawberry.union(f"{name}Result", description=description)
    return Annotated[reduce(or_, failures, payload), union]


def _asks(name: str, input: Any, done: str, description: str) -> Any:
    """Make the field that asks of a run what the input says."""
    payload = _payload(name, done)

    async def ask(info: Info, input: Any) -> Any:
        return payload(run=await runs.ask(info.context, input.name(info), input.ask()))

    ask.__annotations__["input"] = input
    return strawberry.mutation(
        resolver=ask, graphql_type=_result(name, payload), description=description
    )


DiscoverRunPayload = _payload(
    "DiscoverRun", "The run is in the manifest, since now or since before."
)
RecoverRunPayload = _payload("RecoverRun", "The run is processed.")


@strawberry.type(description="The run is new again, or gone; then `run` is what it was.")
class ResetRunPayload:
    run: records.Run = strawberry.field(graphql_type=Run)
    deleted: bool = strawberry.field(description="Whether it is gone.")


@strawberry.type(description="The manifest is gone; `manifest` is what it was.")
class DeleteManifestPayload:
    manifest: records.Manifest = strawberry.field(graphql_type=Manifest)


DiscoverRunResult = _result(
    "DiscoverRun", DiscoverRunPayload, (NotFound, NotPermitted, ValidationProblem, LimitExceeded)
)
RecoverRunResult = _result("RecoverRun", RecoverRunPayload)
ResetRunResult = _result("ResetRun", ResetRunPayload)
DeleteManifestResult = Annotated[
    DeleteManifestPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "DeleteManifestResult", description="The manifest that was, or why it still is."
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
    async def discover_run(info: Info, input: inputs.DiscoverRunInput) -> Any:
        found = Discovery(
            run_id=input.run_id,
            added_by=input.added_by,
            pipeline=given(input.pipeline),
            skip_reason=given(input.skip_reason),
        )
        manifest = input.name(info).manifest
        return DiscoverRunPayload(run=await runs.discover(info.context, manifest, found))

    claim_run = _asks(
        "ClaimRun",
        inputs.ClaimRunInput,
        "The worker has the run in hand.",
        "Take a run in hand, to transform or to load it, until the lease runs out. Who has it "
        "already is answered the lease they have.",
    )
    heartbeat_run = _asks(
        "HeartbeatRun",
        inputs.HeartbeatRunInput,
        "The worker keeps the run in hand.",
        "Keep a run in hand for so long from now.",
    )
    mark_run_processed = _asks(
        "MarkRunProcessed",
        inputs.MarkRunProcessedInput,
        "The run is processed.",
        "Say that a run was transformed, once its output is complete.",
    )
    mark_run_loaded = _asks(
        "MarkRunLoaded",
        inputs.MarkRunLoadedInput,
        "The run is loaded.",
        "Say that a run was loaded, once that can no longer be undone.",
    )
    fail_run = _asks(
        "FailRun",
        inputs.FailRunInput,
        "The run has failed, and is in no hand.",
        "Say that the stage at hand failed. Anybody may claim the run for it again.",
    )
    skip_run = _asks(
        "SkipRun",
        inputs.SkipRunInput,
        "Nobody is to work on the run.",
        "Keep everybody from working on a run that is in no hand and not loaded.",
    )
    unskip_run = _asks(
        "UnskipRun",
        inputs.UnskipRunInput,
        "The run may be worked on.",
        "Let a run be worked on again.",
    )
    reload_run = _asks(
        "ReloadRun",
        inputs.ReloadRunInput,
        "The run is processed, as before it was loaded.",
        "Let a run be loaded that was loaded before.",
    )

    @strawberry.mutation(
        graphql_type=RecoverRunResult,
        description="Take a run that got stuck or failed to PROCESSED, as its folder holds a "
        "`_SUCCESS`.",
    )
    @staticmethod
    async def recover_run(info: Info, input: inputs.RecoverRunInput) -> Any:
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
        deleted = await runs.delete_manifest(info.context, input.name(info))
        return DeleteManifestPayload(manifest=deleted)

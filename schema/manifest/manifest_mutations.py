"""The mutations of whole manifests, their consumers and their rules, and their results."""

from typing import Annotated

import strawberry

from penstock.datastore.manifest import records
from penstock.resolvers import manifest as run_resolvers
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.manifest import inputs
from penstock.schema.manifest.runs import Manifest


@strawberry.type(description="The result of making a consumer of a manifest.")
class CreateRunConsumerPayload:
    manifest: records.Manifest = strawberry.field(
        graphql_type=Manifest, description="The consumer's own manifest."
    )


@strawberry.type(description="The result of removing a consumer of a manifest.")
class RemoveRunConsumerPayload:
    manifest: records.Manifest = strawberry.field(
        graphql_type=Manifest,
        description="The manifest that was the consumer's, which keeps its runs.",
    )


@strawberry.type(description="The result of setting the rules of retries of a manifest.")
class SetManifestRetriesPayload:
    manifest: records.Manifest = strawberry.field(
        graphql_type=Manifest, description="The manifest with its new rules."
    )


@strawberry.type(description="The result of deleting a manifest.")
class DeleteManifestPayload:
    manifest: records.Manifest = strawberry.field(
        graphql_type=Manifest, description="The manifest as it was before it was deleted."
    )


CreateRunConsumerResult = Annotated[
    CreateRunConsumerPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union(
        "CreateRunConsumerResult",
        description="The manifest of the consumer, or the reason why there is none.",
    ),
]
RemoveRunConsumerResult = Annotated[
    RemoveRunConsumerPayload | NotFound | NotPermitted,
    strawberry.union(
        "RemoveRunConsumerResult",
        description="The manifest of the former consumer, or the reason why nothing changed.",
    ),
]
SetManifestRetriesResult = Annotated[
    SetManifestRetriesPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union(
        "SetManifestRetriesResult",
        description="The manifest with its new rules, or the reason why nothing changed.",
    ),
]
DeleteManifestResult = Annotated[
    DeleteManifestPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "DeleteManifestResult",
        description="The deleted manifest, or the reason why it was not deleted.",
    ),
]


@strawberry.type
class ManifestMutation:
    @strawberry.mutation(
        graphql_type=CreateRunConsumerResult,
        description="Make a consumer of a manifest: a manifest of its own that gets each run as "
        "soon as it is processed. While `isFilled` is false, repeat the mutation to copy more of "
        "the earlier runs. The caller must be an admin of the group.",
    )
    @staticmethod
    async def create_run_consumer(
        info: Info, input: InputOf[inputs.CreateRunConsumerInput]
    ) -> CreateRunConsumerPayload:
        made = await run_resolvers.create_consumer(
            info.context,
            input.manifest_name(info),
            input.consumer,
            input.start,
            dry_run=bool(input.dry_run),
        )
        return CreateRunConsumerPayload(manifest=made)

    @strawberry.mutation(
        graphql_type=RemoveRunConsumerResult,
        description="Give a consumer no more runs of a manifest. The consumer's own manifest "
        "stays. The caller must be an admin of the group.",
    )
    @staticmethod
    async def remove_run_consumer(
        info: Info, input: InputOf[inputs.RemoveRunConsumerInput]
    ) -> RemoveRunConsumerPayload:
        removed = await run_resolvers.remove_consumer(
            info.context, input.manifest_name(info), input.consumer, dry_run=bool(input.dry_run)
        )
        return RemoveRunConsumerPayload(manifest=removed)

    @strawberry.mutation(
        graphql_type=SetManifestRetriesResult,
        description="Set how often, and after which delays, workers can try the failed runs of a "
        "manifest again. The caller must be an admin of its group.",
    )
    @staticmethod
    async def set_manifest_retries(
        info: Info, input: InputOf[inputs.SetManifestRetriesInput]
    ) -> SetManifestRetriesPayload:
        changed = await run_resolvers.set_retries(
            info.context, input.manifest_name(info), input.rules(), dry_run=bool(input.dry_run)
        )
        return SetManifestRetriesPayload(manifest=changed)

    @strawberry.mutation(
        graphql_type=DeleteManifestResult,
        description="Delete a manifest that contains no runs. The caller must be an admin of its "
        "group.",
    )
    @staticmethod
    async def delete_manifest(
        info: Info, input: InputOf[inputs.DeleteManifestInput]
    ) -> DeleteManifestPayload:
        deleted = await info.context.session.manifests.delete(
            input.manifest_name(info), dry_run=bool(input.dry_run)
        )
        return DeleteManifestPayload(manifest=deleted)

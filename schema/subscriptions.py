"""What can be subscribed to."""

from collections.abc import AsyncIterator
from typing import Annotated

import strawberry

from penstock.datastore import records
from penstock.datastore.executions.reading import followed_execution
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.series import Sample
from penstock.datastore.resources.changes import followed
from penstock.datastore.table.layout import PIPELINE
from penstock.resolvers import ngsi
from penstock.schema.core.context import Info
from penstock.schema.core.relay import key_of
from penstock.schema.executions.executions import Execution
from penstock.schema.ngsi.entities import NgsiSample
from penstock.schema.pipelines.pipelines import Pipeline


@strawberry.type(description="What can be followed.")
class Subscription:
    @strawberry.subscription(
        graphql_type=Pipeline,
        description="The pipeline as it is now, then again after each change of its content, state "
        "or grants. A client that reads slowly misses changes, never the latest. Completes when "
        "the pipeline is deleted or the caller no longer sees it.",
    )
    @staticmethod
    def pipeline_changed(
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")],
    ) -> AsyncIterator[records.Pipeline]:
        return followed(
            info.context.session.of(PIPELINE).reading, info.context.changes, key_of("Pipeline", id)
        )

    @strawberry.subscription(
        graphql_type=Execution,
        description="The execution as it is now, then again as it gets on. A client that reads "
        "slowly misses steps, never the last. Completes when the execution is over or gone, and "
        "when the caller no longer sees it.",
    )
    @staticmethod
    def execution_progress(
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")],
    ) -> AsyncIterator[ExecutionRecord]:
        return followed_execution(
            info.context.session.executions.reading, info.context.changes, key_of("Execution", id)
        )

    @strawberry.subscription(
        graphql_type=NgsiSample,
        description="The latest sample of an attribute, then each that is stored, within a second "
        "or two; one that is stored more than a minute after it arrived is left out.",
    )
    @staticmethod
    def ngsi_samples(
        info: Info,
        service: Annotated[str, strawberry.argument(description="As notified.")],
        service_path: Annotated[str, strawberry.argument(description="As notified.")],
        entity_id: Annotated[str, strawberry.argument(description="As notified.")],
        entity_type: Annotated[str, strawberry.argument(description="As notified; may be empty.")],
        attribute: Annotated[str, strawberry.argument(description="As notified.")],
    ) -> AsyncIterator[Sample]:
        at = ServicePath(service, service_path)
        return ngsi.samples(info.context, at, (entity_id, entity_type), attribute)

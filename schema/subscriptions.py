"""The subscriptions of the schema."""

from collections.abc import AsyncIterator
from typing import Annotated

import strawberry

from penstock.datastore import records
from penstock.datastore.executions.reading import follow_execution
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.resources.changes import follow_resource
from penstock.datastore.table.layout import PIPELINE
from penstock.resolvers import ngsi
from penstock.schema.core.context import Info
from penstock.schema.core.relay import parse_key
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.executions import Execution
from penstock.schema.list_events import ListSubscription
from penstock.schema.metrics.metrics import Metric
from penstock.schema.ngsi.entities import NgsiSample
from penstock.schema.pipelines.pipelines import Pipeline


@strawberry.type(description="The events that a client can subscribe to.")
class Subscription(ListSubscription):
    @strawberry.subscription(
        graphql_type=Pipeline,
        description="The pipeline in its present state, and again after each change of its "
        "content, state or grants. A client that reads slowly may miss intermediate changes but "
        "always gets the latest. The stream completes when the pipeline is deleted or the caller "
        "can no longer see it.",
    )
    @staticmethod
    def pipeline_changed(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> AsyncIterator[records.Pipeline]:
        return follow_resource(
            info.context.session.repository(PIPELINE).reading,
            info.context.changes,
            parse_key("Pipeline", id),
        )

    @strawberry.subscription(
        graphql_type=Pipeline,
        description="The pipeline, and again after each commit of the rows that it keeps: an "
        "execution that ended, or a withdrawal, also of rows that the caller does not see. A slow "
        "client may miss commits but always learns of the last. The stream completes when the "
        "pipeline is deleted or the caller can no longer see it.",
    )
    @staticmethod
    def rows_changed(
        info: Info,
        id: Annotated[
            strawberry.ID, strawberry.argument(description="The global id of the pipeline.")
        ],
    ) -> AsyncIterator[records.Pipeline]:
        following = info.context.session.follow_rows(info.context.changes)
        return following.of_pipeline(parse_key("Pipeline", id))

    @strawberry.subscription(
        graphql_type=Metric,
        metadata=price_metadata(20),
        description="The metric, and again after each commit of rows of which it is made, and "
        "after each change of its definition or of a metric that it is made of. It tells that "
        "`series` may differ; read the part that you show. The stream completes when the metric is "
        "deleted or the caller can no longer see it.",
    )
    @staticmethod
    def metric_values_changed(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> AsyncIterator[records.Metric]:
        following = info.context.session.follow_rows(info.context.changes)
        return following.of_metric(parse_key("Metric", id))

    @strawberry.subscription(
        graphql_type=Execution,
        description="The execution in its present state, and again whenever it progresses. A "
        "client that reads slowly may miss intermediate steps but always gets the last. The "
        "stream completes when the execution has ended or is deleted, or when the caller can no "
        "longer see it.",
    )
    @staticmethod
    def execution_progress(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> AsyncIterator[ExecutionRecord]:
        return follow_execution(
            info.context.session.executions.reading,
            info.context.changes,
            parse_key("Execution", id),
        )

    @strawberry.subscription(
        graphql_type=NgsiSample,
        description="The latest sample of an attribute, and then each new sample within about two "
        "seconds of being stored. Samples that are stored more than a minute after their receipt "
        "are left out.",
    )
    @staticmethod
    def ngsi_samples(
        info: Info,
        service: Annotated[
            str, strawberry.argument(description="The service, as written in the notification.")
        ],
        service_path: Annotated[
            str,
            strawberry.argument(description="The service path, as written in the notification."),
        ],
        entity_id: Annotated[
            str,
            strawberry.argument(
                description="The id of the entity, as written in the notification."
            ),
        ],
        entity_type: Annotated[
            str,
            strawberry.argument(
                description="The type of the entity, as written in the notification; may be empty."
            ),
        ],
        attribute: Annotated[
            str,
            strawberry.argument(
                description="The name of the attribute, as written in the notification."
            ),
        ],
    ) -> AsyncIterator[Sample]:
        at = ServicePath(service, service_path)
        return ngsi.follow_samples(info.context, at, (entity_id, entity_type), attribute)

"""The mutations of metrics with their inputs, payloads and results."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.records import MeasureFunction
from penstock.datastore.resources.metric_rules import MAX_INPUTS, MAX_UNIT
from penstock.datastore.table.layout import METRIC, PIPELINE
from penstock.schema.core.context import input_records, unset_to_none
from penstock.schema.core.relay import parse_global_id
from penstock.schema.metrics.metrics import Metric
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    GrantResourceInput,
    RevokeResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
    return_unchanged,
)
from penstock.schema.resources.kind_mutations import (
    CHANGED_DESCRIPTION,
    CreateFailure,
    DeleteFailure,
    GrantFailure,
    RevokeFailure,
    UpdateFailure,
    create_mutation,
    delete_mutation,
    grant_mutation,
    revoke_mutation,
    update_mutation,
)

_UNIT = f"The unit of the values, for people, of at most {MAX_UNIT} characters."
_FUNCTION = "The function over the values of the inputs."
_INPUTS = (
    f"The inputs of the metric, at most {MAX_INPUTS}. No metric is an input of itself, nor of one "
    "of its inputs."
)


@strawberry.input(
    description="An input of a metric. Give either `pipeline` and `output`, or `metric`."
)
class MetricInput:
    pipeline: str | None = strawberry.field(
        default=UNSET,
        description="A pipeline that keeps rows with a time: its global id, or the name by which "
        "the group of the metric, or the nearest group above it, sees it.",
    )
    output: str | None = strawberry.field(
        default=UNSET,
        description="The key of an output of the pipeline. It is a number, unless it is counted.",
    )
    metric: str | None = strawberry.field(
        default=UNSET, description="Another metric, by its global id or its name, as `pipeline` is."
    )

    @property
    def is_valid(self) -> bool:
        """Whether it names an output or a metric, and not both."""
        pipeline, output, metric = map(unset_to_none, (self.pipeline, self.output, self.metric))
        return (metric is None) is (pipeline is not None and output is not None) and (
            metric is None or (pipeline is None and output is None)
        )

    def record(self) -> records.MetricSource:
        metric = unset_to_none(self.metric)
        kind = PIPELINE if metric is None else METRIC
        named = (unset_to_none(self.pipeline) if metric is None else metric) or ""
        id = parse_global_id(named)
        is_id = id is not None and id.type == kind.title
        return records.MetricSource(
            kind=kind.letter,
            output=unset_to_none(self.output),
            id=id.key if id is not None and is_id else "",
            source="" if is_id else named,
        )


@strawberry.input(description="The metric to create.")
class CreateMetricInput(CreateResourceInput):
    unit: str | None = strawberry.field(default=UNSET, description=_UNIT)
    function: MeasureFunction = strawberry.field(description=_FUNCTION)
    inputs: list[MetricInput] = strawberry.field(description=_INPUTS)
    idempotency_key: strawberry.ID | None = idempotency_key_field("metric")


@strawberry.input(
    description=(
        "The changes to make to a metric. A field that is left out keeps its "
        "value, and null clears the value."
    )
)
class UpdateMetricInput(UpdateResourceInput):
    id: strawberry.ID = id_field("metric")
    unit: str | None = strawberry.field(default=UNSET, description=_UNIT)
    function: MeasureFunction | None = strawberry.field(default=UNSET, description=_FUNCTION)
    inputs: list[MetricInput] | None = strawberry.field(default=UNSET, description=_INPUTS)


def _inputs_problem(inputs: list[MetricInput] | None) -> str | None:
    wrong = [n for n, one in enumerate(inputs or ()) if not one.is_valid]
    return f"input {wrong[0]} must be an output of a pipeline, or a metric" if wrong else None


_CONTENT_READER = ContentReader(
    {"unit": return_unchanged, "function": return_unchanged, "inputs": input_records},
    ("function", "inputs"),
    problem={"inputs": _inputs_problem},
)


@strawberry.input(description="The metric to delete.")
class DeleteMetricInput(DeleteResourceInput):
    id: strawberry.ID = id_field("metric")


@strawberry.input(description="The metric to share and the group to share it with.")
class GrantMetricInput(GrantResourceInput):
    id: strawberry.ID = id_field("metric")


@strawberry.input(description="The metric and the group that loses its grant.")
class RevokeMetricInput(RevokeResourceInput):
    id: strawberry.ID = id_field("metric")


@strawberry.type(description="The metric was created, or found by its idempotency key.")
class CreateMetricPayload:
    metric: records.Metric = strawberry.field(
        graphql_type=Metric, description="The metric that was created or found."
    )


@strawberry.type(description="A new version of the metric was created.")
class UpdateMetricPayload:
    metric: records.Metric = strawberry.field(
        graphql_type=Metric, description="The metric with its new version."
    )


@strawberry.type(description="The metric and all its versions were deleted.")
class DeleteMetricPayload:
    metric: records.Metric = strawberry.field(
        graphql_type=Metric, description="The metric as it was before it was deleted."
    )


@strawberry.type(description="The group and all groups below it have access to the metric.")
class GrantMetricPayload:
    metric: records.Metric = strawberry.field(
        graphql_type=Metric, description="The metric with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED_DESCRIPTION)


@strawberry.type(description="The group no longer has a grant of its own for the metric.")
class RevokeMetricPayload:
    metric: records.Metric = strawberry.field(
        graphql_type=Metric, description="The metric without the grant."
    )


CreateMetricResult = Annotated[
    CreateMetricPayload | CreateFailure,
    strawberry.union(
        "CreateMetricResult", description="The new metric, or the reason why none was created."
    ),
]
UpdateMetricResult = Annotated[
    UpdateMetricPayload | UpdateFailure,
    strawberry.union(
        "UpdateMetricResult",
        description="The metric with its new version, or the reason why nothing changed.",
    ),
]
DeleteMetricResult = Annotated[
    DeleteMetricPayload | DeleteFailure,
    strawberry.union(
        "DeleteMetricResult",
        description="The deleted metric, or the reason why it was not deleted.",
    ),
]
GrantMetricResult = Annotated[
    GrantMetricPayload | GrantFailure,
    strawberry.union(
        "GrantMetricResult",
        description="The metric with the grant, or the reason why nothing changed.",
    ),
]
RevokeMetricResult = Annotated[
    RevokeMetricPayload | RevokeFailure,
    strawberry.union(
        "RevokeMetricResult",
        description="The metric without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class MetricMutation:
    create_metric = create_mutation(
        METRIC,
        CreateMetricInput,
        CreateMetricResult,
        _CONTENT_READER,
        lambda created: CreateMetricPayload(metric=created),
    )
    update_metric = update_mutation(
        METRIC,
        UpdateMetricInput,
        UpdateMetricResult,
        _CONTENT_READER,
        lambda updated: UpdateMetricPayload(metric=updated),
    )
    delete_metric = delete_mutation(
        METRIC,
        DeleteMetricInput,
        DeleteMetricResult,
        lambda deleted: DeleteMetricPayload(metric=deleted),
    )
    grant_metric = grant_mutation(
        METRIC,
        GrantMetricInput,
        GrantMetricResult,
        lambda granted, changed: GrantMetricPayload(metric=granted, changed=changed),
    )
    revoke_metric = revoke_mutation(
        METRIC,
        RevokeMetricInput,
        RevokeMetricResult,
        lambda revoked: RevokeMetricPayload(metric=revoked),
    )

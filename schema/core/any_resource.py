"""The union of all kinds of resources, for lists that mix them."""

from typing import Annotated

import strawberry

from penstock.datastore.records import Calculation, Metric, Pipeline, ReferenceDataset

AnyResource = Annotated[
    Annotated["Pipeline", strawberry.lazy("penstock.schema.pipelines.pipelines")]
    | Annotated["Calculation", strawberry.lazy("penstock.schema.calculations.calculations")]
    | Annotated["ReferenceDataset", strawberry.lazy("penstock.schema.datasets.datasets")]
    | Annotated["Metric", strawberry.lazy("penstock.schema.metrics.metrics")],
    strawberry.union("AnyResource", description="A resource of any kind."),
]

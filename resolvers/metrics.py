"""Reads of metrics for a request: their series, and the names of their inputs."""

from asyncio import gather
from typing import Final

from penstock.datastore.errors import NotFound
from penstock.datastore.kept_rows.metric_series import MetricSeries, SeriesRequest
from penstock.datastore.records import Metric, MetricSource
from penstock.datastore.table.layout import KIND_OF_LETTER
from penstock.resolvers.context import Context

_UNSEEN: Final = MetricSource(kind="")
"""In the place of an input that is out of sight, or gone: its kind is not told either."""


async def read_series(context: Context, metric: Metric, wanted: SeriesRequest) -> MetricSeries:
    """Read the values of a metric over time."""
    return await context.session.metric_series.read(metric, wanted)


async def shown_inputs(context: Context, metric: Metric) -> tuple[MetricSource, ...]:
    """The inputs with the names that they have now, and blanks for those that are out of sight.

    Nothing is told of an input that the caller does not see: it looks like one that is gone.
    """
    return tuple(await gather(*(_shown_input(context, one) for one in metric.inputs)))


async def _shown_input(context: Context, one: MetricSource) -> MetricSource:
    loaders = context.loaders.of(KIND_OF_LETTER[one.kind])
    try:
        found = await loaders.latest(one.id, frozenset(("name",)))
    except NotFound:
        return _UNSEEN
    return MetricSource(kind=one.kind, source=found.name, output=one.output, id=one.id)

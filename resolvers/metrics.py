"""Reads of metrics for a request: their series, and the names of their inputs."""

from penstock.datastore.errors import NotFound
from penstock.datastore.kept_rows.metric_series import MetricSeries, SeriesRequest
from penstock.datastore.records import Metric, MetricSource
from penstock.datastore.table.layout import KIND_OF_LETTER
from penstock.resolvers.context import Context


async def read_series(context: Context, metric: Metric, wanted: SeriesRequest) -> MetricSeries:
    """Read the values of a metric over time."""
    return await context.session.metric_series.read(metric, wanted)


async def current_name(context: Context, source: MetricSource) -> str:
    """The name that an input has now, or that of the save if the caller does not see it."""
    loaders = context.loaders.of(KIND_OF_LETTER[source.kind])
    try:
        found = await loaders.latest(source.id, frozenset(("name",)))
    except NotFound:
        return source.source
    return str(found.name)

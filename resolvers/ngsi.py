"""Reads and writes of NGSI that take more than one call of a repository."""

from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec

from penstock.datastore.access.work import naming_units
from penstock.datastore.errors import BadArgument, NotFound, blame_field
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.ngsi.directory import Attribute, Entity, Service, ServicePath
from penstock.datastore.ngsi.name_encoding import Encoding, decode_components, encode
from penstock.datastore.ngsi.naming.rules import NamingDocuments
from penstock.datastore.ngsi.notification import check_path
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.charts import MAX_POINTS
from penstock.datastore.ngsi.reading.downsampling import MIN_POINTS, Downsampling
from penstock.datastore.ngsi.reading.followers import follow_series
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.positions import Area, Position
from penstock.datastore.ngsi.reading.series import Sample, TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.rows import recv_time
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.cursors import digest_of_list

MAX_TEXT = 2000
MAX_WIDTH: Final = 366 * 86_400
MAX_PERCENTILE: Final = 100


class PointPage(msgspec.Struct, frozen=True):
    """A page of points in columns of equal length; `end_cursor` is None on the last page."""

    times: tuple[str, ...]
    values: tuple[Decimal | None, ...]
    texts: tuple[str | None, ...]
    end_cursor: str | None


class Chart(msgspec.Struct, frozen=True):
    """Points that were chosen for a chart, in columns of equal length.

    Their times are rounded to the resolution; 0 for those of samples.
    """

    times: tuple[str, ...]
    values: tuple[Decimal, ...]
    resolution_seconds: int


async def delete_samples(
    context: Context, at: ServicePath, entity: tuple[str, str], span: TimeSpan
) -> Job:
    """Begin a job that deletes samples of an entity; raises NotFound if there is none."""
    with blame_field("servicePath"):
        path = await context.session.notifications.directory.path(at.service, check_path(at.path))
    found = await find_entity(context, path, *entity)
    if found is None:
        raise NotFound("There is no such entity.", ("entityId",))
    return await context.session.sample_deletions.begin(found, span)


async def load_path(context: Context, of: Service, path: str) -> ServicePath:
    return await context.session.notifications.directory.path(of.name, check_path(path))


async def list_entities(
    context: Context, of: ServicePath, window: Window, prefix: str, type: str | None
) -> Slice[Entity]:
    _check_length(prefix)
    _check_length(type or "")
    return await context.session.notifications.directory.entities(of, window, prefix, type)


async def list_positions(
    context: Context, of: ServicePath, area: Area, window: Window
) -> Slice[Position]:
    """List positions of entities inside an area; raises BadArgument."""
    _check_length(area.attribute)
    _check_length(area.type or "")
    area.check()
    return await context.session.notifications.positions.page(of, area, window)


async def find_entity(context: Context, of: ServicePath, id: str, type: str) -> Entity | None:
    _check_length(id)
    _check_length(type)
    return await context.session.notifications.directory.entity(of, id, type)


async def find_attribute(context: Context, of: Entity, name: str) -> Attribute | None:
    _check_length(name)
    return await context.loaders.ngsi_attributes.load((of, name))


def build_aggregation(
    method: Method, period: Period | Width, percentile: Decimal | None
) -> Aggregation:
    """Build what the arguments of an aggregate mean, the median by default; raises BadArgument."""
    if percentile is None:
        return Aggregation(method, period)
    if not 0 <= percentile <= MAX_PERCENTILE:
        raise BadArgument(f"`percentile` is 0 to {MAX_PERCENTILE}.", ("percentile",))
    return Aggregation(method, period, percentile)


def check_width(seconds: int) -> Width:
    """Return the period of so many seconds; raises BadArgument."""
    if not 1 <= seconds <= MAX_WIDTH:
        raise BadArgument(f"`widthSeconds` is 1 to {MAX_WIDTH}.", ("widthSeconds",))
    return Width(seconds)


async def list_points(
    context: Context, of: Attribute, span: TimeSpan, limit: int, after: str | None
) -> PointPage:
    """List the samples of a span, up to MAX_POINTS a page; raises BadArgument, InvalidCursor."""
    if not 1 <= limit <= MAX_POINTS:
        raise BadArgument(f"`limit` is 1 to {MAX_POINTS}, not {limit}.", ("limit",))
    digest = digest_of_list(context.caller.user_id, ("points", of.entity, of.name, span))
    start = None if after is None else context.cursors.open(digest, after)
    page = await context.session.notifications.charts.points(
        of, span, Window(size=limit, after=start)
    )
    more = page.more and page.reached is not None
    return PointPage(
        times=tuple(sample.time for _, sample in page.entries),
        values=tuple(sample.number for _, sample in page.entries),
        texts=tuple(sample.text for _, sample in page.entries),
        end_cursor=context.cursors.seal(digest, page.reached or "") if more else None,
    )


async def downsample_series(
    context: Context, of: Attribute, span: TimeSpan, points: int, method: Downsampling
) -> Chart:
    """Reduce the samples of a span to some points; raises BadArgument, LimitExceeded."""
    if not MIN_POINTS <= points <= MAX_POINTS:
        raise BadArgument(f"`points` is {MIN_POINTS} to {MAX_POINTS}, not {points}.", ("points",))
    reader = context.session.notifications.chart_points
    found, resolution = await reader.read(of, span, points, method, context.caller.user_id)
    times, numbers = tuple(recv_time(at) for at, _ in found), tuple(number for _, number in found)
    return Chart(times, numbers, resolution)


def encode_name(context: Context, text: str, encoding: Encoding | None) -> str:
    _pay_for_name(context, text)
    return encode(text, encoding or _default_encoding(context))


def decode_name(context: Context, name: str, encoding: Encoding | None) -> list[str]:
    _pay_for_name(context, name)
    return list(decode_components(name, encoding or _default_encoding(context)))


async def put_mappings(context: Context, document: str) -> NamingDocuments:
    await context.session.notifications.rules.put_mappings(document.encode())
    return await context.session.notifications.rules.documents()


async def put_rules(context: Context, document: str) -> NamingDocuments:
    await context.session.notifications.rules.put_rules(document.encode())
    return await context.session.notifications.rules.documents()


async def follow_samples(
    context: Context, at: ServicePath, entity: tuple[str, str], name: str
) -> AsyncIterator[Sample]:
    """Yield the latest sample of an attribute, then each new one; raises NotFound."""
    notified = context.session.notifications
    path = await notified.directory.path(at.service, check_path(at.path))
    found = await notified.directory.entity(path, *entity)
    of = None if found is None else await notified.directory.attribute(found, name)
    if of is None:
        raise NotFound("There is no such attribute.", ("attribute",))
    seconds, work = notified.ingest.poll_seconds, context.session.work
    async for sample in follow_series(notified.series, notified.access.clock, of, seconds, work):
        yield sample


def parse_span(start: str | None, end: str | None) -> TimeSpan:
    """Return the span between two instants; it is open at an end that is left out."""
    return TimeSpan(
        *(None if each is None else datetime.fromisoformat(each) for each in (start, end))
    )


def _default_encoding(context: Context) -> Encoding:
    return context.session.notifications.ingest.options.naming.encoding


def _check_length(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise BadArgument(f"The text is longer than {MAX_TEXT} characters.")


def _pay_for_name(context: Context, name: str) -> None:
    _check_length(name)
    context.session.work.spend_more(naming_units(len(name)))

"""Reads and writes of NGSI that take more than one call of a repository."""

from collections.abc import AsyncIterator
from datetime import datetime

from penstock.datastore.errors import BadArgument, NotFound
from penstock.datastore.ngsi.directory import Attribute, Entity, Service, ServicePath
from penstock.datastore.ngsi.name_encoding import Encoding, decode_components, encode
from penstock.datastore.ngsi.naming_rules import NamingDocuments
from penstock.datastore.ngsi.notification import check_path
from penstock.datastore.ngsi.reading.aggregates import (
    AggregateBucket,
    Method,
    Period,
    aggregate_samples,
)
from penstock.datastore.ngsi.reading.followers import follow_series
from penstock.datastore.ngsi.reading.series import Sample, TimeSpan
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context

MAX_TEXT = 2000


async def load_path(context: Context, of: Service, path: str) -> ServicePath:
    return await context.session.notifications.directory.path(of.name, check_path(path))


async def list_entities(
    context: Context, of: ServicePath, window: Window, prefix: str, type: str | None
) -> Slice[Entity]:
    _check_length(prefix)
    _check_length(type or "")
    return await context.session.notifications.directory.entities(of, window, prefix, type)


async def find_entity(context: Context, of: ServicePath, id: str, type: str) -> Entity | None:
    _check_length(id)
    _check_length(type)
    return await context.session.notifications.directory.entity(of, id, type)


async def find_attribute(context: Context, of: Entity, name: str) -> Attribute | None:
    _check_length(name)
    return await context.session.notifications.directory.attribute(of, name)


async def aggregate(
    context: Context, of: Attribute, span: TimeSpan, method: Method, period: Period, *, fill: bool
) -> list[AggregateBucket]:
    samples = context.session.notifications.series.walk_samples(of, span)
    return await aggregate_samples(samples, method, period, fill=fill)


def encode_name(context: Context, text: str, encoding: Encoding | None) -> str:
    _check_length(text)
    return encode(text, encoding or _default_encoding(context))


def decode_name(context: Context, name: str, encoding: Encoding | None) -> list[str]:
    _check_length(name)
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

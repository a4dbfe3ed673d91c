"""Reads and writes of NGSI that take more than one call of a repository."""

from collections.abc import AsyncIterator
from datetime import datetime

from penstock.datastore.errors import BadInput, NotFound
from penstock.datastore.ngsi.directory import Attribute, Entity, Service, ServicePath
from penstock.datastore.ngsi.name_encoding import Encoding, components, encode
from penstock.datastore.ngsi.naming_rules import Documents
from penstock.datastore.ngsi.notification import checked_path
from penstock.datastore.ngsi.series import (
    Bucket,
    Method,
    Period,
    Sample,
    Span,
    aggregated,
    followed,
)
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context

MAX_TEXT = 2000


async def path(context: Context, of: Service, path: str) -> ServicePath:
    return await context.session.notified.directory.path(of.name, checked_path(path))


async def entities(
    context: Context, of: ServicePath, window: Window, prefix: str, type: str | None
) -> Slice[Entity]:
    _check(prefix)
    _check(type or "")
    return await context.session.notified.directory.entities(of, window, prefix, type)


async def entity(context: Context, of: ServicePath, id: str, type: str) -> Entity | None:
    _check(id)
    _check(type)
    return await context.session.notified.directory.entity(of, id, type)


async def attribute(context: Context, of: Entity, name: str) -> Attribute | None:
    _check(name)
    return await context.session.notified.directory.attribute(of, name)


async def aggregate(
    context: Context, of: Attribute, span: Span, method: Method, period: Period, *, fill: bool
) -> list[Bucket]:
    samples = context.session.notified.series.walk(of, span)
    return await aggregated(samples, method, period, fill=fill)


def encoded(context: Context, text: str, encoding: Encoding | None) -> str:
    _check(text)
    return encode(text, encoding or _encoding(context))


def decoded(context: Context, name: str, encoding: Encoding | None) -> list[str]:
    _check(name)
    return list(components(name, encoding or _encoding(context)))


async def put_mappings(context: Context, document: str) -> Documents:
    await context.session.notified.rules.put_mappings(document.encode())
    return await context.session.notified.rules.documents()


async def put_rules(context: Context, document: str) -> Documents:
    await context.session.notified.rules.put_rules(document.encode())
    return await context.session.notified.rules.documents()


async def samples(
    context: Context, at: ServicePath, entity: tuple[str, str], name: str
) -> AsyncIterator[Sample]:
    """Yield the latest sample of an attribute, then each new one; raises NotFound."""
    notified = context.session.notified
    path = await notified.directory.path(at.service, checked_path(at.path))
    found = await notified.directory.entity(path, *entity)
    of = None if found is None else await notified.directory.attribute(found, name)
    if of is None:
        raise NotFound("There is no such attribute.", ("attribute",))
    seconds = notified.ingest.poll_seconds
    async for sample in followed(notified.series, notified.access.clock, of, seconds):
        yield sample


def span_of(start: str | None, end: str | None) -> Span:
    """Return the span between two instants; it is open at an end that is left out."""
    return Span(*(None if each is None else datetime.fromisoformat(each) for each in (start, end)))


def _encoding(context: Context) -> Encoding:
    return context.session.notified.ingest.options.naming.encoding


def _check(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise BadInput(f"The text is longer than {MAX_TEXT} characters.")

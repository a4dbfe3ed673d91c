"""Versions of resources, newest first; they are numbered from 1 without gaps."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.errors import NotFound
from penstock.datastore.records import Metric, Resource, VersionDate
from penstock.datastore.resources.reading import ACCESS_FIELDS, ResourceReader
from penstock.datastore.resources.version_dates.active_from import find_dated
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.table.items import (
    Projection,
    load,
    merge_projections,
    read_lasting_rows,
    read_or_report,
    read_rows,
)
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Attributes, Key, Query, Range
from penstock.datastore.text import is_id

R = TypeVar("R", bound=Resource)

_VERSION_FIELDS: Projection = frozenset(("id", "version"))
"""The fields that identify a version."""

_COMMON_CONTENT: Final = ("name", "description", "tags", "references")
_COUNTED: Final = frozenset(("counted_files", "counted_bytes"))

MAX_VERSION = 9_999_999_999
SHORT_PAGE = 5


class VersionsRequest(NamedTuple):
    """The request for a page of versions, with the wanted fields of each."""

    window: Window
    projection: Projection = None


@dataclass(frozen=True, slots=True)
class Versions(Generic[R]):
    """The versions of one kind for the caller.

    A method that takes a resource relies on the caller having read it, which proves the access.
    """

    kind: KindDefinition[R]
    access: Access

    async def many(self, ids: Sequence[tuple[str, int]]) -> list[R | NotFound]:
        """Get versions: BatchGet of latest (for the permission as of now) and of the versions.

        The result has one entry for each id and number, in their order.
        """
        wanted = {(id, n) for id, n in ids if is_id(id) and 1 <= n <= MAX_VERSION}
        keys = [self.kind.latest.key(id=id) for id, _ in wanted]
        keys += [self.kind.version.key(id=id, version=n) for id, n in wanted]
        rows = await read_rows(self.access.table, keys, consistent=True)
        return [
            self._admit_version(id, n, rows) if (id, n) in wanted else self._absent()
            for id, n in ids
        ]

    async def one(self, id: str, version: int) -> R:
        """Get version, one; raises NotFound."""
        (found,) = await self.many([(id, version)])
        if isinstance(found, NotFound):
            raise found
        return found

    async def as_at(self, of: R, at: str) -> R:
        """Get the resource in the version that is active at a time.

        Raises NotFound for a time at which none is.
        """
        dated, found = find_dated(of, at), await self._find_undated(of, at)
        if dated is not None and (found is None or _is_after(dated, found)):
            found = await self._read_known(of, dated.version)
        if found is None:
            raise NotFound(f"It was created at {of.created_at}.", ("asAt",))
        if found.version == of.version:
            return of
        past = self.kind.record(**msgspec.structs.asdict(found))
        labels = tuple(one for one in of.labels if one.version <= past.version)
        return msgspec.structs.replace(past, labels=labels)

    async def read_named(self, of: R, name: VersionName) -> R:
        """Get a version of a known resource: none, or get version if it is an earlier one.

        Raises NotFound for a number or label that no version has, and Invalid for both.
        """
        return await self._read_known(of, name.find(of))

    async def _find_undated(self, of: R, at: str) -> R | None:
        """Find the latest version at a time of those that name no start of their own."""
        found = await self._find_latest(of, at)
        if found is None or found.active_from is None:
            return found
        return await self._read_known(of, found.undated) if found.undated else None

    async def _read_known(self, of: R, number: int) -> R:
        if number == of.version:
            return of
        (version,) = await self.by_number([(of, number)])
        if isinstance(version, NotFound):
            raise version
        return version

    async def _find_latest(self, of: R, at: str) -> R | None:
        """Find the version that was the latest at a time.

        Versions are contiguous and in the order of their times, so a binary search finds it in at
        most log2(versions) gets.
        """
        if at < of.created_at:
            return None
        if of.updated_at <= at:
            return of
        low, high, found = 1, of.version, None
        while found is None or high - low > 1:
            middle = (low + high) // 2
            version = await self._read_known(of, middle)
            if version.updated_at <= at:
                low, found = middle, version
            else:
                high = middle
        return found

    async def by_number(
        self, wanted: Sequence[tuple[R, int]], projection: Projection = None
    ) -> list[R | NotFound]:
        """Get versions of known resources: `pk = P:<id>, sk = PV:<version>`, batched, in order."""
        keys = [
            self.kind.version.key(id=of.id, version=n) if 1 <= n <= of.version else None
            for of, n in wanted
        ]
        rows = await read_lasting_rows(self.access.table, filter(None, keys))
        return [
            read_or_report(partial(self._read_version, of.id, projection), rows[key])
            if key is not None and key in rows
            else _no_version(n)
            for key, (of, n) in zip(keys, wanted, strict=True)
        ]

    async def page(self, of: R, window: Window, projection: Projection = None) -> Slice[R]:
        """List versions: `pk = P:<id>`, sk from the first `PV:` to the known latest, newest first.

        Each version has at least the fields of the projection.
        """
        row = self.kind.version
        low, high = (row.sk.fill({"version": n}) for n in (1, of.version))
        number = window.after_number
        after = None if number is None else row.key(id=of.id, version=number)
        query = Query(
            partition=row.pk.fill({"id": of.id}),
            range=Range(row.sk.prefix({}), low, high),
            after=after,
            descending=not window.backward,
            limit=window.size + 1,
            consistent=True,
        )
        part = merge_projections(projection, _VERSION_FIELDS)
        read = partial(self._read_version, of.id, part)
        found = await read_records(self.access.table, query, read)
        return make_slice(found.records, window, _position, more=found.more)

    async def pages(self, wanted: Sequence[tuple[R, VersionsRequest]]) -> list[Slice[R]]:
        """List versions of many resources, in their order, each with at least the wanted fields.

        The numbers of short pages are known, so they are read together by BatchGet; a longer page
        costs fewer units as a query of its own.
        """
        plans = [_page_numbers(of, window) for of, (window, _) in wanted]
        projection = _VERSION_FIELDS
        for _, (_, more) in wanted:
            projection = merge_projections(projection, more)
        short = [len(numbers) <= SHORT_PAGE for numbers in plans]
        keyed = [
            (of, n)
            for (of, _), numbers, is_short in zip(wanted, plans, short, strict=True)
            if is_short
            for n in numbers
        ]
        queried = [page for page, is_short in zip(wanted, short, strict=True) if not is_short]
        records, pages = await gather(
            self.by_number(keyed, projection),
            gather(*(self.page(of, window, projection) for of, (window, projection) in queried)),
        )
        by_number = {(of.id, n): record for (of, n), record in zip(keyed, records, strict=True)}
        rest = iter(pages)
        return [
            _slice_of_known(of, window, [by_number[of.id, n] for n in numbers])
            if is_short
            else next(rest)
            for (of, (window, _)), numbers, is_short in zip(wanted, plans, short, strict=True)
        ]

    def _admit_version(self, id: str, number: int, rows: Mapping[Key, Attributes]) -> R | NotFound:
        latest = rows.get(self.kind.latest.key(id=id))
        resource = ResourceReader(self.kind, self.access).admit(latest, ACCESS_FIELDS)
        if isinstance(resource, NotFound):
            return resource
        item = rows.get(self.kind.version.key(id=id, version=number))
        if item is None:
            return _no_version(number)
        return read_or_report(partial(self._read_version, id, None), item)

    def _read_version(self, id: str, projection: Projection, item: Attributes) -> R:
        return load(self.kind.version_record, item, projection, id=id)

    def _absent(self) -> NotFound:
        return not_found_error(self.kind.noun)


def _is_after(dated: VersionDate, undated: Resource) -> bool:
    return (dated.start, dated.version) > (undated.updated_at, undated.version)


def restored_content(kind: KindDefinition[R], version: R) -> dict[str, Any]:
    """The content of a version, by its fields, to be saved again.

    The inputs of a metric are looked up by their ids alone, so that they are checked again.
    """
    common = {field.name for field in msgspec.structs.fields(Resource)}
    own = {field.name for field in msgspec.structs.fields(kind.record)} - common - _COUNTED
    content = {name: getattr(version, name) for name in (*_COMMON_CONTENT, *sorted(own))}
    if isinstance(version, Metric):
        content["inputs"] = tuple(msgspec.structs.replace(one, source="") for one in version.inputs)
    return content


def _position(record: Resource) -> str:
    return str(record.version)


def _page_numbers(of: Resource, window: Window) -> range:
    """The numbers of the versions on a page, in the direction of reading."""
    after = window.after_number
    if window.backward:
        start = 1 if after is None else after + 1
        return range(start, min(start + window.size, of.version + 1))
    start = of.version if after is None else min(after - 1, of.version)
    return range(start, max(start - window.size, 0), -1)


def _slice_of_known(of: Resource, window: Window, records: Sequence[R | NotFound]) -> Slice[R]:
    found = [record for record in records if not isinstance(record, NotFound)]
    numbers = _page_numbers(of, window)
    more = bool(numbers) and (numbers[-1] < of.version if window.backward else numbers[-1] > 1)
    return make_slice(found, window, _position, more=more)


def _no_version(number: int) -> NotFound:
    return NotFound(f"There is no version {number}.", ("version",))

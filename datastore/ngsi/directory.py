"""The directory of received data: services, service paths, entities and attributes.

A service path is the group `/<service>/<path>`; a caller's roles in that group decide what the
caller may see. The catalog writes the rows.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound, NotPermitted, Unreadable
from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.notification import group_of
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import COLUMN_SERIES, ROW_SERIES
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, ancestors, covers
from penstock.datastore.table import limits
from penstock.datastore.table.items import read_or_report, read_rows
from penstock.datastore.table.keys import Template
from penstock.datastore.table.layout import ATTRIBUTE, ENTITY, SERVICE, SERVICE_PATH
from penstock.datastore.table.merged_pages import QueryRange, read_merged_page
from penstock.datastore.table.pages import Slice, Window, query_pages, walk_pages
from penstock.datastore.table.port import Attributes, Key, Query, Range
from penstock.datastore.text import escape, unescape

T = TypeVar("T")

LEVEL_SEPARATOR: Final = "~"

_PAGE = 100


def group_key_text(group: GroupPath) -> str:
    """The group as text in a key; `~` sorts after `:`, so a group comes before its descendants."""
    return group.replace("/", LEVEL_SEPARATOR)


def require_role(caller: Caller, role: Role, service: str, path: str) -> None:
    """Raise NotFound if the caller may not see the service path, NotPermitted without the role."""
    group = group_of(service, path)
    if not caller.sees(group):
        raise unknown_path(service, path)
    if not caller.has_role(role, group):
        raise NotPermitted(f"This needs the role {role.name} at {group}.")


def unknown_path(service: str, path: str) -> NotFound:
    """The error for a service path that does not exist or that the caller may not see."""
    return NotFound(f"There is no service path {path} of the service {service}.", ("path",))


MARK_PREFIX: Final = "at:"
"""The prefix of an attribute's marks, one for each table and persistence that holds it."""


class Service(msgspec.Struct, frozen=True):
    """A service, by its notified name."""

    name: str


class ServicePath(msgspec.Struct, frozen=True):
    """A path of a service."""

    service: str
    path: str


class Entity(msgspec.Struct, frozen=True):
    """An entity of a service path."""

    service: str
    path: str
    entity_id: str
    entity_type: str

    @property
    def key_values(self) -> dict[str, str]:
        """The values of the keys of its rows."""
        return {
            "service": self.service,
            "path": self.path,
            "entity": self.entity_id,
            "type": self.entity_type,
        }


class Attribute(msgspec.Struct, frozen=True):
    """An attribute of an entity, with the latest notified type; `places` hold its samples."""

    entity: Entity
    name: str
    type: str
    places: tuple[tuple[Persistence, str], ...]

    @property
    def key_values(self) -> dict[str, str]:
        """The values of the keys of its rows."""
        return {**self.entity.key_values, "attribute": self.name}


def series_partition(of: Attribute, persistence: Persistence) -> str:
    """The partition of an attribute in a table: its own, or that of the columns of its entity."""
    row = ROW_SERIES if persistence is Persistence.ROW else COLUMN_SERIES
    return row.pk.fill(of.key_values)


@dataclass(frozen=True, slots=True)
class Directory:
    """The services, paths, entities and attributes that one caller may see."""

    access: Access

    def require_role(self, role: Role, service: str, path: str) -> None:
        """Raise NotFound if the caller may not see the path, NotPermitted without the role."""
        require_role(self.access.caller, role, service, path)

    def is_visible(self, service: str, path: str) -> bool:
        return self.access.caller.sees(group_of(service, path))

    async def services(self, window: Window) -> Slice[Service]:
        """List services in the order of their groups: `pk = NS`, `sk` begins with a group's own.

        Without a role at the root, these are the services of the caller's groups. A role below the
        group of a service shows it once it has a path that the role shows.
        """
        prefixes = await self._service_prefixes()
        return await self._list_rows(
            SERVICE.pk.fill({}),
            SERVICE.sk,
            prefixes,
            window,
            read=lambda item: Service(_last_segment(item)),
        )

    async def service(self, name: str) -> Service:
        """Get a service: `pk = NS, sk = NS:<group>:<service>`; raises NotFound."""
        caller, group = self.access.caller, group_of(name, "/")
        key = SERVICE.key(group=group_key_text(group), service=name)
        if (
            caller.sees(group)
            and await self._get_item(key)
            and (caller.has_role(Role.READER, group) or await self._shows_a_path(Service(name)))
        ):
            return Service(name)
        raise NotFound(f"There is no service {name}.", ("name",))

    async def _service_prefixes(self) -> list[str]:
        """The beginnings of the sort keys of the services that the caller sees."""
        held = self.access.caller.roles
        if ROOT in held:
            return [""]
        prefixes: list[str] = []
        for top in sorted({ancestors(group)[1] for group in held}):
            prefix = f"{escape(group_key_text(top))}:"
            prefixes += [prefix] if top in held else await self._shown_by_paths(prefix)
        return prefixes

    async def _shown_by_paths(self, prefix: str) -> list[str]:
        """The sort keys with the prefix, without its start, of services with a visible path."""
        start = SERVICE.sk.prefix({})
        query = Query(partition=SERVICE.pk.fill({}), range=Range(start + prefix))
        return [
            str(item["sk"]).removeprefix(start)
            async for page in query_pages(self.access.table, query)
            for item in page
            if await self._shows_a_path(Service(_last_segment(item)))
        ]

    async def _shows_a_path(self, service: Service) -> bool:
        return bool((await self.paths(service, Window(size=1))).entries)

    async def paths(self, of: Service, window: Window) -> Slice[ServicePath]:
        """List the paths of a service in the order of their groups: `pk = NP:<service>`."""
        top = group_of(of.name, "/")
        prefixes = {
            each for group in self.access.caller.roles for each in _visible_prefixes(group, top)
        }
        apart = [""] if "" in prefixes else _without_nested(prefixes)
        partition = SERVICE_PATH.pk.fill({"service": of.name})
        return await self._list_rows(
            partition,
            SERVICE_PATH.sk,
            apart,
            window,
            read=lambda item: ServicePath(of.name, _last_segment(item)),
        )

    async def path(self, service: str, path: str) -> ServicePath:
        """Get a service path: `pk = NP:<service>, sk = NP:<group>:<path>`; raises NotFound."""
        group = group_of(service, path)
        key = SERVICE_PATH.key(service=service, group=group_key_text(group), path=path)
        if self.access.caller.sees(group) and await self._get_item(key):
            return ServicePath(service, path)
        raise unknown_path(service, path)

    async def entities(
        self, of: ServicePath, window: Window, prefix: str = "", type: str | None = None
    ) -> Slice[Entity]:
        """List entities in the order of their ids, which begin with `prefix`, of one type or any.

        `pk = NE:<service>:<path>`, `sk` begins with `NE:<prefix>`; entities of another type
        are skipped.
        """
        partition = ENTITY.pk.fill({"service": of.service, "path": of.path})
        read = partial(_read_entity, of)
        ending = None if type is None else f":{escape(type)}"
        return await self._list_rows(
            partition, ENTITY.sk, [escape(prefix)], window, read=read, ending=ending
        )

    async def entity(self, of: ServicePath, id: str, type: str) -> Entity | None:
        """Get an entity: `pk = NE:<service>:<path>, sk = NE:<id>:<type>`."""
        key = ENTITY.key(service=of.service, path=of.path, entity=id, type=type)
        known = await self._get_item(key)
        return Entity(of.service, of.path, id, type) if known else None

    async def attributes(self, of: Entity, window: Window) -> Slice[Attribute]:
        """List attributes in the order of their names: `pk = NA:<service>:<path>:<id>:<type>`."""
        partition = ATTRIBUTE.pk.fill(of.key_values)
        read = partial(_read_attribute, of)
        return await self._list_rows(partition, ATTRIBUTE.sk, [""], window, read=read)

    def walk_attributes(self, of: Entity) -> AsyncIterator[Attribute]:
        """Yield every attribute of an entity, as `attributes` lists them."""
        return walk_pages(partial(self.attributes, of), _PAGE)

    async def named_attributes(
        self, wanted: Sequence[tuple[Entity, str]]
    ) -> list[Attribute | None | Unreadable]:
        """Get attributes of entities by name: `sk = NA:<name>` of their partitions, in one call."""
        keys = [ATTRIBUTE.key(**of.key_values, attribute=name) for of, name in wanted]
        rows = await read_rows(self.access.table, keys, consistent=True)
        return [
            read_or_report(partial(_read_attribute, of), rows[key]) if key in rows else None
            for (of, _), key in zip(wanted, keys, strict=True)
        ]

    async def attribute(self, of: Entity, name: str) -> Attribute | None:
        """Get one attribute as `named_attributes` does; raises Unreadable."""
        (found,) = await self.named_attributes([(of, name)])
        if isinstance(found, Unreadable):
            raise found
        return found

    async def _list_rows(  # noqa: PLR0913 - all of it describes one page
        self,
        partition: str,
        sk: Template,
        prefixes: Iterable[str],
        window: Window,
        *,
        read: Callable[[Attributes], T],
        ending: str | None = None,
    ) -> Slice[T]:
        """Read the rows whose sort keys have one of the prefixes after their constant start."""
        start = sk.prefix({})
        queries = (
            Query(partition=partition, range=Range(start + prefix), descending=window.backward)
            for prefix in prefixes
        )
        keep = None if ending is None else lambda item: str(item["sk"]).endswith(ending)
        lanes = [QueryRange(self.access.table, query, keep) for query in queries]
        return await read_merged_page(lanes, window, self.access.budget.rounds, read)

    async def _get_item(self, key: Key) -> Attributes | None:
        return (await self.access.table.get([key], consistent=True)).items.get(key)


def _visible_prefixes(held: GroupPath, top: GroupPath) -> Iterator[str]:
    """The key prefixes of groups at or below `top` that a role in `held` makes visible."""
    if covers(held, top):
        yield ""
    elif covers(top, held):
        yield f"{escape(group_key_text(held))}{LEVEL_SEPARATOR}"
        for group in ancestors(held):
            if covers(top, group):
                yield f"{escape(group_key_text(group))}:"


async def walk_service_paths(access: Access) -> AsyncIterator[ServicePathKey]:
    """Every service path that the caller may see: `pk = NS`, then `pk = NP:<service>` of each."""
    directory = Directory(access)
    async for service in walk_pages(directory.services, _PAGE):
        async for path in walk_pages(partial(directory.paths, service), _PAGE):
            yield path.service, path.path


def _without_nested(prefixes: Iterable[str]) -> list[str]:
    """The prefixes without those that begin with another prefix."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return kept


def _last_segment(item: Attributes) -> str:
    """The text in the last segment of a row's sort key."""
    return unescape(str(item["sk"]).rpartition(":")[2])


def _read_entity(of: ServicePath, item: Attributes) -> Entity:
    read = ENTITY.sk.parse(str(item["sk"]))
    return Entity(of.service, of.path, unescape(read["entity"]), unescape(read["type"]))


def _read_attribute(of: Entity, item: Attributes) -> Attribute:
    """Read an attribute, with the places that can hold a sample.

    Samples of a series whose key is too long for a table became dead letters after it was listed.
    """
    marks = sorted(name.removeprefix(MARK_PREFIX) for name in item if name.startswith(MARK_PREFIX))
    places = (mark.partition(":") for mark in marks)
    named = Attribute(
        of,
        _last_segment(item),
        msgspec.convert(item["type"], str),
        tuple((Persistence(persistence), table) for persistence, _, table in places),
    )
    fitting = tuple(place for place in named.places if _fits_key(named, place[0]))
    return msgspec.structs.replace(named, places=fitting)


def _fits_key(of: Attribute, persistence: Persistence) -> bool:
    return len(series_partition(of, persistence).encode()) <= limits.PK_BYTES

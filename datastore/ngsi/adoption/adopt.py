"""The adoption of another program's table: its samples are copied to a table with our keys.

The keys of a table cannot be changed, and without ours a series cannot be read by time. New samples
go to the copy from the first moment on. The other table stays as it is. Copying an item again
changes nothing, so an adoption that was cut short goes on, and one that is done may be repeated.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import BadArgument, ForeignTable, NotFound
from penstock.datastore.ngsi.adoption.foreign_items import (
    AdoptedSample,
    UnreadableItem,
    read_foreign_item,
)
from penstock.datastore.ngsi.catalog import Catalog, EntityName, SeriesPlace
from penstock.datastore.ngsi.destinations import TableItem
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import EntityHour, renew_hours
from penstock.datastore.ngsi.loading.sample_writer import write_items
from penstock.datastore.ngsi.table_names import adopted_name, is_table_name
from penstock.datastore.table.layout import ADOPTION
from penstock.datastore.table.port import Attributes, Item, Key, Put, Table, Update, key_of

MAX_LISTED: Final = 100


@dataclass(slots=True)
class AdoptionResult:
    """The items that were copied, or would be, and those that are no samples, with the reasons."""

    table: str
    copied: int = 0
    unreadable: int = 0
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TableAdopter:
    """Copies the samples of other programs' tables, page by page."""

    table: Table
    destinations: DynamoDBDestinations
    clock: Clock

    async def adopt(
        self, name: str, service: str, *, dry_run: bool, progress: Callable[[], None]
    ) -> AdoptionResult:
        """Adopt a table for a service; calls `progress` for each item.

        Raises NotFound if there is no such table, and BadArgument if its keys are ours.
        """
        await self._check_foreign(name)
        result = AdoptionResult(adopted_name(name))
        after = None if dry_run else await self._begin(name, result.table)
        while True:
            page, after = await self.destinations.scan_page(name, after)
            samples = _read_page(service, name, page, result)
            if not dry_run:
                await self._copy(service, name, samples, result.table)
                await self._note_position(name, after)
            result.copied += len(samples)
            for _ in page:
                progress()
            if after is None:
                return result

    async def _check_foreign(self, name: str) -> None:
        if not is_table_name(name) or not await self.destinations.exists(name):
            raise NotFound(f"There is no table {name}.")
        try:
            await self.destinations.check_readable(name)
        except ForeignTable:
            return
        raise BadArgument(f"The table {name} has our own keys: there is nothing to adopt.")

    async def _begin(self, name: str, target: str) -> Raw | None:
        """Send new samples to the target, and return where an adoption was cut short."""
        await self.destinations.create(target)
        item: Item = {**ADOPTION.item(table=name), "movedTo": target}
        found = (await self.table.get([key_of(item)], consistent=True)).items.get(key_of(item))
        if found is None:
            await self.table.write([Put({**item, "startedAt": self.clock.timestamp()})])
            return None
        return _position_of(found)

    async def _note_position(self, name: str, after: Raw | None) -> None:
        row = ADOPTION.key(table=name)
        noted = (
            Update(key=row, remove=("after",))
            if after is None
            else Update(key=row, set={"after": json.dumps(after)})
        )
        await self.table.transact([noted])

    async def _copy(
        self, service: str, name: str, samples: Sequence[AdoptedSample], target: str
    ) -> None:
        await write_items(self.destinations, [TableItem(target, each.item) for each in samples])
        catalog = Catalog(self.table)
        await catalog.record_paths({(service, each.path) for each in samples})
        await catalog.record_moved(_places(service, samples), name, target)
        # What was kept of their hours before they came misses them.
        await renew_hours(self.table, set(_hours(service, samples)))


def _read_page(
    service: str, name: str, page: Iterable[Raw], result: AdoptionResult
) -> list[AdoptedSample]:
    samples: dict[Key, AdoptedSample] = {}
    for raw in page:
        try:
            sample = read_foreign_item(service, name, raw)
            if key_of(sample.item) in samples:
                raise UnreadableItem("another item says that it is the same sample.")
        except UnreadableItem as problem:
            result.unreadable += 1
            if len(result.reasons) < MAX_LISTED:
                result.reasons.append(f"{json.dumps(raw.get('ID', raw))[:200]}: {problem}")
        else:
            samples[key_of(sample.item)] = sample
    return list(samples.values())


def _hours(service: str, samples: Iterable[AdoptedSample]) -> Iterator[EntityHour]:
    """The entities of samples with the hours of their events."""
    for each in samples:
        at = int(str(each.item["sk"]).partition(":")[0])
        yield EntityName(service, each.path, each.entity, each.type), at // HOUR_MS


def _places(service: str, samples: Iterable[AdoptedSample]) -> list[SeriesPlace]:
    """The series of samples, each once."""
    found = {
        SeriesPlace(
            service, each.path, each.entity, each.type, each.persistence.value, attribute, type
        )
        for each in samples
        for attribute, type in each.attributes.items()
    }
    # The type of an attribute may differ from item to item: the directory lists one of them.
    return list({place._replace(attribute_type=""): place for place in sorted(found)}.values())


def _position_of(found: Attributes) -> Raw | None:
    text = found.get("after")
    position: Raw | None = json.loads(text) if isinstance(text, str) else None
    return position

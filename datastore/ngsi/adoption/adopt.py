"""The adoption of another program's table: its samples are copied to a table with our keys.

The keys of a table cannot be changed, and without ours a series cannot be read by time. New samples
go to the copy from the first moment on. The other table stays as it is. Copying an item again
changes nothing, so an adoption that was cut short goes on. One that is complete copies no more.
No sample takes the place of another: where a key is taken, the next one gets a longer key.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import BadArgument, ForeignTable, NotFound
from penstock.datastore.ngsi.adoption.foreign_items import (
    AdoptedSample,
    UnreadableItem,
    label_of,
    read_foreign_item,
)
from penstock.datastore.ngsi.adoption.notes import AdoptionNotes, AdoptionResult
from penstock.datastore.ngsi.catalog import Catalog, EntityName, SeriesPlace
from penstock.datastore.ngsi.destinations import TableItem
from penstock.datastore.ngsi.directory import Directory
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import EntityHour, renew_hours
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.latest_rows import LatestRows, Wanted
from penstock.datastore.ngsi.loading.sample_writer import write_items
from penstock.datastore.ngsi.naming.table_names import adopted_name, is_table_name
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.table.port import Item, Key, Table, key_of

_NEEDS_BUCKET: Final = (
    "its values do not fit into an item, and PENSTOCK_BUCKET names no bucket for them."
)


class PlacedSamples(NamedTuple):
    """The samples of a page, each with a key of its own, and those that are not stored yet."""

    samples: list[AdoptedSample]
    fresh: list[AdoptedSample]


@dataclass(frozen=True, slots=True)
class TableAdopter:
    """Copies the samples of other programs' tables, page by page."""

    table: Table
    destinations: DynamoDBDestinations
    values: LargeValues
    clock: Clock

    async def adopt(
        self,
        name: str,
        service: str,
        *,
        dry_run: bool,
        again: bool = False,
        progress: Callable[[], None],
    ) -> AdoptionResult:
        """Adopt a table for a service; calls `progress` for each item.

        With `again`, also one that is complete. Raises NotFound if there is no such table,
        BadArgument if its keys are ours or it is complete for another service, and Unavailable if
        another process adopts it as well.
        """
        await self._check_foreign(name)
        result = AdoptionResult(adopted_name(name), service)
        if dry_run:
            async for page, _ in self._scan(name, None):
                result.copied += len(self._read_page(service, name, page, result))
                _count(page, progress)
            return result
        notes = AdoptionNotes(self.table, self.clock, name, result)
        if await notes.find_complete(again=again):
            return result
        await self.destinations.create(result.table)
        async for page, following in self._scan(name, await notes.begin(again=again)):
            samples = self._read_page(service, name, page, result)
            placed = await self._place(samples, result)
            await self._copy(name, placed, notes)
            result.copied += len(placed.samples)
            await notes.note_position(following)
            _count(page, progress)
        return result

    async def _scan(
        self, name: str, after: Raw | None
    ) -> AsyncIterator[tuple[list[Raw], Raw | None]]:
        """The pages of the table, each with the position behind it; None behind the last."""
        while True:
            page, after = await self.destinations.scan_page(name, after)
            yield page, after
            if after is None:
                return

    async def _check_foreign(self, name: str) -> None:
        if not is_table_name(name) or not await self.destinations.exists(name):
            raise NotFound(f"There is no table {name}.")
        try:
            await self.destinations.check_readable(name)
        except ForeignTable:
            return
        raise BadArgument(f"The table {name} has our own keys: there is nothing to adopt.")

    def _read_page(
        self, service: str, name: str, page: Iterable[Raw], result: AdoptionResult
    ) -> list[AdoptedSample]:
        samples = list[AdoptedSample]()
        for raw in page:
            try:
                sample = read_foreign_item(service, name, raw)
                if sample.files and self.values.files is NO_FILES:
                    raise UnreadableItem(_NEEDS_BUCKET)
            except UnreadableItem as problem:
                result.leave_out(label_of(raw), str(problem))
            else:
                samples.append(sample)
        return samples

    async def _place(
        self, samples: Sequence[AdoptedSample], result: AdoptionResult
    ) -> PlacedSamples:
        """Give each sample a key that holds no other; leave out those for which none is free."""
        standing = await self._standing(result.table, [key_of(each.item) for each in samples])
        held, placed = dict(standing), dict[Key, AdoptedSample]()
        for sample in samples:
            found: AdoptedSample | None = sample
            if _holds_other(held, sample):
                found = sample.under_long_key()
                if found is not None:
                    standing |= await self._standing(result.table, [key_of(found.item)])
                    held = {**standing, **held}
            if found is None or _holds_other(held, found):
                result.leave_out(sample.label, "another item says that it is the same sample.")
                continue
            key = key_of(found.item)
            held[key], placed[key] = found.item, found
        fresh = [each for key, each in placed.items() if standing.get(key) != each.item]
        return PlacedSamples(list(placed.values()), fresh)

    async def _standing(self, target: str, keys: Sequence[Key]) -> dict[Key, Item]:
        """The items that the target has under these keys."""
        distinct = list(dict.fromkeys(keys))
        if not distinct:
            return {}
        found = await self.destinations.table(target).get(distinct)
        return {key: dict(item) for key, item in found.items()}

    async def _copy(self, name: str, placed: PlacedSamples, notes: AdoptionNotes) -> None:
        service, target = notes.result.service, notes.result.table
        await notes.require_hold()
        for each in placed.fresh:
            await self.values.write(each.files)
        access = Access(self.table, SINK_CALLER, self.clock, Budget())
        latest = LatestRows(Directory(access), self.destinations)
        await latest.raise_rows(await latest.plan(_latest_entries(service, placed.fresh)))
        items = [TableItem(target, each.item) for each in placed.fresh]
        await notes.require_hold()
        await write_items(self.destinations, items)
        samples, catalog = placed.samples, Catalog(self.table)
        await catalog.record_paths({(service, each.path) for each in samples})
        await catalog.record_moved(_places(service, samples), name, target)
        # What was kept of their hours before they came misses them.
        await renew_hours(self.table, set(_hours(service, samples)))


def _count(page: Iterable[Raw], progress: Callable[[], None]) -> None:
    for _ in page:
        progress()


def _holds_other(held: Mapping[Key, Item], sample: AdoptedSample) -> bool:
    """Whether the key of the sample holds another one."""
    return held.get(key_of(sample.item), sample.item) != sample.item


def _hours(service: str, samples: Iterable[AdoptedSample]) -> Iterator[EntityHour]:
    """The entities of samples with the hours of their events."""
    for each in samples:
        at = int(str(each.item["sk"]).partition(":")[0])
        yield EntityName(service, each.path, each.entity, each.type), at // HOUR_MS


def _latest_entries(service: str, samples: Iterable[AdoptedSample]) -> Wanted:
    """The latest of the samples of each attribute, by their entities."""
    wanted: dict[EntityName, dict[str, str]] = defaultdict(dict)
    for each in samples:
        entries = wanted[EntityName(service, each.path, each.entity, each.type)]
        for attribute in each.attributes:
            entries[attribute] = max(str(each.item["sk"]), entries.get(attribute, ""))
    return wanted


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

"""The import of manifest tables of other programs; invalid items are listed.

Items come from another table or as lines of JSON: plain, or in one of the two forms that DynamoDB
writes.
"""

from asyncio import sleep
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from penstock.datastore.dynamodb.wire import decode
from penstock.datastore.errors import NotFound
from penstock.datastore.manifest import legacy_items, rules
from penstock.datastore.manifest.consumers import Consumers
from penstock.datastore.manifest.insert import insert_runs
from penstock.datastore.manifest.legacy_items import ATTRIBUTES, LegacyRun
from penstock.datastore.manifest.records import Action, ManifestName, Run
from penstock.datastore.manifest.rows import key_bytes
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.roles import Role
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.limits import INDEX_RANGE_BYTES
from penstock.datastore.table.port import Value
from penstock.datastore.unreadable_json import JSON_ERRORS


class SourceItem(NamedTuple):
    """An item of a source and its position there; without values, `reasons` say why."""

    place: str
    values: Mapping[str, Value] | None
    reasons: Sequence[str] = ()


class InvalidItem(NamedTuple):
    """An item that was not imported, and all its problems."""

    place: str
    run_id: str | None
    reasons: tuple[str, ...]


class RunImportResult(NamedTuple):
    """The number of imported runs, of runs that existed before, and the invalid items."""

    entered: int = 0
    standing: int = 0
    invalid: tuple[InvalidItem, ...] = ()

    def plus(self, other: "RunImportResult") -> "RunImportResult":
        return RunImportResult(
            self.entered + other.entered,
            self.standing + other.standing,
            self.invalid + other.invalid,
        )


@dataclass(frozen=True, slots=True)
class RunImporter:
    """Imports of runs; the caller must be contributor of the manifest's group."""

    runs: Runs

    async def batch(
        self, manifest: ManifestName, items: Sequence[SourceItem], *, dry_run: bool = False
    ) -> RunImportResult:
        """Import runs in the states that follow from their attributes; existing runs stay.

        An invalid item does not stop the others. With `dry_run` nothing is written.
        """
        self.runs.access.require_role(Role.CONTRIBUTOR, manifest.group)
        rules.require_valid([("manifest", rules.short_problem(manifest.name))])
        valid: dict[str, Run] = {}
        invalid: list[InvalidItem] = []
        for item in items:
            # Reading takes processor time, so other tasks may run between two items.
            await sleep(0)
            read = self._read_run(manifest, item)
            if isinstance(read, Run):
                valid.setdefault(read.run_id, read)
            else:
                invalid.append(read)
        absent = await self._absent_runs([*valid.values()])
        if dry_run:
            await self.runs.access.require_open_group(manifest.group)
            new = len(absent)
        else:
            new = await insert_runs(self.runs.access, absent, Action.IMPORT)
            await Consumers(self.runs).give([*valid.values()], manifest)
        return RunImportResult(new, len(items) - len(invalid) - new, tuple(invalid))

    def _read_run(self, manifest: ManifestName, item: SourceItem) -> Run | InvalidItem:
        read = [*item.reasons] if item.values is None else legacy_items.read_item(item.values)
        if isinstance(read, LegacyRun):
            run = self._new_run(manifest, read)
            if key_bytes(run.name) <= INDEX_RANGE_BYTES:
                return run
            read = [f"RunId makes a key of more than {INDEX_RANGE_BYTES} bytes"]
        run_id = (item.values or {}).get("RunId")
        return InvalidItem(item.place, run_id if isinstance(run_id, str) else None, tuple(read))

    def _new_run(self, manifest: ManifestName, read: LegacyRun) -> Run:
        access = self.runs.access
        id = access.clock.new_id()
        return Run(
            id=id,
            shard=choose_shard(id, access.shards),
            group=manifest.group,
            manifest=manifest.name.strip(),
            run_id=read.run_id,
            added_at=read.added_at,
            added_by=read.added_by,
            to_skip=read.to_skip,
            processed_at=read.processed_at,
            shred_types=read.shred_types,
            saved_to=read.saved_to,
            loaded_at=read.loaded_at,
            loaded_by=read.loaded_by,
            state=read.state,
            version=1,
            fence=0,
            attempt=0,
        )

    async def _absent_runs(self, runs: Sequence[Run]) -> list[Run]:
        standing = await self.runs.many([run.name for run in runs])
        return [
            run for run, there in zip(runs, standing, strict=True) if isinstance(there, NotFound)
        ]


MAX_LINE = 2**20

_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


def read_lines(lines: Iterable[bytes]) -> Iterator[SourceItem]:
    """The items of a file, each with its line number; empty lines are skipped."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read_line(f"line {number}", line)


def read_typed(place: str, raw: Mapping[str, Any]) -> SourceItem:
    """The item whose values name their types, like `{"AddedAt": {"N": "1544529600"}}`."""
    values: dict[str, Value] = {}
    reasons = []
    for name in ATTRIBUTES.keys() & raw.keys():
        try:
            values[name] = decode(raw[name])
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            reasons.append(f"{name} has no value of a known type")
    return SourceItem(place, None, sorted(reasons)) if reasons else SourceItem(place, values)


def _read_line(place: str, line: bytes) -> SourceItem:
    if len(line) > MAX_LINE:
        return SourceItem(place, None, [f"it is longer than {MAX_LINE} bytes"])
    try:
        item = _decoder.decode(line)
    except JSON_ERRORS:
        return SourceItem(place, None, ["it is no JSON object"])
    whole = item.get("Item")
    if isinstance(whole, dict):
        item = whole
    if _is_typed(item):
        return read_typed(place, item)
    return SourceItem(place, {name: item[name] for name in ATTRIBUTES.keys() & item.keys()})


def _is_typed(item: Mapping[str, Any]) -> bool:
    return any(isinstance(item.get(name), dict) for name in ATTRIBUTES)

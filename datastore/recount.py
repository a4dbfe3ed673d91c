"""A recount of the counts of groups, quotas, tags, users, executions and runs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.access import key_of_group
from penstock.datastore.executions.create import KIND as EXECUTION_LETTER
from penstock.datastore.executions.rows import execution_of
from penstock.datastore.executions.rows import kept_counter as execution_counter
from penstock.datastore.manifest.counts import run_counts
from penstock.datastore.manifest.records import ManifestName
from penstock.datastore.quotas.usage import kept_counter
from penstock.datastore.records import Tag
from penstock.datastore.resources.derived_rows import derive_rows, tag_counters
from penstock.datastore.resources.use_rows import use_counters
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.table.counters import Counter as RowCounter
from penstock.datastore.table.items import load, resource_id
from penstock.datastore.table.keys import split_levels
from penstock.datastore.table.layout import (
    EXECUTION,
    EXECUTION_COUNT,
    GROUP,
    GROUP_COUNT,
    KEPT,
    KINDS,
    MANIFEST,
    MANIFEST_COUNT,
    RUN,
    TAG_KEY_COUNT,
    USE_COUNT,
    KindDefinition,
)
from penstock.datastore.table.port import Attributes, Key, key_of
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import unescape

_LATEST: Final[Mapping[tuple[str, str], KindDefinition[Any]]] = {
    (kind.letter, kind.latest.sk.text): kind for kind in KINDS
}
_COUNTED: Final = (
    *("children", "grants", "shards", "count", "deeper", "runs"),
    *("versions", "files", "bytes"),
)


class CountDifference(NamedTuple):
    """A row of counts that is not what its things add up to, each count by its attribute."""

    key: Key
    wanted: Mapping[str, int]
    standing: Mapping[str, int]


@dataclass(slots=True)
class Recount:
    """Reads every row of the table once, in any order, and then tells which counts differ.

    Nothing may write meanwhile: a count and its things are read at different times. Where something
    does, a second recount tells which of the differences stay.
    """

    _wanted: dict[Key, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _standing: dict[Key, dict[str, int]] = field(default_factory=dict)
    _sources: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    _source: int = 0

    def read(self, item: Attributes) -> None:
        """Take in one row; rows that neither count nor are counted change nothing."""
        key = key_of(item)
        self._source = hash(key)
        leader = key.pk.partition(":")[0]
        kind = _LATEST.get((leader, key.sk))
        if kind is not None and is_alive(item):
            self._read_resource(kind, item)
        elif leader == EXECUTION.pk.leader and key.sk == EXECUTION.sk.text:
            self._read_execution(item)
        elif leader == GROUP.pk.leader:
            self._read_group(key, item)
        elif leader == GROUP_COUNT.pk.leader:
            self._stand(key, item)
            self._count_in_group(unescape(GROUP_COUNT.pk.parse(key.pk)["group"]), "shards")
        elif leader in (TAG_KEY_COUNT.pk.leader, KEPT.pk.leader) or key.sk in (
            EXECUTION_COUNT.sk.text,
            USE_COUNT.sk.text,
        ):
            self._stand(key, item)
        else:
            self._read_of_manifest(leader, key, item)

    def differences(self) -> list[CountDifference]:
        """The counts that differ, in the order of their keys; a missing row counts zero."""
        # The root has no row of its own, and so nothing to know of its shards.
        self._wanted[key_of_group(ROOT)].pop("shards", None)
        found = []
        for key in sorted({*self._wanted, *self._standing}):
            wanted = {name: count for name, count in self._wanted[key].items() if count}
            standing = self._standing.get(key, {})
            if wanted != standing:
                found.append(CountDifference(key, wanted, standing))
        return found

    def sources_of(self, key: Key) -> int:
        """A number that tells which rows were counted: the sum of the hashes of their keys."""
        return self._sources.get(key, 0)

    def _read_resource(self, kind: KindDefinition[Any], item: Attributes) -> None:
        resource = load(kind.record, item, id=resource_id(item))
        derived = derive_rows(kind.letter, resource)
        for home in derived.homes:
            if resource.shard:
                self._count(GROUP_COUNT.key(group=home, shard=resource.shard), "grants")
            else:
                self._count_in_group(home, "grants")
        self._add([*derived.counters.values(), *use_counters(resource)])
        if (kept := kept_counter(resource)) is not None:
            self._add([kept])

    def _read_execution(self, item: Attributes) -> None:
        pipeline, shard = str(item["pipelineId"]), int(str(item.get("shard", 0)))
        tagged = msgspec.convert(item.get("tags", []), list[Tag])
        self._add(tag_counters(EXECUTION_LETTER, pipeline, resource_id(item), tagged, shard))
        self._count(EXECUTION_COUNT.key(id=pipeline), "count")
        if (kept := execution_counter(execution_of(item))) is not None:
            self._add([kept])

    def _read_of_manifest(self, leader: str, key: Key, item: Attributes) -> None:
        if leader == MANIFEST.pk.leader:
            self._stand(key, item)
            self._count_in_group(unescape(MANIFEST.pk.parse(key.pk)["group"]), "grants")
        elif leader == RUN.pk.leader and key.sk == RUN.sk.text:
            manifest = ManifestName(GroupPath(str(item["Group"])), str(item["Manifest"]))
            shard = int(str(item.get("Shard", 0)))
            self._count(run_counts(manifest).key(shard), "runs")
        elif leader == MANIFEST_COUNT.pk.leader:
            self._stand(key, item)
            parts = split_levels(MANIFEST_COUNT.pk.parse(key.pk)["manifest"])
            self._count(MANIFEST.key(group=parts[0], name=parts[1]), "shards")

    def _read_group(self, key: Key, item: Attributes) -> None:
        self._stand(key, item)
        above = unescape(GROUP.pk.parse(key.pk)["parent"])
        if above:
            self._count_in_group(above, "children")

    def _add(self, counters: Iterable[RowCounter]) -> None:
        for counter in counters:
            self._wanted[counter.key].update(counter.amounts)
            self._sources[counter.key] += self._source

    def _count_in_group(self, group: str, attribute: str) -> None:
        self._count(key_of_group(GroupPath(group)), attribute)

    def _count(self, key: Key, attribute: str) -> None:
        self._wanted[key][attribute] += 1
        self._sources[key] += self._source

    def _stand(self, key: Key, item: Attributes) -> None:
        counts = {name: int(str(item[name])) for name in _COUNTED if item.get(name)}
        if counts:
            self._standing[key] = counts

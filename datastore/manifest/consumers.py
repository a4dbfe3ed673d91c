"""Consumers of a manifest: manifests of their own that get each of its runs when processed."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded, NotFound, Unavailable
from penstock.datastore.groups.rows import count_in_group
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.copies import copy_for
from penstock.datastore.manifest.counts import RUNS, key_of_manifest, unknown_manifest
from penstock.datastore.manifest.insert import insert_run
from penstock.datastore.manifest.labels import ALL_RUNS
from penstock.datastore.manifest.manifests import Manifests, consumer_attribute
from penstock.datastore.manifest.records import Action, Manifest, ManifestName, Run, RunName
from penstock.datastore.manifest.rows import key_of_run, list_key
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.layout import MANIFEST
from penstock.datastore.table.port import AllOf, Compare, Exists, Item, Missing, Put, Query, Update
from penstock.datastore.table.sharded_counts import DELETING

MAX_CONSUMERS: Final = 3
"""The most consumers of a manifest. A transaction has 100 operations: each copy takes up to 23, and
the run that is processed up to 22."""

PAGE: Final = 25
PAGES: Final = 4
"""The pages of earlier runs that one call copies: it must end before its client gives up."""

_MADE: Final = "consumersMade"

FIRST: Final = "0000000000:"

_SINK: Final = ManifestName(ROOT, "ngsi").text


class ConsumerStart(StrEnum):
    """The first runs that a new consumer gets: those that are there, or those processed later."""

    BEGINNING = "beginning"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Consumers:
    """The consumers of manifests; admins of the group make and remove them."""

    runs: Runs

    async def create(
        self, of: ManifestName, consumer: str, start: ConsumerStart, *, dry_run: bool = False
    ) -> Manifest:
        """Make a consumer, or go on with one that has not all earlier runs yet.

        A call copies some of the earlier runs; the manifest says whether that were all. A `dry_run`
        returns the consumer as it would be before the first of them is copied.
        """
        access, name = self.runs.access, ManifestName(of.group, consumer)
        access.require_role(Role.ADMIN, of.group)
        rules.require_valid([("consumer", rules.new_name_problem(consumer))])
        if dry_run:
            return await self._preview(of, name, start)
        source = await self._link(of, name, start)
        await self._fill(source.full_name, name)
        return await Manifests(access).one(name)

    async def remove(self, of: ManifestName, consumer: str, *, dry_run: bool = False) -> Manifest:
        """Give a consumer no more runs; its manifest stays, with the runs it has.

        A `dry_run` returns the manifest as it would be.
        """
        access, name = self.runs.access, ManifestName(of.group, consumer)
        access.require_role(Role.ADMIN, of.group)
        found = await Manifests(access).one(name)
        if found.consumes is None or ManifestName(of.group, found.consumes).text != of.text:
            raise NotFound("The manifest has no such consumer.", ("consumer",))
        if dry_run:
            return replace(found, consumes=None, filled=None)
        await unlink_consumer(self.runs, found)
        return await Manifests(access).one(name)

    async def give(self, runs: Sequence[Run], of: ManifestName) -> None:
        """Give processed runs that were imported to the consumers of their manifest."""
        try:
            source = await Manifests(self.runs.access).one(of)
        except NotFound:
            return
        for consumer in source.consumers:
            for run in runs:
                if run.processed_at is not None:
                    await self._copy(run, consumer)

    async def _preview(
        self, of: ManifestName, name: ManifestName, start: ConsumerStart
    ) -> Manifest:
        """Return the consumer that stands, or the one that would be made; raises as `_link`."""
        source, manifests = await self._find_source(of, name), Manifests(self.runs.access)
        if name.text in _names_of_consumers(source):
            return await manifests.one(name)
        if not await manifests.is_free(name):
            raise _name_taken()
        return self._new_consumer(source, name, start)

    async def _link(self, of: ManifestName, name: ManifestName, start: ConsumerStart) -> Manifest:
        """Make the consumer unless the manifest has it; return the manifest as it was read."""
        async for _ in Attempts():
            source = await self._find_source(of, name)
            if name.text in _names_of_consumers(source):
                return source
            with suppress(StaleRead):
                await self._insert(source, self._new_consumer(source, name, start))
                return source
        raise Unavailable("Many consumers of the manifest are being made at once.")

    async def _find_source(self, of: ManifestName, name: ManifestName) -> Manifest:
        """Find the manifest; raises Invalid and LimitExceeded if it cannot have the consumer."""
        source = await Manifests(self.runs.access).one(of)
        if source.consumes is not None or of.text == _SINK:
            words = "is a consumer itself, or the manifest of the NGSI sink"
            raise Invalid([FieldProblem(["manifest"], words)])
        if name.text == of.text:
            raise _name_taken()
        standing = _names_of_consumers(source)
        if name.text not in standing and len(standing) >= MAX_CONSUMERS:
            limit, actual = "consumers of a manifest", len(standing) + 1
            raise LimitExceeded(limit, MAX_CONSUMERS, actual, ["consumer"])
        return source

    def _new_consumer(self, source: Manifest, name: ManifestName, start: ConsumerStart) -> Manifest:
        """The manifest of a consumer that has no runs yet."""
        access = self.runs.access
        return Manifest(
            group=name.group,
            name=name.name.strip(),
            created_at=access.clock.timestamp(),
            created_by=access.caller.user_id,
            consumes=source.name,
            filled=FIRST if start is ConsumerStart.BEGINNING else None,
        )

    async def _insert(self, source: Manifest, made: Manifest) -> None:
        """Insert a consumer; raises StaleRead if another was made since the manifest was read."""
        name = made.full_name
        begins: Item = {} if made.filled is None else {"filled": made.filled}
        row: Item = {
            **MANIFEST.item(group=name.group, name=name.key_parts[1]),
            "name": made.name,
            "createdAt": made.created_at,
            "createdBy": made.created_by,
            "consumes": source.name,
            RUNS: 0,
            **begins,
        }
        before = source.consumers_made
        as_read = Compare(_MADE, "=", before) if before else Missing(_MADE)
        linked = Update(
            key=key_of_manifest(source.full_name),
            set={consumer_attribute(made.name): made.name},
            add={_MADE: 1},
            condition=AllOf((Exists(), Missing(DELETING), as_read)),
        )
        writes = [
            Write(linked, lambda standing: _link_refusal(source, standing)),
            Write(Put(row, Missing()), lambda _: _name_taken()),
            count_in_group(name.group, "grants", 1),
        ]
        await commit(self.runs.access.table, writes)

    async def _fill(self, of: ManifestName, name: ManifestName) -> None:
        """Copy earlier runs, from where a call before stopped: `pk = RL:<manifest>:ALL`.

        A run without an output is written once, unchanged: a call that reads it now and reports
        its output later than this one reads, but that read the manifest before it had the
        consumer, then reads both again.
        """
        access = self.runs.access
        position = (await Manifests(access).one(name)).filled
        for _ in range(PAGES):
            if position is None:
                return
            start = list_key(of, ALL_RUNS, position)
            query = Query(partition=start.pk, after=start, limit=PAGE, consistent=True)
            page = await access.table.query(query)
            for line in page.items:
                await self._pass_on(RunName(of, str(line["RunId"])), name)
            position = None if page.last is None else page.last.sk.partition(":")[2]
            noted: Item = {} if position is None else {"filled": position}
            gone = ("filled",) if position is None else ()
            key, condition = key_of_manifest(name), Exists()
            update = Update(key=key, set=noted, remove=gone, condition=condition)
            await commit(access.table, [Write(update, lambda _: unknown_manifest(name))])

    async def _pass_on(self, name: RunName, consumer: ManifestName) -> None:
        async for _ in Attempts():
            try:
                run = await self.runs.one(name)
            except NotFound:
                return None
            if run.processed_at is not None:
                return await self._copy(run, consumer.name)
            still = Compare("Version", "=", run.version)
            touched = Update(key=key_of_run(name), add={"Version": 1}, condition=still)
            try:
                return await commit(self.runs.access.table, [Write(touched)])
            except StaleRead:
                continue
        raise Unavailable("The run is being written by many at once.")

    async def _copy(self, run: Run, consumer: str) -> None:
        copy = copy_for(self.runs.access, run, consumer)
        await insert_run(self.runs.access, copy, Action.COPY)


def _names_of_consumers(source: Manifest) -> list[str]:
    return [ManifestName(source.group, each).text for each in source.consumers]


def _link_refusal(source: Manifest, standing: Item | None) -> Exception:
    if standing is None or DELETING in standing:
        return unknown_manifest(source.full_name)
    return StaleRead()


def _name_taken() -> Invalid:
    return Invalid([FieldProblem(["consumer"], "is the name of a manifest that exists")])


async def unlink_consumer(runs: Runs, consumer: Manifest) -> None:
    """Let the source of a consumer give it no more runs."""
    source = ManifestName(consumer.group, consumer.consumes or "")
    unlinked = Update(
        key=key_of_manifest(source), remove=(consumer_attribute(consumer.name),), condition=Exists()
    )
    own = Update(
        key=key_of_manifest(consumer.full_name), remove=("consumes", "filled"), condition=Exists()
    )
    gone = unknown_manifest(source)
    await commit(
        runs.access.table,
        [
            Write(unlinked, lambda _: gone),
            Write(own, lambda _: unknown_manifest(consumer.full_name)),
        ],
    )

"""The counts of a manifest's runs: in its own row and in shards, which a reading adds up."""

from asyncio import gather
from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.groups.rows import count_in_group
from penstock.datastore.manifest.records import Manifest, ManifestName, Run
from penstock.datastore.table.commit import Write, commit, retry_on_conflict, stale_read
from penstock.datastore.table.layout import MANIFEST, MANIFEST_COUNT
from penstock.datastore.table.port import Item, Key, Missing, Put, Table
from penstock.datastore.table.sharded_counts import SHARDS, ShardedCounts
from penstock.datastore.text import comparison_form

RUNS = "runs"
"""The attribute that counts runs."""


class ManifestMissing(Exception):
    """The manifest does not exist; a run that is added must create it, too."""


def key_of_manifest(name: ManifestName) -> Key:
    return MANIFEST.key(group=name.group, name=comparison_form(name.name))


def unknown_manifest(name: ManifestName) -> NotFound:
    return NotFound(f"There is no such manifest in {name.group}.", ("manifest",))


def manifest_not_empty(name: ManifestName) -> IllegalState:
    return IllegalState(f"The manifest {name.name!r} still has runs.", "NOT_EMPTY")


def run_counts(name: ManifestName) -> ShardedCounts:
    """The counts of a manifest; who adds to them gets ManifestMissing, or NotFound if it is closed.

    `RM:<group>, RM:<name>` and `RC:<manifest>, RC:<shard>`.
    """

    def refuse(standing: Item | None) -> Exception:
        if standing is None:
            return ManifestMissing()
        return NotFound(f"The manifest {name.name!r} is being deleted.", ("manifest",))

    return ShardedCounts(
        key_of_manifest(name), MANIFEST_COUNT, {"manifest": name.key_parts}, refuse
    )


def add_runs_writes(runs: Iterable[Run]) -> list[Write]:
    """The writes that count runs of one manifest, each in its shard."""
    return _change_writes(runs, 1)


def remove_runs_writes(runs: Iterable[Run]) -> list[Write]:
    """The writes that take runs of one manifest off its counts."""
    return [Write(write.operation, stale_read) for write in _change_writes(runs, -1)]


def _change_writes(runs: Iterable[Run], step: int) -> list[Write]:
    counted = Counter((run.name.manifest, run.shard) for run in runs)
    return [
        run_counts(manifest).change(shard, RUNS, step * number)
        for (manifest, shard), number in counted.items()
    ]


def first_count_writes(manifest: Item, run: Run) -> list[Write]:
    """The writes that put the row of a new manifest, and count its first run."""
    counts = run_counts(run.name.manifest)
    if not run.shard:
        return [Write(Put({**manifest, RUNS: 1}, Missing()))]
    return [
        Write(Put({**manifest, RUNS: 0, SHARDS: 1}, Missing())),
        Write(Put({**counts.new_shard(run.shard), RUNS: 1}, Missing())),
    ]


async def add_up(
    table: Table, manifests: Iterable[Manifest], *, consistent: bool
) -> list[Manifest]:
    """Add up the runs of manifests: for each that has shards, one query of `pk = RC:<manifest>`."""

    async def add_up_one(manifest: Manifest) -> Manifest:
        if not manifest.shards:
            return manifest
        counts = run_counts(manifest.full_name)
        rows = await counts.read_shards(table, consistent=consistent)
        more = sum(int(str(row.get(RUNS, 0))) for row in rows)
        return replace(manifest, runs=manifest.runs + more)

    return await gather(*map(add_up_one, manifests))


async def remove_manifest(table: Table, name: ManifestName) -> None:
    """Delete a manifest without runs, and take it off its group's count.

    Raises IllegalState for a manifest with runs, NotFound for none.
    """

    def refuse(standing: Item | None) -> Exception | None:
        return unknown_manifest(name) if standing is None else None

    async def attempt() -> None:
        removed = await run_counts(name).removal_writes(
            table, (RUNS,), refuse, manifest_not_empty(name)
        )
        await commit(table, [*removed, count_in_group(name.group, "grants", -1)])

    await retry_on_conflict("manifest", attempt)

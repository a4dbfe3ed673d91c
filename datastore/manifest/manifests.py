"""Manifests: reads and lists of a group's manifests, and the writes that make and delete them."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.groups.rows import count_in_group
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.counts import (
    add_up,
    first_count_writes,
    key_of_manifest,
    manifest_not_empty,
    remove_manifest,
    unknown_manifest,
)
from penstock.datastore.manifest.records import Manifest, ManifestName, Run
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import load, read_or_report, read_rows
from penstock.datastore.table.layout import CONSUMER_PREFIX, MANIFEST
from penstock.datastore.table.pages import Slice, Window, read_records, slice_placed
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    Exists,
    Item,
    Key,
    Missing,
    Query,
    Range,
    Update,
)
from penstock.datastore.table.sharded_counts import DELETING
from penstock.datastore.text import comparison_form, unescape


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of the groups in which the caller has a role.

    Whoever only knows of a group, because of a role in a group below it, reads no manifest of it:
    a manifest is not granted, and that of the root tells of every group.
    """

    access: Access

    async def many(self, names: Sequence[ManifestName]) -> list[Manifest | NotFound]:
        """Get manifests: `pk = RM:<group>, sk = RM:<name>`, batched; aligned with the names.

        For each with shards, one query of `pk = RC:<manifest>` adds up its runs.
        """
        found = await self._read(names)
        there = [one for one in found if isinstance(one, Manifest)]
        counted = iter(await add_up(self.access.table, there, consistent=True))
        return [next(counted) if isinstance(one, Manifest) else one for one in found]

    async def one(self, name: ManifestName) -> Manifest:
        """Get a manifest; raises NotFound."""
        (manifest,) = await self.many([name])
        if isinstance(manifest, NotFound):
            raise manifest
        return manifest

    async def page(self, group: GroupPath | None, window: Window) -> Slice[Manifest]:
        """List the manifests of a group, in the order of their names: `pk = RM:<group>`."""
        group = self.access.group_or_default(group)
        self.access.require_role(Role.READER, group)
        pk = MANIFEST.pk.fill({"group": group})
        query = Query(
            partition=pk,
            range=Range(MANIFEST.sk.prefix({})),
            after=None if window.after is None else Key(pk, window.after),
            descending=window.backward,
            limit=window.size + 1,
        )

        def read_placed(item: Attributes) -> tuple[str, Manifest]:
            return str(item["sk"]), load_manifest(group, item)

        found, _ = await gather(
            read_records(self.access.table, query, read_placed), self.access.require_group(group)
        )
        part = slice_placed(found, window)
        manifests = [manifest for _, manifest in part.entries]
        return part.with_items(await add_up(self.access.table, manifests, consistent=False))

    async def set_retries(
        self, name: ManifestName, retries: RetryRules | None, *, dry_run: bool = False
    ) -> Manifest:
        """Set the rules by which failed runs are tried again; None lets workers do as they like.

        They hold for failures and claims from now on. A `dry_run` returns the manifest as it would
        be.
        """
        self.access.require_role(Role.ADMIN, name.group)
        if retries is not None:
            retries.require_valid()
        self.require(name)
        if dry_run:
            return msgspec.structs.replace(await self.one(name), retries=retries)
        stored: Item = {} if retries is None else {"retries": msgspec.to_builtins(retries)}
        removed = ("retries",) if retries is None else ()
        open_row = AllOf((Exists(), Missing(DELETING)))
        update = Update(key=key_of_manifest(name), set=stored, remove=removed, condition=open_row)
        await commit(self.access.table, [Write(update, lambda _: unknown_manifest(name))])
        return await self.one(name)

    async def delete(self, name: ManifestName, *, dry_run: bool = False) -> Manifest:
        """Delete a manifest without runs; raises IllegalState if it has any.

        A `dry_run` only looks whether it could be deleted.
        """
        self.access.require_role(Role.ADMIN, name.group)
        manifest = await self.one(name)
        if manifest.consumes is not None or manifest.consumers:
            words = f"The manifest {name.name!r} is a consumer, or has consumers: remove these."
            raise IllegalState(words, "CONSUMED")
        if not dry_run:
            await remove_manifest(self.access.table, name)
        elif manifest.runs:
            raise manifest_not_empty(name)
        return manifest

    async def require_there(self, name: ManifestName) -> None:
        """Raise NotFound for a manifest that is not there."""
        (found,) = await self._read([name])
        if isinstance(found, NotFound):
            raise found

    async def is_free(self, name: ManifestName) -> bool:
        """Whether no manifest has this name."""
        (found,) = await self._read([name])
        return isinstance(found, NotFound)

    def require(self, name: ManifestName) -> None:
        """Refuse, without a read, a manifest that is invalid or that the caller may not read."""
        if not self._may_exist(name):
            raise unknown_manifest(name)

    async def _read(self, names: Sequence[ManifestName]) -> list[Manifest | NotFound]:
        """Read the manifests' own rows, without the runs that their shards count."""
        seen = {name: key_of_manifest(name) for name in names if self._may_exist(name)}
        rows = await read_rows(self.access.table, seen.values(), consistent=True)
        return [
            _load_manifest(name, rows.get(seen[name]) if name in seen else None) for name in names
        ]

    def _may_exist(self, name: ManifestName) -> bool:
        return not rules.short_problem(name.name) and may_read(self.access, name)


def may_read(access: Access, name: ManifestName) -> bool:
    """Whether the caller is a reader of the manifest's group."""
    return access.caller.has_role(Role.READER, name.group)


def manifest_name_of(item: Attributes) -> ManifestName:
    """The name of the manifest in this row."""
    group = unescape(MANIFEST.pk.parse(str(item["pk"]))["group"])
    return ManifestName(GroupPath(group), str(item["name"]))


def new_manifest_writes(access: Access, run: Run) -> list[Write]:
    """The writes that create a manifest with its first run and count it in its group.

    Raises Invalid for a name with invisible characters.
    """
    name = run.name.manifest
    rules.require_valid([("manifest", rules.new_name_problem(name.name))])
    item: Item = {
        **MANIFEST.item(group=name.group, name=comparison_form(name.name)),
        "name": name.name.strip(),
        "createdAt": access.clock.timestamp(),
        "createdBy": access.caller.user_id,
    }
    return [*first_count_writes(item, run), count_in_group(name.group, "grants", 1)]


def _load_manifest(name: ManifestName, item: Attributes | None) -> Manifest | NotFound:
    if item is None:
        return unknown_manifest(name)
    return read_or_report(lambda row: load_manifest(name.group, row), item)


def load_manifest(group: GroupPath, item: Attributes) -> Manifest:
    """The manifest in its own row, without the runs that its shards count."""
    consumers = sorted(str(item[name]) for name in item if name.startswith(CONSUMER_PREFIX))
    return load(Manifest, item, group=group, consumers=[*consumers])


def consumer_attribute(name: str) -> str:
    """The attribute by which the row of a manifest names a consumer."""
    return f"{CONSUMER_PREFIX}{comparison_form(name)}"

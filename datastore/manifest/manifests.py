"""Manifests: reads and lists of a group's manifests, and the writes that make and delete them."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.groups.rows import count_in_group
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.records import Manifest, ManifestName
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import load, read_or_report, read_rows
from penstock.datastore.table.layout import MANIFEST
from penstock.datastore.table.pages import Slice, Window, read_records, slice_placed
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    Compare,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Update,
)
from penstock.datastore.text import comparison_form, unescape

DELETING_AT = "deletingAt"
"""The attribute that marks the row of a manifest while it is deleted with its runs."""


class ManifestMissing(Exception):
    """The manifest does not exist; a run that is added must create it, too."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of the groups in which the caller has a role.

    Whoever only knows of a group, because of a role in a group below it, reads no manifest of it:
    a manifest is not granted, and that of the root tells of every group.
    """

    access: Access

    async def many(self, names: Sequence[ManifestName]) -> list[Manifest | NotFound]:
        """Get manifests: `pk = RM:<group>, sk = RM:<name>`, batched; aligned with the names."""
        seen = {name: key_of_manifest(name) for name in names if self._may_exist(name)}
        rows = await read_rows(self.access.table, seen.values(), consistent=True)
        return [
            _load_manifest(name, rows.get(seen[name]) if name in seen else None) for name in names
        ]

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
            return str(item["sk"]), load(Manifest, item, group=group)

        found, _ = await gather(
            read_records(self.access.table, query, read_placed), self.access.require_group(group)
        )
        return slice_placed(found, window)

    async def delete(self, name: ManifestName) -> Manifest:
        """Delete a manifest without runs; raises IllegalState if it has any."""
        self.access.require_role(Role.ADMIN, name.group)
        manifest = await self.one(name)
        await commit(self.access.table, delete_manifest_writes(name))
        return manifest

    def require(self, name: ManifestName) -> None:
        """Refuse, without a read, a manifest that is invalid or that the caller may not read."""
        if not self._may_exist(name):
            raise unknown_manifest(name)

    def _may_exist(self, name: ManifestName) -> bool:
        return not rules.short_problem(name.name) and may_read(self.access, name)


def may_read(access: Access, name: ManifestName) -> bool:
    """Whether the caller is a reader of the manifest's group."""
    return access.caller.has_role(Role.READER, name.group)


def key_of_manifest(name: ManifestName) -> Key:
    return MANIFEST.key(group=name.group, name=comparison_form(name.name))


def manifest_name_of(item: Attributes) -> ManifestName:
    """The name of the manifest in this row."""
    group = unescape(MANIFEST.pk.parse(str(item["pk"]))["group"])
    return ManifestName(GroupPath(group), str(item["name"]))


def unknown_manifest(name: ManifestName) -> NotFound:
    return NotFound(f"There is no such manifest in {name.group}.", ("manifest",))


def add_runs_write(name: ManifestName, runs: int = 1) -> Write:
    """The write that adds to the manifest's count of runs; raises ManifestMissing.

    Raises NotFound if the manifest is being deleted.
    """

    def describe_conflict(standing: Attributes | None) -> Exception:
        if standing is None:
            return ManifestMissing()
        return NotFound(f"The manifest {name.name!r} is being deleted.", ("manifest",))

    there = AllOf((Exists(), Missing(DELETING_AT)))
    return Write(
        Update(key=key_of_manifest(name), add={"runs": runs}, condition=there), describe_conflict
    )


def new_manifest_writes(access: Access, name: ManifestName) -> list[Write]:
    """The writes that create a manifest with one run and count it in its group.

    Raises Invalid for a name with invisible characters.
    """
    rules.require_valid([("manifest", rules.new_name_problem(name.name))])
    item: Item = {
        **MANIFEST.item(group=name.group, name=comparison_form(name.name)),
        "name": name.name.strip(),
        "createdAt": access.clock.timestamp(),
        "createdBy": access.caller.user_id,
        "runs": 1,
    }
    return [Write(Put(item, Missing())), count_in_group(name.group, "grants", 1)]


def remove_runs_write(name: ManifestName, runs: int = 1) -> Write:
    """The write that takes runs off the manifest's count."""
    return Write(Update(key=key_of_manifest(name), add={"runs": -runs}, condition=Exists()))


def delete_manifest_writes(name: ManifestName) -> list[Write]:
    """The writes that delete an empty manifest and take it off its group's count."""

    def describe_conflict(standing: Attributes | None) -> Exception:
        if standing is None:
            return unknown_manifest(name)
        return IllegalState(f"The manifest {name.name!r} still has runs.", "NOT_EMPTY")

    gone = Delete(key_of_manifest(name), Compare("runs", "=", 0))
    return [Write(gone, describe_conflict), count_in_group(name.group, "grants", -1)]


def _load_manifest(name: ManifestName, item: Attributes | None) -> Manifest | NotFound:
    if item is None:
        return unknown_manifest(name)
    return read_or_report(lambda row: load(Manifest, row, group=name.group), item)

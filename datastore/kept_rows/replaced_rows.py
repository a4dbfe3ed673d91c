"""The check that an execution replaces no rows of groups that its creator may not write."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.kept_rows.columns import GROUP, KEY
from penstock.datastore.kept_rows.database import Connection
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_list import RowsMoved, read_head, read_parts
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.snapshot import Snapshot
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.port import Table
from penstock.transform.problems import InputRefused, TransformCode
from penstock.transform.row_identity import RowReach


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """The rows that stand, as far as parts that are not numbered yet would replace them."""

    table: Table
    files: Files
    part_files: PartFiles

    async def require_reach(
        self,
        pipeline: str,
        parts: Sequence[RowsPart],
        reach: RowReach,
        payer: WorkPayer,
        checked: int = 0,
    ) -> int | None:
        """Return the number of commits that were checked; None if nothing need be checked.

        The first `checked` commits are not checked again. Raises InputRefused if a row that would
        be replaced belongs to a group out of reach, and RowsMoved if a commit comes meanwhile.
        """
        if reach.is_whole:
            return None
        head = await read_head(self.table, pipeline)
        standing = await read_parts(self.table, pipeline, checked)
        if head.commits != (standing[-1].commit if standing else max(checked, head.gone)):
            raise RowsMoved
        if standing:
            groups = await self._replaced_groups(standing, parts, payer)
            if not all(map(reach.includes, groups)):
                message = "a row with the key of one of these belongs to a group out of reach"
                raise InputRefused(TransformCode.ROW_OUT_OF_REACH, message)
        return head.commits

    async def _replaced_groups(
        self, standing: Sequence[RowsPart], parts: Sequence[RowsPart], payer: WorkPayer
    ) -> Sequence[GroupPath]:
        try:
            async with self.part_files.open(self.files, [*standing, *parts]) as paths:
                before = Snapshot(standing, paths[: len(standing)])
                added = Snapshot(parts, paths[len(standing) :])
                return await self.part_files.engine.write(
                    lambda connection: _select_groups(connection, before, added), payer
                )
        except NotFound as missing:
            raise Unavailable("A file of the rows is gone.") from missing


def _select_groups(connection: Connection, standing: Snapshot, added: Snapshot) -> list[GroupPath]:
    """The groups of rows that stand under a key of the rows that are added."""
    keys = f"SELECT {KEY} FROM {added.all_versions()}"
    sql = f"SELECT DISTINCT {GROUP} FROM {standing.latest()} WHERE {KEY} IN ({keys})"
    return [group for (group,) in connection.execute(sql).fetchall()]

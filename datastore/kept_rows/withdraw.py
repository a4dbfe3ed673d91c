"""Withdrawals: commits after which rows do not stand any more, until an execution makes them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import WorkPayer
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    NotPermitted,
    PenstockError,
    Unavailable,
)
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.kept_rows.columns import EXECUTION, GROUP, KEY
from penstock.datastore.kept_rows.conditions import (
    Condition,
    digest_condition,
    join_conditions,
    scope_condition,
)
from penstock.datastore.kept_rows.database import Connection
from penstock.datastore.kept_rows.open_rows import open_rows
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_keys import part_key
from penstock.datastore.kept_rows.part_list import RowsMoved, add_parts, read_head, read_parts
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.snapshot import COMMIT, WITHDRAWN, Snapshot, types_of
from penstock.datastore.kept_rows.write_part import PartWriter, key_digest
from penstock.datastore.records import Pipeline, State, Transformer, ValueType
from penstock.datastore.roles import GroupPath, Role, covers
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.port import AllOf, Check
from penstock.datastore.table.tombstones import IS_ALIVE
from penstock.datastore.text import multiline_problem
from penstock.transform.timestamps import milliseconds_of

MAX_KEYS: Final = 100
MAX_REASON: Final = 1000
MANY_AT_ONCE: Final = "The rows are being written by many at once."
DIGEST_UNITS: Final = 10
"""Units of making the hashes of keys."""


CheckRows: TypeAlias = Callable[[Mapping[str, GroupPath]], None]
"""Raises the reason why rows that stand, groups by hash, cannot be withdrawn."""


@dataclass(frozen=True, slots=True)
class WithdrawRows:
    """Withdraws rows for the caller, who must be a contributor at the groups of all of them."""

    access: Access
    part_files: PartFiles

    async def by_keys(self, pipeline: Pipeline, keys: Sequence[Sequence[str]], reason: str) -> int:
        """Withdraw the rows with these keys, all or none.

        Raises NotFound with the positions of keys without a row in the caller's sight, and
        NotPermitted for a group at which the caller is no contributor, before any row is read if
        the caller is none at any group that rows may have.
        """
        if not keys:
            raise Invalid([FieldProblem(["keys"], "must not be empty")])
        if len(keys) > MAX_KEYS:
            raise LimitExceeded("keys of a withdrawal", MAX_KEYS, len(keys), ("keys",))
        self._require_some_role(pipeline)
        digests = await self._digests([stored_key(pipeline.transformer, key) for key in keys])

        def require_all(found: Mapping[str, GroupPath]) -> None:
            missing = [n for n, digest in enumerate(digests) if digest not in found]
            if missing:
                raise NotFound.in_list("row", "keys", missing)

        return await self._withdraw(pipeline, digest_condition(digests), reason, require_all)

    async def by_execution(self, pipeline: Pipeline, execution: str, reason: str) -> int:
        """Withdraw the rows in the caller's sight that stand as an execution made them.

        All of these or none; others stay. Raises NotFound if there are none.
        """

        def require_some(found: Mapping[str, GroupPath]) -> None:
            if not found:
                raise NotFound("No row stands as this execution made it.", ("executionId",))

        self._require_some_role(pipeline)
        return await self._withdraw(
            pipeline, Condition(f"{EXECUTION} = ?", (execution,)), reason, require_some
        )

    def _require_some_role(self, pipeline: Pipeline) -> None:
        caller, owner = self.access.caller, pipeline.owner
        below = [group for group in caller.roles if covers(owner, group)]
        if not any(caller.has_role(Role.CONTRIBUTOR, group) for group in (owner, *below)):
            raise NotPermitted(f"This needs the role CONTRIBUTOR at {owner} or below it.")

    async def _withdraw(
        self, pipeline: Pipeline, chosen: Condition, reason: str, check: CheckRows
    ) -> int:
        if not reason.strip():
            raise Invalid([FieldProblem(["reason"], "must not be empty")])
        if message := multiline_problem(reason, MAX_REASON):
            raise Invalid([FieldProblem(["reason"], message)])
        if pipeline.state is not State.ENABLED:
            message = f"The pipeline is {pipeline.state.value}: its rows cannot be withdrawn."
            raise IllegalState(message, pipeline.state.name)
        await require_enabled(self.access, pipeline.owner)
        async for _ in Attempts():
            try:
                return await self._attempt(pipeline, chosen, reason, check)
            except RowsMoved:
                continue
            except StaleRead:
                raise NotFound("There is no pipeline with this id.", ("pipelineId",)) from None
        raise Unavailable(MANY_AT_ONCE)

    async def _attempt(
        self, pipeline: Pipeline, chosen: Condition, reason: str, check: CheckRows
    ) -> int:
        parts = await read_parts(self.access.table, pipeline.id)
        id = self.access.clock.new_id()
        staged = StagedFile(self.access, id, part_key(pipeline.id, f"withdrawal-{id}"))
        part = None
        if parts:
            part = await self._write(staged, parts, chosen, check)
        if part is None:
            check({})
            raise RowsMoved
        part = replace(part, by=self.access.caller.user_id, reason=reason)
        try:
            return await self._add(pipeline.id, part, parts, staged)
        except (RowsMoved, StaleRead, PenstockError):
            await staged.try_drop()
            raise

    async def _add(
        self, pipeline: str, part: RowsPart, seen: Sequence[RowsPart], staged: StagedFile
    ) -> int:
        """Add a part whose rows stand after the commits that were seen; return their number.

        A commit that comes first is no matter if it has none of these rows. Otherwise the part is
        of no use: raises RowsMoved.
        """
        access = self.access
        exists = Write(Check(PIPELINE.latest.key(id=pipeline), AllOf(IS_ALIVE)))
        async for _ in Attempts():
            head = await read_head(access.table, pipeline)
            if head.commits > seen[-1].commit:
                seen = [*seen, *await self._read_others(pipeline, part, seen[-1].commit)]
                part = replace(part, types=types_of(seen), key=seen[-1].key)
            if seen[-1].commit == head.commits or not head.commits:
                writes = [*add_parts(pipeline, head, [part])[1], staged.adoption_write(), exists]
                with suppress(RowsMoved):
                    await commit(access.table, writes)
                    return part.count
        raise Unavailable(MANY_AT_ONCE)

    async def _read_others(self, pipeline: str, part: RowsPart, after: int) -> Sequence[RowsPart]:
        """Return the parts behind the commits that were seen; RowsMoved if they have its rows."""
        others = await read_parts(self.access.table, pipeline, after)
        async with open_rows(self.access, self.part_files, [part, *others]) as opened:
            snapshot = opened.snapshot
            if await opened.run(lambda connection: _has_rows_of_first(connection, snapshot)):
                raise RowsMoved
        return others

    async def _write(
        self, staged: StagedFile, parts: Sequence[RowsPart], chosen: Condition, check: CheckRows
    ) -> RowsPart | None:
        async with open_rows(self.access, self.part_files, parts) as opened:
            snapshot = opened.snapshot
            visible = join_conditions([chosen, scope_condition(self.access.caller)])

            def select_groups(connection: Connection) -> dict[str, GroupPath]:
                sql = f"SELECT {KEY}, {GROUP} FROM {snapshot.latest()} WHERE {visible.sql}"
                return dict(connection.execute(sql, list(visible.values)).fetchall())

            found = await opened.run(select_groups)
            check(found)
            for group in sorted(set(found.values())):
                if not self.access.caller.has_role(Role.CONTRIBUTOR, group):
                    raise NotPermitted(f"This needs the role CONTRIBUTOR at {group}.")
            writer = PartWriter(self.part_files.engine, self.access.files, self.access.clock)
            sql = (
                f"SELECT * EXCLUDE ({COMMIT}, {WITHDRAWN}) FROM {snapshot.latest()} "
                f"WHERE {visible.sql}"
            )
            latest = next(one for one in reversed(parts))
            like = replace(latest, types=dict(snapshot.types))
            return await writer.write_selection(opened, staged, sql, visible.values, like)

    async def _digests(self, keys: Sequence[Sequence[str]]) -> list[str]:
        def select(connection: Connection) -> list[str]:
            found = []
            for key in keys:
                marks = ", ".join("?" for _ in key) or "''"
                row = connection.execute(f"SELECT {key_digest(marks)}", list(key)).fetchone()
                found.append(str(row[0]) if row else "")
            return found

        work = self.access.work
        work.spend_more(DIGEST_UNITS)
        payer = WorkPayer(self.access.caller.user_id, work, DIGEST_UNITS)
        return await self.part_files.engine.read(select, payer)


def stored_key(transformer: Transformer, key: Sequence[str]) -> list[str]:
    """The values of a key as files have them: a time in it is epoch milliseconds there."""
    outputs = [output for one in transformer.transforms for output in one.outputs]
    types = {one.key: one.type for one in outputs}
    names = transformer.rows.key if transformer.rows is not None else ()
    stored = list(key)
    for place, (name, text) in enumerate(zip(names, key, strict=False)):
        if types.get(name) is ValueType.TIMESTAMP:
            milliseconds = milliseconds_of(text)
            stored[place] = text if milliseconds is None else str(milliseconds)
    return stored


def _has_rows_of_first(connection: Connection, snapshot: Snapshot) -> bool:
    """Whether a part behind the first has one of its rows."""
    versions, first = snapshot.all_versions(), snapshot.parts[0].commit
    keys = f"SELECT {KEY} FROM {versions} WHERE {COMMIT} = {first}"
    sql = f"SELECT 1 FROM {versions} WHERE {COMMIT} > {first} AND {KEY} IN ({keys}) LIMIT 1"
    return connection.execute(sql).fetchone() is not None

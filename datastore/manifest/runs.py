"""Runs of the manifest: read, discovered, and changed, each change in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import (
    BadArgument,
    FieldProblem,
    Invalid,
    LeaseLost,
    NotFound,
    RunGivenUp,
    Unavailable,
)
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.copies import ConsumerRefused, CopyWriter
from penstock.datastore.manifest.counts import key_of_manifest
from penstock.datastore.manifest.insert import check_key_length, insert_run
from penstock.datastore.manifest.labels import label_problems
from penstock.datastore.manifest.manifests import load_manifest, may_read
from penstock.datastore.manifest.records import (
    SUCCESS_FILE,
    Action,
    Manifest,
    ManifestName,
    Run,
    RunEvent,
    RunName,
    RunState,
)
from penstock.datastore.manifest.rows import (
    changed_rows,
    deleted_fence,
    event_of,
    first_event_key,
    history_query,
    key_bytes,
    key_of_run,
    run_of,
)
from penstock.datastore.manifest.run_reports import report_change
from penstock.datastore.manifest.state_machine import advance_run
from penstock.datastore.manifest.transitions import GiveUp, Transition
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Tag
from penstock.datastore.roles import Role
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.items import read_or_report, read_rows
from penstock.datastore.table.limits import INDEX_RANGE_BYTES
from penstock.datastore.table.pages import query_items


@dataclass(frozen=True, slots=True)
class OutputFolders:
    """The output folders of the server's bucket; without a bucket none can be checked."""

    files: Files = NO_FILES
    bucket: str | None = None

    async def is_complete(self, saved_to: str) -> bool:
        """Whether the folder holds `_SUCCESS`, which is written last.

        Raises Invalid about `savedTo` if the server cannot check the folder.
        """
        rules.require_valid([("savedTo", rules.folder_problem(saved_to))])
        bucket, path = rules.folder_parts(rules.canonical_folder(saved_to)) or ("", "")
        if self.bucket is None:
            raise _folder_error("cannot be looked into: the server keeps no files")
        if bucket != self.bucket:
            raise _folder_error(f"is not in the bucket of the server, {self.bucket}")
        try:
            return await self.files.stat(f"{path}{SUCCESS_FILE}") is not None
        except BadArgument as odd:
            raise _folder_error(f"names no folder: {odd.message}") from odd


def _folder_error(message: str) -> Invalid:
    return Invalid([FieldProblem(["savedTo"], message)])


def folder_in_stage(stage: str, run_id: str) -> str:
    """The folder of a run in a stage: the last part of its id, like `run=2018-12-11-00-00-00`."""
    return rules.canonical_folder(
        rules.canonical_folder(stage) + run_id.rstrip("/").rpartition("/")[2]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A run as it is first reported; with a `skip_reason` it is marked to be skipped."""

    run_id: str
    added_by: str
    pipeline: str | None = None
    skip_reason: str | None = None
    tags: tuple[Tag, ...] = ()
    batch: str | None = None

    def problems(self) -> rules.NamedProblems:
        yield from label_problems(self.tags, self.batch)
        yield "runId", rules.run_id_problem(self.run_id)
        yield "addedBy", rules.new_name_problem(self.added_by)
        if self.pipeline is not None:
            yield "pipeline", rules.new_name_problem(self.pipeline)
        if self.skip_reason is not None:
            yield "skipReason", rules.reason_problem(self.skip_reason)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of manifests that the caller may read; contributors change them."""

    access: Access
    folders: OutputFolders = field(default_factory=OutputFolders)

    async def many(self, names: Sequence[RunName]) -> list[Run | NotFound]:
        """Get runs: `pk = R:<manifest>:<runId>, sk = R`, batched; aligned with the names."""
        keys = {name: key_of_run(name) for name in names if self._may_exist(name)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        items = [rows.get(keys[name]) if name in keys else None for name in names]
        return [unknown_run() if item is None else read_or_report(run_of, item) for item in items]

    async def one(self, name: RunName) -> Run:
        """Get a run; raises NotFound."""
        (run,) = await self.many([name])
        if isinstance(run, NotFound):
            raise run
        return run

    async def discover(self, manifest: ManifestName, found: Discovery) -> Run:
        """Add a run to the manifest as NEW; the manifest is created if it does not exist.

        A run that exists already is returned as it is.
        """
        run = self.new_run(manifest, found)
        return (await insert_run(self.access, run, Action.DISCOVER))[0]

    async def preview_discovery(self, manifest: ManifestName, found: Discovery) -> Run:
        """The run as `discover` would answer it, or its error; nothing is written."""
        run = self.new_run(manifest, found)
        check_key_length(run)
        (standing,) = await self.many([run.name])
        if not isinstance(standing, NotFound):
            return standing
        await self.access.require_open_group(manifest.group)
        tombstone = first_event_key(run)
        rows = await read_rows(self.access.table, [tombstone], consistent=True)
        return msgspec.structs.replace(run, fence=deleted_fence(rows.get(tombstone)))

    def new_run(self, manifest: ManifestName, found: Discovery) -> Run:
        """A run as it is discovered, if the caller may add it; it is not in the manifest yet."""
        self.access.require_role(Role.CONTRIBUTOR, manifest.group)
        named = (("manifest", rules.short_problem(manifest.name)),)
        rules.require_valid([*named, *found.problems()])
        id = self.access.clock.new_id()
        return Run(
            id=id,
            shard=choose_shard(id, self.access.shards),
            group=manifest.group,
            manifest=manifest.name.strip(),
            run_id=found.run_id,
            added_at=self._now(),
            added_by=found.added_by,
            to_skip=found.skip_reason is not None,
            skip_reason=found.skip_reason,
            pipeline=found.pipeline,
            tags=found.tags,
            batch=found.batch,
            state=RunState.NEW,
            version=1,
            fence=0,
            attempt=0,
        )

    async def change(
        self,
        name: RunName,
        transition: Transition,
        extra_writes: Sequence[Write] = (),
        *,
        recorded: bool = True,
    ) -> Run:
        """Change a run as the table of states allows: one read, and one transaction.

        Repeating a change of the same claim with the same content changes nothing, whatever
        happened to the run since. The `extra_writes` are part of the transaction if the run
        changes. Unless it is `recorded`, the history gets no event of it. Raises IllegalState, or
        one of its subclasses.
        """
        self._check_change(name, transition)
        call, copies = self.access.clock.new_id(), CopyWriter(self.access)
        async for _ in Attempts():
            run, manifest = await self._read_for(name, transition)
            try:
                after = await self._advance(run, transition, manifest)
            except RunGivenUp as refused:
                if run.state is RunState.GIVEN_UP:
                    raise
                raise await self._give_up(run, refused.message) from refused
            if after is run:
                return run
            event = self._event(run, after, transition, call) if recorded else None
            given = copies.writes(after, manifest) if transition.makes_output else []
            changed = [*changed_rows(run, after, event), *given, *extra_writes]
            if not await self._try_commit(changed, copies):
                continue
            report_change(self.access, run, after, transition.action)
            return after
        raise Unavailable("The run is being written by many at once.")

    async def preview(self, name: RunName, transition: Transition) -> Run:
        """The run as `change` would leave it, or its error; nothing is written."""
        self._check_change(name, transition)
        run, manifest = await self._read_for(name, transition)
        return await self._advance(run, transition, manifest)

    def _check_change(self, name: RunName, transition: Transition) -> None:
        self.access.require_role(Role.CONTRIBUTOR, name.manifest.group)
        rules.require_valid(transition.problems())

    async def _advance(self, run: Run, transition: Transition, manifest: Manifest | None) -> Run:
        """The run after a transition; as it is if an earlier call did the same, also long ago."""
        try:
            return advance_run(run, _under_rules(transition, manifest), self._now())
        except LeaseLost:
            if await self._was_done(run, transition):
                return run
            raise

    async def _try_commit(self, writes: Sequence[Write], copies: CopyWriter) -> bool:
        """Commit a change of a run; False if it must be read again."""
        try:
            await commit(self.access.table, writes)
        except StaleRead:
            return False
        except ConsumerRefused as refused:
            copies.learn(refused)
            return False
        return True

    async def _read_for(self, name: RunName, transition: Transition) -> tuple[Run, Manifest | None]:
        """Read a run and, in the same request, the manifest if the transition depends on it."""
        depends = transition.obeys_retry_rules or transition.makes_output
        if not depends or not self._may_exist(name):
            return await self.one(name), None
        own, place = key_of_run(name), key_of_manifest(name.manifest)
        rows = await read_rows(self.access.table, [own, place], consistent=True)
        if own not in rows:
            raise unknown_run()
        # A manifest that is being deleted may be gone before the last of its runs.
        there = place in rows
        manifest = load_manifest(name.manifest.group, rows[place]) if there else None
        return run_of(rows[own]), manifest

    async def _give_up(self, run: Run, message: str) -> RunGivenUp:
        """Give up a run whose last attempt ended with its lease; return the error for the call."""
        words = f"The lease of {run.lease_owner} ended without a result."
        given_up = await self.change(run.name, GiveUp(fence=run.fence, error=words))
        return RunGivenUp(message, given_up.state)

    async def _was_done(self, run: Run, transition: Transition) -> bool:
        """Whether an earlier call ended a former claim in the same way; its answer was lost."""
        if transition.action is Action.HEARTBEAT:
            return False
        async for item in query_items(self.access.table, history_query(run, descending=True)):
            event = event_of(item)
            if event.fence == transition.fence and event.action is transition.action:
                return event.error == transition.error
        return False

    def _may_exist(self, name: RunName) -> bool:
        """Whether the name is valid and the caller may read its manifest."""
        odd = rules.run_id_problem(name.run_id) or rules.short_problem(name.manifest.name)
        readable = not odd and may_read(self.access, name.manifest)
        return readable and key_bytes(name) <= INDEX_RANGE_BYTES

    def _now(self) -> int:
        return int(self.access.clock.now().timestamp())

    def _event(self, run: Run, after: Run, transition: Transition, call: str) -> RunEvent | None:
        """The event of a change; a heartbeat has none."""
        if transition.action is Action.HEARTBEAT:
            return None
        return RunEvent(
            seq=after.version,
            action=transition.action,
            before=run.state,
            after=after.state,
            at=self.access.clock.timestamp(),
            by=self.access.caller.user_id,
            call=call,
            fence=after.fence,
            worker=after.lease_owner or run.lease_owner,
            reason=transition.reason,
            error=transition.error,
        )


def _under_rules(transition: Transition, manifest: Manifest | None) -> Transition:
    """The transition with the rules of retries that it obeys."""
    if not transition.obeys_retry_rules or manifest is None:
        return transition
    return replace(transition, retries=manifest.retries)


def unknown_run() -> NotFound:
    """The error for a run that does not exist or that the caller may not know of."""
    return NotFound("There is no such run.", ("runId",))

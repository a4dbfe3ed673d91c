"""Recovery, reset and deletion of runs that are stuck."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.errors import FieldProblem, Invalid, OutputExists, OutputMissing
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.delete import delete_run
from penstock.datastore.manifest.records import SUCCESS_FILE, Run, RunName
from penstock.datastore.manifest.runs import Runs, folder_in_stage
from penstock.datastore.manifest.state_machine import advance_run
from penstock.datastore.manifest.transitions import Recover, Reset, Transition
from penstock.datastore.roles import Role
from penstock.datastore.table.commit import retry_on_conflict


@dataclass(frozen=True, slots=True)
class OutputLocation:
    """The folder of a run's output: a given folder, or the run's own folder in a stage.

    Without either it is the folder in the run's own record.
    """

    saved_to: str | None = None
    stage: str | None = None

    def folder(self, run: Run) -> str:
        """The folder; raises Invalid if there is none."""
        if self.saved_to is not None and self.stage is not None:
            raise _invalid_field("stagePath", "must not be given together with `savedTo`")
        if self.stage is not None:
            rules.require_valid([("stagePath", rules.folder_problem(self.stage))])
            return folder_in_stage(self.stage, run.run_id)
        folder = self.saved_to or run.saved_to
        if folder is None:
            raise _invalid_field("savedTo", "must name the folder, which the run does not")
        rules.require_valid([("savedTo", rules.folder_problem(folder))])
        return folder


DEFAULT_OUTPUT = OutputLocation()


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of stuck runs; the caller must be contributor of the group."""

    runs: Runs

    async def recover(
        self,
        name: RunName,
        shred_types: Sequence[str] | None = None,
        output: OutputLocation = DEFAULT_OUTPUT,
        reason: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Run:
        """Change a run that is NEW, FAILED, or PROCESSING without a lease, to PROCESSED.

        Its folder must hold `_SUCCESS`; otherwise raises OutputMissing. Without `shred_types` the
        run keeps those it has. A `dry_run` returns the run as it would be.
        """
        run = await self._read_run(name)
        folder = output.folder(run)
        types = run.shred_types if shred_types is None else tuple(shred_types)
        if types is None:
            raise _invalid_field(
                "shredTypes", "must be given; an empty list says that there are none"
            )
        rules.require_valid([("shredTypes", rules.shred_types_problem(types))])
        transition = Recover(shred_types=types, saved_to=folder, reason=reason)
        advance_run(run, transition, self._now())
        if not await self.runs.folders.is_complete(folder):
            raise OutputMissing(
                f"There is no {SUCCESS_FILE} in {rules.canonical_folder(folder)}.", run.state
            )
        return await self._change(name, transition, dry_run=dry_run)

    async def reset(
        self,
        name: RunName,
        output: OutputLocation = DEFAULT_OUTPUT,
        reason: str | None = None,
        *,
        force: bool,
        dry_run: bool = False,
    ) -> Run:
        """Change a run that is NEW, FAILED, or PROCESSING without a lease, to NEW.

        Its folder must not hold `_SUCCESS`; otherwise raises OutputExists. `force` skips this
        check. A `dry_run` returns the run as it would be.
        """
        transition = Reset(reason=reason)
        await self._require_incomplete(await self._read_run(name), transition, output, force=force)
        return await self._change(name, transition, dry_run=dry_run)

    async def delete(
        self,
        name: RunName,
        output: OutputLocation = DEFAULT_OUTPUT,
        *,
        force: bool,
        dry_run: bool = False,
    ) -> Run:
        """Delete a run and its history, under the conditions of a reset; needs an admin.

        Returns the run as it was; with `dry_run` it stays.
        """
        self.runs.access.require_role(Role.ADMIN, name.manifest.group)

        async def attempt() -> Run:
            run = await self._read_run(name)
            await self._require_incomplete(run, Reset(), output, force=force)
            if not dry_run:
                await delete_run(self.runs.access, run)
            return run

        return await retry_on_conflict("run", attempt)

    async def _change(self, name: RunName, transition: Transition, *, dry_run: bool) -> Run:
        change = self.runs.preview if dry_run else self.runs.change
        return await change(name, transition)

    async def _read_run(self, name: RunName) -> Run:
        self.runs.access.require_role(Role.CONTRIBUTOR, name.manifest.group)
        return await self.runs.one(name)

    async def _require_incomplete(
        self, run: Run, transition: Reset, output: OutputLocation, *, force: bool
    ) -> None:
        advance_run(run, transition, self._now())
        if force:
            return
        folder = output.folder(run)
        if await self.runs.folders.is_complete(folder):
            raise OutputExists(
                f"There is a {SUCCESS_FILE} in {rules.canonical_folder(folder)}.", run.state
            )

    def _now(self) -> int:
        return int(self.runs.access.clock.now().timestamp())


def _invalid_field(field: str, message: str) -> Invalid:
    return Invalid([FieldProblem([field], message)])

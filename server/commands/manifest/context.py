"""The options that name a manifest, and the opened store that a command works on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from cyclopts import Parameter

from penstock.datastore.errors import BadArgument, ExpectedFailure
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunName
from penstock.datastore.manifest.transitions import Transition
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Tag
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, parse_group_path
from penstock.datastore.session import Session
from penstock.server.auth.claims import user_id_from
from penstock.server.commands.manifest.printing import change_answer, manifests_answer
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.lineage.lineage import Lineage, deliver_lineage
from penstock.server.runtime.stores import build_store, open_files, open_whole_table
from penstock.server.settings.settings import Settings

T = TypeVar("T")

RunId = Annotated[
    str, Parameter(help="Path of the run's folder in its bucket, as written in the manifest.")
]


PipelineName = Annotated[str | None, Parameter(help="Pipeline that the runs come from.")]
SkipReason = Annotated[
    str | None, Parameter(help="Skip the runs, for this reason. By default they are worked on.")
]
Tags = Annotated[
    list[str] | None,
    Parameter(name="--tag", help="Tag of the run, as `country=de`; may be given many times."),
]
Batch = Annotated[str | None, Parameter(help="Batch of runs that belong together, such as a day.")]


def parse_tags(texts: list[str] | None) -> tuple[Tag, ...]:
    """Parse the values of `--tag`."""
    tags = []
    for text in texts or ():
        key, separator, value = text.partition("=")
        if not separator:
            raise CommandFailed(f"--tag {text}: must be like country=de.", code=ExitCode.USAGE)
        tags.append(Tag(key=key, value=value))
    return tuple(tags)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOptions:
    """The options of the manifest, its group and the acting user."""

    manifest: Annotated[str, Parameter(help="Name of the manifest in its group.")]
    group: Annotated[str, Parameter(help="Group of the manifest.")] = "/"
    user: Annotated[str, Parameter(help="User to record in the history.")] = "penstock-cli"

    @property
    def name(self) -> ManifestName:
        return ManifestName(parse_group_option(self.group), self.manifest)

    def run_name(self, run_id: str) -> RunName:
        return RunName(self.name, run_id)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions(ManifestOptions):
    """The options of a command that changes a run, or the manifest itself."""

    dry_run: Annotated[bool, Parameter(help="Only show what would happen now.")] = False

    async def change(self, session: Session, run_id: str, transition: Transition) -> Run:
        """Change a run, or return it as it would be."""
        change = session.runs.preview if self.dry_run else session.runs.change
        return await change(self.run_name(run_id), transition)

    def answer(self, run: Run, done: str) -> CommandOutput:
        """Say what was done to a run, or would be."""
        return change_answer(run, f"(dry run) {done}" if self.dry_run else done)

    def manifest_answer(self, manifest: Manifest) -> CommandOutput:
        """Show a manifest that was changed, or would be."""
        return manifests_answer([manifest], "(dry run) " if self.dry_run else "")


def parse_group_option(text: str) -> GroupPath:
    """Parse the value of `--group`."""
    try:
        return parse_group_path(text)
    except BadArgument as error:
        raise CommandFailed(f"--group: {error.message}", code=ExitCode.USAGE) from error


def run_with_session(
    options: StoreOptions,
    user: str,
    work: Callable[[Session], Awaitable[T]],
    *,
    with_files: bool = False,
) -> T:
    """Open the store and do the work as an admin of everything with this user name.

    A failure of a run or manifest becomes a CommandFailed with the failure's code.
    """

    async def run_work() -> T:
        async with _open_as_admin(options.settings(), user, with_files=with_files) as session:
            return await work(session)

    try:
        return asyncio.run(run_work())
    except ExpectedFailure as failure:
        raise CommandFailed(f"{failure.code.value}: {failure.message}") from failure


@asynccontextmanager
async def _open_as_admin(
    settings: Settings, user: str, *, with_files: bool
) -> AsyncIterator[Session]:
    async with (
        open_whole_table(settings) as table,
        _open_optional_files(settings, with_files=with_files) as files,
    ):
        caller = Caller(_parse_user_option(user), {ROOT: Role.ADMIN}, ROOT)
        store, lineage = build_store(table, settings, files), Lineage.of(settings)
        if lineage is not None:
            store = replace(store, watch_run=lineage.tell_run)
        async with deliver_lineage(lineage, store):
            yield store.open_session(caller)


@asynccontextmanager
async def _open_optional_files(settings: Settings, *, with_files: bool) -> AsyncIterator[Files]:
    if not with_files:
        yield NO_FILES
        return
    async with open_files(settings) as files:
        yield files


def _parse_user_option(text: str) -> str:
    try:
        return user_id_from(text)
    except BadArgument as error:
        raise CommandFailed(f"--user: {error.message}", code=ExitCode.USAGE) from error

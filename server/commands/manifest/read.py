"""`penstock manifest list`, `show` and `types`."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunEvent, RunState
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.table.pages import Slice, Window
from penstock.server.commands.manifest.context import (
    ManifestOptions,
    RunId,
    parse_group_option,
    parse_tags,
    run_with_session,
)
from penstock.server.commands.manifest.printing import (
    event_data,
    format_run,
    format_run_with_history,
    manifests_answer,
    run_data,
)
from penstock.server.commands.options import StoreOptions, parse_duration
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

T = TypeVar("T")

PAGE = 100
HISTORY = 100
READING_USER = "penstock-cli"

_MANIFEST = "Name of the manifest; without it, the manifests of the group are listed."
_MOMENT = "a day or a time, `2018-12-11` or `2018-12-11T06:00:00Z`"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """The options that select and order the runs of a list."""

    state: Annotated[RunState | None, Parameter(help="Only runs in this state.")] = None
    since: Annotated[str | None, Parameter(help=f"Only runs added then or later: {_MOMENT}.")] = (
        None
    )
    until: Annotated[str | None, Parameter(help=f"Only runs added before: {_MOMENT}.")] = None
    tag: Annotated[str | None, Parameter(help="Only runs with this tag, as `country=de`.")] = None
    batch: Annotated[str | None, Parameter(help="Only the runs of this batch.")] = None
    due: Annotated[
        bool, Parameter(help="Only runs that need not wait until they may be tried again.")
    ] = False
    newest_first: Annotated[bool, Parameter(help="The latest runs first.")] = False
    stale: Annotated[bool, Parameter(help="Only stuck runs; excludes the options above.")] = False
    older_than: Annotated[
        str, Parameter(help="With `--stale`: how long a new run may wait, like `1h`.")
    ] = "1h"
    limit: Annotated[
        int, Parameter(help="Most runs to list.", validator=Number(gte=1, lte=1_000_000))
    ] = PAGE

    def page_reader(self, name: ManifestName) -> Callable[[Session, Window], Awaitable[Slice[Run]]]:
        """Check the options and return the function that reads a page; raises CommandFailed."""
        start, end = _parse_moment("since", self.since), _parse_moment("until", self.until)
        listed = RunListFilter(
            state=self.state,
            due=self.due or None,
            tag=None if self.tag is None else parse_tags([self.tag])[0],
            batch=self.batch,
            start=start,
            end=end,
            newest_first=self.newest_first,
        )
        age = parse_duration("older-than", self.older_than)
        if not self.stale:
            return lambda session, window: session.run_lists.page(name, listed, window)
        if listed != RunListFilter():
            words = "--stale goes with --older-than and --limit, and with no other choice."
            raise CommandFailed(words, code=ExitCode.USAGE)
        return lambda session, window: session.run_lists.stale(name, window, age)


DEFAULT_FILTER = RunFilter()


def list_runs(
    *,
    manifest: Annotated[str | None, Parameter(help=_MANIFEST)] = None,
    group: Annotated[str, Parameter(help="Group in which the manifest lies.")] = "/",
    choice: RunFilter = DEFAULT_FILTER,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """List the runs of a manifest by the time they were added, or the manifests of a group."""
    path = parse_group_option(group)
    if manifest is None:
        return manifests_answer(
            run_with_session(options, READING_USER, lambda session: _list_manifests(session, path))
        )
    read = choice.page_reader(ManifestName(path, manifest))

    async def work(session: Session) -> list[Run]:
        return await _read_all(lambda window: read(session, window), choice.limit)

    runs = run_with_session(options, READING_USER, work)
    text = "\n".join(map(format_run, runs)) or "There are no such runs."
    return CommandOutput(text, {"runs": [run_data(run) for run in runs]})


def show(
    run_id: RunId,
    /,
    *,
    manifest: ManifestOptions,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Show all fields of a run, and its history, newest first."""

    async def read(session: Session) -> tuple[Run, list[RunEvent]]:
        run = await session.runs.one(manifest.run_name(run_id))
        page = await session.run_lists.history(run, Window(size=HISTORY))
        return run, [event for _, event in page.entries]

    run, events = run_with_session(options, manifest.user, read)
    data = {"run": run_data(run), "history": [event_data(event) for event in events]}
    return CommandOutput(format_run_with_history(run, events), data)


def plan_types(
    *,
    manifest: ManifestOptions,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Show the shredded types of runs that wait for a Loader, as far as no loaded run had them."""
    plan = run_with_session(
        options, manifest.user, lambda session: session.new_shred_types.plan(manifest.name)
    )
    new = sum(len(types) for _, types in plan.steps)
    lines = [f"Runs that wait for a Loader: {plan.waiting}, new types in them: {new}."]
    lines += [f"{run.run_id}: {', '.join(types)}" for run, types in plan.steps]
    steps = [{"runId": run.run_id, "types": list(types)} for run, types in plan.steps]
    return CommandOutput("\n".join(lines), {"waiting": plan.waiting, "newTypes": steps})


async def _list_manifests(session: Session, group: GroupPath) -> list[Manifest]:
    return await _read_all(lambda window: session.manifests.page(group, window))


async def _read_all(
    page: Callable[[Window], Awaitable[Slice[T]]], limit: int = sys.maxsize
) -> list[T]:
    """Return the entries of all pages, at most `limit`."""
    found: list[T] = []
    window: Window | None = Window(size=min(PAGE, limit))
    while window is not None and len(found) < limit:
        part = await page(window)
        found += [entry for _, entry in part.entries]
        window = Window(size=PAGE, after=part.reached) if part.more else None
    return found[:limit]


def _parse_moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        words = f"--{option} {text}: must be {_MOMENT}."
        raise CommandFailed(words, code=ExitCode.USAGE) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

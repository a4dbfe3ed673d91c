"""`penstock manifest` for operators: retry, skip, unskip, recover, reset, reload and retries."""

from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.manifest import transitions
from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.records import Manifest
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.retry_rules import DEFAULT_ATTEMPTS, RetryRules
from penstock.datastore.session import Session
from penstock.server.commands.manifest.context import (
    Batch,
    ChangeOptions,
    RunId,
    Tags,
    parse_tags,
    run_with_session,
)
from penstock.server.commands.options import StoreOptions, parse_duration
from penstock.server.core.command_output import CommandOutput

Reason = Annotated[str, Parameter(help="Reason, for the history.")]
OptionalReason = Annotated[str | None, Parameter(help="Reason, for the history.")]
SavedTo = Annotated[
    str | None,
    Parameter(help="Folder to look for `_SUCCESS` in; by default the one that the run names."),
]
StagePath = Annotated[
    str | None,
    Parameter(help="In place of `--saved-to`: the folder above, in which the run has its own."),
]


def skip(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    reason: Reason,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Keep workers from a run that is not claimed and not loaded."""
    transition = transitions.Skip(reason=reason)
    return _change_run(options, manifest, run_id, transition, "To be skipped")


def unskip(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    reason: OptionalReason = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Let workers claim a skipped run again."""
    transition = transitions.Unskip(reason=reason)
    return _change_run(options, manifest, run_id, transition, "To be worked on")


def recover(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    saved_to: SavedTo = None,
    stage_path: StagePath = None,
    shred_type: Annotated[
        list[str] | None, Parameter(help="Shredded type in the output; may be given many times.")
    ] = None,
    no_shred_types: Annotated[bool, Parameter(help="There are no shredded types.")] = False,
    reason: OptionalReason = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Move a stuck or failed run to PROCESSED, if its folder holds a `_SUCCESS`."""
    types = shred_type or ([] if no_shred_types else None)
    output = OutputLocation(saved_to, stage_path)
    run = run_with_session(
        options,
        manifest.user,
        lambda session: session.run_recovery.recover(
            manifest.run_name(run_id), types, output, reason, dry_run=manifest.dry_run
        ),
        with_files=True,
    )
    return manifest.answer(run, "Recovered")


def reset(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    saved_to: SavedTo = None,
    stage_path: StagePath = None,
    force: Annotated[bool, Parameter(help="Do not look for a `_SUCCESS`.")] = False,
    delete: Annotated[bool, Parameter(help="Delete the run, with its history.")] = False,
    reason: OptionalReason = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Move a stuck or failed run to NEW, or delete it, if its folder has no `_SUCCESS`."""
    output, name = OutputLocation(saved_to, stage_path), manifest.run_name(run_id)

    async def work(session: Session) -> CommandOutput:
        recovery, dry = session.run_recovery, manifest.dry_run
        if delete:
            gone = await recovery.delete(name, output, force=force, dry_run=dry)
            return manifest.answer(gone, "Deleted")
        run = await recovery.reset(name, output, reason, force=force, dry_run=dry)
        return manifest.answer(run, "Reset")

    return run_with_session(options, manifest.user, work, with_files=not force)


def set_tags(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    tag: Tags = None,
    batch: Batch = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Set the tags and the batch of a run, in place of those it has."""
    transition = transitions.SetLabels(tags=parse_tags(tag), batch=batch)
    return _change_run(options, manifest, run_id, transition, "Tagged")


def retry(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    reason: OptionalReason = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Let workers claim a run at once that failed or was given up."""
    transition = transitions.Retry(reason=reason)
    return _change_run(options, manifest, run_id, transition, "To be tried again")


def set_retries(
    *,
    manifest: ChangeOptions,
    max_attempts: Annotated[
        int, Parameter(help="Most attempts at one stage of a run.")
    ] = DEFAULT_ATTEMPTS,
    first_delay: Annotated[str, Parameter(help="Delay after the first failure.")] = "30s",
    longest_delay: Annotated[str, Parameter(help="Longest delay.")] = "1h",
    none: Annotated[
        bool, Parameter(help="Let workers claim failed runs at once, and without end.")
    ] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Set how often, and after which delays, failed runs of a manifest are tried again."""
    rules = RetryRules(
        max_attempts=max_attempts,
        first_delay=int(parse_duration("first-delay", first_delay).total_seconds()),
        longest_delay=int(parse_duration("longest-delay", longest_delay).total_seconds()),
    )
    changed = run_with_session(
        options,
        manifest.user,
        lambda session: session.manifests.set_retries(
            manifest.name, None if none else rules, dry_run=manifest.dry_run
        ),
    )
    return manifest.manifest_answer(changed)


def create_consumer(
    consumer: Annotated[str, Parameter(help="Name of the consumer's own manifest.")],
    /,
    *,
    manifest: ChangeOptions,
    start: Annotated[ConsumerStart, Parameter(help="The first of the runs that it gets.")],
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Make a consumer: a manifest of its own that gets each run as soon as it is processed."""

    async def work(session: Session) -> Manifest:
        while True:
            made = await session.run_consumers.create(
                manifest.name, consumer, start, dry_run=manifest.dry_run
            )
            if made.is_filled or manifest.dry_run:
                return made

    return manifest.manifest_answer(run_with_session(options, manifest.user, work))


def remove_consumer(
    consumer: Annotated[str, Parameter(help="Name of the consumer's own manifest.")],
    /,
    *,
    manifest: ChangeOptions,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Give a consumer no more runs; its manifest stays, with the runs it has."""
    removed = run_with_session(
        options,
        manifest.user,
        lambda session: session.run_consumers.remove(
            manifest.name, consumer, dry_run=manifest.dry_run
        ),
    )
    return manifest.manifest_answer(removed)


def reload(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    reason: Reason,
    force: Annotated[
        bool, Parameter(help="Required: the rows of the first load stay, and may be there twice.")
    ] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Let a loaded run be loaded again."""
    transition = transitions.Reload(reason=reason, force=force)
    return _change_run(options, manifest, run_id, transition, "To be loaded again")


def _change_run(
    options: StoreOptions,
    manifest: ChangeOptions,
    run_id: str,
    transition: transitions.Transition,
    done: str,
) -> CommandOutput:
    """Change a run, and say what was `done`."""
    run = run_with_session(
        options, manifest.user, lambda session: manifest.change(session, run_id, transition)
    )
    return manifest.answer(run, done)

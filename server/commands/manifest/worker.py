"""`penstock manifest` for Transformers and Loaders: discover, claim, and report the result."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.datastore.manifest import transitions
from penstock.datastore.manifest.records import Run, Stage
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.session import Session
from penstock.server.commands.manifest.context import (
    Batch,
    ChangeOptions,
    PipelineName,
    RunId,
    SkipReason,
    Tags,
    parse_tags,
    run_with_session,
)
from penstock.server.commands.manifest.printing import format_run, run_data
from penstock.server.commands.options import StoreOptions, parse_duration
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

Fence = Annotated[
    int, Parameter(help="Fence of the claim, as `claim` answered it.", validator=Number(gte=0))
]
Lease = Annotated[str, Parameter(help="Time of the lease: `90s`, `10m`, `1d` at most.")]
Counts = Annotated[
    list[str] | None,
    Parameter(name="--count", help="A count, as `rows=1200`; may be given many times."),
]


def discover(
    run_ids: Annotated[list[str], Parameter(help="Paths of the folders inside of their bucket.")],
    /,
    *,
    manifest: ChangeOptions,
    added_by: Annotated[str, Parameter(help="Version of the Transformer that found the runs.")],
    pipeline: PipelineName = None,
    skip_reason: SkipReason = None,
    tag: Tags = None,
    batch: Batch = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Add runs to a manifest, which the first run creates; existing runs stay as they are."""
    tags = parse_tags(tag)

    async def work(session: Session) -> list[Run]:
        found = (
            Discovery(
                run_id=id,
                added_by=added_by,
                pipeline=pipeline,
                skip_reason=skip_reason,
                tags=tags,
                batch=batch,
            )
            for id in run_ids
        )
        runs = session.runs
        discover = runs.preview_discovery if manifest.dry_run else runs.discover
        return [await discover(manifest.name, each) for each in found]

    runs = run_with_session(options, manifest.user, work)
    return CommandOutput(
        "\n".join(map(format_run, runs)), {"runs": [run_data(run) for run in runs]}
    )


def claim(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    stage: Annotated[Stage, Parameter(help="Stage to work on.")],
    owner: Annotated[str, Parameter(help="Unique name of the worker.")],
    lease: Lease = "5m",
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Claim a run, to transform or to load it. The answer holds the fence."""
    seconds = int(parse_duration("lease", lease).total_seconds())
    transition = transitions.Claim(stage=stage, owner=owner, seconds=seconds)
    run = _request_transition(options, manifest, run_id, transition)
    return manifest.answer(run, f"In hand, fence {run.fence}")


def heartbeat(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    fence: Fence,
    lease: Lease = "5m",
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Extend the lease of a claimed run, from now."""
    transition = transitions.Heartbeat(
        fence=fence, seconds=int(parse_duration("lease", lease).total_seconds())
    )
    return manifest.answer(
        _request_transition(options, manifest, run_id, transition), "Still in hand"
    )


def report_processed(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    fence: Fence,
    saved_to: Annotated[str, Parameter(help="Folder of the output, `s3://bucket/path/`.")],
    shred_type: Annotated[
        list[str] | None, Parameter(help="Shredded type in the output; may be given many times.")
    ] = None,
    count: Counts = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Report that a run was transformed, once its output is complete."""
    transition = transitions.MarkProcessed(
        fence=fence,
        shred_types=tuple(shred_type or ()),
        saved_to=saved_to,
        counts=_parse_counts(count),
    )
    return manifest.answer(_request_transition(options, manifest, run_id, transition), "Processed")


def report_loaded(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    fence: Fence,
    loaded_by: Annotated[str, Parameter(help="Version of the Loader.")],
    count: Counts = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Report that a run was loaded, once the load can no longer be undone."""
    transition = transitions.MarkLoaded(
        fence=fence, loaded_by=loaded_by, counts=_parse_counts(count)
    )
    return manifest.answer(_request_transition(options, manifest, run_id, transition), "Loaded")


def report_failed(
    run_id: RunId,
    /,
    *,
    manifest: ChangeOptions,
    fence: Fence,
    error: Annotated[str, Parameter(help="Description of the error.")],
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Report that the current stage failed; any worker may then claim the run again."""
    return manifest.answer(
        _request_transition(options, manifest, run_id, transitions.Fail(fence=fence, error=error)),
        "Failed",
    )


def _request_transition(
    options: StoreOptions, manifest: ChangeOptions, run_id: str, transition: transitions.Transition
) -> Run:
    return run_with_session(
        options, manifest.user, lambda session: manifest.change(session, run_id, transition)
    )


def _parse_counts(texts: list[str] | None) -> dict[str, int] | None:
    if texts is None:
        return None
    counts = {}
    for text in texts:
        name, _, count = text.rpartition("=")
        if not name or not count.isascii() or not count.isdecimal():
            words = f"--count {text}: must be like rows=1200."
            raise CommandFailed(words, code=ExitCode.USAGE)
        counts[name] = int(count)
    return counts

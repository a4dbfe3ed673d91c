"""`penstock manifest` for Transformers and Loaders: discover, claim, and report the result."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.datastore.manifest import transitions
from penstock.datastore.manifest.records import Run, Stage
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.store import Session
from penstock.server.commands.manifest.context import Place, RunId, act
from penstock.server.commands.manifest.printing import done, line, run_data
from penstock.server.commands.options import StoreOptions, span
from penstock.server.core.command_output import Answer, CommandFailed, ExitCode

Fence = Annotated[
    int,
    Parameter(help="Fence of the claim, as `claim` answered it.", validator=Number(gte=0)),
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
    place: Place,
    added_by: Annotated[str, Parameter(help="Version of the Transformer that found the runs.")],
    pipeline: Annotated[str | None, Parameter(help="Pipeline that the runs come from.")] = None,
    skip_reason: Annotated[
        str | None, Parameter(help="Skip the runs, for this reason. By default they are worked on.")
    ] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Add runs to a manifest, which the first run creates; existing runs stay as they are."""

    async def work(session: Session) -> list[Run]:
        found = (
            Discovery(run_id=id, added_by=added_by, pipeline=pipeline, skip_reason=skip_reason)
            for id in run_ids
        )
        return [await session.runs.discover(place.name, each) for each in found]

    runs = act(options, place.user, work)
    return Answer("\n".join(map(line, runs)), {"runs": [run_data(run) for run in runs]})


def claim(
    run_id: RunId,
    /,
    *,
    place: Place,
    stage: Annotated[Stage, Parameter(help="Stage to work on.")],
    owner: Annotated[str, Parameter(help="Unique name of the worker.")],
    lease: Lease = "5m",
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Claim a run, to transform or to load it. The answer holds the fence."""
    seconds = int(span("lease", lease).total_seconds())
    ask = transitions.Claim(stage=stage, owner=owner, seconds=seconds)
    run = _asked(options, place, run_id, ask)
    return done(run, f"In hand, fence {run.fence}")


def heartbeat(
    run_id: RunId,
    /,
    *,
    place: Place,
    fence: Fence,
    lease: Lease = "5m",
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Extend the lease of a claimed run, from now."""
    ask = transitions.Heartbeat(fence=fence, seconds=int(span("lease", lease).total_seconds()))
    return done(_asked(options, place, run_id, ask), "Still in hand")


def processed(
    run_id: RunId,
    /,
    *,
    place: Place,
    fence: Fence,
    saved_to: Annotated[str, Parameter(help="Folder of the output, `s3://bucket/path/`.")],
    shred_type: Annotated[
        list[str] | None, Parameter(help="Shredded type in the output; may be given many times.")
    ] = None,
    count: Counts = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Report that a run was transformed, once its output is complete."""
    ask = transitions.Processed(
        fence=fence, shred_types=tuple(shred_type or ()), saved_to=saved_to, counts=_counts(count)
    )
    return done(_asked(options, place, run_id, ask), "Processed")


def loaded(
    run_id: RunId,
    /,
    *,
    place: Place,
    fence: Fence,
    loaded_by: Annotated[str, Parameter(help="Version of the Loader.")],
    count: Counts = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Report that a run was loaded, once the load can no longer be undone."""
    ask = transitions.Loaded(fence=fence, loaded_by=loaded_by, counts=_counts(count))
    return done(_asked(options, place, run_id, ask), "Loaded")


def fail(
    run_id: RunId,
    /,
    *,
    place: Place,
    fence: Fence,
    error: Annotated[str, Parameter(help="Description of the error.")],
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Report that the current stage failed; any worker may then claim the run again."""
    return done(
        _asked(options, place, run_id, transitions.Fail(fence=fence, error=error)), "Failed"
    )


def _asked(options: StoreOptions, place: Place, run_id: str, ask: transitions.Ask) -> Run:
    return act(options, place.user, lambda session: session.runs.ask(place.run(run_id), ask))


def _counts(texts: list[str] | None) -> dict[str, int] | None:
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

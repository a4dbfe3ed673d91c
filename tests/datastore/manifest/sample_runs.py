"""Sample runs and folders for tests of manifests, and a check of all rows of runs."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from penstock.datastore.manifest.records import (
    ManifestName,
    Run,
    RunEvent,
    RunName,
    RunState,
    Stage,
)
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Claim, Fail, MarkLoaded, MarkProcessed, Reload
from penstock.datastore.session import Session
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Attributes, Key, Table
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA

SNOW = ManifestName(USA, "snowplow")
RUN_ID = "enriched/archive/run=2018-12-11-00-00-00/"
NAME = RunName(SNOW, RUN_ID)
SAVED_TO = "s3://stage/snow/run=2018-12-11-00-00-00/"
TYPES = ("contexts_com_acme_page_1", "unstruct_event_com_acme_click_1")
TRANSFORM, LOAD = Stage.TRANSFORM, Stage.LOAD

NEW_ITEM: Mapping[str, Any] = {
    "RunId": "archive/run=1/",
    "AddedAt": 1544529600,
    "AddedBy": "t-0.1",
    "ToSkip": False,
}
PROCESSED_ITEM: Mapping[str, Any] = {
    **NEW_ITEM,
    "RunId": "archive/run=2/",
    "ProcessedAt": 1544529700,
    "ShredTypes": ["contexts_a_1"],
    "SavedTo": "s3n://stage/run=2",
}
LOADED_ITEM: Mapping[str, Any] = {
    **PROCESSED_ITEM,
    "RunId": "archive/run=3/",
    "LoadedAt": 1544529800,
    "LoadedBy": "l-0.1",
}
"""Items as the document's programs write them, one for each state."""


def run_name(run_id: str) -> RunName:
    return RunName(SNOW, run_id)


async def discover(session: Session, run_id: str = RUN_ID, **more: Any) -> Run:
    found = Discovery(run_id=run_id, added_by="transformer-0.4.1", **more)
    return await session.runs.discover(SNOW, found)


async def claim(session: Session, stage: Stage, name: RunName = NAME, **more: Any) -> Run:
    return await session.runs.change(name, Claim(**{"stage": stage, "owner": "worker-1", **more}))


async def bring_to(session: Session, state: RunState, run_id: str = RUN_ID) -> Run:
    """Discover a run and bring it to the state by the shortest way."""
    run, name = await discover(session, run_id), run_name(run_id)
    if state is RunState.NEW:
        return run
    run = await claim(session, TRANSFORM, name)
    if state is RunState.PROCESSING:
        return run
    if state is RunState.FAILED:
        return await session.runs.change(name, Fail(fence=run.fence, error="out of memory"))
    processed = MarkProcessed(fence=run.fence, shred_types=TYPES, saved_to=SAVED_TO)
    run = await session.runs.change(name, processed)
    if state is RunState.PROCESSED:
        return run
    run = await claim(session, LOAD, name)
    if state is RunState.LOADING:
        return run
    return await session.runs.change(name, MarkLoaded(fence=run.fence, loaded_by="loader-0.4.1"))


async def reload_run(session: Session, name: RunName = NAME) -> Run:
    return await session.runs.change(name, Reload(reason="the table was dropped", force=True))


async def events(session: Session, run: Run) -> list[RunEvent]:
    """The whole history, newest first."""
    page = await session.run_lists.history(run, Window(size=100))
    assert not page.more
    return [event for _, event in page.entries]


async def run_faults(table: Table) -> list[str]:
    """Every list, history and count that does not match the runs; empty if all match."""
    rows = {key: item for key, item in (await contents(table)).items() if _of_runs(key)}
    runs = {key: item for key, item in rows.items() if key.sk == "R"}
    wanted = dict(runs)
    counts: Counter[Key] = Counter()
    for key, run in runs.items():
        manifest = key.pk.split(":")[1]
        for listed in (*_lists(run, "ALL"), *_lists(run, str(run["State"]))):
            place = Key(f"RL:{manifest}:{listed}", f"RL:{run['AddedAt']:010}:{run['Id']}")
            waits = {} if "ALL" in listed else {"RetryAt": run.get("RetryAt")}
            wanted[place] = {"RunId": run["RunId"], "ToSkip": run["ToSkip"], **waits}
        group, name = manifest.split("#")
        shard = run.get("Shard", 0)
        of_shard = Key(f"RC:{manifest}", f"RC:{shard:02}")
        counts[of_shard if shard else Key(f"RM:{group}", f"RM:{name}")] += 1
    shards = Counter(key.pk for key in rows if key.pk.startswith("RC:"))
    for key, item in rows.items():
        if key.pk.startswith("RM:"):
            manifest = f"RC:{key.pk.removeprefix('RM:')}#{key.sk.removeprefix('RM:')}"
            if item.get("shards", 0) != shards.pop(manifest, 0):
                wanted[key] = {"shards": "as many as there are"}
    wanted.update({Key(pk, "the manifest"): {} for pk in shards})
    return sorted([*_differences(rows, wanted, counts), *_gaps(rows, runs)])


def _lists(run: Any, listed: str) -> Iterable[str]:
    """The lists of a run, whose labels need no escapes."""
    yield listed
    if "Batch" in run:
        yield f"BATCH#{listed}#{run['Batch'].lower()}"
    for tag in run.get("Tags", ()):
        yield f"TAG#{listed}#{tag['key'].lower()}#{tag['value'].lower().replace('/', '#')}"


def _differences(
    rows: dict[Key, Attributes], wanted: dict[Key, Attributes], counts: Counter[Key]
) -> Iterable[str]:
    for key, item in rows.items():
        if key.pk.startswith(("RM:", "RC:")):
            # A shard that an interrupted attempt opened may have counted nothing yet.
            if (counted := item.get("runs", 0)) != counts[key]:
                yield f"{key} counts {counted}, should be {counts[key]}"
        elif not key.sk.startswith("RH:") and key not in wanted:
            yield f"orphan {key}"
    for key, item in wanted.items():
        row = rows.get(key)
        standing = {} if row is None else {name: row.get(name) for name in item}
        if standing != item:
            yield f"{key} is {standing}, should be {item}"


def _gaps(rows: dict[Key, Attributes], runs: dict[Key, Attributes]) -> Iterable[str]:
    """Each event begins in the state of the event before, and the last ends in the run's state."""
    for pk in {key.pk for key in rows if key.sk.startswith("RH:")}:
        run = runs.get(Key(pk, "R"))
        if run is None and _is_tombstone(rows, pk):
            continue
        state = None
        for key in sorted(key for key in rows if key.pk == pk and key.sk.startswith("RH:")):
            if rows[key].get("before") != state:
                yield f"{key} begins at {rows[key].get('before')}, not at {state}"
            state = rows[key]["after"]
        if run is None or run["State"] != state:
            yield f"{pk} ends at {state}, but the run is {run}"


def _is_tombstone(rows: dict[Key, Attributes], pk: str) -> bool:
    """Whether a run's only row is a tombstone with its fence and an expiry time."""
    left = [item for key, item in rows.items() if key.pk == pk]
    return [item.keys() for item in left] == [{"pk", "sk", "fence", "expiresAt"}]


def _of_runs(key: Key) -> bool:
    return key.pk.startswith(("R:", "RC:", "RL:", "RM:"))


async def one_chunk(content: bytes) -> AsyncIterator[bytes]:
    yield content

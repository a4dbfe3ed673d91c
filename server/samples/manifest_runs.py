"""The sample manifest: some days of a pipeline, as its Transformer and Loader left them."""

from contextlib import suppress
from typing import Any

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.manifest.delete import delete_run
from penstock.datastore.manifest.import_runs import SourceItem
from penstock.datastore.manifest.records import ManifestName, Run, RunName
from penstock.datastore.session import Session
from penstock.server.samples.catalogue import GROUPS

MANIFEST = ManifestName(GROUPS[0], "snowplow")
DAYS = 5

_FIRST = 1544486400
_DAY = 24 * 3600


async def seed_runs(session: Session) -> None:
    """Add the missing sample runs to their manifest."""
    items = [SourceItem(str(day), _run_item(day, session.caller.user_id)) for day in range(DAYS)]
    await session.run_importer.batch(MANIFEST, items)


async def purge_runs(session: Session) -> None:
    """Delete the sample runs, and the manifest if it is then empty."""
    names = [RunName(MANIFEST, str(_run_item(day, "")["RunId"])) for day in range(DAYS)]
    for run in await session.runs.many(names):
        if isinstance(run, Run) and run.added_by == session.caller.user_id:
            await delete_run(session.runs.access, run)
    with suppress(IllegalState, NotFound):
        await session.manifests.delete(MANIFEST)


def _run_item(day: int, added_by: str) -> dict[str, Any]:
    """Return a day's run: the first days are loaded, the next is processed, the last is skipped."""
    added = _FIRST + day * _DAY
    folder = f"run=2018-12-{11 + day}-00-00-00/"
    item: dict[str, Any] = {
        "RunId": f"enriched/archive/{folder}",
        "AddedAt": added,
        "AddedBy": added_by,
        "ToSkip": day == DAYS - 1,
    }
    if day < DAYS - 1:
        item |= {
            "ProcessedAt": added + 1200,
            "ShredTypes": ["contexts_com_acme_page_1", "unstruct_event_com_acme_click_1"],
            "SavedTo": f"s3://acme-stage/snowflake/{folder}",
        }
    if day < DAYS - 2:
        item |= {"LoadedAt": added + 1800, "LoadedBy": "loader-0.4.1"}
    return item

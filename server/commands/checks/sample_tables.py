"""The check of the NGSI sink's tables: whether their keys are ours."""

from collections.abc import Sequence

from penstock.datastore.errors import ForeignTable, PenstockError, RequestRefused
from penstock.datastore.ngsi.naming.table_names import find_adopted, list_all_tables
from penstock.datastore.table.port import Table
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.server.runtime.sample_tables import open_sample_tables
from penstock.server.settings.settings import Settings

MOST_CHECKED = 200

_PERMIT = "`penstock iam` prints the permissions that are needed."


async def check_sample_tables(settings: Settings, table: Table) -> Findings:
    """Check some destinations; nothing is created."""
    names = await list_all_tables(table, MOST_CHECKED)
    adopted = await find_adopted(table, names)
    destinations = await open_sample_tables(settings)
    foreign = []
    try:
        for name in names:
            try:
                await destinations.check_readable(name)
            except ForeignTable:
                foreign.append(name)
    except (PenstockError, RequestRefused) as error:
        yield fail("destinations", str(error), _PERMIT)
        return
    finally:
        await destinations.close()
    yield judge_sample_tables(len(names), [name for name in foreign if name not in adopted])


def judge_sample_tables(checked: int, foreign: Sequence[str]) -> Finding:
    if not foreign:
        words = say_count(
            checked,
            "table of samples has our keys, or is adopted.",
            "tables of samples have our keys, or are adopted.",
        )
        return ok("destinations", words)
    others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
    message = (
        f"The table {foreign[0]}{others} has keys of another program; nothing is stored in it."
    )
    advice = f"Take it over: `penstock ngsi adopt {foreign[0]}`; then replay the dead letters."
    return warn("destinations", message, advice)

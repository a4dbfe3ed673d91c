"""The input of an execution as it was when it began to run."""

from penstock.datastore.errors import NotFound
from penstock.datastore.executions.keys import ingest_key, input_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.files import Files, Stat


async def pinned_input(files: Files, execution: Execution) -> Stat | None:
    """Describe the input, which no upload reaches from now on; None where there is none."""
    if (found := await files.stat(input_key(execution))) is not None:
        return found
    try:
        await files.copy(ingest_key(execution), input_key(execution))
    except NotFound:
        return None
    return await files.stat(input_key(execution))

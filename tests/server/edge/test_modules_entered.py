"""A reader who follows one list query through the product opens few of its modules."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import penstock
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from tests.support.application import open_application
from tests.support.loop_clock import let_tasks_run
from tests.support.sample_resources import NORTHWEST, USA, create_groups, make

MOST: Final = 50
PRODUCT: Final = str(Path(penstock.__file__).parent)

LIST = """query List($first: Int!, $tags: TagFilter!) {
  pipelines(group: "/usa/northwest", tags: $tags, first: $first) {
    nodes { id name version owner description createdAt tags { key value } }
    pageInfo { hasNextPage endCursor }
  }
}"""
TAGS = {"all": [{"key": "source", "value": "sap"}, {"key": "scope", "value": "1"}]}


class Profile:
    """Notes the modules of the product whose functions are called while it is on."""

    def __init__(self) -> None:
        self.entered: dict[str, None] = {}
        self._on = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if self._on and event == "call" and file.startswith(PRODUCT):
            self.entered[file.removeprefix(PRODUCT)] = None

    @contextmanager
    def on(self) -> Iterator[None]:
        """Note calls in this thread, and in those begun after `threading.setprofile`."""
        before, self._on = sys.getprofile(), True
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)
            self._on = False


@contextmanager
def profile() -> Iterator[Profile]:
    """Profile the threads that are begun within, as those of the table are."""
    found, before = Profile(), threading.getprofile()
    threading.setprofile(found)
    try:
        yield found
    finally:
        threading.setprofile(before)


async def test_a_warm_list_query_enters_at_most_fifty_modules(tmp_path: Path) -> None:
    with profile() as found:
        table = SqliteTable.open(tmp_path / "table.db")
        try:
            await table.create()
            store = Store(table)
            session = await create_groups(store, USA, NORTHWEST)
            for n in range(3):
                await make(session, NORTHWEST, f"n{n}", "source=sap", f"scope={n}")
            async with open_application(store, tmp_path, metrics=True, access_log=True) as app:
                variables = {"first": 10, "tags": TAGS}
                for _ in range(2):
                    await app.ask(LIST, variables)
                # What other tests have left behind ends now, and not within the query.
                gc.collect()
                await let_tasks_run()
                with found.on():
                    answer = await app.ask(LIST, variables)
        finally:
            await table.close()
    nodes = answer.json()["data"]["pipelines"]["nodes"]
    assert [node["name"] for node in nodes] == ["n1"]
    assert len(found.entered) <= MOST, "\n".join(found.entered)

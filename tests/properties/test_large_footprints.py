"""Histories of writes that are too large for one transaction, and die anywhere.

The model knows one tag set and the grants of each resource. While steps are left, the tag search
shows nothing that the record does not confirm, and everything that matched all the time.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from uvloop import new_event_loop

from penstock.datastore.groups.rows import with_grant, without_grant
from penstock.datastore.records import Resource
from penstock.datastore.roles import ROOT, GroupPath, covers
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.consistency_check import faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    TREE,
    USA,
    draft,
    names_in,
    open_one_shard,
    tags,
)
from tests.support.table_interceptors import CutOffTable, ProcessDied

T = TypeVar("T")
MANY = [f"k{n}=a/b" for n in range(30)]
"""The rows of one group take 155 operations."""
TAG_SETS: dict[str, list[str]] = {
    "none": [],
    "few": ["m=a", "n=x"],
    "many": [*MANY, "m=a/b"],
    "others": [*(f"k{n}=c/d" for n in range(30)), "m=a", "n=x"],
}
GROUPS = st.sampled_from(TREE)
WHICH = st.integers(0, 2)
DEATH = st.sampled_from([None, None, 0, 1, 2, 3, 5])
FILTERS = (
    TagFilter(all=tags("m=a")),
    TagFilter(all=tags("m=a", "n=x")),
    TagFilter(any=tags("n=x", "k3=a")),
    TagFilter(all=tags("k3=c"), none=tags("m=a/b")),
    TagFilter(none=tags("k7=a/b")),
)


class ListedState(NamedTuple):
    """The state of a resource by which lists have it or not."""

    tagged: str
    grants: tuple[GroupPath, ...]

    def is_listed(self, group: GroupPath, wanted: TagFilter | None) -> bool:
        if not any(covers(granted, group) for granted in self.grants):
            return False
        return wanted is None or is_match(TAG_SETS[self.tagged], wanted)


@dataclass
class KnownResource:
    """A resource of the model, with all its states since its rows were last complete."""

    id: str
    name: str
    owner: GroupPath
    version: int
    states: list[ListedState] = field(default_factory=list)


def is_match(tagged: list[str], wanted: TagFilter) -> bool:
    def has(term: Any) -> bool:
        text = f"{term.key}={term.value}"
        return any(one == text or one.startswith(f"{text}/") for one in tagged)

    return (
        all(map(has, wanted.all))
        and not any(map(has, wanted.none))
        and (not wanted.any or any(map(has, wanted.any)))
    )


class LargeFootprints(RuleBasedStateMachine):
    """Every rule is one write, by a process that may die at any of its transactions."""

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner(loop_factory=new_event_loop)
        self.directory = TemporaryDirectory()
        self.table = SqliteTable.open(Path(self.directory.name) / "table.sqlite")
        self.run(self.table.create())
        # A write that opens a shard takes a transaction more, by chance.
        self.store = self.run(open_one_shard(Store(self.table)))
        self.session = self.store.open_session(SUPER)
        self.known: list[KnownResource] = []
        self.made = 0

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self.run(self.table.close())
            self.runner.close()
            self.directory.cleanup()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def write(self, death: int | None, call: Callable[[Session], Coroutine[Any, Any, T]]) -> None:
        """Write in a process that dies after so many transactions."""
        table = self.table if death is None else CutOffTable(self.table, death)
        try:
            self.run(call(replace(self.store, table=table).open_session(SUPER)))
        except ProcessDied:
            assert death is not None

    def choose(self, which: int) -> KnownResource:
        return self.known[which % len(self.known)]

    def note(self, known: KnownResource, after: ListedState, version: int) -> None:
        """Note the new state if the write happened; a write that did not die has happened."""
        (found,) = self.run(self.session.pipelines.reading.many([known.id]))
        assert isinstance(found, Resource)
        if (found.version, found.groups) == (version, after.grants):
            known.states.append(after)
            known.version = version

    @precondition(lambda self: len(self.known) < 3)
    @rule(group=GROUPS, tagged=st.sampled_from([*TAG_SETS]), death=DEATH)
    def create(self, group: GroupPath, tagged: str, death: int | None) -> None:
        name, self.made = f"r{self.made}", self.made + 1
        content = draft(name, *TAG_SETS[tagged])
        self.write(death, lambda each: each.pipelines.writing.create(group, content, None))
        for found in self.run(self.read_list(group)):
            if found.name == name:
                state = ListedState(tagged, (group,))
                missing = ListedState(tagged, ())
                self.known.append(KnownResource(found.id, name, group, 1, [missing, state]))

    async def read_list(self, group: GroupPath) -> list[Resource]:
        names = await names_in(self.session, group)
        reading = self.session.pipelines.reading
        return [await reading.by_name(name, group) for name in names]

    @precondition(lambda self: self.known)
    @rule(which=WHICH, tagged=st.sampled_from([*TAG_SETS]), death=DEATH)
    def update(self, which: int, tagged: str, death: int | None) -> None:
        known = self.choose(which)
        changes = {"tags": tags(*TAG_SETS[tagged])}
        version = known.version
        self.write(death, lambda each: each.pipelines.writing.update(known.id, version, changes))
        self.note(known, ListedState(tagged, known.states[-1].grants), version + 1)

    @precondition(lambda self: self.known)
    @rule(which=WHICH, group=GROUPS, death=DEATH)
    def grant(self, which: int, group: GroupPath, death: int | None) -> None:
        known = self.choose(which)
        before = known.states[-1]
        wanted = with_grant(before.grants, group)
        self.write(death, lambda each: each.pipelines.writing.grant(known.id, group))
        if wanted != before.grants:
            self.note(known, ListedState(before.tagged, wanted), known.version)

    @precondition(lambda self: self.known)
    @rule(which=WHICH, group=GROUPS, death=DEATH)
    def revoke(self, which: int, group: GroupPath, death: int | None) -> None:
        known = self.choose(which)
        before = known.states[-1]
        if group in before.grants and group != known.owner:
            left = without_grant(before.grants, group, known.owner)
            self.write(death, lambda each: each.pipelines.writing.revoke(known.id, group))
            self.note(known, ListedState(before.tagged, left), known.version)

    @precondition(lambda self: self.known)
    @rule(which=WHICH, death=DEATH)
    def delete(self, which: int, death: int | None) -> None:
        known = self.choose(which)
        self.write(death, lambda each: each.pipelines.deleting.delete(known.id))
        (found,) = self.run(self.session.pipelines.reading.many([known.id]))
        if not isinstance(found, Resource):
            self.known.remove(known)

    @rule()
    def sweep(self) -> None:
        self.run(self.store.finish_deletes())
        assert self.run(self.store.count_pending_deletes()) == 0

    @invariant()
    def lists_show_what_matches_and_lose_nothing(self) -> None:
        whole = self.run(self.store.count_pending_deletes()) == 0
        if whole:
            assert self.run(faults(self.table)) == []
            for known in self.known:
                del known.states[:-1]
        for group, wanted in product((ROOT, USA, NORTHWEST, EU), (None, *FILTERS)):
            self.check_list(group, wanted)

    def check_list(self, group: GroupPath, wanted: TagFilter | None) -> None:
        listed = {} if wanted is None else {"tags": wanted}
        found = {*self.run(names_in(self.session, group, **listed))}
        now = {one.name for one in self.known if one.states[-1].is_listed(group, wanted)}
        always = {
            one.name
            for one in self.known
            if all(state.is_listed(group, wanted) for state in one.states)
        }
        assert found <= now
        assert found >= (now if wanted is None else always)


TestLargeFootprints = LargeFootprints.TestCase
TestLargeFootprints.settings = settings(max_examples=8, stateful_step_count=20)

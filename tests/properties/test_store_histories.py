"""Any history of calls by several callers, compared with a model in a few dicts."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from uvloop import new_event_loop

from penstock.datastore.errors import (
    ExpectedFailure,
    IllegalState,
    NameTaken,
    NotFound,
    VersionConflict,
)
from penstock.datastore.groups.rows import with_grant, without_grant
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, covers, parent
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.datastore.table.pages import Window
from tests.properties.store_model import KnownResource, Model
from tests.support.consistency_check import faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    caller,
    draft_of,
    names_of,
    tags,
)
from tests.support.stores import open_local

T = TypeVar("T")

CITY = GroupPath("/usa/northwest/city")
PATHS = (ROOT, USA, NORTHWEST, SOUTH, CITY, EU)
CALLERS = (
    SUPER,
    caller({USA: Role.ADMIN}, "ann"),
    caller({NORTHWEST: Role.CONTRIBUTOR, EU: Role.READER}, "bob"),
    caller({ROOT: Role.READER, EU: Role.ADMIN, SOUTH: Role.CONTRIBUTOR}, "eve"),
)
GROUPS = st.sampled_from(PATHS)
KIND = st.sampled_from(KINDS)
WHO = st.sampled_from(CALLERS) | st.just(SUPER)
NAMES = st.sampled_from(["one", "two", "ONE", "three"])
TAGS = st.sampled_from(["", "m=a", "m=a/b", "m=b n=x", "n=x/y", "m=a/b n=x/y"]).map(str.split)
WHICH = st.integers(0, 7)


class Histories(RuleBasedStateMachine):
    """Every rule makes one call, which succeeds or fails as the model predicts."""

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner(loop_factory=new_event_loop)
        self.directory = TemporaryDirectory()
        self.table = SqliteTable.open(Path(self.directory.name) / "table.sqlite")
        self.run(self.table.create())
        self.files = self.run(open_local(Path(self.directory.name)))
        self.store = Store(self.table, files=self.files)
        self.model = Model()
        self.watcher = 0
        for path in (USA, NORTHWEST, EU):
            self.run(self.session(SUPER).groups.create(path, None))
            self.model.groups.add(path)

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self.run(self.files.close())
            self.run(self.table.close())
            self.runner.close()
            self.directory.cleanup()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def session(self, who: Caller) -> Session:
        return self.store.open_session(who)

    def call_as_predicted(
        self, call: Coroutine[Any, Any, T], failure: type[ExpectedFailure] | None
    ) -> T | None:
        """Make the call; return None where it fails as predicted."""
        if failure is None:
            return self.run(call)
        with pytest.raises(failure):
            self.run(call)
        return None

    def choose_resource(self, which: int) -> KnownResource:
        return self.model.resources[which % len(self.model.resources)]

    @rule(who=WHO, kind=KIND, group=GROUPS, name=NAMES, tagged=TAGS)
    def create(
        self, who: Caller, kind: KindDefinition[Any], group: GroupPath, name: str, tagged: list[str]
    ) -> None:
        failure = self.model.at(who, Role.CONTRIBUTOR, group)
        if failure is None and self.model.holds_name(kind, name, (group,)):
            failure = NameTaken
        if failure is None and group not in self.model.groups:
            failure = NotFound
        writing = self.session(who).repository(kind).writing
        content = draft_of(kind, name, *tagged)
        made = self.call_as_predicted(writing.create(group, content, None), failure)
        if made is not None:
            known = KnownResource(kind, made.id, name, group, (group,), tuple(tagged))
            self.model.resources.append(known)

    @precondition(lambda self: self.model.resources)
    @rule(
        who=WHO, which=WHICH, name=st.none() | NAMES, tagged=st.none() | TAGS, stale=st.booleans()
    )
    def update(
        self, who: Caller, which: int, name: str | None, tagged: list[str] | None, stale: bool
    ) -> None:
        known = self.choose_resource(which)
        failure = self.model.of(who, Role.CONTRIBUTOR, known)
        if failure is None and stale:
            failure = VersionConflict
        if (
            failure is None
            and name
            and self.model.holds_name(known.kind, name, known.grants, known)
        ):
            failure = NameTaken
        changes: dict[str, Any] = {} if name is None else {"name": name}
        if tagged is not None:
            changes["tags"] = tags(*tagged)
        seen = known.version - stale
        call = self.session(who).repository(known.kind).writing.update(known.id, seen, changes)
        changed = self.call_as_predicted(call, failure)
        if changed is not None:
            known.name = name or known.name
            known.tags = known.tags if tagged is None else tuple(tagged)
            known.version += 1
            assert changed.version == known.version

    @precondition(lambda self: self.model.resources)
    @rule(who=WHO, which=WHICH, group=GROUPS)
    def grant(self, who: Caller, which: int, group: GroupPath) -> None:
        known = self.choose_resource(which)
        failure = self.model.of(who, Role.ADMIN, known) or self.model.at(who, Role.ADMIN, group)
        wanted = with_grant(known.grants, group)
        if failure is None and self.model.holds_name(known.kind, known.name, wanted, known):
            failure = NameTaken
        elif failure is None and group not in self.model.groups:
            failure = NotFound
        answer = self.call_as_predicted(
            self.session(who).repository(known.kind).writing.grant(known.id, group), failure
        )
        if answer is not None:
            assert answer[1] == (wanted != known.grants)
            known.grants = wanted
            assert answer[0].groups == wanted

    @precondition(lambda self: self.model.resources)
    @rule(who=WHO, which=WHICH, group=GROUPS)
    def revoke(self, who: Caller, which: int, group: GroupPath) -> None:
        known = self.choose_resource(which)
        failure = self.model.of(who, Role.ADMIN, known)
        if failure is None and group not in known.grants:
            failure = NotFound
        if failure is None and group == known.owner:
            failure = IllegalState
        revoked = self.call_as_predicted(
            self.session(who).repository(known.kind).writing.revoke(known.id, group), failure
        )
        if revoked is not None:
            known.grants = without_grant(known.grants, group, known.owner)
            assert revoked.groups == known.grants

    @precondition(lambda self: self.model.resources)
    @rule(who=WHO, which=WHICH)
    def delete(self, who: Caller, which: int) -> None:
        known = self.choose_resource(which)
        failure = self.model.of(who, Role.ADMIN, known)
        if self.call_as_predicted(
            self.session(who).repository(known.kind).deleting.delete(known.id), failure
        ):
            known.grants = ()

    @rule(who=WHO, group=GROUPS)
    def create_group(self, who: Caller, group: GroupPath) -> None:
        failure = self.model.at(who, Role.ADMIN, group)
        if group == ROOT or (failure is None and group in self.model.groups):
            failure = NameTaken
        elif failure is None and parent(group) not in self.model.groups:
            failure = NotFound
        if self.call_as_predicted(self.session(who).groups.create(group, None), failure):
            self.model.groups.add(group)

    @rule(who=WHO, group=GROUPS)
    def delete_group(self, who: Caller, group: GroupPath) -> None:
        model, failure = self.model, self.model.at(who, Role.ADMIN, group)
        children = any(parent(other) == group for other in model.groups)
        if group == ROOT:
            failure = IllegalState
        elif failure is None and group not in model.groups:
            failure = NotFound
        elif failure is None and (children or any(p.lies_in(group) for p in model.resources)):
            failure = IllegalState
        if self.call_as_predicted(self.session(who).groups.delete(group), failure):
            model.groups.discard(group)

    @invariant()
    def every_row_is_exact(self) -> None:
        assert self.run(faults(self.table)) == []

    @invariant()
    def one_caller_after_another_sees_what_the_model_says(self) -> None:
        who = CALLERS[self.watcher % len(CALLERS)]
        self.watcher += 1
        self.run(self.look(who))

    async def look(self, who: Caller) -> None:
        session = self.session(who)
        for kind in KINDS:
            known = self.model.of_kind(kind)
            found = await session.repository(kind).reading.many([one.id for one in known])
            for one, answer in zip(known, found, strict=True):
                if one.open_session(who):
                    assert isinstance(answer, kind.record)
                    assert answer.name == one.name
                    assert (answer.groups, answer.version) == (one.grants, one.version)
                else:
                    assert isinstance(answer, NotFound)
        for group in sorted(self.model.groups):
            for kind in KINDS if who.sees(group) else ():
                await self.look_into(session, kind, group)

    async def look_into(
        self, session: Session, kind: KindDefinition[Any], group: GroupPath
    ) -> None:
        reaching = [one for one in self.model.of_kind(kind) if one.reaches(group)]
        assert await names_of(session, kind, group) == [one.name for one in reaching]
        below = [
            one.name
            for one in self.model.of_kind(kind)
            if one in reaching
            or any(
                covers(group, granted) and session.caller.sees(granted) for granted in one.grants
            )
        ]
        assert await names_of(session, kind, group, include_child_groups=True) == below
        await self.look_up_names(session, kind, group, reaching)
        await self.count_tags(session, kind, group, reaching)

    async def look_up_names(
        self,
        session: Session,
        kind: KindDefinition[Any],
        group: GroupPath,
        reaching: list[KnownResource],
    ) -> None:
        for name in ("one", "two", "three"):
            holders = [one.id for one in reaching if one.name.lower() == name]
            try:
                found = await session.repository(kind).reading.by_name(name, group)
            except NotFound:
                assert holders == []
            else:
                assert holders == [found.id]

    async def count_tags(
        self,
        session: Session,
        kind: KindDefinition[Any],
        group: GroupPath,
        reaching: list[KnownResource],
    ) -> None:
        expected = Counter(place for one in reaching for place in one.counted_tags())
        lists = session.repository(kind).tags
        keys = await lists.keys(group, Window(size=50))
        counts: dict[tuple[str, ...], int | None] = {
            (key.key,): key.count for _, key in keys.entries
        }
        for key, parent_value in (("m", None), ("m", "a"), ("n", None), ("n", "x")):
            values = await lists.values(key, parent_value, group, Window(size=50))
            for _, value in values.entries:
                counts[(key, *value.value.split("/"))] = value.count
                place = (key, *value.value.split("/"))
                assert value.has_children == any(
                    other[: len(place)] == place and len(other) > len(place) for other in expected
                )
        assert counts == expected


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=6, stateful_step_count=25)

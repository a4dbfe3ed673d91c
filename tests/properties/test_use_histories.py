"""After any history, the lists of users are what the formulas say, for every caller."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.datastore.errors import InUse, Invalid, NameTaken
from penstock.datastore.groups.rows import with_grant, without_grant
from penstock.datastore.records import Calculation
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.resources.test_calculation_refs import rewrite, save
from tests.support.consistency_check import faults
from tests.support.sample_resources import EU, SUPER, USA, caller, create_groups, on_sqlite, walk

FAR = GroupPath("/far")
CALLERS = (SUPER, caller({EU: Role.READER}), caller({EU: Role.READER, FAR: Role.READER}))
PLACES = 5
WHICH = st.integers(0, PLACES - 1)
ACTS = st.sampled_from(("call", "call", "forget", "grant", "revoke", "delete", "force"))
EXAMPLES = count()


@dataclass(slots=True)
class Model:
    """The calculations that stand, by their places, and what each calls."""

    made: dict[int, Calculation] = field(default_factory=dict)
    calls: dict[int, set[int]] = field(default_factory=dict)

    def users(self, used: int) -> list[int]:
        return [one for one in self.made if used in self.calls[one]]

    def find_reached(self, one: int) -> set[int]:
        """One, and what it calls, at once or through others."""
        return {one}.union(*map(self.find_reached, self.calls[one]))


async def call_another(session: Session, model: Model, one: int, other: int) -> None:
    """Call one more; what calls something that is gone cannot be called."""
    called = model.calls[one] | {other}
    wanted = {each for each in called if model.find_reached(each) <= {*model.made}}
    formula = "+".join(["1", *(f"#{model.made[each].name}()" for each in sorted(wanted))])
    if any(one in model.find_reached(each) for each in wanted):
        with pytest.raises(Invalid):
            await rewrite(session, model.made[one], formula)
        return
    model.made[one] = await rewrite(session, model.made[one], formula)
    model.calls[one] = wanted


async def act(session: Session, model: Model, one: int, other: int, what: str) -> None:
    writing, deleting = session.calculations.writing, session.calculations.deleting
    standing, group = model.made[one], (EU, FAR)[other % 2]
    match what:
        case "call":
            await call_another(session, model, one, other)
        case "forget":
            model.made[one], model.calls[one] = await rewrite(session, standing, "1"), set()
        case "grant":
            model.made[one] = (await writing.grant(standing.id, group))[0]
            assert model.made[one].groups == with_grant(standing.groups, group)
        case "revoke" if group in standing.groups:
            model.made[one] = await writing.revoke(standing.id, group)
            assert model.made[one].groups == without_grant(standing.groups, group, USA)
        case "delete" if model.users(one):
            with pytest.raises(InUse) as refused:
                await deleting.delete(standing.id)
            found = {user.name for user in refused.value.users}
            assert found == {model.made[user].name for user in model.users(one)}
        case "delete" | "force":
            await deleting.delete(standing.id, force=what == "force")
            del model.made[one]


async def check_lists(store: Store, model: Model, seen_by: Caller) -> None:
    session = store.open_session(seen_by)

    def names_of(places: Iterable[int]) -> list[str]:
        made = [model.made[each] for each in places]
        seen = [one for one in made if any(map(seen_by.sees, one.groups))]
        return sorted(one.name for one in seen)

    for place, used in model.made.items():
        users = await walk(partial(session.uses.list_users, used))
        assert sorted(one.name for one in users) == names_of(model.users(place))
        called = await walk(partial(session.uses.list_used, used))
        standing = [each for each in model.calls[place] if each in model.made]
        assert sorted(one.name for one in called) == names_of(standing)


@on_sqlite
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(history=st.lists(st.tuples(WHICH, WHICH, ACTS), max_size=14))
async def test_the_lists_are_what_the_formulas_say(
    store: Store, history: list[tuple[int, int, str]]
) -> None:
    session, model, example = store.open_session(SUPER), Model(), next(EXAMPLES)
    with suppress(NameTaken):
        await create_groups(store, USA, EU, FAR)
    for place in range(PLACES):
        model.made[place] = await save(session, USA, f"e{example}_{place}", "1")
        model.calls[place] = set()
    for one, other, what in history:
        if one in model.made and other in model.made:
            await act(session, model, one, other, what)
    for seen_by in CALLERS:
        await check_lists(store, model, seen_by)
    assert await faults(store.table) == []

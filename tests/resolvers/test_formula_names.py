"""Formulas with the names of today are made cheaply, paid, kept, and made in formula threads."""

from asyncio import gather
from threading import current_thread

import pytest

from penstock.datastore.access.work import RENAMED_CHARACTERS
from penstock.datastore.errors import RateLimited
from penstock.datastore.records import (
    Calculation,
    Output,
    Parameter,
    Pipeline,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.formula.checking.renaming import NewName, rename
from penstock.formula.syntax import parser
from penstock.resolvers import formula_names
from penstock.resolvers.context import Context
from penstock.resolvers.formula_names import current_formula, current_transformer
from tests.support.graphql_client import CURSORS
from tests.support.sample_resources import SUPER, USA, create_groups
from tests.support.work_account import Account

NUMBER = Output(index=0, type=ValueType.NUMBER)
X = Parameter(index=0, key="x", type=ValueType.NUMBER, required=True)
TERMS = "+:x" * 800
CALL = "#ef(:x)" + TERMS


class Scans:
    """Counts the characters that are scanned for names, in which threads; a parse fails."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.characters = 0
        self.threads: set[str] = set()
        patch.setattr(formula_names, "rename", self._count)
        patch.setattr(parser, "parse_uncached", None)
        patch.setattr(parser, "_READ", {})

    def _count(self, text: str, *new: NewName) -> str:
        self.characters += len(text)
        self.threads.add(current_thread().name.partition("_")[0])
        return rename(text, *new)


def transformer(*formulas: str) -> Transformer:
    transforms = (
        Transform(index=n, formula=text, outputs=(NUMBER,)) for n, text in enumerate(formulas)
    )
    return Transformer(parameters=(X,), transforms=tuple(transforms))


async def save_calculation(session: Session, name: str, formula: str) -> Calculation:
    fields = {"name": name, "tags": (), "formula": formula, "outputs": (NUMBER,)}
    return await session.calculations.writing.create(USA, {**fields, "parameters": (X,)}, None)


async def save_pipelines(store: Store, new_name: str, *formulas: str) -> list[Pipeline]:
    """Save a pipeline for each formula; then give the calculation that they call another name."""
    session = await create_groups(store, USA)
    called = await save_calculation(session, "ef", ":x * 2")
    made = [
        await session.pipelines.writing.create(
            USA, {"name": f"p{n}", "tags": (), "transformer": transformer(text)}, None
        )
        for n, text in enumerate(formulas)
    ]
    await session.calculations.writing.update(called.id, 1, {"name": new_name})
    return made


def open_context(store: Store, account: Account) -> Context:
    return Context.open(store, SUPER, CURSORS, RowChanges(store.table), account)


async def show(context: Context, pipeline: Pipeline) -> str:
    found = current_transformer(context, pipeline)
    assert not isinstance(found, Transformer)
    return (await found).transforms[0].formula


async def test_a_shown_formula_is_scanned_once_in_a_formula_thread_and_never_parsed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{CALL}+{n}" for n in range(20)]
    pipelines = await save_pipelines(store, "ef_once", *texts)
    scans, account = Scans(monkeypatch), Account()
    shown = [text.replace("#ef", "#ef_once") for text in texts]
    for _ in range(2):
        context = open_context(store, account)
        assert await gather(*(show(context, one) for one in pipelines)) == shown
    assert scans.characters == sum(map(len, texts))
    assert scans.threads == {"formulas"}
    assert account.taken == sum(len(text) // RENAMED_CHARACTERS for text in texts)


async def test_a_shown_calculation_is_paid_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await save_pipelines(store, "ef_paid")
    session = store.open_session(SUPER)
    base = await session.calculations.reading.by_name("ef_paid", USA)
    caller = await save_calculation(session, "caller", "#ef_paid(:x)" + TERMS)
    await session.calculations.writing.update(base.id, 2, {"name": "ef_owed"})
    scans, account = Scans(monkeypatch), Account()
    found = current_formula(open_context(store, account), caller)
    assert not isinstance(found, str)
    assert await found == "#ef_owed(:x)" + TERMS
    assert account.taken == len(caller.formula) // RENAMED_CHARACTERS
    assert scans.threads == {"formulas"}


async def test_the_formulas_of_what_was_written_are_owed_and_not_refused(store: Store) -> None:
    (made,) = await save_pipelines(store, "ef_written", CALL)
    with pytest.raises(RateLimited):
        await show(open_context(store, Account(most=0)), made)
    account = Account(most=0)
    context = open_context(store, account)
    await context.session.groups.create(GroupPath("/usa/last"), None)
    owed = account.owed
    assert (await show(context, made)).startswith("#ef_written(:x)")
    assert (account.taken, account.owed - owed) == (0, len(CALL) // RENAMED_CHARACTERS)


async def test_another_name_of_today_is_shown_at_once(store: Store) -> None:
    (made,) = await save_pipelines(store, "ef_one", CALL)
    session = store.open_session(SUPER)
    base = await session.calculations.reading.by_name("ef_one", USA)
    shown = [await show(open_context(store, Account()), made)]
    await session.calculations.writing.update(base.id, 2, {"name": "ef_two"})
    shown += [await show(open_context(store, Account()), made)]
    assert shown == [f"#ef_one(:x){TERMS}", f"#ef_two(:x){TERMS}"]


async def test_a_caller_in_debt_reads_short_formulas_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = await save_pipelines(store, "ef_debt", "#ef(:x)", CALL)
    scans = Scans(monkeypatch)
    context = open_context(store, Account(most=0))
    assert await show(context, short) == "#ef_debt(:x)"
    with pytest.raises(RateLimited):
        await show(context, long)
    assert scans.characters == len("#ef(:x)")


async def test_what_is_too_long_to_keep_is_shown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made,) = await save_pipelines(store, "ef_long", CALL)
    monkeypatch.setattr(formula_names, "KEPT_CHARACTERS", len(CALL))
    scans = Scans(monkeypatch)
    for _ in range(2):
        assert await show(open_context(store, Account()), made) == f"#ef_long(:x){TERMS}"
    assert scans.characters == 2 * len(CALL)

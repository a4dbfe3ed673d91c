"""Callers pay for work by its size, which is known before the work, and nothing happens unpaid."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.access.bucket_payments import FILE_PRICES
from penstock.datastore.access.work import (
    CALLED_CHARACTERS,
    DATASET_BYTES,
    FILE_BYTES,
    FORMULA_CHARACTERS,
    READ_VALUES,
    STEPS,
    TEXT_WORK,
    TRANSITION_UNITS,
    UPLOAD_UNITS,
    StoreKind,
    write_units,
)
from penstock.datastore.errors import Invalid, LimitExceeded, RateLimited
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.executions.workers import inline
from penstock.datastore.formulas.checks import MAX_FORMULAS
from penstock.datastore.records import (
    Calculation,
    DatasetColumn,
    Output,
    Parameter,
    Pipeline,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.formula.syntax import parser
from penstock.transform.outcome import FULL
from tests.support.sample_resources import SUPER, USA, create_groups, on_sqlite
from tests.support.work_account import Account

pytestmark = on_sqlite

NUMBER = Output(index=0, type=ValueType.NUMBER)
X = Parameter(index=0, key="x", type=ValueType.NUMBER, required=True)
TEXT = Parameter(index=0, key="x", type=ValueType.STRING, required=True)
SUM = "+".join([":x"] * 950)


async def open_with_group(store: Store) -> Session:
    return await create_groups(store, USA)


def transformer(formulas: Sequence[str]) -> Transformer:
    transforms = (
        Transform(index=n, formula=text, outputs=(NUMBER,)) for n, text in enumerate(formulas)
    )
    return Transformer(parameters=(X,), transforms=tuple(transforms))


def content(formulas: Sequence[str], name: str = "p") -> dict[str, Any]:
    return {"name": name, "tags": (), "transformer": transformer(formulas)}


async def save_pipeline(session: Session, *formulas: str, name: str = "p") -> Pipeline:
    return await session.pipelines.writing.create(USA, content(formulas, name), None)


async def save_calculation(session: Session, name: str, formula: str) -> Calculation:
    fields = {"name": name, "tags": (), "formula": formula, "outputs": (NUMBER,)}
    return await session.calculations.writing.create(USA, {**fields, "parameters": (X,)}, None)


def units(characters: int) -> int:
    return characters // FORMULA_CHARACTERS


async def test_saving_costs_the_characters_of_the_formulas(store: Store) -> None:
    await open_with_group(store)
    account = Account()
    session = store.open_session(SUPER, account)
    made = await save_pipeline(session, *[SUM + " " * n for n in range(17)])
    paid = account.taken
    assert paid == units(sum(len(SUM) + n for n in range(17)))
    changes = {"transformer": transformer([SUM])}
    await session.pipelines.writing.update(made.id, 1, changes)
    assert account.taken - paid == units(len(SUM))
    await save_calculation(session, "c", SUM)
    assert account.taken - paid == 2 * units(len(SUM))


async def test_saving_costs_the_characters_of_what_the_formulas_call(store: Store) -> None:
    outer = await open_with_group(store)
    await save_calculation(outer, "inner", SUM)
    await save_calculation(outer, "outer", "#inner(:x)")
    account = Account()
    formulas = [f"#outer(:x)+{n}" for n in range(10)]
    session = store.open_session(SUPER, account)
    await save_pipeline(session, ":x", *formulas)
    called = len(SUM) + len("#inner(:x)")
    own = 2 + sum(map(len, formulas))
    assert account.taken == units(own)
    checking = units(called) + called * 10 // CALLED_CHARACTERS
    assert account.owed == checking + write_units(session.units.written)


async def test_what_cannot_be_paid_is_not_even_parsed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = await open_with_group(store)
    saved = await save_calculation(known, "saved", SUM)
    monkeypatch.setattr(parser, "parse_uncached", None)
    session = store.open_session(SUPER, Account(most=100))
    fresh = SUM + "+#saved(:x)"
    with pytest.raises(RateLimited):
        await save_pipeline(session, fresh)
    with pytest.raises(RateLimited):
        await save_calculation(session, "c", fresh)
    with pytest.raises(RateLimited):
        await session.evaluations.prepare_draft(USA, fresh, [X], [NUMBER])
    found = await known.calculations.reading.one(saved.id)
    assert found == saved
    monkeypatch.undo()
    assert (await save_pipeline(known, ":x")).version == 1
    assert (await save_calculation(known, "c", ":x")).version == 1


async def test_formulas_beyond_their_limit_are_refused_unparsed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await open_with_group(store)
    monkeypatch.setattr(parser, "parse_uncached", None)
    long = "#none(:x)+" * 900
    with pytest.raises(Invalid) as refused:
        await save_pipeline(session, *[long + str(n) for n in range(MAX_FORMULAS // len(long) + 1)])
    assert "longer than" in refused.value.problems[0].message


async def test_evaluating_costs_the_formula_and_the_steps_of_all_rows(store: Store) -> None:
    saved = await save_calculation(await open_with_group(store), "c", SUM)
    account = Account()
    evaluations = store.open_session(SUPER, account).evaluations
    _, prepared = await evaluations.prepare_by_id(saved.id)
    await prepared.evaluate([{"x": n} for n in range(1_000)])
    assert account.taken == units(len(SUM))
    texts = sum(len(str(950 * n)) for n in range(1_000)) // TEXT_WORK
    evaluated = units(len(SUM)) + 949 * 1_000 // STEPS + texts
    assert account.owed == evaluated
    # An explanation of 950 parts owes its processor time, too.
    await prepared.explain({"x": 1})
    assert account.owed > evaluated + units(len(SUM))
    account.most = account.taken
    with pytest.raises(RateLimited):
        await evaluations.prepare_by_id(saved.id)


async def test_a_draft_costs_its_check_as_well(store: Store) -> None:
    await open_with_group(store)
    account = Account()
    evaluations = store.open_session(SUPER, account).evaluations
    prepared = await evaluations.prepare_draft(USA, SUM, [X], [NUMBER])
    await prepared.evaluate([{"x": 1}])
    assert account.taken == units(len(SUM))
    assert account.owed == units(len(SUM)) + 949 // STEPS


async def test_text_functions_cost_what_they_did(store: Store) -> None:
    await open_with_group(store)
    account = Account()
    evaluations = store.open_session(SUPER, account).evaluations
    output = Output(index=0, type=ValueType.STRING)
    prepared = await evaluations.prepare_draft(USA, "UPPERCASE(:x)", [TEXT], [output])
    await prepared.evaluate([{"x": "a" * 30_000}] * 60)
    assert account.owed >= 60 * 30_000 // TEXT_WORK


async def test_values_cost_their_texts_even_where_there_are_too_many(store: Store) -> None:
    await open_with_group(store)
    account = Account()
    evaluations = store.open_session(SUPER, account).evaluations
    prepared = await evaluations.prepare_draft(USA, ":x", [X], [NUMBER])
    await prepared.evaluate([{"x": "1e-9000"}] * 100)
    few = 100 // STEPS + 100 * 9_002 // TEXT_WORK
    assert account.owed == few
    with pytest.raises(LimitExceeded):
        await prepared.evaluate([{"x": "1e-9000"}] * 1_000)
    assert account.owed == few + 1_000 // STEPS + 223 * 9_002 // TEXT_WORK


PRICES = FILE_PRICES[StoreKind.EMBEDDED]
OF_RUN = 3 * PRICES.write + 2 * PRICES.look + 3 * TRANSITION_UNITS
"""A run of rows writes and reads the rows, and writes two files; it is created, claimed, ended."""
OF_OUTPUT = 4 * PRICES.look
"""The calls that read both files, after a look at each."""


async def test_an_execution_costs_its_formulas_and_inline_rows_their_steps_and_results(
    store: Store,
) -> None:
    session = await open_with_group(store)
    pipeline = await save_pipeline(session, SUM)
    other = await save_pipeline(session, SUM, name="other")
    account = Account()
    paying = store.open_session(SUPER, account)
    executions = paying.executions
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    await executions.creating.create(wanted)
    written = write_units(paying.units.written)
    begun = written + TRANSITION_UNITS + UPLOAD_UNITS
    assert (account.taken, account.owed) == (units(len(SUM)), begun)
    wanted = ExecutionRequest(pipeline_id=other.id)
    over = await executions.inline.run(wanted, [{"x": n} for n in range(1_000)])
    results = over.counts.bytes_written
    assert results == len("output 0\r\n" + "row,column,code,message,x\r\n") + sum(
        len(f"{950 * n}\r\n") for n in range(1_000)
    )
    owed = 949 * 1_000 // STEPS + results // FILE_BYTES + write_units(paying.units.written)
    owed += OF_RUN + TRANSITION_UNITS + UPLOAD_UNITS
    assert (account.taken, account.owed) == (2 * units(len(SUM)), owed)
    await executions.inline_output.one(over)
    assert account.owed == owed + OF_OUTPUT + results // FILE_BYTES
    await store.open_session(SUPER, account).executions.inline_output.one(over)
    assert account.taken == 2 * units(len(SUM)) + OF_OUTPUT + results // FILE_BYTES
    account.most = account.taken
    with pytest.raises(RateLimited):
        await executions.inline.run(wanted, [{"x": 1}])


async def test_text_functions_of_inline_rows_cost_what_they_did(store: Store) -> None:
    session = await open_with_group(store)
    text = "SEARCH(UPPERCASE(:x), 'q')"
    parts = replace(transformer([text]), parameters=(TEXT,))
    fields = {**content([]), "transformer": parts}
    pipeline = await session.pipelines.writing.create(USA, fields, None)
    account = Account()
    paying = store.open_session(SUPER, account)
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    over = await paying.executions.inline.run(wanted, [{"x": "a" * 10_000}] * 50)
    assert over.counts.succeeded == 50
    work = 50 * (4 * 10_000 + 10_000 + 1)
    steps = 50 * 2 // STEPS
    results = over.counts.bytes_written // FILE_BYTES
    rows = 50 * len('{"x":""},' + "a" * 10_000)
    calls = OF_RUN + rows // PRICES.written_bytes + rows // PRICES.read_bytes
    written = write_units(paying.units.written)
    assert account.owed == steps + work // TEXT_WORK + results + written + calls


async def test_results_that_cannot_be_paid_are_not_read(store: Store) -> None:
    session = await open_with_group(store)
    pipeline = await save_pipeline(session, ":x")
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    over = await session.executions.inline.run(wanted, [{"x": n} for n in range(100)])
    poor = store.open_session(SUPER, Account(most=0)).executions.inline_output
    with pytest.raises(RateLimited):
        await poor.one(over)
    assert await session.executions.inline_output.one(over) is not None


async def test_results_too_large_for_an_answer_cost_nothing_and_are_not_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await open_with_group(store)
    pipeline = await save_pipeline(session, ":x")
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    over = await session.executions.inline.run(wanted, [{"x": n} for n in range(100)])
    size = over.counts.bytes_written
    account = Account()
    reading = store.open_session(SUPER, account).executions.inline_output
    monkeypatch.setattr(inline, "MAX_RESULT_BYTES", size - 1)
    with pytest.raises(LimitExceeded) as refused:
        await reading.one(over)
    assert (refused.value.maximum, refused.value.actual) == (size - 1, size)
    assert (account.taken, account.owed) == (2 * PRICES.look, 0)
    monkeypatch.setattr(inline, "MAX_RESULT_BYTES", size)
    found = await reading.one(over)
    assert found is not None
    assert [row["output 0"] for row in found.rows] == list(range(100))
    assert account.taken == 2 * PRICES.look + OF_OUTPUT + size // FILE_BYTES


async def test_inline_rows_cannot_write_more_than_a_request_may(store: Store) -> None:
    session = await open_with_group(store)
    pipeline = await save_pipeline(session, *[":x"] * 20)
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    over = await session.executions.inline.run(wanted, [{"x": "1e-9000"}] * 1_000)
    assert (over.state, over.code) == (ExecutionState.FAILED, "OUTPUT_TOO_LARGE")
    assert FULL <= over.counts.bytes_written < FULL + 20 * 9_100
    assert over.counts.rows == over.counts.bytes_written // (20 * 9_003)
    assert (await session.executions.inline_output.one(over)) is not None


async def test_the_content_of_a_dataset_costs_its_size(store: Store) -> None:
    account = Account()
    await open_with_group(store)
    files = store.open_session(SUPER, account).dataset_files
    columns = [DatasetColumn(name="k", type=ValueType.STRING)]
    csv = "k\n" + "".join(f"{n}\n" for n in range(2_000))
    await files.check_text(columns, "k", csv)
    assert account.taken == len(csv) // DATASET_BYTES


async def test_values_that_are_missing_are_read_and_paid(store: Store) -> None:
    pipeline = await save_pipeline(await open_with_group(store), ":x")
    parameters = tuple(
        Parameter(index=n, key=f"x{n}", type=ValueType.NUMBER) for n in range(1, 101)
    )
    wide = replace(pipeline.transformer, parameters=(X, *parameters))
    owed = []
    for made in (pipeline.transformer, wide):
        account = Account()
        session = store.open_session(SUPER, account)
        await session.executions.dry_runs.run_draft(USA, made, [{"x": 1}] * 400)
        owed.append(account.taken + account.owed)
    assert owed[1] - owed[0] >= 400 * 100 // READ_VALUES

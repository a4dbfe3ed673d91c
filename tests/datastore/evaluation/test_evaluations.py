"""Evaluation of calculations: the scope of names, permissions, states and limits."""

import time
from asyncio import gather
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import msgspec
import pytest
import re2

from penstock.datastore.access.work import TEXT_WORK, formula_units
from penstock.datastore.errors import IllegalState, Invalid, LimitExceeded, NotFound, RateLimited
from penstock.datastore.evaluation.evaluator import MAX_PARTS, MAX_ROWS, MAX_TEXT, EvaluatedRows
from penstock.datastore.records import Calculation, Output, Parameter, State, ValueType
from penstock.datastore.resources.dataset_prefetch import MAX_DATASETS, MAX_FIELDS
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, REFERENCE_DATASET
from penstock.datastore.table.port import Update
from penstock.formula.core.limits import MAX_BATCH_STEPS
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.support.processor_time import measure_yardstick
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    caller,
    create_groups,
    on_sqlite,
)
from tests.support.work_account import Account

pytestmark = on_sqlite

NUMBER = Output(index=0, type=ValueType.NUMBER)
TEXT = Output(index=0, type=ValueType.STRING)
ANN = caller({USA: Role.READER})


def parameters(**types: ValueType) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(index=n, key=key, type=type, required=True)
        for n, (key, type) in enumerate(types.items())
    )


X = parameters(x=ValueType.NUMBER)


async def save(
    session: Session,
    group: GroupPath,
    name: str,
    formula: str,
    *given: Parameter,
    output: Output = NUMBER,
) -> Calculation:
    content = {"name": name, "tags": (), "formula": formula, "outputs": (output,)}
    return await session.calculations.writing.create(group, {**content, "parameters": given}, None)


async def evaluate(
    session: Session, of: Calculation, *rows: Mapping[str, object], **more: Any
) -> EvaluatedRows:
    _, prepared = await session.evaluations.prepare_by_id(of.id, VersionName(more.get("version")))
    return await prepared.evaluate(rows or ({},))


async def value(session: Session, of: Calculation, /, **row: object) -> object:
    """The value of a single row that has no error."""
    found = await evaluate(session, of, row)
    assert found.errors == ()
    return found.values[0]


async def code(session: Session, of: Calculation, /, **row: object) -> str:
    """The error code of a single row."""
    (error,) = (await evaluate(session, of, row)).errors
    return error.code


async def refusal_codes(session: Session, of: Calculation) -> list[str]:
    """The codes of the problems that keep a calculation from being evaluated."""
    with pytest.raises(Invalid) as invalid:
        await evaluate(session, of)
    return [str(problem.code) for problem in invalid.value.problems]


async def test_rows_fail_one_by_one_and_values_keep_every_digit(store: Store) -> None:
    session = await create_groups(store)
    half = await save(session, USA, "part", "1 / :x", *X)
    rows: list[dict[str, object]] = [
        {"x": 3},
        {"x": 0},
        {"x": "x"},
        {},
        {"x": "0.10"},
        {"x": 0.1234567890123456789},
    ]
    found = await evaluate(session, half, *rows)
    assert found.texts == ("0.3333333333333333333333333333333333", None, None, None, "10", None)
    assert found.values[4] == 10
    assert [(e.row, e.column, e.code) for e in found.errors] == [
        (1, None, "DIVISION_BY_ZERO"),
        (2, "x", "INVALID_INPUT"),
        (3, "x", "MISSING_VALUE"),
        (5, "x", "INVALID_INPUT"),
    ]


async def test_a_version_is_evaluated_as_it_was_and_calls_what_there_is_now(store: Store) -> None:
    session = await create_groups(store)
    inner = await save(session, USA, "inner", "1")
    outer = await save(session, USA, "outer", "#inner() + 10")
    writing = session.calculations.writing
    outer = await writing.update(outer.id, 1, {"formula": "#inner() + 100"})
    await writing.update(inner.id, 1, {"formula": "2"})
    assert await value(session, outer) == 102
    assert (await evaluate(session, outer, version=1)).values == (Decimal(12),)
    pinned = await save(session, USA, "pinned", "#inner(version=1)")
    assert await value(session, pinned) == 1
    for version in (0, 3, 10**12):
        with pytest.raises(NotFound):
            await evaluate(session, outer, version=version)


async def test_a_calculation_is_found_by_name_from_a_group_below(store: Store) -> None:
    session = await create_groups(store)
    made = await save(session, USA, "inner", "1")
    found, prepared = await session.evaluations.prepare_by_name("INNER", NORTHWEST)
    assert (found, (await prepared.evaluate([{}])).values) == (made, (Decimal(1),))
    with pytest.raises(NotFound):
        await session.evaluations.prepare_by_name("inner", EU)


async def test_names_mean_what_the_owner_of_each_formula_sees(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, USA, "fuels", gas="1")
    await lookup_dataset(session, EU, "fuels", gas="100")
    theirs = await save(
        session, EU, "theirs", "LOOKUP('fuels', 'gas') + IMPACT('fuels', 'gas', 'v')"
    )
    await session.calculations.writing.grant(theirs.id, USA)
    both = await save(session, NORTHWEST, "both", "#theirs() + LOOKUP('fuels', 'gas')")
    assert await value(session, theirs) == 200
    assert await value(session, both) == 201


async def test_what_the_caller_does_not_see_is_as_if_it_were_not_there(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, EU, "fuels", gas="100")
    await save(session, EU, "secret", "42 + 1")
    calls = await save(session, EU, "calls", "#secret()")
    deep = await save(session, EU, "deep", "#calls()")
    looks = await save(session, EU, "looks", "COALESCE(LOOKUP('fuels', 'gas'), 1)")
    writing = session.calculations.writing
    for made in (calls, deep, looks):
        await writing.grant(made.id, USA)
    ann = store.open_session(ANN)
    assert await refusal_codes(ann, calls) == ["UNKNOWN_CALCULATION"]
    assert await refusal_codes(ann, deep) == ["INVALID_CALCULATION"]
    assert await code(ann, looks) == "UNKNOWN_DATASET"
    _, prepared = await ann.evaluations.prepare_by_id(looks.id)
    shown = await prepared.explain({})
    assert shown.failure is not None
    assert shown.failure.code == "UNKNOWN_DATASET"
    assert prepared.lookups.used == {}
    with pytest.raises(Invalid) as told:
        await (await ann.evaluations.prepare_by_id(deep.id))[1].explain({})
    assert "42" not in str(told.value)
    assert await value(session, deep) == 43
    (secret,) = (await session.calculations.reading.by_name("secret", EU),)
    await writing.grant(secret.id, USA)
    assert await value(ann, deep) == 43


async def test_a_revoked_grant_ends_what_rests_on_it_at_once(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, EU, "fuels", gas="100")
    looks = await save(session, EU, "looks", "LOOKUP('fuels', 'gas') + 0")
    for writing, made in ((session.calculations.writing, looks), (session.datasets.writing, fuels)):
        await writing.grant(made.id, USA)
    ann = store.open_session(ANN)
    assert await value(ann, looks) == 100
    await session.datasets.writing.revoke(fuels.id, USA)
    assert await code(ann, looks) == "UNKNOWN_DATASET"
    await session.calculations.writing.revoke(looks.id, USA)
    with pytest.raises(NotFound):
        await evaluate(ann, looks)


async def test_a_circle_that_two_saves_at_once_have_formed_is_told(store: Store) -> None:
    session = await create_groups(store)
    one = await save(session, USA, "one", "1")
    two = await save(session, USA, "two", "#one()")
    # The same as two concurrent saves, each checked before the other is written.
    key = CALCULATION.latest.key(id=one.id)
    await store.table.transact([Update(key=key, set={"formula": "#two()"})])
    for made in (one, two):
        assert await refusal_codes(session, made) == ["CALCULATION_CYCLE"]


async def test_what_is_called_and_no_longer_fits_is_told(store: Store) -> None:
    session = await create_groups(store)
    inner = await save(session, USA, "inner", ":x + 1", *X)
    outer = await save(session, USA, "outer", "#inner(1)")
    changes = {"formula": "1", "parameters": ()}
    await session.calculations.writing.update(inner.id, 1, changes)
    assert await refusal_codes(session, outer) == ["WRONG_ARITY"]
    await session.calculations.deleting.delete(inner.id, force=True)
    assert await refusal_codes(session, outer) == ["UNKNOWN_CALCULATION"]


async def test_states_are_kept_to(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="5")
    inner = await save(session, USA, "inner", "LOOKUP('fuels', 'gas') + 0")
    outer = await save(session, USA, "outer", "#inner()")

    async def turn(of: Any, made: Any, state: State) -> Any:
        return await of.writing.update(made.id, made.version, {"state": state})

    inner = await turn(session.calculations, inner, State.FROZEN)
    fuels = await turn(session.datasets, fuels, State.FROZEN)
    assert await value(session, outer) == 5
    with pytest.raises(IllegalState, match="It is frozen"):
        await evaluate(session, inner)
    inner = await turn(session.calculations, inner, State.DISABLED)
    with pytest.raises(IllegalState, match="The calculation 'inner' is disabled"):
        await evaluate(session, outer)
    await turn(session.calculations, inner, State.ENABLED)
    await turn(session.datasets, fuels, State.DISABLED)
    with pytest.raises(IllegalState, match="The reference dataset 'fuels' is disabled"):
        await evaluate(session, outer)


async def test_datasets_are_read_at_the_version_asked_for(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="1")
    fuels = await update_dataset(session, fuels, gas="2", oil="3")
    formula = "LOOKUP('fuels', 'gas', version=1) * 10 + LOOKUP('fuels', 'gas')"
    both = await save(session, USA, "both", formula)
    _, prepared = await session.evaluations.prepare_by_id(both.id)
    assert (await prepared.evaluate([{}])).values == (Decimal(12),)
    assert sorted(one.version for one in prepared.lookups.used.values()) == [1, 2]
    later = await save(
        session, USA, "later", f"LOOKUP('fuels', 'oil', versionAsAt='{fuels.updated_at}') + 0"
    )
    assert await value(session, later) == 3
    none = await save(session, USA, "none", "LOOKUP('fuels', 'gas', version=9) + 0")
    assert await code(session, none) == "UNKNOWN_DATASET"
    elsewhere = await save(
        session, NORTHWEST, "elsewhere", "LOOKUP('fuels', 'gas', group='/eu') + 0"
    )
    assert await code(session, elsewhere) == "UNKNOWN_DATASET"


async def test_a_row_may_decide_which_dataset_is_asked(store: Store) -> None:
    session = await create_groups(store)
    for n in range(3):
        await lookup_dataset(session, USA, f"t{n}", gas=str(n))
    named = await save(
        session, USA, "named", "LOOKUP(:d, 'gas') + 0", *parameters(d=ValueType.STRING)
    )
    found = await evaluate(session, named, {"d": "t2"}, {"d": "t0"}, {"d": "T1"}, {"d": "t9"})
    assert found.values == (2, 0, 1, None)
    assert [(e.row, e.code) for e in found.errors] == [(3, "UNKNOWN_DATASET")]
    chained = await save(
        session,
        USA,
        "chained",
        "LOOKUP(CONCAT('t', LOOKUP(CONCAT('t', :x), 'gas')), 'gas') + 0",
        *X,
    )
    assert await value(session, chained, x=2) == 2


async def test_many_datasets_and_many_fields_are_refused(store: Store) -> None:
    session = await create_groups(store)
    named = await save(
        session, USA, "named", "LOOKUP(:d, 'gas') + 0", *parameters(d=ValueType.STRING)
    )
    with pytest.raises(LimitExceeded) as many:
        await evaluate(session, named, *({"d": f"t{n}"} for n in range(MAX_DATASETS + 1)))
    assert (many.value.maximum, many.value.actual) == (MAX_DATASETS, MAX_DATASETS + 1)
    made = await lookup_dataset(session, USA, "large", gas="1")
    large = msgspec.structs.replace(made.content, row_count=MAX_FIELDS)
    content = msgspec.to_builtins(large)
    content["columns"] = [*content["columns"]]
    key = REFERENCE_DATASET.latest.key(id=made.id)
    await store.table.transact([Update(key=key, set={"content": content})])
    with pytest.raises(LimitExceeded, match="fields of the datasets"):
        await evaluate(session, named, {"d": "large"})


async def test_rows_steps_texts_and_parts_are_bounded(store: Store) -> None:
    session = await create_groups(store)
    one = await save(session, USA, "one", "1")
    assert len((await evaluate(session, one, *[{}] * MAX_ROWS)).values) == MAX_ROWS
    with pytest.raises(LimitExceeded) as rows:
        await evaluate(session, one, *[{}] * (MAX_ROWS + 1))
    assert (rows.value.limit, rows.value.actual) == ("rows", MAX_ROWS + 1)
    powers = "+".join(["2^2"] * 50)
    steep = await save(session, USA, "steep", powers)
    with pytest.raises(LimitExceeded) as steps:
        await evaluate(session, steep, *[{}] * MAX_ROWS)
    assert steps.value.maximum == MAX_BATCH_STEPS
    long = await save(session, USA, "long", ":t", *parameters(t=ValueType.STRING), output=TEXT)
    with pytest.raises(LimitExceeded) as texts:
        await evaluate(session, long, *[{"t": "x" * 30_000}] * 100)
    assert (texts.value.maximum, texts.value.actual) == (MAX_TEXT, 67 * 30_000)
    small = "SET :a = 1e-9000\n" * 230 + ":a"
    _, prepared = await session.evaluations.prepare_by_id(
        (await save(session, USA, "small", small)).id
    )
    with pytest.raises(LimitExceeded) as numbers:
        await prepared.explain({})
    assert (numbers.value.maximum, numbers.value.actual) == (MAX_TEXT, 223 * 9_002)
    wide = await save(session, USA, "wide", "+".join(["1"] * 900))
    calls = await save(session, USA, "calls", "#wide() + #wide()")
    _, prepared = await session.evaluations.prepare_by_id(wide.id)
    assert len((await prepared.explain({})).parts) == 901
    _, prepared = await session.evaluations.prepare_by_id(calls.id)
    with pytest.raises(LimitExceeded) as parts:
        await prepared.explain({})
    assert parts.value.maximum == MAX_PARTS


async def test_a_list_too_long_to_be_written_is_the_rows_own_error(store: Store) -> None:
    session = await create_groups(store)
    split = await save(
        session, USA, "split", "SPLIT(:t, ',')", *parameters(t=ValueType.STRING), output=TEXT
    )
    long = ",".join(["a"] * 16_000)
    found = await evaluate(session, split, {"t": "a,b"}, {"t": long})
    assert found.texts == ('["a","b"]', None)
    assert [(e.row, e.code) for e in found.errors] == [(1, "STRING_TOO_LONG")]
    _, prepared = await session.evaluations.prepare_by_id(split.id)
    assert (await prepared.explain({"t": long})).text is None


async def test_an_explanation_shows_the_inside_of_what_is_called(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, USA, "fuels", gas="2.5")
    await save(session, USA, "inner", "LOOKUP('fuels', 'gas') * :x", *X)
    outer = await save(session, USA, "outer", "#inner(:x) + 1", *X)
    _, prepared = await session.evaluations.prepare_by_id(outer.id)
    found = await prepared.explain({"x": 2})
    assert (found.text, found.failure) == ("6", None)
    assert [(p.depth, p.parent, p.called, p.part.text, p.text) for p in found.parts] == [
        (0, None, False, "#inner(:x) + 1", "6"),
        (1, 0, False, "#inner(:x)", "5"),
        (2, 1, False, ":x", "2"),
        (2, 1, True, "LOOKUP('fuels', 'gas') * :x", "5"),
        (3, 3, False, "LOOKUP('fuels', 'gas')", "2.5"),
        (4, 4, False, "'fuels'", "fuels"),
        (4, 4, False, "'gas'", "gas"),
        (3, 3, False, ":x", "2"),
        (1, 0, False, "1", "1"),
    ]


async def test_a_draft_is_evaluated_as_if_it_were_saved(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, USA, "fuels", gas="2.5")
    await save(session, USA, "inner", ":x + 1", *X)
    formula = "#inner(:x) * LOOKUP('fuels', 'gas')"
    prepared = await session.evaluations.prepare_draft(NORTHWEST, formula, X, [NUMBER])
    assert (await prepared.evaluate([{"x": 1}])).values == (Decimal(5),)
    for group, text, given, found in (
        (EU, formula, X, ["UNKNOWN_CALCULATION"]),
        (USA, "1", X, ["UNUSED_PARAMETER"]),
        (USA, "1 +", (), ["SYNTAX"]),
        (USA, "", (), ["None"]),
    ):
        with pytest.raises(Invalid) as invalid:
            await session.evaluations.prepare_draft(group, text, given, [NUMBER])
        assert [str(problem.code) for problem in invalid.value.problems] == found
        assert invalid.value.problems[0].path == ["draft", "formula"]
    with pytest.raises(NotFound):
        await store.open_session(ANN).evaluations.prepare_draft(EU, "1", (), [NUMBER])
    with pytest.raises(NotFound):
        await session.evaluations.prepare_draft(GroupPath("/nowhere"), "1", (), [NUMBER])


async def test_many_evaluate_at_once_without_meeting(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    times = await save(session, USA, "times", "LOOKUP('fuels', 'gas') * :x", *X)

    async def one(n: int) -> object:
        return await value(store.open_session(Caller(f"u{n}", {ROOT: Role.READER})), times, x=n)

    assert await gather(*map(one, range(40))) == [2 * n for n in range(40)]
    assert len(store.dataset_cache) == 1
    assert fuels.version == 1


HOSTILE = {
    "a regular expression": ("SPLIT(:t, '((a{1,99}){1,99}){1,99}b')[0]", "a" * 30_000),
    "towers of powers": ("CONCAT(" + ",".join(["9.99^9999"] * 60) + ", :t)", "x"),
    "texts that double": (
        "SET :a = CONCAT(:t, :t)\n"
        + "\n".join("SET :a = CONCAT(:a, :a)" for _ in range(40))
        + "\n:a",
        "x" * 8_000,
    ),
    "nesting": ("(" * 4_000 + ":t" + ")" * 4_000, "x"),
    "upper case": ("SET :a = :t\n" + "SET :a = UPPERCASE(:a)\n" * 300 + ":a", "ß" * 16_000),
    "json": ("GET_VALUE(:t, '$..a..a..a')", "[" * 10_000),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_formula_ends_in_a_typed_error_within_ten_yardsticks(
    name: str, store: Store
) -> None:
    session = await create_groups(store)
    formula, text = HOSTILE[name]
    given, took, codes = parameters(t=ValueType.STRING), [], set()
    for _ in range(3):
        yardstick = measure_yardstick()
        began = time.process_time()
        try:
            prepared = await session.evaluations.prepare_draft(USA, formula, given, [TEXT])
            found = await prepared.evaluate([{"t": text}])
            codes |= {error.code.value for error in found.errors}
        except Invalid as invalid:
            codes |= {str(problem.code) for problem in invalid.problems}
        took.append((time.process_time() - began) / yardstick)
    assert len(codes) == 1, codes
    assert min(took) < 10


async def test_a_stranger_evaluates_nothing(store: Store) -> None:
    session = await create_groups(store)
    made = await save(session, USA, "one", "1")
    for outsider in (caller({EU: Role.ADMIN}), Caller("nobody", {})):
        eve = store.open_session(outsider)
        with pytest.raises(NotFound):
            await evaluate(eve, made)
        with pytest.raises(NotFound):
            await eve.evaluations.prepare_by_name("one", USA)
    assert session.caller is SUPER


async def test_an_explanation_owes_the_processor_time_of_what_it_calls(store: Store) -> None:
    session = await create_groups(store)
    await save(session, USA, "c0", ":x", *parameters(x=ValueType.NUMBER))
    for n in range(1, 10):
        twice = f"#c{n - 1}(:x) + #c{n - 1}(:x)"
        await save(session, USA, f"c{n}", twice, *parameters(x=ValueType.NUMBER))
    owed = []
    for name in ("c0", "c9"):
        account = Account()
        paying = store.open_session(SUPER, work=account)
        found = await paying.calculations.reading.by_name(name, USA)
        _, prepared = await paying.evaluations.prepare_by_id(found.id)
        account.owed = 0
        with suppress(LimitExceeded):
            await prepared.explain({"x": 1})
        owed.append(account.owed)
    assert owed[1] > owed[0] + 100


async def test_patterns_are_paid_before_one_is_compiled(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = list[str]()
    compile_pattern = re2.compile

    def note(pattern: str, options: object) -> object:
        compiled.append(pattern)
        return compile_pattern(pattern, options)

    monkeypatch.setattr(re2, "compile", note)
    await create_groups(store)
    calls = [f"SPLIT(:t, '{n}(\\pL{{20}}){{40}}')" for n in range(20)]
    given, formula = parameters(t=ValueType.STRING), " + ".join(calls)
    price = formula_units(len(formula)) + 20 * 310_000 // TEXT_WORK
    poor, rich = Account(price - 1), Account(price)
    refused = store.open_session(SUPER, poor)
    with pytest.raises(RateLimited):
        await refused.evaluations.prepare_draft(USA, formula, given, [TEXT])
    with pytest.raises(RateLimited):
        await save(refused, USA, "cut", formula, *given)
    assert (poor.taken, compiled) == (0, [])
    with pytest.raises(Invalid):
        await store.open_session(SUPER, rich).evaluations.prepare_draft(USA, formula, given, [TEXT])
    assert (rich.taken, len(compiled)) == (price, 20)

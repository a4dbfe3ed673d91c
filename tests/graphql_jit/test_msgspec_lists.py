"""graphql-core, compiled code and msgspec give the same answers for lists of objects."""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import orjson
import pytest
from graphql import parse
from hypothesis import given, settings
from hypothesis import strategies as st
from orjson import Fragment

from penstock.graphql_jit import CompiledOperation, ExecutionOptions, FallbackReason
from penstock.graphql_jit.msgspec_lists import list_encoder_of
from tests.graphql_jit.executor_comparison import (
    assert_alike,
    await_result,
    operation_of,
    run_compiled,
    run_reference,
)
from tests.graphql_jit.random_schemas import AwaitableValue
from tests.graphql_jit.rows_schema import (
    SCHEMA,
    AttributeObject,
    Context,
    Give,
    RaisingObject,
    at_once,
    compile_document,
    later,
    row,
    tag,
)

FIELDS = "id text perhaps number share flag tags { key value } best { value key } words"
LEAVES = "number text share"
DOCUMENTS = [
    f"{{ rows {{ {FIELDS} maybe {{ key }} }} }}",
    f"{{ some {{ {FIELDS} maybe {{ key }} }} }}",
    f"{{ page {{ rows {{ {FIELDS} }} info {{ key value }} }} }}",
    f"{{ soon {{ {FIELDS} }} }}",
    f"{{ some {{ a: text b: text __typename {LEAVES} }} }}",
    f"{{ table {{ {LEAVES} tags {{ key }} }} }}",
    f"{{ some {{ {LEAVES} owner {{ key value }} tags {{ value }} }} }}",
    f"{{ some {{ {LEAVES} holder {{ key }} page {{ rows {{ number }} info {{ key }} }} }} }}",
    "{ some { number page(first: 9) { rows { number text late } } } }",
]


class Word(StrEnum):
    ONE = "one"


class Text(str):
    __slots__ = ()


class Rows(list[Any]):
    pass


def raise_error(message: str) -> Any:
    raise ValueError(message)


# Attributes with values that do not fit their type, created for each run.
ODD: list[tuple[str, Callable[[], Any]]] = [
    ("id", lambda: 7),
    ("id", lambda: None),
    ("text", lambda: None),
    ("text", lambda: 5),
    ("text", lambda: Text("text")),
    ("text", lambda: Word.ONE),
    ("text", lambda: ["text"]),
    ("text", lambda: ValueError("given")),
    ("perhaps", lambda: "there"),
    ("perhaps", dict),
    ("number", lambda: 2**31),
    ("number", lambda: -(2**31)),
    ("number", lambda: True),
    ("number", lambda: "3"),
    ("share", lambda: 2),
    ("share", lambda: float("nan")),
    ("share", lambda: float("-inf")),
    ("flag", lambda: 1),
    ("flag", lambda: None),
    ("tags", lambda: None),
    ("tags", lambda: (tag(), tag("second", None))),
    ("tags", lambda: Rows([tag()])),
    ("tags", lambda: (tag() for _ in range(2))),
    ("tags", lambda: {"key": "k"}),
    ("tags", lambda: [tag(), {"key": "k", "value": "v"}]),
    ("tags", lambda: [tag(), tag(None)]),
    ("tags", lambda: [None]),
    ("best", tag),
    ("best", lambda: {"key": "k", "value": "v"}),
    ("best", lambda: tag(3, 4)),
    ("best", lambda: ValueError("best")),
    ("words", list),
    ("words", lambda: {"only"}),
    ("words", lambda: ["a", None]),
    ("words", lambda: "word"),
    ("maybe", lambda: [tag(), None]),
    ("maybe", list),
    ("maybe", lambda: [tag(None), tag()]),
]
ROWS: list[Callable[[int], Any]] = [
    lambda number: None,
    lambda number: ValueError("no row"),
    lambda number: {"number": number},
    lambda number: row(number, RaisingObject),
    lambda number: object(),
    lambda number: "row",
]


WAITING: list[tuple[str, Callable[[], Any]]] = [
    ("text", lambda: AwaitableValue(lambda: "awaited", 1)),
    ("text", lambda: AwaitableValue(lambda: raise_error("awaited"), 1)),
    ("tags", lambda: [AwaitableValue(tag, 2), tag()]),
    ("best", lambda: AwaitableValue(tag, 1)),
]
Change = Callable[[int], Any]


def change_attribute(name: str, make: Callable[[], Any]) -> Change:
    return lambda number: row(number, **{name: make()})


AT_ONCE: list[Change] = [*(change_attribute(name, make) for name, make in ODD), *ROWS]
AWAITED: list[Change] = [
    *(change_attribute(name, make) for name, make in WAITING),
    lambda number: AwaitableValue(lambda: row(number), 2),
]


async def compare(text: str, make: Callable[[], Context], *, in_order: bool) -> None:
    document, plain = compile_document(text)
    expected = await run_reference(SCHEMA, document, context=make())
    assert_alike(expected, await plain.answer(None, make()), in_order=in_order)
    # A new compilation each time: after several refusals msgspec would not be tried.
    written = await run_compiled(SCHEMA, document, context=make(), written=True)
    assert_alike(expected, written, in_order=in_order)


PLACES = (0, 5, 11)


@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("index", range(len(AT_ONCE) + len(AWAITED)))
async def test_one_odd_row_is_answered_as_ever(place: int, index: int) -> None:
    change = [*AT_ONCE, *AWAITED][index]

    def make() -> Context:
        return Context([change(n) if n == place else row(n) for n in range(12)])

    # Each change meets all documents in some place, and the next one the same in others.
    for text in DOCUMENTS[:6][(index + PLACES.index(place)) % 3 :: 3]:
        await compare(text, make, in_order=change not in AWAITED)


@settings(max_examples=60)
@given(
    changes=st.lists(st.none() | st.sampled_from([*AT_ONCE, *AWAITED]), max_size=14),
    text=st.sampled_from(DOCUMENTS),
)
async def test_lists_of_any_rows_are_answered_as_ever(
    changes: list[Change | None], text: str
) -> None:
    def make() -> Context:
        return Context([(change or row)(n) for n, change in enumerate(changes)])

    await compare(text, make, in_order=False)


@pytest.mark.parametrize("kind", [list, tuple, Rows, iter, set])
async def test_lists_of_any_kind_are_answered_as_ever(kind: Callable[[Any], Any]) -> None:
    for text in DOCUMENTS[:4]:
        await compare(text, lambda: Context(kind([row(1)] * 9)), in_order=True)


def run(text: str, **options: Any) -> CompiledOperation:
    document = parse(text)
    made = ExecutionOptions(schema=SCHEMA, **options)
    return CompiledOperation(made, document, operation_of(document), Counter())


async def test_a_list_of_plain_objects_is_written_at_once() -> None:
    result: Any = run(DOCUMENTS[0], lists=list_encoder_of)({}, Context([row(n) for n in range(8)]))
    assert type(result.data["rows"]) is Fragment
    awaited: Any = await await_result(
        run(DOCUMENTS[3], lists=list_encoder_of)({}, Context([row(n) for n in range(8)]))
    )
    assert type(awaited.data["soon"]) is Fragment
    few: Any = run(DOCUMENTS[0], lists=list_encoder_of)({}, Context([row(n) for n in range(7)]))
    assert type(few.data["rows"]) is list
    plain: Any = run(DOCUMENTS[0])({}, Context([row(n) for n in range(8)]))
    assert result.data != plain.data == orjson.loads(orjson.dumps(result.data))


def test_a_list_that_is_refused_often_is_tried_no_more() -> None:
    asked = run("{ rows { text } }", lists=list_encoder_of)
    rows = [row(n) for n in range(8)]
    for tried in (7, 7, 8, 1):
        for _ in range(tried):
            odd: Any = asked({}, Context([*rows, row(8, text=5)]))
            assert odd.data == {"rows": [*[{"text": "text"}] * 8, {"text": "5"}]}
        fine: Any = asked({}, Context(rows))
        assert type(fine.data["rows"]) is (Fragment if tried == 7 else list)


def test_rows_of_several_types_are_plain() -> None:
    class Other(AttributeObject):
        pass

    rows = [row(n, (AttributeObject, Other)[n % 2], text="other") for n in range(9)]
    left: Counter[FallbackReason] = Counter()
    document = parse("{ rows { text number } }")
    operation = CompiledOperation(
        ExecutionOptions(schema=SCHEMA), document, operation_of(document), left
    )
    result: Any = operation({}, Context(rows))
    assert result.data == {"rows": [{"text": "other", "number": n} for n in range(9)]}
    assert left == {}


OWNERS = "{ some { number owner { key } } }"


@pytest.mark.parametrize("give", [at_once, later])
async def test_a_batched_field_is_asked_for_the_rows_that_are_plain(give: Give) -> None:
    def make() -> Context:
        rows = [row(0), None, row(2, number=True), row(3), row(4, number=None), row(5)]
        return Context(rows, lambda found: give([tag(f"owner {one.number}") for one in found]))

    context = make()
    found = await run_compiled(SCHEMA, parse(OWNERS), context=context)
    assert context.batches == [[0, True, 3, 5]]
    if give is at_once:
        assert_alike(
            await run_reference(SCHEMA, parse(OWNERS), context=make()), found, in_order=True
        )
    assert [error[:2] for error in found.errors] == [
        (("some", 4, "number"), "Cannot return null for non-nullable field Row.number.")
    ]


@pytest.mark.parametrize("give", [at_once, later])
async def test_one_failure_in_a_batch_is_its_own(give: Give) -> None:
    def owners(found: Sequence[Any]) -> Any:
        odd: dict[int, Any] = {1: ValueError("no owner"), 2: None, 3: tag(None), 4: tag(7)}
        return give([odd.get(one.number, tag()) for one in found])

    def run_query(text: str) -> Any:
        return run_compiled(
            SCHEMA, parse(text), context=Context([row(n) for n in range(6)], owners)
        )

    failed = ("no owner", "Cannot return null for non-nullable field Tag.key.")
    null = "Cannot return null for non-nullable field Row.holder."
    found = await run_query("{ some { owner { key } } }")
    keys = ["k", None, None, None, "7", "k"]
    assert orjson.loads(found.data) == {
        "some": [{"owner": None if key is None else {"key": key}} for key in keys]
    }
    assert [(error[0][1], error[1]) for error in found.errors] == [(1, failed[0]), (3, failed[1])]
    found = await run_query("{ some { late holder { key } } }")
    assert [one and one["holder"]["key"] for one in orjson.loads(found.data)["some"]] == keys
    assert sorted((error[0][1], error[1]) for error in found.errors) == [
        (1, failed[0]),
        (2, null),
        (3, failed[1]),
    ]


@pytest.mark.parametrize(
    "owners",
    [lambda _: raise_error("all"), lambda _: [tag()], lambda rows: later(rows[1:]), lambda _: 5],
)
async def test_a_batch_that_fails_takes_away_what_may_not_be_null(owners: Any) -> None:
    for text, data in (
        ("{ some { owner { key } } }", {"some": [{"owner": None}] * 3}),
        ("{ some { holder { key } } }", {"some": [None] * 3}),
        ("{ rows { holder { key } } }", None),
    ):
        context = Context([row(n) for n in range(3)], owners)
        found = await run_compiled(SCHEMA, parse(text), context=context)
        assert orjson.loads(found.data) == data
        assert len(found.errors) == (1 if data is None else 3)


def test_nothing_waits_for_a_batch_that_is_there_at_once() -> None:
    text = "{ some { number page { rows { holder { key } } } } }"
    context = Context([row(n) for n in range(2)])
    result: Any = run(text)({}, context)
    page = {"rows": [{"holder": {"key": "owner"}}] * 2}
    assert result.data == {"some": [{"number": n, "page": page} for n in range(2)]}
    assert context.batches == [[0, 1, 0, 1]]


@pytest.mark.parametrize("variables", [{}, {"a": None}, {"a": 4, "f": 1}, {"f": 2}])
async def test_each_object_is_passed_the_arguments_and_its_place(variables: Any) -> None:
    fields = "number page(first: $f, at: $a) { info { key } } other: page { info { key } }"
    document = parse(f"query ($a: Int, $f: Int! = 2) {{ some {{ {fields} }} }}")
    one, other = Context([row(n) for n in range(4)]), Context([row(n) for n in range(4)])
    expected = await run_reference(SCHEMA, document, variables, one)
    for _ in range(2):
        other.asked.clear()
        assert await run_compiled(SCHEMA, document, variables, other) == expected
        assert other.asked == one.asked
    assert [place for *_, place in one.asked][:2] == [["some", 0, "page"], ["some", 0, "other"]]

"""Compiled execution and graphql-core give the same answers for random schemas and data."""

from random import Random
from typing import Any

import pytest
from graphql import parse
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphql_jit.executor_comparison import assert_alike, run_compiled, run_reference
from tests.graphql_jit.random_schemas import DocumentMaker, SchemaMaker, ValueSource

VARIABLES: list[dict[str, Any]] = [
    {},
    {"a": 5, "b": ["RED"]},
    {"yes": False, "no": True, "b": ["BLUE", "RED"]},
]


async def compare(seed: int, faults: int, waits: int, operation: str) -> None:
    random, source = Random(seed), ValueSource(seed, faults, waits)
    schema = SchemaMaker(source, random).schema()
    kind = schema.query_type if operation == "query" else schema.mutation_type
    document = parse(DocumentMaker(schema, random).document(kind, operation))
    variables, root = VARIABLES[seed % len(VARIABLES)], source.make_object(kind, ("root",), random)
    expected = await run_reference(schema, document, variables, root=root)
    found = await run_compiled(schema, document, variables, root=root)
    assert_alike(expected, found, in_order=False)


@pytest.mark.thorough
@pytest.mark.parametrize("operation", ["query", "mutation"])
@pytest.mark.parametrize(("faults", "waits"), [(0, 0), (0, 30), (8, 0), (8, 30), (30, 50)])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
async def test_both_executors_answer_alike(
    seed: int, faults: int, waits: int, operation: str
) -> None:
    await compare(seed, faults, waits, operation)

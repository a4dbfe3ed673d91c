"""Formulas of requests are worked on in the formula threads, and in no other thread."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.parsed_modules import parse_module

PRODUCT = Path(__file__).parents[3]
FLOORS = ("server", "schema", "resolvers", "datastore", "transform", "formula")
PARSER = "penstock.formula.syntax.parser"
THREADS = "penstock.datastore.formulas.threads"
ABOUT_FORMULAS = ("penstock.formula.", "penstock.transform.", "penstock.datastore.formulas.")
OTHER_THREADS = {"to_thread", "run_in_executor", "ThreadPoolExecutor", "Thread", "TurnThreads"}
ALLOWED = {
    "penstock.datastore.executions.workers.run_one": "a worker's execution, which is no request",
    "penstock.datastore.executions.workers.row_engine": "a worker's execution, which is no request",
    "penstock.server.runtime.core_engine": "a worker's execution, which is no request",
    THREADS: "the formula threads",
}


@cache
def modules() -> dict[str, ast.Module]:
    """Return the modules of the product, by their names."""
    files = (file for floor in FLOORS for file in sorted((PRODUCT / floor).rglob("*.py")))
    return {
        ".".join(("penstock", *file.relative_to(PRODUCT).with_suffix("").parts)): parse_module(file)
        for file in files
    }


@cache
def imports(module: str) -> dict[str, str]:
    """Return what a module imports from the product: the module of each name."""
    found = {}
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                inside = f"{node.module}.{one.name}"
                source = inside if inside in modules() else node.module
                if source in modules():
                    found[one.asname or one.name] = source
    return found


def reaches_parser(module: str) -> bool:
    """Whether a module imports the parser, directly or through others."""
    seen, waiting = {module}, [module]
    while waiting:
        fresh = set(imports(waiting.pop()).values()) - seen
        seen |= fresh
        waiting += fresh
    return PARSER in seen


def names_in(node: ast.AST) -> Iterator[str]:
    """Yield the names in some code, and the last parts of dotted ones."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def formulas_elsewhere(module: str) -> Iterator[str]:
    """Yield the places where a module gives work on formulas to another thread.

    That is a function from a module that reaches the parser, or one of its own if the module
    imports from the folders about formulas.
    """
    known = imports(module)
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.Call) and OTHER_THREADS & set(names_in(node.func)):
            given = [name for one in (*node.args, *node.keywords) for name in names_in(one)]
            imported = {known[name] for name in given[:1] if name in known}
            near = {one for one in known.values() if one.startswith(ABOUT_FORMULAS)}
            if any(map(reaches_parser, imported or near)):
                yield f"{module}:{node.lineno}"


def test_formulas_run_in_no_thread_but_their_own() -> None:
    found = {one for module in modules() for one in formulas_elsewhere(module)}
    assert {one for one in found if one.partition(":")[0] not in ALLOWED} == set()


def test_the_exceptions_are_still_there() -> None:
    threaded = {name for name, tree in modules().items() if OTHER_THREADS & set(names_in(tree))}
    assert set(ALLOWED) <= threaded
    assert list(formulas_elsewhere("penstock.datastore.executions.workers.run_one")) != []

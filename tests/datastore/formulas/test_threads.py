"""Formulas of requests are worked on in the formula threads, and in no other thread."""

import ast
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

from tests.support.parsed_modules import parse_module, parse_naming

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


def files() -> dict[str, Path]:
    """Return the files of the product, by the names of their modules."""
    return {
        ".".join(("penstock", *file.relative_to(PRODUCT).with_suffix("").parts)): file
        for floor in FLOORS
        for file in sorted((PRODUCT / floor).rglob("*.py"))
    }


@cache
def imports_of_all() -> dict[str, dict[str, str]]:
    """Return what each module imports from the product: the module of each name."""
    known = files()
    return {
        module: dict(_imports_from(parse_module(file), known)) for module, file in known.items()
    }


def _imports_from(tree: ast.Module, known: Container[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                inside = f"{node.module}.{one.name}"
                source = inside if inside in known else node.module
                if source in known:
                    yield one.asname or one.name, source


@cache
def threaded_modules() -> dict[str, ast.Module]:
    """Parse the modules that may give work to another thread."""
    trees = {module: parse_naming(file, OTHER_THREADS) for module, file in files().items()}
    return {module: tree for module, tree in trees.items() if tree}


def reaches_parser(module: str) -> bool:
    """Whether a module imports the parser, directly or through others."""
    seen, waiting = {module}, [module]
    while waiting:
        fresh = set(imports_of_all()[waiting.pop()].values()) - seen
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
    known = imports_of_all()[module]
    for node in ast.walk(threaded_modules()[module]):
        if isinstance(node, ast.Call) and OTHER_THREADS & set(names_in(node.func)):
            given = [name for one in (*node.args, *node.keywords) for name in names_in(one)]
            imported = {known[name] for name in given[:1] if name in known}
            near = {one for one in known.values() if one.startswith(ABOUT_FORMULAS)}
            if any(map(reaches_parser, imported or near)):
                yield f"{module}:{node.lineno}"


def test_formulas_run_in_no_thread_but_their_own() -> None:
    found = {one for module in threaded_modules() for one in formulas_elsewhere(module)}
    assert {one for one in found if one.partition(":")[0] not in ALLOWED} == set()


def test_the_exceptions_are_still_there() -> None:
    threaded = {
        name for name, tree in threaded_modules().items() if OTHER_THREADS & set(names_in(tree))
    }
    assert set(ALLOWED) <= threaded
    assert list(formulas_elsewhere("penstock.datastore.executions.workers.run_one")) != []

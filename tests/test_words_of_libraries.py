"""Answers do not repeat the words of libraries: those tell of the program, and change with it.

The sources are read: whatever says `str(error)` of an exception that is not ours, or shows one of
its attributes, is named below with the people who read it, or is a fault.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.parsed_modules import parse_module

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = (
    "datastore",
    "formula",
    "graphql_jit",
    "resolvers",
    "schema",
    "server",
    "transform",
)
OPERATORS: Final = ("server/commands/", "server/pages/", "server/settings/", "server/samples/")
"""Commands, and what they load: their words go to the terminal of an operator."""

_OPERATOR: Final = "the terminal or the log of an operator"
_INSIDE: Final = "an exception inside the server, which is logged"
_LOOKED_AT: Final = "nobody: only words that are known are looked for"
_OWN: Final = "anybody, but the words are our own"

READ_BY: Final = {
    ("datastore/dynamodb/connections.py", "HttpConnection.data_received"): _INSIDE,
    ("datastore/dynamodb/failures.py", "own_credentials"): _INSIDE,
    ("datastore/dynamodb/responses.py", "_decode_object"): _INSIDE,
    ("datastore/input_files/excel.py", "_describe"): _OWN,
    ("datastore/input_files/parquet.py", "read_parquet"): _LOOKED_AT,
    ("datastore/logged_errors.py", "_words_of_system"): _INSIDE,
    ("datastore/logged_errors.py", "describe_error"): _INSIDE,
    ("datastore/moving/archive.py", "Archive.read_part"): _OPERATOR,
    ("datastore/moving/archive.py", "Archive.vault_key"): _OPERATOR,
    ("datastore/moving/backup.py", "check_backup"): _OPERATOR,
    ("datastore/ngsi/adoption/foreign_items.py", "read_foreign_item"): _OPERATOR,
    ("datastore/sqlite/copy_file.py", "copy_database"): _OPERATOR,
    ("datastore/unreadable_json.py", "place_of_value"): _LOOKED_AT,
    ("formula/functions/regex.py", "_compile"): _LOOKED_AT,
    ("server/app_options.py", "read_persisted"): _OPERATOR,
    ("server/auth/dev_sessions.py", "issue_code"): _OPERATOR,
    ("server/auth/dev_tokens.py", "dev_key"): _OPERATOR,
    ("server/core/command_output.py", "_describe_failure_of_machine"): _OPERATOR,
    ("server/core/command_output.py", "_describe_file_failure"): _OPERATOR,
    ("server/core/command_output.py", "describe_failure"): _OPERATOR,
    ("server/runtime/listeners.py", "_bind"): _OPERATOR,
    ("server/streams/websocket.py", "_closing_for"): _OWN,
    ("transform/header.py", "describe_malformed"): _LOOKED_AT,
    ("transform/row_identity.py", "IdentityCheck._group_problem"): _OWN,
}
"""The functions that repeat words, with those who read them."""

_WORDS: Final = frozenset(
    ("args", "description", "detail", "msg", "reason", "strerror", "error", "problem")
)
"""The attributes of exceptions that hold words."""

_CLASS: Final = re.compile(r"^\s*class (\w+)", re.MULTILINE)
_CAUGHT: Final = re.compile(r"\bas (\w+):")
_ARGUMENT: Final = re.compile(r"\b(\w+): [\w. |\[\]]*(?:Error|Exception)\b")
_SPOKEN: Final = re.compile(
    rf"\b(?:str|repr|format)\((\w+)|\{{(\w+)[!:}}.]|\b(\w+)\.(?:{'|'.join(sorted(_WORDS))})\b"
)

_LOGGERS: Final = frozenset(("_log", "log", "logger", "_logger"))


class RepeatedWords(NamedTuple):
    """A place that repeats the words of an exception that is not ours."""

    path: str
    function: str
    line: int


def read_sources() -> tuple[dict[str, ast.Module], set[str]]:
    """Parse the sources that may repeat words; also return the names of all classes of our own."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found: dict[str, ast.Module] = {}
    own: set[str] = set()
    for path in paths:
        name, text = path.relative_to(ROOT).as_posix(), path.read_text()
        if "node_modules" in name or name.startswith(OPERATORS):
            continue
        own |= {*_CLASS.findall(text)}
        if _may_repeat(text):
            found[name] = parse_module(path)
    return found, own


def _may_repeat(text: str) -> bool:
    """Whether a source makes a text of what it calls an exception; parsing all takes seconds."""
    bound = {*_CAUGHT.findall(text), *_ARGUMENT.findall(text)}
    return any(name in bound for names in _SPOKEN.findall(text) for name in names)


def find_repeated(sources: dict[str, ast.Module], own: set[str]) -> list[RepeatedWords]:
    return [
        RepeatedWords(path, name, line)
        for path, tree in sources.items()
        for name, function in _functions(tree)
        for line in sorted({*_repeated_lines(function, own)})
    ]


def _functions(
    node: ast.AST, outer: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{outer}{child.name}", child
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{outer}{child.name}.")
        else:
            yield from _functions(child, outer)


def _repeated_lines(
    function: ast.FunctionDef | ast.AsyncFunctionDef, own: set[str]
) -> Iterator[int]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    for argument in arguments:
        if argument.annotation is not None and _may_be_foreign(argument.annotation, own):
            for statement in function.body:
                yield from _spoken_lines(statement, argument.arg)
    for node in _walk_within(function):
        if isinstance(node, ast.ExceptHandler) and node.name is not None:
            names = _type_names(node.type)
            if not all(name in own for name in names):
                for statement in node.body:
                    yield from _spoken_lines(statement, node.name)


def _walk_within(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _walk_within(child)


def _may_be_foreign(annotation: ast.expr, own: set[str]) -> bool:
    names = _type_names(annotation)
    return any(name.endswith(("Error", "Exception")) and name not in own for name in names)


def _type_names(node: ast.expr | None) -> list[str]:
    """The names of the types in an annotation or behind `except`; `?` for what is no name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.Tuple(elts=parts):
            return [name for part in parts for name in _type_names(part)]
        case ast.BinOp(left=left, right=right):
            return [*_type_names(left), *_type_names(right)]
    return ["?"]


def _spoken_lines(node: ast.AST, name: str) -> Iterator[int]:
    """The lines that make a text of the exception, but for those that only log it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=logger))) if logger in _LOGGERS:
            return
        case ast.Call(func=ast.Name(id="str" | "repr" | "format"), args=[ast.Name(id=spoken), *_]):
            if spoken == name:
                yield node.lineno
        case ast.FormattedValue(value=ast.Name(id=spoken)) if spoken == name:
            yield node.lineno
        case ast.Attribute(value=ast.Name(id=spoken), attr=attribute) if spoken == name:
            if attribute in _WORDS:
                yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _spoken_lines(child, name)


@cache
def find_in_sources() -> tuple[RepeatedWords, ...]:
    return tuple(find_repeated(*read_sources()))


def test_no_answer_repeats_the_words_of_a_library() -> None:
    found = [one for one in find_in_sources() if (one.path, one.function) not in READ_BY]
    assert found == []


def test_each_exception_from_the_rule_is_still_there() -> None:
    found = {(one.path, one.function) for one in find_in_sources()}
    assert READ_BY.keys() - found == set()


@pytest.mark.parametrize(
    "body",
    [
        "    except ValueError as bad:\n        raise Own(str(bad))",
        "    except ValueError as bad:\n        return f'it fails: {bad}'",
        "    except ValueError as bad:\n        return f'it fails: {bad!r:>5}'",
        "    except (Own, json.JSONDecodeError) as bad:\n        return bad.msg",
        "    except OSError as bad:\n        return bad.strerror or 'no'",
        "    except FAILURES as bad:\n        return bad.args[0]",
    ],
)
def test_words_of_a_library_are_found(body: str) -> None:
    source = f"def call():\n    try:\n        work()\n{body}\n"
    assert _may_repeat(source)
    assert [one.function for one in find_repeated({"a.py": ast.parse(source)}, {"Own"})] == ["call"]


def test_words_of_an_argument_are_found() -> None:
    source = "class A:\n    def say(self, bad: Exception | None) -> str:\n        return str(bad)\n"
    assert _may_repeat(source)
    assert find_repeated({"a.py": ast.parse(source)}, {"Own"}) == [
        RepeatedWords("a.py", "A.say", 3)
    ]


@pytest.mark.parametrize(
    "body",
    [
        "    except Own as bad:\n        return str(bad)",
        "    except ValueError as bad:\n        logger.warning('it fails: %s', str(bad))",
        "    except ValueError as bad:\n        return Own('it fails') if bad else None",
    ],
)
def test_own_words_and_logs_are_no_fault(body: str) -> None:
    source = f"def call():\n    try:\n        work()\n{body}\n"
    assert find_repeated({"a.py": ast.parse(source)}, {"Own"}) == []

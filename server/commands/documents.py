"""`penstock documents`: the list of trusted documents, which alone run on a server that has one."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from cyclopts import App, Parameter
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    Visitor,
    parse,
    visit,
)

from penstock.datastore.text import say_count
from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.schema import schema
from penstock.schema.engine.documents import DocumentCache
from penstock.server.app_options import limits_of
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode, put_in_line
from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings

documents = App(name="documents", help="Keep the list of the documents that a server trusts.")

_SUFFIXES = (".graphql", ".gql")
_MANIFEST = "persisted-documents.json"

_FOLDER_HELP = f"""Folder of a client. Each `*.graphql` or `*.gql` in it with an operation is a
document, and so is each text in a `{_MANIFEST}` of graphql-codegen. Fragments may lie in
other files of the folder."""
_OUTPUT_HELP = f"JSON file of the list. By default `{PREFIX}TRUSTED_DOCUMENTS`."
_PRUNE_HELP = """Remove documents that the folder no longer has. Without it they stay, because older
releases of the client still send them."""
_CHECK_HELP = "Change nothing; exit with 1 if the list lacks a document or has one too many."


class ClientDocument(NamedTuple):
    """A document of a client: its id, its text, and the file that has it."""

    id: str
    text: str
    path: Path


@documents.command
def sync(
    folder: Annotated[Path, Parameter(help=_FOLDER_HELP)],
    /,
    *,
    output: Annotated[Path | None, Parameter(help=_OUTPUT_HELP)] = None,
    prune: Annotated[bool, Parameter(help=_PRUNE_HELP)] = False,
    check: Annotated[bool, Parameter(help=_CHECK_HELP)] = False,
) -> CommandOutput:
    """Write the documents of a client into the list of trusted documents.

    Every document is checked as the server checks it; with a bad one the list stays as it was. The
    id of a document is its SHA-256 in hex. Servers read the list when they start.
    """
    settings = Settings.load()
    output = output or settings.trusted_documents
    if output is None:
        words = f"No list is named: give --output or {PREFIX}TRUSTED_DOCUMENTS."
        raise CommandFailed(words, code=ExitCode.USAGE)
    found = read_documents(folder)
    if not found:
        raise CommandFailed(f"{folder} has no documents.")
    check_documents(found, settings)
    listed = read_list(output)
    wanted = {one.id: one.text for one in found}
    added = sorted(wanted.keys() - listed.keys())
    gone = sorted(listed.keys() - wanted.keys())
    removed = gone if prune else []
    if check:
        is_current = not added and not removed
        return _output(output, found, added, removed, "would be ", is_current=is_current)
    kept = {id: text for id, text in listed.items() if id not in removed}
    if added or removed:
        write_list(output, kept | wanted)
    return _output(output, found, added, removed)


def read_documents(folder: Path) -> list[ClientDocument]:
    """Return the documents of a folder, in order of path; raises CommandFailed for a bad file."""
    if not folder.is_dir():
        raise CommandFailed(f"{folder} is no folder.", code=ExitCode.USAGE)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    trees = {path: _parse_file(path) for path in paths if path.suffix in _SUFFIXES}
    fragments = {
        node.name.value: (path, node)
        for path, tree in trees.items()
        for node in tree.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    found = [
        _with_fragments(path, tree, fragments)
        for path, tree in trees.items()
        if any(isinstance(node, OperationDefinitionNode) for node in tree.definitions)
    ]
    for path in paths:
        if path.name == _MANIFEST:
            found.extend(ClientDocument(id, text, path) for id, text in read_list(path).items())
    return found


def _parse_file(path: Path) -> DocumentNode:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise CommandFailed(f"{path} is not in UTF-8.") from None
    except GraphQLSyntaxError as error:
        places = [f":{place.line}:{place.column}" for place in error.locations or ()]
        raise CommandFailed(f"{path}{''.join(places)}: {error.message}") from None


class _SpreadNames(Visitor):
    """Collects the names of the fragments that a tree spreads."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> None:
        self.names.append(node.name.value)


def _spread_names(tree: DocumentNode | FragmentDefinitionNode) -> list[str]:
    collector = _SpreadNames()
    visit(tree, collector)
    return collector.names


def _with_fragments(
    path: Path, tree: DocumentNode, fragments: Mapping[str, tuple[Path, FragmentDefinitionNode]]
) -> ClientDocument:
    """Return a file as a document, with the fragments of other files behind its own text."""
    parts = [path.read_text(encoding="utf-8").strip()]
    waiting, seen = _spread_names(tree), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in fragments:
            continue
        seen.add(name)
        place, node = fragments[name]
        if place != path and node.loc is not None:
            parts.append(node.loc.source.body[node.loc.start : node.loc.end])
            waiting.extend(_spread_names(node))
    text = "\n\n".join([parts[0], *sorted(parts[1:])])
    return ClientDocument(sha256(text.encode()).hexdigest(), text, path)


def check_documents(found: list[ClientDocument], settings: Settings) -> None:
    """Check all documents as the server does; raises CommandFailed with all that is wrong."""
    cache = DocumentCache(schema, limits_of(settings))
    problems = [line for one in found for line in _problems_of(one, cache)]
    if problems:
        raise CommandFailed(*problems)


def _problems_of(one: ClientDocument, cache: DocumentCache) -> Iterator[str]:
    for error in cache.get(one.text).errors:
        places = error.get("locations") or [{}]
        line, column = places[0].get("line"), places[0].get("column")
        place = f":{line}:{column}" if line and one.path.name != _MANIFEST else ""
        yield f"{one.path}{place}: {error['message']}"


def read_list(path: Path) -> dict[str, str]:
    """Return the texts of a list by their ids, none if it does not exist; CommandFailed if bad."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except JSON_ERRORS as error:
        message = f"{path} is no JSON object from ids to texts: {error}"
        raise CommandFailed(message) from None


def write_list(path: Path, texts: Mapping[str, str]) -> None:
    """Write the list in one step: a server that starts meanwhile reads the old or the new one."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(json.dumps(dict(sorted(texts.items())), indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def _output(
    output: Path,
    found: list[ClientDocument],
    added: list[str],
    removed: list[str],
    mood: str = "",
    *,
    is_current: bool = True,
) -> CommandOutput:
    places = {one.id: one.path for one in found}
    lines = [put_in_line(f"+ {id[:12]}  {places[id]}") for id in added]
    lines += [f"- {id[:12]}" for id in removed]
    documents = say_count(len(found), "document")
    counts = f"{documents}, {len(added)} {mood}added, {len(removed)} {mood}removed"
    data = {"list": str(output), "documents": len(found), "added": added, "removed": removed}
    code = ExitCode.OK if is_current else ExitCode.FAILED
    return CommandOutput("\n".join([*lines, f"{output}: {counts}."]), data, code)

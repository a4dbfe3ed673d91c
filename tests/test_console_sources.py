"""The console's sources: types, rules, form, its own tests, what is generated, and the budget."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from graphql import build_schema, parse, validate

from penstock.formula.functions.catalogue import FUNCTIONS
from penstock.server.console import read_documents
from penstock.server.pages.build import find_tools
from tests.install import ROOT, skip_reason
from tests.support.patience import HUNG_SECONDS

FOLDER = "console"
KIB = 1024
COMMANDS: dict[str, Sequence[str]] = {
    "types_and_rules": ("node_modules/oxlint/bin/oxlint", "--deny-warnings"),
    "form": ("node_modules/prettier/bin/prettier.cjs", "--check", "."),
    "logic": ("node_modules/vitest/vitest.mjs", "run", "--no-cache"),
}


def run_node(*command: str, folder: Path = ROOT / FOLDER) -> "subprocess.CompletedProcess[str]":
    if reason := skip_reason(FOLDER):
        pytest.skip(reason)
    return subprocess.run(
        [*find_tools().node, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=HUNG_SECONDS,
    )


def read_sources(folder: Path) -> Iterator[Path]:
    """Return every file that a check reads, in order; npm's record stands for the packages."""
    for path in sorted(folder.iterdir()):
        if path.name == "node_modules":
            yield path / ".package-lock.json"
        elif path.is_dir():
            yield from read_sources(path)
        else:
            yield path


def digest_inputs(folder: Path, *more: str) -> str:
    """Return the digest of all that decides a check: `more`, packages and sources."""
    digest = sha256(repr(more).encode())
    for path in read_sources(folder):
        content = sha256(path.read_bytes()).hexdigest()
        digest.update(f"\n{path.relative_to(folder)} {content}".encode())
    return digest.hexdigest()


@pytest.mark.parametrize("check", COMMANDS)
def test_the_sources_of_the_console_pass(check: str) -> None:
    """Checks of the same inputs answer the same, so what has passed is not checked again."""
    node = run_node("--version").stdout
    digest = digest_inputs(ROOT / FOLDER, node, *COMMANDS[check])
    passed = ROOT / ".build" / "console" / f"{check}.passed"
    if passed.is_file() and passed.read_text() == digest:
        return
    ended = run_node(*COMMANDS[check])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    passed.parent.mkdir(parents=True, exist_ok=True)
    passed.write_text(digest)


BROKEN: dict[str, tuple[str, str]] = {
    "eslint(max-lines)": ("long.ts", "// a line\n" * 450 + "export {};\n"),
    "eslint(no-restricted-properties)": (
        "again.ts",
        "export const read = (one: { invalidateQueries(): void }) => { one.invalidateQueries(); };",
    ),
    "import(no-cycle)": (
        "circle.ts",
        'import type { Other } from "./other";\nexport interface One { other: Other | null }',
    ),
    "react-hooks(rules-of-hooks)": (
        "hook.ts",
        'import { useState } from "react";\n'
        "export const useOne = (on: boolean) => { if (on) useState(1); };",
    ),
    "typescript(TS2322)": ("type.ts", 'export const size: number = "1";'),
    "typescript(no-floating-promises)": (
        "floating.ts",
        'export const send = () => { fetch("/"); };',
    ),
}
"""Files that break a rule, by the rule."""


def test_broken_rules_are_noticed(tmp_path: Path) -> None:
    for name in (".oxlintrc.json", "tsconfig.json", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / FOLDER / name)
    (tmp_path / "parts").mkdir()
    imported = 'import type { One } from "./circle";\nexport interface Other { one: One | null }'
    for name, text in (*BROKEN.values(), ("other.ts", imported)):
        (tmp_path / "parts" / name).write_text(text)
    linter, *_ = COMMANDS["types_and_rules"]
    ended = run_node(str(ROOT / FOLDER / linter), "--format=json", "parts", folder=tmp_path)
    problems = json.loads(ended.stdout)["diagnostics"]
    found = {(problem["code"], problem["filename"]) for problem in problems}
    assert {(rule, f"parts/{name}") for rule, (name, _) in BROKEN.items()} <= found, ended.stdout


def test_any_other_source_package_node_or_command_is_checked_anew(tmp_path: Path) -> None:
    for name in ("a.ts", "parts/b.ts", "node_modules/.package-lock.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"1 {name}")
    seen = [digest_inputs(tmp_path, "v22", "tsc"), digest_inputs(tmp_path, "v22", "tsc")]
    assert seen[0] == seen.pop()
    seen += [digest_inputs(tmp_path, "v23", "tsc"), digest_inputs(tmp_path, "v22", "oxlint")]
    for name in ("a.ts", "parts/b.ts", "node_modules/.package-lock.json"):
        (tmp_path / name).write_text(f"2 {name}")
        seen.append(digest_inputs(tmp_path, "v22", "tsc"))
    (tmp_path / "a.ts").rename(tmp_path / "c.ts")
    seen.append(digest_inputs(tmp_path, "v22", "tsc"))
    (tmp_path / ".prettierrc.json").touch()
    seen.append(digest_inputs(tmp_path, "v22", "tsc"))
    assert len(set(seen)) == 8


def test_what_is_generated_from_the_schema_is_current() -> None:
    ended = run_node("generate.mjs", "--check")
    assert ended.returncode == 0, ended.stderr


def test_the_built_console_sends_only_documents_that_fit_the_schema() -> None:
    schema = build_schema((ROOT / "schema.graphql").read_text())
    written = json.loads((ROOT / FOLDER / "graphql/generated/documents.json").read_text())
    documents = read_documents()
    assert documents == written
    assert {key: validate(schema, parse(text)) for key, text in documents.items()} == {
        key: [] for key in documents
    }


def test_the_editor_completes_exactly_the_functions_of_the_language() -> None:
    source = (ROOT / FOLDER / "screens/editor/functions.ts").read_text()
    forms = re.findall(r'^  "(.+)",$', source, re.MULTILINE)
    assert forms == [function.signature for function in FUNCTIONS.values()]


def test_the_built_console_is_within_its_budget() -> None:
    sizes = json.loads((ROOT / "server/console/dist/sizes.json").read_text())
    assert sizes["script"] <= 110 * KIB
    assert sizes["styles"] <= 15 * KIB
    assert sizes["screens"]
    assert max(sizes["screens"].values()) <= 30 * KIB

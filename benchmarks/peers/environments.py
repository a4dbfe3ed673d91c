"""Installs the requirements of the measured servers: npm packages, other Pythons, and Go."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from benchmarks.peers.competitors import HERE, ROOT, Interpreters
from penstock.server.pages.build import Tools, wheel_tools

NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")
REQUIREMENTS = HERE / "requirements.txt"
_GO_PACKAGES = Path("/usr/share/gocode")
"""Where Debian puts the sources of packages in Go."""

_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


class NotInstalled(Exception):
    """A requirement cannot be installed; the message is the output of pip, npm or Python."""


def node() -> str:
    """Install the packages of the lock file; return the path of Node, of one known version."""
    tools = wheel_tools()
    if tools is None:
        raise NotInstalled("no Node in .build/node: `make peers` installs it")
    folder = HERE / "node"
    stamp = folder / "node_modules" / ".installed"
    wanted = sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        _install(tools, folder)
        stamp.write_text(wanted)
    return tools.node[0]


def _install(tools: Tools, folder: Path) -> None:
    _run([*tools.npm, *NPM_CI], folder)


def bun() -> str:
    """The path of Bun, which is one of the packages for Node."""
    for found in sorted((HERE / "node" / "node_modules" / "@oven").glob("bun-*/bin/bun")):
        return str(found)
    raise NotInstalled("there is no Bun for this machine")


def go_server() -> str | None:
    """Build the server in Go; None without Go and Debian's package of graph-gophers."""
    go = shutil.which("go")
    if go is None or not (_GO_PACKAGES / "src/github.com/graph-gophers/graphql-go").is_dir():
        return None
    built = ROOT / ".build" / "peers" / "server"
    caches = {"GO111MODULE": "off", "GOPATH": str(_GO_PACKAGES), "GOCACHE": str(built.parent)}
    command = [go, "build", "-o", str(built), str(HERE / "go" / "server.go")]
    _run(command, ROOT, os.environ | caches)
    return str(built)


def python_of(interpreter: str) -> tuple[str, str]:
    """Create an environment for another Python if necessary; return its path and version."""
    version = version_of(interpreter)
    folder = ROOT / f".venv-peers-{version}"
    python, stamp = folder / "bin" / "python", folder / "installed"
    if not stamp.exists():
        uv = os.environ.get("UV", "uv")
        _run([uv, "venv", "--quiet", "--python", interpreter, str(folder)], ROOT)
        install = [uv, "pip", "install", "--quiet", "--python", str(folder)]
        install += ["-c", "requirements/serving.txt", "-r", str(REQUIREMENTS), "--editable", "."]
        _run(install, ROOT)
        stamp.touch()
    return str(python), version


def version_of(interpreter: str) -> str:
    """The version that an interpreter reports, such as `3.13.0`."""
    return _run([interpreter, "-c", _VERSION], ROOT).strip()


def versions_of(found: Interpreters) -> dict[str, str]:
    """The versions of the programs, by their names."""
    said = {
        "Node": _run([found.node, "--version"], ROOT).strip().removeprefix("v"),
        "Bun": _run([found.bun, "--version"], ROOT).strip(),
    }
    if found.go_server is not None:
        said["Go"] = _run(["go", "env", "GOVERSION"], ROOT).strip().removeprefix("go")
    return said


def _run(command: list[str], where: Path, environment: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, check=True
        )
    except FileNotFoundError as error:
        raise NotInstalled(f"{command[0]} is not here") from error
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"{' '.join(command)}: {error.stderr[-1000:]}") from error
    return done.stdout

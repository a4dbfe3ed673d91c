"""Installs the npm packages of tests and samples if npm is here and some are missing."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from penstock.server.pages.build import BuildError, Tools, find_tools

ROOT = Path(__file__).parents[1]
FOLDERS = ("console", "tests/dynoxide", "tests/http_audit", "tests/sdl", "examples/typescript")
NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")


def main() -> int:
    """Install outdated packages; a failure is only printed, because the tests then skip."""
    stale = [folder for folder in FOLDERS if not is_current(folder)]
    if not stale:
        return 0
    try:
        tools = find_tools()
    except BuildError as error:
        say(f"not installed: {error}")
        return 0
    say(f"installing for {', '.join(stale)}")
    with ThreadPoolExecutor(len(stale)) as pool:
        for failure in pool.map(lambda folder: install(tools, folder), stale):
            if failure is not None:
                say(failure)
    return 0


def install(tools: Tools, folder: str) -> str | None:
    """Install exactly the packages of the folder's lock file; returns the reason of a failure."""
    done = subprocess.run(
        [*tools.npm, *NPM_CI],
        cwd=ROOT / folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        # npm makes no folder if the lock file has nothing for this platform.
        _stamp(folder).parent.mkdir(exist_ok=True)
        _stamp(folder).write_text(_lock_digest(folder))
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("npm error ")]
    return f"{folder} is left out: {'; '.join(errors[:2]) or 'npm failed'}"


def is_current(folder: str) -> bool:
    """Tell whether the folder has the packages of its current lock file."""
    return _stamp(folder).is_file() and _stamp(folder).read_text() == _lock_digest(folder)


def skip_reason(folder: str) -> str | None:
    """Return why tests with the folder's packages cannot run here; None if they can."""
    try:
        find_tools()
    except BuildError as error:
        return str(error)
    return None if is_current(folder) else f"`make tools` has not installed {folder} here"


def say(words: str) -> None:
    sys.stdout.write(f"npm packages: {words}\n")
    sys.stdout.flush()


def _stamp(folder: str) -> Path:
    return ROOT / folder / "node_modules" / ".installed"


def _lock_digest(folder: str) -> str:
    return sha256((ROOT / folder / "package-lock.json").read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())

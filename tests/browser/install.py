"""Installs Debian's Chromium for the browser tests, if that works without questions."""

import os
import shutil
import subprocess
import sys

WITHOUT_WINDOWS = ("chromium-headless-shell", "chrome-headless-shell")
"""Chromium without its windows, which are pages too: it takes half the processor time."""
NAMES = (*WITHOUT_WINDOWS, "chromium", "chromium-browser")

PACKAGE = "chromium-headless-shell"
APT = ("apt-get", "--quiet=2", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20")


def chromium() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install it as root on Debian; elsewhere the browser tests skip with a reason."""
    is_here = any(map(shutil.which, WITHOUT_WINDOWS))
    if is_here or os.geteuid() != 0 or not shutil.which("apt-get"):
        return 0
    if not _install() and not chromium():
        sys.stderr.write("Chromium cannot be installed; the browser tests will skip.\n")
    return 0


def _install() -> bool:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = (["update"], ["install", "--yes", "--no-install-recommends", PACKAGE])
    return all(
        subprocess.run(
            [*APT, *command],
            env=quiet,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode
        == 0
        for command in commands
    )


if __name__ == "__main__":
    sys.exit(main())

"""Installs Debian's Chromium for the browser tests, if that works without questions."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser")


def chromium() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install it as root on Debian; elsewhere the browser tests skip with a reason."""
    if chromium() or os.geteuid() != 0 or not shutil.which("apt-get"):
        return 0
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        done = subprocess.run(
            ["apt-get", "--quiet=2", *command], env=quiet, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            sys.stderr.write("Chromium cannot be installed; the browser tests will skip.\n")
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs graphql-core's own execution tests with compiled execution instead."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OPTIONS = (
    "--override-ini=addopts=",
    "--override-ini=asyncio_mode=auto",
    "-Wignore",
    "-pno:cacheprovider",
    "-pcompiled_plugin",
    "-q",
)


def main(arguments: list[str]) -> int:
    """Download the source distribution, pinned by its digest, and run its tests."""
    with TemporaryDirectory() as directory:
        try:
            source = fetch_distribution(Path(directory))
        except subprocess.CalledProcessError as error:
            print(error.stderr, file=sys.stderr)  # noqa: T201  # it is a command
            return error.returncode
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, *(arguments or ["tests/execution"])],
            cwd=source,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}"},
            check=False,
        )
    return done.returncode


def fetch_distribution(directory: Path) -> Path:
    """Return the unpacked source distribution; CalledProcessError if the download fails."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-binary", "graphql-core", "--require-hashes"]
    subprocess.run(
        [*pip, "--dest", str(directory), "-r", str(HERE / "source.txt")],
        check=True,
        capture_output=True,
        text=True,
    )
    (archive,) = directory.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(directory, filter="data")
    return directory / archive.name.removesuffix(".tar.gz")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

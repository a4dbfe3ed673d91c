"""No test depends on how long ago it was collected."""

import ast
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.parsed_modules import parse_module
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import environment
from tests.support.warm_start import start_program

TESTS = Path(__file__).parent


def places_read(*root: str) -> list[str]:
    """Return the places in tests below a folder that read a clock while they are imported."""
    with TemporaryFile() as output, TemporaryFile() as errors:
        program = start_program(
            "tests.collected_clocks", *root, variables=environment(), output=output, errors=errors
        )
        code = program.wait(HUNG_SECONDS)
        output.seek(0)
        errors.seek(0)
        assert code == 0, errors.read().decode()
        return output.read().decode().split()


def test_no_test_reads_a_clock_while_it_is_imported() -> None:
    assert places_read() == []


def test_a_clock_that_is_read_in_an_import_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "test_a.py").write_text(
        "import time\nfrom datetime import datetime\n\n"
        "def read(at=datetime.now()):\n    return time.time()\n\nclass Late:\n    at = read()\n"
    )
    (folder / "test_b.py").write_text("import time\n\ndef read():\n    return time.time()\n")
    assert places_read(str(tmp_path)) == ["tests/test_a.py:4", "tests/test_a.py:7"]


def test_a_token_outlives_a_slow_run() -> None:
    """A token that is valid lives for the usual twelve hours; others are meant to be old."""
    short = [
        f"{path.relative_to(TESTS)}:{call.lineno}"
        for path in TESTS.rglob("*.py")
        if "sign_dev_token" in path.read_text()
        for call in ast.walk(parse_module(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("sign_dev_token")
        for lifetime in map(ast.unparse, call.args[4:])
        if lifetime != "DEV_TOKEN_LIFETIME" and "-" not in lifetime
    ]
    assert short == []

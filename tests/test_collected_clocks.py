"""No test depends on how long ago it was collected."""

import ast
import subprocess
import sys
from pathlib import Path

from tests.support.server_process import environment

TESTS = Path(__file__).parent


def test_no_test_reads_a_clock_while_it_is_imported() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.collected_clocks"],
        cwd=TESTS.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == []


def test_a_clock_that_is_read_in_an_import_is_found(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from tests import collected_clocks as clocks
clocks.ROOT, clocks.FOLDERS = Path({str(tmp_path)!r}), ({str(tmp_path)!r} + "/tests/",)
sys.modules.pop("tests")
sys.path.insert(0, {str(tmp_path)!r})
print(clocks.places_read())
"""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "test_a.py").write_text(
        "import time\nfrom datetime import datetime\n\n"
        "def read(at=datetime.now()):\n    return time.time()\n\nclass Late:\n    at = read()\n"
    )
    (folder / "test_b.py").write_text("import time\n\ndef read():\n    return time.time()\n")
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=TESTS.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == "['tests/test_a.py:4', 'tests/test_a.py:7']"


def test_a_token_outlives_a_slow_run() -> None:
    """A token that is valid lives for the usual twelve hours; others are meant to be old."""
    short = [
        f"{path.relative_to(TESTS)}:{call.lineno}"
        for path in TESTS.rglob("*.py")
        if "sign_dev_token" in (source := path.read_text())
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("sign_dev_token")
        for lifetime in map(ast.unparse, call.args[4:])
        if lifetime != "DEV_TOKEN_LIFETIME" and "-" not in lifetime
    ]
    assert short == []

"""The profile of requests: every function is in an area, and the shares add up to one."""

from pathlib import Path

import pytest

from benchmarks.peers.query_shapes import SHAPES
from benchmarks.request_profile import Samples, area_of, table
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import environment
from tests.support.warm_start import start_program

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "area"),
    [
        ("server/auth/tokens.py", "caller"),
        ("server/telemetry/operation.py", "log and metrics"),
        ("server/edge/graphql.py", "edge"),
        ("server/edge/response.py", "connection, answers as JSON"),
        ("schema/engine/limits.py", "limits and rates"),
        ("graphql_jit/state.py", "execution"),
        ("benchmarks/peers/records.py", "records"),
        (".venv/lib/python3.11/site-packages/uvicorn/server.py", "connection, answers as JSON"),
    ],
)
def test_a_file_belongs_to_an_area(file: str, area: str) -> None:
    assert area_of(f"{ROOT}/{file}") == area


def test_no_module_of_ours_on_the_way_is_left_over() -> None:
    for folder in ("server", "schema", "graphql_jit", "resolvers", "datastore"):
        for module in (ROOT / folder).rglob("*.py"):
            assert area_of(str(module)) != "other"


def test_shares_are_told_in_percent() -> None:
    samples = Samples()
    samples.functions.update(
        {("<plan>", "root_0"): 3, (f"{ROOT}/server/auth/tokens.py", "authenticate"): 1}
    )
    lines = table({"one object": samples}).splitlines()
    assert "| execution | 75 |" in lines
    assert "| caller | 25 |" in lines
    assert "| edge | 0 |" in lines


def test_every_shape_is_profiled(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    with printed.open("wb") as output:
        program = start_program(
            "benchmarks.request_profile",
            *("--seconds", "0.05", "--quiet"),
            variables=environment(),
            output=output,
            errors=2,
        )
    assert program.wait(HUNG_SECONDS) == 0
    text = printed.read_text()
    assert text.startswith("| % of processor time | one object | 100 objects with tags |")
    assert all(f"\n{shape.title}\n" in text for shape in SHAPES)

"""The benchmark of the guard answers all requests in both ways, and prints its table."""

import pytest

from benchmarks.guarded_connection import BODY, HEAD, WAYS, main, send_requests
from penstock.server.connections.request_head import RequestHead, parse_head


@pytest.mark.parametrize("guarded", [False, True])
async def test_every_request_is_answered(*, guarded: bool) -> None:
    assert await send_requests(5, guarded=guarded) == 5


def test_the_head_is_handed_on_as_it_came() -> None:
    assert parse_head(HEAD) == RequestHead(HEAD, len(BODY))


def test_the_table_has_a_line_for_each_way(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--requests", "2", "--rounds", "1"])
    machine, _, head, _, *lines = capsys.readouterr().out.splitlines()
    assert "Load of the machine before" in machine
    assert head == "| way | µs of processor time for a request |"
    assert [line.split(" | ")[0] for line in lines] == [f"| {name}" for name in WAYS]


def test_the_help_names_the_number_of_requests(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--requests" in capsys.readouterr().out

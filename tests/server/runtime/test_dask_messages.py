"""Calls and results of the cluster as bytes."""

import pickle

import pytest

from penstock.server.runtime.dask import transport
from penstock.server.runtime.dask.tasks import survey
from penstock.server.runtime.dask.transport import (
    PartFailed,
    SourceUrl,
    open_call,
    pack_call,
    unpack_result,
)


def test_a_call_is_made_where_it_is_opened() -> None:
    assert unpack_result(open_call(pack_call(pow, 2, 10))) == 1024


def test_a_failure_of_a_part_is_raised_by_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAUSE", 0.0)
    answer = open_call(pack_call(survey, SourceUrl("http://127.0.0.1:9"), 0, 1))
    with pytest.raises(PartFailed, match="A machine of the cluster cannot read a file"):
        unpack_result(answer)


def test_no_url_can_be_read_off_a_call() -> None:
    call = pack_call(survey, SourceUrl("https://bucket.example/input?signature=secret"), 0, 1)
    assert (b"secret" in call, b"example" in call) == (False, False)


def test_any_machine_can_take_a_call() -> None:
    assert b"penstock" not in pack_call(pow, 1, 1)
    assert b"server" not in pack_call(pow, 1, 1)
    assert open_call is pickle.loads

"""Answers keep to the specification's own schemas, which tell what is wrong."""

from typing import Any

import pytest

from penstock.server.opensubsonic.app import FILE_CALLS, HANDLERS
from tests.server.opensubsonic.players import Player
from tests.server.opensubsonic.specification import describe_fault, specified_calls


def test_every_call_of_the_server_has_a_schema() -> None:
    answered = {*HANDLERS, "getOpenSubsonicExtensions"} - {*FILE_CALLS}
    assert specified_calls() == answered


@pytest.mark.parametrize(
    ("license", "is_right"),
    [({"valid": True}, True), ({}, False), ({"valid": 1}, False), ({"valid": True, "x": 1}, False)],
)
def test_what_differs_is_told(license: dict[str, Any], is_right: bool) -> None:
    head = {"status": "ok", "version": "1.16.1", "type": "x", "serverVersion": "1"}
    answer = {**head, "openSubsonic": True, "license": license}
    assert (describe_fault("getLicense", {"subsonic-response": answer}) is None) is is_right


@pytest.mark.usefixtures("library")
async def test_answers_of_files_and_failures_keep_to_it_too(player: Player) -> None:
    for call in sorted(specified_calls()):
        # Without its parameters a call fails, or lists what there is.
        assert (await player.ask(call))["status"] in ("ok", "failed")

"""Work on many names is done at the turn of the caller, and holds no other call."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastore import text
from penstock.datastore.audio import names
from penstock.datastore.name_search import words
from penstock.server.opensubsonic import elements, search
from tests.server.opensubsonic.players import Player

pytestmark = pytest.mark.usefixtures("library")

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("getArtists", {}),
    ("getIndexes", {}),
    ("getAlbumList2", {"type": "alphabeticalByName"}),
    ("getAlbumList2", {"type": "alphabeticalByArtist"}),
    ("getRandomSongs", {}),
    ("search3", {"query": "mil"}),
    ("search3", {"query": ""}),
]


@pytest.mark.parametrize(("call", "parameters"), CALLS)
async def test_many_names_are_compared_sorted_and_described_in_a_thread(
    player: Player, monkeypatch: pytest.MonkeyPatch, call: str, parameters: dict[str, Any]
) -> None:
    loop, given = threading.get_ident(), list[tuple[bool, str]]()

    def watch(work: Callable[[str], str]) -> Callable[[str], str]:
        def run(name: str) -> str:
            given.append((threading.get_ident() == loop, name))
            return work(name)

        return run

    usual = await player.ask(call, **parameters)
    monkeypatch.setattr(elements, "FEW", 0)
    monkeypatch.setattr(names, "comparison_form", watch(text.comparison_form))
    monkeypatch.setattr(search, "search_form", watch(words.search_form))
    said = await player.ask(call, **parameters)
    if call not in ("getRandomSongs", "getIndexes"):
        assert said == usual
    assert given
    assert [name for in_loop, name in given if in_loop and name] == []

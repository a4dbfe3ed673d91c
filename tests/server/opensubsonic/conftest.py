"""A library of several albums on both stores, and its player."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import add, listener
from tests.server.opensubsonic.players import Player, open_players, player_of

ANN = Caller("ann", {})


@pytest.fixture
async def player(any_store: Store, tmp_path: Path) -> AsyncIterator[Player]:
    """Ann's player, on SQLite and on DynamoDB."""
    async with open_players(any_store, tmp_path / "data") as client:
        yield await player_of(any_store, client, "ann")


@pytest.fixture
async def library(any_store: Store) -> None:
    """Three albums of three artists: two of the Mills, one of them with Zoë, and a compilation."""
    audio = listener(any_store, ANN)
    album = {"album": "Grain", "year": 2001, "genres": ("Folk",)}
    await add(audio, "g1", "Wheat", "The Mill", track=1, **album)
    await add(audio, "g2", "Rye & <Oats>", "The Mill", "Zoë", track=2, **album)
    album = {"album": "Flour", "year": 1999, "genres": ("Folk", "Jazz")}
    await add(audio, "f1", "Stone", "The Mill", track=1, **album)
    album = {"album": "Harvest", "compilation": True, "year": 2010}
    await add(audio, "h1", "Straw", "Zoë", track=1, **album)
    await add(audio, "h2", "Hay", "Abel", track=2, **album)

"""Any history of adds, moves and removals gives the same list as a plain list."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from tests.datastore.playlists.sample_playlists import (
    add_tracks,
    drift,
    ids,
    open_session,
    read_order,
)
from tests.support.stores import open_table

picks = st.integers(0, 30)
steps = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 4), st.none() | picks),
    st.tuples(st.just("move"), st.lists(picks, min_size=1, max_size=4), st.none() | picks),
    st.tuples(st.just("remove"), st.lists(picks, min_size=1, max_size=3), st.none()),
    st.tuples(st.just("at one spot"), st.integers(1, 12), picks),
)


async def step(
    session: Session, target: ChangeTarget, audio: str, model: list[str], one: Sequence[object]
) -> None:
    """Apply a step to the playlist and to the expected list of entry ids."""
    name, what, where = one
    behind = model[where % len(model)] if isinstance(where, int) and model else None
    if name in {"remove", "move"}:
        assert isinstance(what, list)
        chosen = list(dict.fromkeys(model[n % len(model)] for n in what)) if model else []
        if not chosen or behind in chosen:
            return
        if name == "remove":
            await session.playlists.moving.remove(target, chosen)
            model[:] = [id for id in model if id not in chosen]
            return
        await session.playlists.moving.move(target, chosen, behind)
        block = [id for id in model if id in chosen]
        rest = [id for id in model if id not in chosen]
        at = 0 if behind is None else rest.index(behind) + 1
        model[:] = [*rest[:at], *block, *rest[at:]]
        return
    assert isinstance(what, int)
    for size in [what] if name == "add" else [1] * what:
        _, added = await session.playlists.adding.add(target, [audio] * size, behind)
        at = len(model) if behind is None else model.index(behind) + 1
        model[at:at] = ids(added)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(steps, max_size=20))
async def test_any_history_leaves_what_a_plain_list_would_be(
    history: list[Sequence[object]],
) -> None:
    with TemporaryDirectory() as folder:
        async with open_table("sqlite", Path(folder)) as table:
            session = open_session(Store(table))
            (audio,) = await add_tracks(session, 1)
            made = await session.playlists.writing.create("Mix")
            model: list[str] = []
            for one in history:
                await step(session, ChangeTarget(id=made.id), audio, model, one)
            assert ids(await read_order(session, made.id, 7)) == model
            assert await drift(table) == []

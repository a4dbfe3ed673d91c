"""API keys in the datastore: their rules, their records and their proof."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.api_keys import MAX_KEYS, ApiKeys, Credential, KeyText
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import Invalid, LimitExceeded, NotFound, NotPermitted
from penstock.datastore.groups.content import GroupContent
from penstock.datastore.records import ApiKey, GroupRole, GroupState
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key, Put, Table
from tests.support.consistency_check import contents
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    draft,
    on_sqlite,
    walk,
)
from tests.support.table_interceptors import InterceptedTable

ANN = caller({USA: Role.ADMIN, NORTHWEST: Role.READER})
LATER = "2022-08-20T00:00:00.999Z"
SECOND = timedelta(seconds=1)
ABSENT = "018f3b6e-0000-7000-8000-000000000001"


@pytest.fixture
async def store(table: Table, watch: Watch) -> Store:
    store = Store(table, Clock(now=watch))
    await create_groups(store)
    return store


def roles(held: Mapping[GroupPath, Role]) -> list[GroupRole]:
    return [GroupRole(group=group, role=role) for group, role in held.items()]


SOUTH_READER = roles({SOUTH: Role.READER})


async def credential(store: Store, text: KeyText) -> Credential:
    found = await store.find_credential(text.id)
    assert found is not None
    return found


async def test_a_key_is_kept_as_a_hash_and_listed_without_it(store: Store) -> None:
    keys = store.open_session(ANN).api_keys
    wanted = roles({USA: Role.CONTRIBUTOR, NORTHWEST: Role.READER})
    made, text = await keys.create(" Nightly ", wanted[::-1], LATER)
    assert made == ApiKey(
        id=text.id,
        name="Nightly",
        roles=tuple(wanted),
        created_at="2022-08-10T23:55:20.322Z",
        expires_at="2022-08-20T00:00:00.000Z",
    )
    assert await walk(keys.page) == [made]
    item = (await contents(store.table))[Key(f"AK:{text.id}", "AK")]
    assert dict(item) == {
        "pk": f"AK:{text.id}",
        "sk": "AK",
        "siKey1": "AK:ann",
        "user": "ann",
        "name": "Nightly",
        "roles": {USA: "CONTRIBUTOR", NORTHWEST: "READER"},
        "groups": {USA: "2022-08-10T23:55:20.322Z", NORTHWEST: "2022-08-10T23:55:20.322Z"},
        "digest": sha256(text.secret.encode()).hexdigest(),
        "createdAt": "2022-08-10T23:55:20.322Z",
        "expiresAt": 1660953600,
    }


async def test_a_key_proves_its_user_until_it_expires(store: Store, watch: Watch) -> None:
    _, text = await store.open_session(ANN).api_keys.create("k", SOUTH_READER, LATER)
    found = await credential(store, text)
    assert (found.id, found.user, found.roles) == (text.id, "ann", {SOUTH: Role.READER})
    end = datetime(2022, 8, 20, tzinfo=UTC)
    assert found.admits(text, watch())
    assert found.admits(text, end - timedelta(milliseconds=1))
    assert not found.admits(text, end)
    assert not found.admits(text, end + SECOND)
    assert not found.admits(KeyText(text.id, "A" * 43), watch())
    assert await store.find_credential(ABSENT) is None


@on_sqlite
async def test_a_key_is_read_consistently_and_so_are_the_groups_of_its_roles(store: Store) -> None:
    class Consistent(InterceptedTable):
        seen = 0

        async def get(self, keys: object, *, consistent: bool = False) -> object:  # type: ignore[override]
            assert consistent
            self.seen += 1
            return await self._table.get(keys, consistent=consistent)  # type: ignore[arg-type]

    _, text = await store.open_session(ANN).api_keys.create("k", SOUTH_READER, LATER)
    table = Consistent(store.table)
    assert await Store(table).find_credential(text.id) is not None  # type: ignore[arg-type]
    assert table.seen == 2


async def test_keys_are_listed_newest_first_and_to_their_user_alone(store: Store) -> None:
    keys = store.open_session(ANN).api_keys
    made = [(await keys.create(f"k{n}", SOUTH_READER, LATER)).key for n in range(3)]
    await store.open_session(SUPER).api_keys.create("other", SOUTH_READER, LATER)
    assert await walk(keys.page) == made[::-1]
    assert await walk(keys.page, backward=True) == made[::-1]
    assert await walk(keys.page, 2) == made[::-1]
    page = await keys.page(Window(size=3))
    assert ([id for id, _ in page.entries], page.more) == ([key.id for key in made[::-1]], False)
    stranger = store.open_session(caller({USA: Role.ADMIN}, "ann:1")).api_keys
    assert await walk(stranger.page) == []


async def test_a_revoked_key_is_gone_and_the_others_stay(store: Store) -> None:
    keys = store.open_session(ANN).api_keys
    first, _ = await keys.create("first", SOUTH_READER, LATER)
    second, text = await keys.create("second", SOUTH_READER, LATER)
    assert await keys.revoke(second.id) == second
    assert await store.find_credential(text.id) is None
    assert await walk(keys.page) == [first]
    with pytest.raises(NotFound, match="There is no API key with this id"):
        await keys.revoke(second.id)


@on_sqlite
async def test_a_key_of_somebody_else_is_no_other_than_one_that_is_not_there(store: Store) -> None:
    theirs, _ = await store.open_session(SUPER).api_keys.create("k", SOUTH_READER, LATER)
    before = await contents(store.table)
    told = set()
    for id in (theirs.id, ABSENT, "", "x" * 5000, theirs.id.upper()):
        with pytest.raises(NotFound) as refused:
            await store.open_session(ANN).api_keys.revoke(id)
        told.add(refused.value.message)
    assert told == {"There is no API key with this id."}
    assert await contents(store.table) == before


async def test_a_role_of_a_key_ends_with_its_group_and_not_for_others(
    store: Store, watch: Watch
) -> None:
    held = {USA: Role.READER, SOUTH: Role.READER}
    _, text = await store.open_session(ANN).api_keys.create("k", roles(held), LATER)
    groups = store.open_session(SUPER).groups
    watch.move(SECOND)
    await groups.delete(SOUTH)
    assert (await credential(store, text)).roles == {USA: Role.READER}
    await groups.create(SOUTH, "Somebody else's")
    assert (await credential(store, text)).roles == {USA: Role.READER}
    _, newer = await store.open_session(ANN).api_keys.create("k", roles(held), LATER)
    assert (await credential(store, newer)).roles == held


PARKS = GroupPath(f"{SOUTH}/parks")


@pytest.mark.parametrize("lower", [Role.READER, Role.CONTRIBUTOR])
async def test_no_role_from_above_takes_the_place_of_one_that_ended(
    store: Store, watch: Watch, lower: Role
) -> None:
    ann = caller({USA: Role.ADMIN, SOUTH: lower})
    held = {USA: Role.ADMIN, SOUTH: lower, PARKS: Role.READER, NORTHWEST: Role.READER}
    _, text = await store.open_session(ann).api_keys.create("k", roles(held), LATER)
    groups = store.open_session(SUPER).groups
    watch.move(SECOND)
    await groups.delete(SOUTH)
    left = {USA: Role.ADMIN, NORTHWEST: Role.READER, SOUTH: Role.READER, PARKS: Role.READER}
    assert (await credential(store, text)).roles == left
    for path in (SOUTH, PARKS):
        await groups.create(path, "Somebody else's")
    assert (await credential(store, text)).roles == left
    before = await contents(store.table)
    key = Caller("ann", left, None, text.id)
    for path in (SOUTH, PARKS):
        with pytest.raises(NotPermitted, match=f"the role CONTRIBUTOR at {path}"):
            await store.open_session(key).pipelines.writing.create(path, draft("new"), None)
    assert await contents(store.table) == before


async def test_a_role_that_ended_gives_nothing_where_no_other_stands(
    store: Store, watch: Watch
) -> None:
    held = {EU: Role.CONTRIBUTOR, SOUTH: Role.READER, PARKS: Role.READER}
    _, text = await store.open_session(SUPER).api_keys.create("k", roles(held), LATER)
    groups = store.open_session(SUPER).groups
    watch.move(SECOND)
    await groups.delete(SOUTH)
    await groups.create(SOUTH, None)
    assert (await credential(store, text)).roles == {EU: Role.CONTRIBUTOR}


async def test_a_change_of_a_group_ends_no_role(store: Store, watch: Watch) -> None:
    _, text = await store.open_session(ANN).api_keys.create("k", SOUTH_READER, LATER)
    watch.move(SECOND)
    content = GroupContent(name="South again", state=GroupState.DISABLED)
    await store.open_session(SUPER).groups.update(SOUTH, content)
    assert (await credential(store, text)).roles == {SOUTH: Role.READER}


async def test_a_key_of_an_earlier_release_loses_roles_at_groups_made_after_it(
    store: Store, watch: Watch
) -> None:
    held = {USA: Role.ADMIN, SOUTH: Role.CONTRIBUTOR, NORTHWEST: Role.READER}
    _, text = await store.open_session(ANN).api_keys.create("k", roles(held), LATER)
    key = Key(f"AK:{text.id}", "AK")
    row = dict((await contents(store.table))[key])
    del row["groups"]
    await store.table.transact([Put(row)])
    assert (await credential(store, text)).roles == held
    groups = store.open_session(SUPER).groups
    watch.move(SECOND)
    await groups.delete(SOUTH)
    assert (await credential(store, text)).roles == held
    await groups.create(SOUTH, None)
    assert (await credential(store, text)).roles == {**held, SOUTH: Role.READER}


@on_sqlite
async def test_a_role_at_a_path_without_a_group_ends_with_the_nearest_group_above(
    store: Store, watch: Watch
) -> None:
    below = GroupPath(f"{SOUTH}/parks/north")
    held = {below: Role.READER, GroupPath("/nowhere"): Role.READER}
    _, text = await store.open_session(SUPER).api_keys.create("k", roles(held), LATER)
    assert (await credential(store, text)).roles == held
    groups = store.open_session(SUPER).groups
    watch.move(SECOND)
    for path in (GroupPath(f"{SOUTH}/parks"), below, GroupPath("/nowhere")):
        await groups.create(path, None)
    assert (await credential(store, text)).roles == held
    for path in (below, GroupPath(f"{SOUTH}/parks"), SOUTH):
        await groups.delete(path)
    await groups.create(SOUTH, None)
    assert (await credential(store, text)).roles == {GroupPath("/nowhere"): Role.READER}


@on_sqlite
async def test_a_role_at_the_root_stays(store: Store, watch: Watch) -> None:
    _, text = await store.open_session(SUPER).api_keys.create(
        "k", roles({ROOT: Role.READER}), LATER
    )
    watch.move(SECOND)
    assert (await credential(store, text)).roles == {ROOT: Role.READER}


@on_sqlite
async def test_a_key_manages_no_keys(store: Store) -> None:
    made, _ = await store.open_session(ANN).api_keys.create("k", SOUTH_READER, LATER)
    before = await contents(store.table)
    keys = store.open_session(Caller("ann", ANN.roles, None, made.id)).api_keys
    for refused in (
        keys.create("new", SOUTH_READER, LATER),
        keys.page(Window()),
        keys.revoke(made.id),
    ):
        with pytest.raises(NotPermitted, match="An API key manages no API keys"):
            await refused
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("wanted", "failure", "words"),
    [
        ({USA: Role.ADMIN}, NotPermitted, "the role ADMIN at /usa/northwest"),
        ({USA: Role.CONTRIBUTOR}, NotPermitted, "the role CONTRIBUTOR at /usa/northwest"),
        ({NORTHWEST: Role.CONTRIBUTOR}, NotPermitted, "the role CONTRIBUTOR at /usa/northwest"),
        ({ROOT: Role.READER}, NotPermitted, "the role READER at /"),
        ({SOUTH: Role.READER, EU: Role.READER}, NotFound, "There is no group /eu"),
    ],
)
@on_sqlite
async def test_a_key_never_gets_more_than_its_user_has(
    store: Store, wanted: Mapping[GroupPath, Role], failure: type[Exception], words: str
) -> None:
    before = await contents(store.table)
    with pytest.raises(failure, match=words):
        await store.open_session(ANN).api_keys.create("k", roles(wanted), LATER)
    assert await contents(store.table) == before


GROUPS = [ROOT, *(GroupPath(text) for text in ("/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f"))]
HELD = st.dictionaries(st.sampled_from(GROUPS), st.sampled_from(Role), max_size=4)


@given(HELD, HELD)
def test_what_is_allowed_is_just_what_exceeds_the_user_at_no_group(
    held: dict[GroupPath, Role], wanted: dict[GroupPath, Role]
) -> None:
    user, key = Caller("ann", held), Caller("ann", wanted)
    below = [GroupPath(f"{group.rstrip('/')}/z") for group in GROUPS]
    exceeded = [
        group
        for group in (*GROUPS, *below)
        if (key.role_at(group) or 0) > (user.role_at(group) or 0)
    ]
    access = Access(Table, user, Clock(), Budget())  # type: ignore[arg-type]  # nothing is read
    try:
        ApiKeys(access, SECOND)._require_held(wanted)
    except (NotFound, NotPermitted):
        assert exceeded
    else:
        assert not exceeded
        assert all(user.sees(group) for group in (*GROUPS, *below) if key.sees(group))


NAMED = {"name": "k", "roles": SOUTH_READER, "expires_at": LATER}
FROM_HERE = roles({GroupPath(f"/usa/{n}"): Role.READER for n in range(51)})


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"roles": []}, "roles"),
        ({"roles": FROM_HERE}, "roles"),
        ({"roles": [*SOUTH_READER, *SOUTH_READER]}, "roles"),
        ({"expires_at": "2022-08-10T23:55:20.322Z"}, "expiresAt"),
        ({"expires_at": "2022-08-10T23:55:21.321Z"}, "expiresAt"),
        ({"expires_at": "2023-08-10T23:55:20.323Z"}, "expiresAt"),
        ({"expires_at": "0001-01-01T00:00:00.000Z"}, "expiresAt"),
        ({"expires_at": "9999-12-31T23:59:59.999Z"}, "expiresAt"),
    ],
)
@on_sqlite
async def test_a_key_that_breaks_a_rule_is_not_made(
    store: Store, more: dict[str, object], path: str
) -> None:
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await store.open_session(ANN).api_keys.create(**{**NAMED, **more})  # type: ignore[arg-type]
    assert [problem.path for problem in refused.value.problems] == [[path]]
    assert await contents(store.table) == before


@on_sqlite
async def test_every_broken_rule_is_told_at_once(store: Store) -> None:
    with pytest.raises(Invalid) as refused:
        await store.open_session(ANN).api_keys.create("", [], "2022-01-01T00:00:00.000Z")
    assert [p.path for p in refused.value.problems] == [["name"], ["roles"], ["expiresAt"]]


@pytest.mark.parametrize("days", [365, 7])
@on_sqlite
async def test_a_key_may_live_as_long_as_the_store_is_told(
    table: Table, watch: Watch, days: int
) -> None:
    longest = timedelta(days=days)
    store = Store(table, Clock(now=watch), longest_api_key=longest)
    keys = store.open_session(ANN).api_keys
    for life in (SECOND, longest):
        _, text = await keys.create("k", SOUTH_READER, iso_timestamp(watch() + life))
        assert (await credential(store, text)).admits(text, watch())
    with pytest.raises(Invalid, match=f"at most {days} days from now"):
        await keys.create("k", SOUTH_READER, iso_timestamp(watch() + longest + SECOND))


@on_sqlite
async def test_a_user_has_a_hundred_keys_at_most(store: Store) -> None:
    keys = store.open_session(ANN).api_keys
    first, _ = await keys.create("k", SOUTH_READER, LATER)
    await fill(store.table, "ann", MAX_KEYS - 1)
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as refused:
        await keys.create("k", SOUTH_READER, LATER)
    assert (refused.value.maximum, refused.value.actual) == (100, 101)
    assert await contents(store.table) == before
    await store.open_session(SUPER).api_keys.create("k", SOUTH_READER, LATER)
    await keys.revoke(first.id)
    await keys.create("k", SOUTH_READER, LATER)


@on_sqlite
async def test_keys_that_are_made_at_one_moment_are_a_hundred_at_most(store: Store) -> None:
    await fill(store.table, "ann", MAX_KEYS - 2)
    keys = [store.open_session(ANN).api_keys for _ in range(5)]
    made = [each.create("k", SOUTH_READER, LATER) for each in keys]
    ended = await asyncio.gather(*made, return_exceptions=True)
    refused = [each for each in ended if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [LimitExceeded] * 3
    rows = await contents(store.table)
    assert sum(key.pk.startswith("AK:") for key in rows) == MAX_KEYS


async def fill(table: Table, user: str, count: int) -> None:
    """Give the user so many more keys, quickly."""
    puts = [
        Put({"pk": f"AK:{ABSENT[:-4]}{n:04}", "sk": "AK", "siKey1": f"AK:{user}"})
        for n in range(count)
    ]
    for start in range(0, count, 25):
        await table.write(puts[start : start + 25])


async def test_no_two_keys_are_alike(store: Store) -> None:
    keys = store.open_session(ANN).api_keys
    texts = [(await keys.create("k", SOUTH_READER, LATER)).text for _ in range(3)]
    assert len({text.id for text in texts}) == len({text.secret for text in texts}) == 3
    assert {KeyText.parse(str(text)) for text in texts} == {*texts}
    assert {len(str(text)) for text in texts} == {len("penstock_") + 36 + 1 + 43}


def test_the_secret_is_not_shown_by_accident() -> None:
    text = KeyText(ABSENT, "s" * 43)
    assert repr((text, [text])).count("sss") == 0
    assert ABSENT in repr(text)


def spoilt(text: str) -> Iterable[str]:
    id, secret = text[9:45], text[46:]
    yield from ("", "penstock_", f"penstock_{id}", f"penstock_{id}_", id, secret)
    yield from (text[:-1], text + "A", text + "\n", " " + text, text.upper(), text[:-1] + "=")
    yield from (f"penstock_{id.upper()}_{secret}", f"penstock_{id[::-1]}_{secret}")
    yield from (f"penstock_{'-' * 36}_{secret}", f"Penstock_{id}_{secret}", text[:-1] + "é")


def test_a_text_of_another_form_is_no_key() -> None:
    text = f"penstock_{ABSENT}_{'_' * 21}{'-' * 21}A"
    assert KeyText.parse(text) == KeyText(ABSENT, f"{'_' * 21}{'-' * 21}A")
    for other in spoilt(text):
        assert KeyText.parse(other) is None, other


@given(st.text(max_size=100))
def test_no_text_breaks_the_reading_of_keys(text: str) -> None:
    assert KeyText.parse(text) is None
    assert KeyText.parse(f"penstock_{text}") is None

"""A subtree with every kind of content, and a check of what its deletion leaves."""

from typing import Any

from penstock.datastore.jobs.jobs import Job
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, KINDS, PIPELINE, KindDefinition
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    TREE,
    USA,
    create_groups,
    make_of,
    names_in,
    names_of,
)

CITY = GroupPath("/usa/northwest/city")
WITHIN = (USA, NORTHWEST, SOUTH, CITY)
REST = ("at eu", "borrowed", "borrowed at the top", "everywhere")
CALCULATIONS = ("in the city", "lent", "borrowed at the top")
STEPS = 11
"""The four groups, and seven times a resource in one of them."""


async def plant(store: Store) -> dict[str, Any]:
    """Create the tree: everything of `/usa` and below is deleted, everything of `/eu` stays."""
    session = await create_groups(store, *TREE, CITY)
    within = {"at usa": USA, "in the city": CITY, "lifted": SOUTH, "lent": NORTHWEST}
    homes = within | dict.fromkeys(REST, EU)
    made = {
        name: await make_of(session, kind_of(name), home, name, "m=a/b")
        for name, home in homes.items()
    }
    for name, group in (
        ("lifted", ROOT),
        ("lent", EU),
        ("borrowed", NORTHWEST),
        ("borrowed", SOUTH),
        ("borrowed at the top", USA),
        ("everywhere", ROOT),
    ):
        made[name], _ = await session.repository(kind_of(name)).writing.grant(made[name].id, group)
    return made


def kind_of(name: str) -> KindDefinition[Any]:
    return CALCULATION if name in CALCULATIONS else PIPELINE


async def begin_deletion(store: Store, group: GroupPath = USA) -> Job:
    """Begin the job that deletes the group and all below it."""
    _, job = await store.open_session(SUPER).group_deletions.delete(group)
    assert job is not None
    return job


async def follow(store: Store, id: str) -> Job:
    (job,) = await store.open_session(SUPER).jobs.many([id])
    assert isinstance(job, Job)
    return job


async def assert_only_the_rest(store: Store) -> None:
    """Nothing of the subtree is left, and nothing else is lost."""
    session = store.open_session(SUPER)
    for kind in KINDS:
        rest = [name for name in REST if kind_of(name) is kind]
        assert await names_of(session, kind, ROOT, include_child_groups=True) == rest
    assert await names_in(session, ROOT) == ["everywhere"]
    groups = sorted(key.sk for key in await contents(store.table) if key.pk.startswith("G:"))
    assert groups == ["G:/", "G:/eu"]
    assert await faults(store.table) == []

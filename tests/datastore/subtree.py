"""A subtree with something of everything in it, and what must be left when it is deleted."""

from datastore.jobs import Job
from datastore.paths import ROOT, GroupPath
from datastore.records import Pipeline
from datastore.store import Store
from tests.datastore.recount import contents, faults
from tests.datastore.world import EU, NORTHWEST, SOUTH, SUPER, TREE, USA, grow, make, names_in

CITY = GroupPath("/usa/northwest/city")
WITHIN = (USA, NORTHWEST, SOUTH, CITY)
STEPS = 11
"""The four groups, and seven times a resource in one of them."""


async def plant(store: Store) -> dict[str, Pipeline]:
    """Make the tree; what `/usa` and the groups below own goes with it, and `/eu` owns the rest."""
    view = await grow(store, *TREE, CITY)
    within = {"at usa": USA, "in the city": CITY, "lifted": SOUTH, "lent": NORTHWEST}
    rest = ("at eu", "borrowed", "borrowed at the top", "everywhere")
    made = {name: await make(view, group, name, "m=a/b") for name, group in within.items()}
    made |= {name: await make(view, EU, name, "m=a/b") for name in rest}
    for name, group in (
        ("lifted", ROOT),
        ("lent", EU),
        ("borrowed", NORTHWEST),
        ("borrowed", SOUTH),
        ("borrowed at the top", USA),
        ("everywhere", ROOT),
    ):
        made[name], _ = await view.pipelines.writing.grant(made[name].id, group)
    return made


async def begun(store: Store, group: GroupPath = USA) -> Job:
    """Ask for the group and all below to be deleted, which takes a job."""
    _, job = await store.seen_by(SUPER).cascades.delete(group)
    assert job is not None
    return job


async def follow(store: Store, id: str) -> Job:
    (job,) = await store.seen_by(SUPER).jobs.many([id])
    assert isinstance(job, Job)
    return job


async def assert_only_the_rest(store: Store) -> None:
    """Nothing of the subtree is left, and nothing of the rest is lost."""
    view = store.seen_by(SUPER)
    assert await names_in(view, ROOT, include_child_groups=True) == [
        "at eu",
        "borrowed",
        "borrowed at the top",
        "everywhere",
    ]
    assert await names_in(view, ROOT) == ["everywhere"]
    groups = sorted(key.sk for key in await contents(store.table) if key.pk.startswith("G:"))
    assert groups == ["G:/", "G:/eu"]
    assert await faults(store.table) == []

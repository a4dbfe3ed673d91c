"""A tree of groups with many below one of them."""

from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from tests.support.sample_resources import USA, create_groups


async def plant_groups(store: Store, count: int) -> None:
    """Create the groups of all tests, and so many more below `/usa`."""
    session = await create_groups(store)
    for n in range(count):
        await session.groups.create(GroupPath(f"{USA}/group{n}"), None)

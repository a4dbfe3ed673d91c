"""What each field and mutation of API keys does."""

from collections.abc import Sequence

from datastore.api_keys import Created
from datastore.records import ApiKey, GroupRole
from datastore.slices import Slice, Window
from resolvers.context import Context


async def page(context: Context, window: Window) -> Slice[ApiKey]:
    return await context.view.api_keys.page(window)


async def create(
    context: Context, name: str, roles: Sequence[GroupRole], expires_at: str
) -> Created:
    return await context.view.api_keys.create(name, roles, expires_at)


async def revoke(context: Context, id: str) -> ApiKey:
    return await context.view.api_keys.revoke(id)

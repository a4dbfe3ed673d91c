"""What each field of audio does."""

from datastore.audio.records import Audio
from resolvers.context import Context


async def by_id(context: Context, id: str) -> Audio:
    return await context.loaders.audio.tracks.load(id)

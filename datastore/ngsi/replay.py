"""Trying dead letters again: out of the list, into a segment, in one transaction."""

from dataclasses import dataclass

from penstock.datastore.ngsi.commit import Batch, Keeping
from penstock.datastore.ngsi.counts import Counts
from penstock.datastore.ngsi.dead_letters import DeadLetter, removed
from penstock.datastore.ngsi.inbox import HandOver, Load, Room
from penstock.datastore.ngsi.router import Sorter, read_again
from penstock.datastore.ngsi.rows import Event


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a letter: events to be stored, and those that went into a letter again."""

    letter: DeadLetter
    events: int
    dead: int


@dataclass(frozen=True, slots=True)
class Replaying:
    """Gives letters back to the sink."""

    keeping: Keeping
    sorter: Sorter
    room: Room
    hand_over: HandOver

    async def replay(self, letter: DeadLetter) -> Replayed:
        """Try a letter again, by the rules of now; NotFound where somebody else does already.

        Its events keep the time at which they arrived. Raises Unavailable also where there is no
        room for them.
        """
        load = Load(letter.events)
        self.room.take(load)
        try:
            return await self._replay(letter)
        finally:
            self.room.leave(load)

    async def _replay(self, letter: DeadLetter) -> Replayed:
        batch = Batch()
        batch.writes.append(removed(letter))
        for dead in await self.keeping.contents.read(letter):
            made = await self.sorter.event_of(read_again(dead))
            if isinstance(made, Event):
                batch.events.append(made)
            else:
                batch.dead.append(made)
        at = (letter.service, letter.path)
        batch.tally.add(at, Counts(dead_lettered=-len(batch.events), pending=len(batch.events)))
        run = await self.keeping.keep(batch)
        if run is not None:
            self.room.add(Load(len(batch.events)))
            self.hand_over(run, batch.events, 0)
        return Replayed(letter, len(batch.events), len(batch.dead))

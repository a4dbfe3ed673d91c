"""Replay of dead letters: a letter's events move into a new segment in one transaction."""

from dataclasses import dataclass

from penstock.datastore.ngsi.commit import Batch, Keeping
from penstock.datastore.ngsi.counts import Counts
from penstock.datastore.ngsi.dead_letters import DeadLetter, removed
from penstock.datastore.ngsi.inbox import HandOver, Load, Room
from penstock.datastore.ngsi.router import Sorter, read_again
from penstock.datastore.ngsi.rows import Event


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay: how many events will be stored, and how many are dead again."""

    letter: DeadLetter
    events: int
    dead: int


@dataclass(frozen=True, slots=True)
class Replaying:
    """Sends the events of dead letters to the sink again."""

    keeping: Keeping
    sorter: Sorter
    room: Room
    hand_over: HandOver

    async def replay(self, letter: DeadLetter) -> Replayed:
        """Replay a letter by the current rules; raises NotFound if the letter is already gone.

        The events keep their time of arrival. Raises Unavailable also if the process holds
        too many events already.
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

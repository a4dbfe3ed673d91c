"""Replay of dead letters: a letter's events move into a new segment in one transaction."""

from dataclasses import dataclass

from penstock.datastore.access.work import NOBODY, WorkPayer, storing_units
from penstock.datastore.errors import NotFound
from penstock.datastore.ngsi.commit import BatchCommitter, IntakeBatch
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.dead_letters import (
    DeadLetter,
    LetterGone,
    ReplayResult,
    find_letters,
    replay_write,
)
from penstock.datastore.ngsi.inbox import SegmentHandler
from penstock.datastore.ngsi.intake.in_flight import EventAmount, InFlightLimit
from penstock.datastore.ngsi.router import EntityRouter, reread_entity
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_counts import REPLAYED


@dataclass(frozen=True, slots=True)
class LetterReplayer:
    """Sends the events of dead letters to the sink again."""

    committer: BatchCommitter
    router: EntityRouter
    in_flight: InFlightLimit
    hand_over: SegmentHandler

    async def replay(self, letter: DeadLetter, payer: WorkPayer = NOBODY) -> ReplayResult:
        """Replay a letter by the current rules, wholly or not at all.

        The events keep their time of arrival. A letter that somebody replayed already has the
        result of that replay; raises NotFound if there is none any more. Raises Unavailable also
        if the process holds too many events already, and RateLimited for a payer in debt.
        """
        load = EventAmount(letter.events)
        self.in_flight.acquire(letter.service, load)
        try:
            return await self._replay_events(letter, payer)
        except LetterGone:
            (found,) = await find_letters(self.committer.table, [letter.id])
            if isinstance(found, ReplayResult):
                return found
            raise NotFound("There is no dead letter with this id any more.", ("ids",)) from None
        finally:
            self.in_flight.release(letter.service, load)

    async def _replay_events(self, letter: DeadLetter, payer: WorkPayer) -> ReplayResult:
        batch = IntakeBatch()
        found = await self.committer.letter_files.read(letter, payer)
        for made in await self.router.route_events([*map(reread_entity, found)], payer):
            if isinstance(made, Event):
                batch.events.append(made)
            else:
                batch.dead_events.append(made)
        result = ReplayResult(letter, len(batch.events), len(batch.dead_events))
        batch.writes.append(replay_write(result, self.committer.clock))
        at = (letter.service, letter.path)
        batch.tally.add(
            at, IngestCounts(dead_lettered=-len(batch.events), pending=len(batch.events))
        )
        batch.intake[REPLAYED] = len(batch.events)
        segment = await self.committer.commit_batch(batch)
        payer.work.owe(storing_units(sum(1 + len(each.update.attributes) for each in batch.events)))
        if segment is not None:
            self.hand_over(segment, {})
        return result

"""Turns: transactions of one process that meet at an item wait for each other, or go together.

A store such as DynamoDB cancels a transaction that meets another. Here the later one waits instead,
in a queue for each item in the order of arrival, so none starves and none waits in a circle. Those
that wait go together in one request where they can be merged.
"""

import asyncio
from asyncio import Future, Handle, Task
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.errors import LimitExceeded, RequestRefused, Unavailable
from penstock.datastore.table.instrumentation import (
    RetryReason,
    StoreCall,
    note_retry,
    note_turn,
    report_call,
)
from penstock.datastore.table.limits import refused_units
from penstock.datastore.table.merging import MemberTransaction, MergedTransaction
from penstock.datastore.table.port import ConditionFailed, Key, Operation

SendTransaction: TypeAlias = Callable[[Sequence[Operation], float], Awaitable[None]]
"""Sends operations as one transaction, and again until a time of the event loop."""

PriceOperations: TypeAlias = Callable[[Sequence[Operation], Sequence[int]], list[float]]
"""The write units of each operation of a transaction that succeeded, by the bytes it sends."""

INVALID: Final = "ValidationException"


class _Outcome(NamedTuple):
    """The end of a transaction: its write units or its failure, and the retries before."""

    units: float
    failure: Exception | None
    retries: tuple[RetryReason, ...]


@dataclass(eq=False, slots=True)
class _QueuedTransaction:
    """A transaction that waits for its turn, or is being sent."""

    number: int
    member: MemberTransaction
    since: float
    until: float
    answer: "Future[_Outcome]"
    timer: Handle | None = None
    request: "_Request | None" = None

    @property
    def keys(self) -> Iterable[Key]:
        return (operation.key for operation in self.member.operations)


@dataclass(eq=False, slots=True)
class _Request:
    """Transactions that are sent together, and the task that sends them."""

    members: list[_QueuedTransaction]
    merged: MergedTransaction
    began: float
    until: float
    task: "Task[None] | None" = None


class TransactionTurns:
    """The transactions under way and in wait of one table, in one event loop.

    `seconds` bounds a call together with its wait. A call that is cancelled, or whose time ends,
    while it waits for its turn is never sent; once it is sent with others, it may still succeed.
    """

    def __init__(self, send: SendTransaction, price: PriceOperations) -> None:
        self._send = send
        self._price = price
        self._numbers = count()
        self._queues: defaultdict[Key, deque[_QueuedTransaction]] = defaultdict(deque)
        self._requests: set[_Request] = set()

    async def transact(
        self, operations: Sequence[Operation], sizes: Sequence[int], seconds: float
    ) -> float:
        """Do all operations or none, after all earlier ones on their items; return write units.

        Raises ConditionFailed with every failed condition, and Unavailable when the time ends.
        """
        queued = self._enqueue(MemberTransaction(operations, sizes), seconds)
        try:
            outcome = await queued.answer
        finally:
            self._leave(queued)
        self._note_turn(queued, outcome)
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.units

    def _note_turn(self, queued: _QueuedTransaction, outcome: _Outcome) -> None:
        request = queued.request
        if request is not None:
            is_first = request.members[0] is queued
            note_turn(request.began - queued.since, merged=not is_first)
            # Once for each request, however many it is for.
            for reason in outcome.retries if is_first else ():
                note_retry(reason)

    async def close(self) -> None:
        """Wait for the transactions that were begun."""
        while self._requests:
            tasks = [request.task for request in self._requests if request.task is not None]
            await asyncio.gather(*tasks, return_exceptions=True)

    def _enqueue(self, member: MemberTransaction, seconds: float) -> _QueuedTransaction:
        loop = asyncio.get_running_loop()
        since, until = loop.time(), loop.time() + seconds
        queued = _QueuedTransaction(next(self._numbers), member, since, until, loop.create_future())
        for key in queued.keys:
            self._queues[key].append(queued)
        if self._is_first(queued):
            self._begin(queued)
        else:
            queued.timer = loop.call_at(until, self._end_wait, queued, seconds)
        return queued

    def _is_first(self, queued: _QueuedTransaction) -> bool:
        return all(self._queues[key][0] is queued for key in queued.keys)

    def _begin(self, first: _QueuedTransaction) -> None:
        """Send the transaction, and with it those behind it that can be merged with it."""
        members, merged = self._gather_members(first)
        began, until = asyncio.get_running_loop().time(), max(each.until for each in members)
        request = _Request(members, merged, began, until)
        for queued in members:
            queued.request = request
            if queued.timer is not None and queued.until == request.until:
                # The request ends at the same time, and can say why.
                queued.timer.cancel()
        self._requests.add(request)
        request.task = asyncio.create_task(self._send_members(request))
        # Not within the task, because one that is cancelled early never runs.
        request.task.add_done_callback(partial(self._end_request, request))

    def _gather_members(
        self, first: _QueuedTransaction
    ) -> tuple[list[_QueuedTransaction], MergedTransaction]:
        """The transaction and the next in the queues of its items, as far as they can be merged.

        One joins only if all who wait before it, at any of its items, are members too.
        """
        merged, members = MergedTransaction(first.member), [first]
        ahead: defaultdict[Key, int] = defaultdict(int)
        following: list[tuple[int, _QueuedTransaction]] = []
        tried = {first.number}
        self._note_following(first, ahead, following)
        while following:
            number, candidate = heappop(following)
            if number in tried:
                continue
            tried.add(number)
            is_next = all(self._queues[key][ahead[key]] is candidate for key in candidate.keys)
            if is_next and merged.add_member(candidate.member):
                members.append(candidate)
                self._note_following(candidate, ahead, following)
        return members, merged

    def _note_following(
        self,
        member: _QueuedTransaction,
        ahead: defaultdict[Key, int],
        following: list[tuple[int, _QueuedTransaction]],
    ) -> None:
        for key in member.keys:
            ahead[key] += 1
            if ahead[key] < len(self._queues[key]):
                candidate = self._queues[key][ahead[key]]
                heappush(following, (candidate.number, candidate))

    def _end_request(self, request: _Request, task: "Task[None]") -> None:
        self._requests.discard(request)
        broken_off = Unavailable("The transaction was broken off.")
        broken_off.__cause__ = None if task.cancelled() else task.exception()
        _answer_all(request.members, _Outcome(0.0, broken_off, ()))
        self._take_off(request.members)

    async def _send_members(self, request: _Request) -> None:
        """Send the members in as few transactions as can be, until each has its answer."""
        groups = deque([request.members])
        if not any(queued.answer.done() for queued in request.members):
            again = await self._send_group(request.members, request.merged, request.until)
            groups = deque(again)
        while groups:
            waiting = [queued for queued in groups.popleft() if not queued.answer.done()]
            if waiting:
                group, merged, rest = _merge_members(waiting)
                again = await self._send_group(group, merged, request.until)
                groups.extendleft([rest, *reversed(again)])

    async def _send_group(
        self, group: Sequence[_QueuedTransaction], merged: MergedTransaction, until: float
    ) -> list[list[_QueuedTransaction]]:
        """Send one transaction; return the members that must be sent again, by transactions."""
        operations, sizes = merged.operations, merged.sizes
        with report_call(StoreCall("transact", len(operations)), ()) as call:
            try:
                await self._send(operations, until)
            except Exception as error:
                if len(group) > 1 and isinstance(error, ConditionFailed):
                    return _answer_refused(group, merged, error, call)
                if len(group) > 1 and _may_be_of_one(error):
                    return [[queued] for queued in group]
                _answer_all(group, _Outcome(0.0, error, call.retries))
                return []
        prices = merged.share_units(self._price(operations, sizes))
        for number, (queued, units) in enumerate(zip(group, prices, strict=True)):
            refused = merged.refusal_of_copy(number)
            failure = ConditionFailed(refused, 0.0) if refused else None
            _answer_all([queued], _Outcome(units, failure, call.retries))
        return []

    def _end_wait(self, queued: _QueuedTransaction, seconds: float) -> None:
        """Answer a transaction whose time ends before that of its request, or before its turn."""
        waited = f"{round(seconds, 1):g} seconds"
        message = (
            f"The write waited {waited} for its turn: many write the same items."
            if queued.request is None
            else f"The store did not answer within {waited}."
        )
        _answer_all([queued], _Outcome(0.0, Unavailable(message), ()))

    def _leave(self, queued: _QueuedTransaction) -> None:
        """Take a caller that waits no longer out of the queues, unless it is being sent.

        A request for which nobody waits is broken off.
        """
        if queued.timer is not None:
            queued.timer.cancel()
        queued.answer.cancel()
        request = queued.request
        if request is None:
            self._take_off([queued])
        elif request.task is not None and all(each.answer.done() for each in request.members):
            request.task.cancel()

    def _take_off(self, members: Sequence[_QueuedTransaction]) -> None:
        """Take transactions out of the queues, and begin those that are first now."""
        keys = {key for queued in members for key in queued.keys}
        for queued in members:
            for key in queued.keys:
                self._queues[key].remove(queued)
        for key in keys:
            if not self._queues[key]:
                del self._queues[key]
        first = {queue[0] for key in keys if (queue := self._queues.get(key))}
        for queued in sorted(first, key=_arrival):
            if queued.request is None and self._is_first(queued):
                self._begin(queued)


def _arrival(queued: _QueuedTransaction) -> int:
    return queued.number


def _merge_members(
    waiting: Sequence[_QueuedTransaction],
) -> tuple[list[_QueuedTransaction], MergedTransaction, list[_QueuedTransaction]]:
    """Merge the first with all others that can be merged; the last part are those that cannot."""
    merged, group = MergedTransaction(waiting[0].member), [waiting[0]]
    rest: list[_QueuedTransaction] = []
    for queued in waiting[1:]:
        joined = not rest and merged.add_member(queued.member)
        (group if joined else rest).append(queued)
    return group, merged, rest


def _answer_all(members: Sequence[_QueuedTransaction], outcome: _Outcome) -> None:
    for queued in members:
        if not queued.answer.done():
            queued.answer.set_result(outcome)


def _answer_refused(
    group: Sequence[_QueuedTransaction],
    merged: MergedTransaction,
    refusal: ConditionFailed,
    call: StoreCall,
) -> list[list[_QueuedTransaction]]:
    """Answer the members whose own conditions failed; return the others by new transactions.

    Where nobody is known to have failed, each is sent alone.
    """
    told = False
    for number, failed in merged.refused_members(refusal.failed).items():
        if merged.has_own_conditions(number):
            operations = group[number].member.operations
            own = ConditionFailed(failed, refused_units(len(operations), failed))
            own.__cause__ = refusal.__cause__
            _answer_all([group[number]], _Outcome(0.0, own, call.retries))
            told = True
    return [list(group)] if told else [[queued] for queued in group]


def _may_be_of_one(error: Exception) -> bool:
    """Whether what one member writes may have caused the error, and nothing was written."""
    if isinstance(error, RequestRefused):
        return error.code == INVALID
    return isinstance(error, LimitExceeded)

"""The queue of a sink: services take turns, and each keeps its order."""

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.ngsi.intake.service_queue import ServiceQueue


async def take_all(queue: ServiceQueue[str]) -> list[str]:
    found = []
    while (following := queue.peek()) is not None:
        assert following == queue.get_nowait()
        found.append(following)
        queue.task_done()
    await queue.join()
    return found


async def test_services_take_turns_however_much_one_has_waiting() -> None:
    queue: ServiceQueue[str] = ServiceQueue()
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        queue.put(item[0], item)
    assert await take_all(queue) == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_a_service_that_had_its_turn_waits_for_the_others() -> None:
    queue: ServiceQueue[str] = ServiceQueue()
    for item in ("a1", "a2", "b1"):
        queue.put(item[0], item)
    assert await queue.get() == "a1"
    queue.put("c", "c1")
    queue.put("a", "a3")
    assert [await queue.get() for _ in range(4)] == ["b1", "a2", "c1", "a3"]


async def test_a_worker_waits_for_the_next_thing() -> None:
    queue: ServiceQueue[str] = ServiceQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put("a", "a1")
    assert await waiting == "a1"
    assert queue.peek() is None


@given(st.lists(st.sampled_from("abc")))
def test_nothing_is_lost_and_no_service_goes_twice_while_another_waits(services: list[str]) -> None:
    queue: ServiceQueue[str] = ServiceQueue()
    items = [f"{service}{number}" for number, service in enumerate(services)]
    for item in items:
        queue.put(item[0], item)
    found = asyncio.run(take_all(queue))
    assert sorted(found) == sorted(items)
    for service in "abc":
        assert [each for each in found if each[0] == service] == [
            each for each in items if each[0] == service
        ]
    for place, (one, other) in enumerate(pairwise(found)):
        assert one[0] != other[0] or {each[0] for each in found[place:]} == {one[0]}

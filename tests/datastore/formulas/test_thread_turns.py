"""Callers take turns at the formula threads."""

import asyncio
from threading import Event

from penstock.datastore.formulas.threads import THREAD_COUNT, formula_caller, run_in_formula_thread
from tests.support.loop_clock import let_tasks_run
from tests.support.patience import HUNG_SECONDS


class _Work:
    """Pieces of work that wait until they are let go; `begun` names them in their order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gates: dict[str, Event] = {}

    def begin(self, caller: str, name: str) -> "asyncio.Task[str]":
        gate = self.gates[name] = Event()

        def work() -> str:
            self.begun.append(name)
            assert gate.wait(HUNG_SECONDS)
            return name

        async def run() -> str:
            formula_caller.set(caller)
            return await run_in_formula_thread(work)

        return asyncio.create_task(run())

    def let_go(self, *names: str) -> None:
        for name in names:
            self.gates[name].set()


async def test_a_caller_with_much_work_does_not_keep_others_waiting_for_all_of_it() -> None:
    work = _Work()
    many = [work.begin("ann", f"a{n}") for n in range(8)]
    await let_tasks_run()
    one = work.begin("bob", "b0")
    await let_tasks_run()
    work.let_go("a0", "a1", "a2", "a3", "b0")
    assert await one == "b0"
    assert set(work.begun) - {"a0", "a1", "a2", "a3", "b0"} <= {"a4", "a5"}
    work.let_go(*work.gates)
    assert await asyncio.gather(*many) == [f"a{n}" for n in range(8)]


async def test_work_that_nobody_waits_for_keeps_its_thread_until_it_ends() -> None:
    work = _Work()
    tasks = [work.begin("ann", f"a{n}") for n in range(THREAD_COUNT + 2)]
    await let_tasks_run()
    tasks[0].cancel()
    tasks[-1].cancel()
    await asyncio.wait([tasks[0], tasks[-1]])
    work.let_go(*(f"a{n}" for n in range(1, THREAD_COUNT + 1)))
    assert await asyncio.gather(*tasks[1:-1]) == [f"a{n}" for n in range(1, THREAD_COUNT + 1)]
    work.let_go("a0")
    assert await work_at_last() == "done"
    assert f"a{THREAD_COUNT + 1}" not in work.begun


async def work_at_last() -> str:
    return await run_in_formula_thread(lambda: "done")

"""A profile that tests share, one after the other."""

import pytest

from tests.browser.conftest import Profile
from tests.support.server_process import RunningServer

pytestmark = pytest.mark.runs_together("browser")

KEEP = """async () => {
  localStorage.setItem("kept", "here");
  sessionStorage.setItem("kept", "here");
  document.cookie = "kept=here; max-age=1000";
  await caches.open("kept");
  await new Promise((done) => { indexedDB.open("kept").onsuccess = done; });
}"""
FIND_KEPT = """async () => [
  localStorage.length,
  sessionStorage.length,
  document.cookie,
  await caches.keys(),
  await indexedDB.databases(),
]"""


async def test_a_visit_finds_nothing_of_another_one_in_their_profile(
    profile: Profile, sample_server: RunningServer
) -> None:
    url, folder = sample_server.url, sample_server.data_dir
    async with profile.visit(url, folder) as first:
        await first.page.goto(f"{url}/readyz")
        await first.page.evaluate(KEEP)
        assert (await first.page.evaluate(FIND_KEPT))[:3] == [1, 1, "kept=here"]
        second = await first.context.new_page()
    async with profile.visit(url, folder) as visit:
        assert second.is_closed()
        await visit.page.goto(f"{url}/readyz")
        assert await visit.page.evaluate(FIND_KEPT) == [0, 0, "", [], []]


KEEP_ON = """() => {
  const keep = () => localStorage.setItem("kept", performance.now());
  addEventListener("pagehide", keep);
  for (let timer = 0; timer < 50; timer++) setInterval(keep);
}"""


async def test_a_page_that_is_left_keeps_nothing_more(
    profile: Profile, sample_server: RunningServer
) -> None:
    url, folder = sample_server.url, sample_server.data_dir
    for _ in range(5):
        async with profile.visit(url, folder) as visit:
            await visit.page.goto(f"{url}/readyz")
            assert await visit.page.evaluate("() => localStorage.length") == 0
            await visit.page.evaluate(KEEP_ON)


async def test_a_visit_hears_nothing_of_the_next_one(
    profile: Profile, sample_server: RunningServer
) -> None:
    url, folder = sample_server.url, sample_server.data_dir
    async with profile.visit(url, folder) as first:
        pass
    async with profile.visit(url, folder) as visit:
        await visit.page.goto(f"{url}/nothing")
        await visit.settle()
    assert visit.complaints
    assert (first.complaints, first.hosts) == ([], set())

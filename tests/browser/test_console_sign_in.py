"""The console signs its users in at an issuer, and keeps their tokens in memory only."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import Visit, visit_of
from tests.browser.sign_in_issuer import AUDIENCE, CLIENT, SignInIssuer, open_sign_in_issuer
from tests.install import skip_reason
from tests.support.server_process import running_server

pytestmark = [
    pytest.mark.runs_together("browser"),
    pytest.mark.skipif(skip_reason("console") is not None, reason="the console has no packages"),
]


@pytest.fixture
async def issuer() -> AsyncIterator[SignInIssuer]:
    async with open_sign_in_issuer() as issuer:
        yield issuer


@pytest.fixture
async def signed_out(
    browser: Browser, issuer: SignInIssuer, tmp_path: Path
) -> AsyncIterator[Visit]:
    """A visit to a server of that issuer."""
    # The server reads the issuer's keys as it starts, and the issuer is a task of this loop.
    opened = running_server(
        tmp_path / "data",
        PENSTOCK_ISSUER=issuer.url,
        PENSTOCK_AUDIENCE=AUDIENCE,
        PENSTOCK_CONSOLE_CLIENT_ID=CLIENT,
    )
    server = await asyncio.to_thread(opened.__enter__)
    try:
        async with visit_of(browser, server.url, server.data_dir) as visit:
            yield visit
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


async def test_a_user_signs_in_at_the_issuer_and_comes_back_to_the_same_place(
    signed_out: Visit, issuer: SignInIssuer
) -> None:
    page = signed_out.page
    await page.goto(f"{signed_out.base_url}/console/executions?state=FAILED")
    await page.get_by_role("button", name="Sign in at").click()
    await expect(page.get_by_role("heading", name="Executions")).to_be_visible()
    assert page.url == f"{signed_out.base_url}/console/executions?state=FAILED"
    await expect(page.get_by_text("ana", exact=True)).to_be_visible()
    # Whom to act as is a choice of development only.
    await expect(page.get_by_label("Act as")).to_have_count(0)
    stored = await page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "eyJ" not in stored
    assert issuer.grants == ["authorization_code"]
    await page.reload()  # the issuer still knows the user, so nobody is asked again
    await expect(page.get_by_role("heading", name="Executions")).to_be_visible()
    assert issuer.grants == ["authorization_code"] * 2
    assert signed_out.complaints == []


async def test_a_token_that_ends_is_renewed(signed_out: Visit, issuer: SignInIssuer) -> None:
    issuer.lasts = 1  # within the time before its end in which a token is renewed
    page = signed_out.page
    await page.goto(f"{signed_out.base_url}/console/")
    await page.get_by_role("button", name="Sign in at").click()
    await expect(page.get_by_role("heading", name="Pipelines")).to_be_visible()
    await expect(page.get_by_role("link", name="sap:concrete:00144")).to_be_visible()
    assert issuer.grants[:2] == ["authorization_code", "refresh_token"]
    assert signed_out.complaints == []


async def test_a_refusal_of_the_issuer_is_shown_in_its_words(
    signed_out: Visit, issuer: SignInIssuer
) -> None:
    issuer.refuses = True
    page = signed_out.page
    await page.goto(f"{signed_out.base_url}/console/")
    await page.get_by_role("button", name="Sign in at").click()
    await expect(page.get_by_role("alert")).to_have_text(
        "The issuer did not sign you in: Ana may not."
    )
    await expect(page.get_by_role("navigation", name="Places")).to_have_count(0)

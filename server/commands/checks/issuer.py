"""Checks of the token issuer: its configuration and its keys."""

import asyncio
from collections.abc import Sequence

from joserfc.jwk import Key

from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.server.auth.jwks import (
    FETCH_SECONDS,
    FetchFailed,
    fetch_json,
    keys_from,
    keys_url,
    pick_key,
)
from penstock.server.core.command_output import CommandFailed
from penstock.server.core.http_client import open_http_client
from penstock.server.settings.secure_urls import show_url
from penstock.server.settings.settings import Settings


async def check_issuer(settings: Settings) -> Findings:
    """Check that the keys can be fetched, and that they fit the accepted algorithms."""
    if settings.issuer is None:
        yield ok("issuer", "None is set: development tokens are accepted, and no others.")
        return
    advice = "Check PENSTOCK_ISSUER, PENSTOCK_JWKS_URL and the network; tokens are refused so far."
    try:
        async with asyncio.timeout(FETCH_SECONDS), open_http_client() as http:
            url = settings.jwks_url or await keys_url(http, settings.issuer)
            keys = keys_from((await fetch_json(http, url)).value)
        yield ok("issuer", f"Its keys are at {show_url(url)}.")
        yield _judge_keys(keys, settings.algorithms)
    except FetchFailed as error:
        yield fail("issuer", f"{error}.", advice)
    except CommandFailed as error:
        yield fail("issuer", str(error), advice)
    except TimeoutError:
        yield fail("issuer", f"It did not answer within {FETCH_SECONDS} s.", advice)


def _judge_keys(keys: Sequence[Key], algorithms: Sequence[str]) -> Finding:
    usable = [
        key for key in keys if any(pick_key([key], key.kid, algorithm) for algorithm in algorithms)
    ]
    named = f"the issuer's {say_count(len(keys), 'key')}"
    if not usable:
        advice = "Add the issuer's algorithm to PENSTOCK_ALGORITHMS."
        return fail("keys", f"Of {named} none can be used.", advice)
    message = f"{len(usable)} of {named} can be used."
    if len(usable) < len(keys):
        return warn("keys", message, "Tokens signed with the others are refused.")
    return ok("keys", message)

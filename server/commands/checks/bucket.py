"""Checks of the bucket: its availability and its CORS rules."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from penstock.datastore.errors import PenstockError, RequestRefused
from penstock.datastore.objects.s3 import CorsRule, S3Files
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.server.settings.settings import Settings

METHODS = ("GET", "POST")
"""The methods of downloads and of form uploads."""

_RULE = "Give the bucket a CORS rule with the page's origin and the methods GET and POST."


async def check_bucket(settings: Settings) -> Findings:
    """Check the bucket, if one is set."""
    if settings.bucket is None:
        yield ok("bucket", "None is set.")
        return
    files = await S3Files.open(
        settings.bucket, region=settings.region, endpoint_url=settings.s3_endpoint_url
    )
    try:
        if problems := await files.verify():
            advice = "Check PENSTOCK_BUCKET; `penstock iam` prints the permissions for it."
            yield fail("bucket", " ".join(problems), advice)
            return
        yield ok("bucket", f"{settings.bucket} is there.")
        yield await _check_cors(files, settings.allowed_origins)
    finally:
        await files.close()


async def _check_cors(files: S3Files, origins: Sequence[str]) -> Finding:
    try:
        return judge_cors(await files.cors(), origins)
    except (PenstockError, RequestRefused) as error:
        advice = "`penstock iam --setup` prints the permission to read it; the server needs none."
        return warn("cors", str(error), advice)


def judge_cors(rules: Sequence[CorsRule], origins: Sequence[str]) -> Finding:
    """Judge whether pages of the origins can down- and upload; without origins, whether any can."""
    if not rules:
        return warn("cors", "The bucket has no CORS rules: no page can use its files.", _RULE)
    lacking = [origin for origin in origins if not _allows_origin(rules, origin)]
    if lacking:
        return warn("cors", f"Pages of {', '.join(lacking)} cannot use the bucket.", _RULE)
    return ok("cors", "Pages of the allowed origins can use the bucket.")


def _allows_origin(rules: Sequence[CorsRule], origin: str) -> bool:
    allowed = {
        method
        for rule in rules
        for method in rule.methods
        if any(fnmatchcase(origin, pattern) for pattern in rule.origins)
    }
    return allowed.issuperset(METHODS)

"""Reads and writes of manifest runs that keep the loaders up to date."""

from collections.abc import Sequence
from datetime import timedelta

from penstock.datastore.manifest.consumers import ConsumerStart
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunName
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Transition
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context


def manifest_name(context: Context, group: GroupPath | None, name: str) -> ManifestName:
    """Return the name of a manifest in a group, or in the caller's default group."""
    return ManifestName(context.session.runs.access.group_or_default(group), name)


async def list_runs(
    context: Context, manifest: ManifestName, listed: RunListFilter, window: Window
) -> Slice[Run]:
    return _prime_runs(context, await context.session.run_lists.page(manifest, listed, window))


async def list_stale_runs(
    context: Context, manifest: ManifestName, older_than: timedelta, window: Window
) -> Slice[Run]:
    return _prime_runs(context, await context.session.run_lists.stale(manifest, window, older_than))


async def discover(
    context: Context, manifest: ManifestName, found: Discovery, *, dry_run: bool
) -> Run:
    runs = context.session.runs
    if dry_run:
        return await runs.preview_discovery(manifest, found)
    return _renew_run(context, await runs.discover(manifest, found))


async def apply_transition(
    context: Context, name: RunName, transition: Transition, *, dry_run: bool
) -> Run:
    if dry_run:
        return await context.session.runs.preview(name, transition)
    return _renew_run(context, await context.session.runs.change(name, transition))


async def recover(
    context: Context,
    name: RunName,
    shred_types: Sequence[str] | None,
    output: OutputLocation,
    reason: str | None,
    *,
    dry_run: bool,
) -> Run:
    recovery = context.session.run_recovery
    run = await recovery.recover(name, shred_types, output, reason, dry_run=dry_run)
    return run if dry_run else _renew_run(context, run)


async def reset(
    context: Context,
    name: RunName,
    output: OutputLocation,
    reason: str | None,
    *,
    force: bool,
    dry_run: bool,
) -> Run:
    recovery = context.session.run_recovery
    run = await recovery.reset(name, output, reason, force=force, dry_run=dry_run)
    return run if dry_run else _renew_run(context, run)


async def set_retries(
    context: Context, name: ManifestName, retries: RetryRules | None, *, dry_run: bool
) -> Manifest:
    """Set the rules of retries; later fields of the request see them, unless it is a dry run."""
    changed = await context.session.manifests.set_retries(name, retries, dry_run=dry_run)
    if dry_run:
        return changed
    context.loaders.manifests.clear(name).prime(name, changed)
    return changed


async def create_consumer(
    context: Context, of: ManifestName, consumer: str, start: ConsumerStart, *, dry_run: bool
) -> Manifest:
    """Make a consumer; later fields of the request see it and its runs, unless it is a dry run."""
    made = await context.session.run_consumers.create(of, consumer, start, dry_run=dry_run)
    return made if dry_run else _renew_consumer(context, of, made)


async def remove_consumer(
    context: Context, of: ManifestName, consumer: str, *, dry_run: bool
) -> Manifest:
    """Remove a consumer; later fields of the request see that, unless it is a dry run."""
    removed = await context.session.run_consumers.remove(of, consumer, dry_run=dry_run)
    return removed if dry_run else _renew_consumer(context, of, removed)


async def delete(
    context: Context, name: RunName, output: OutputLocation, *, force: bool, dry_run: bool
) -> Run:
    """Delete a run; later fields of the request find it deleted."""
    context.loaders.runs.clear(name)
    deleted = await context.session.run_recovery.delete(name, output, force=force, dry_run=dry_run)
    context.loaders.runs.clear(deleted.name)
    return deleted


def _prime_runs(context: Context, found: Slice[Run]) -> Slice[Run]:
    """Put the runs of a list into the loader."""
    for _, run in found.entries:
        context.loaders.runs.prime(run.name, run)
    return found


def _renew_consumer(context: Context, of: ManifestName, consumer: Manifest) -> Manifest:
    """Let later fields of the request see a consumer and its source as they are now."""
    context.loaders.manifests.clear(of)
    context.loaders.manifests.clear(consumer.full_name).prime(consumer.full_name, consumer)
    return consumer


def _renew_run(context: Context, written: Run) -> Run:
    """Let later fields of the request see the run as it was written."""
    context.loaders.runs.clear(written.name).prime(written.name, written)
    return written

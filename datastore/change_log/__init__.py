"""The log of changes, from which subscriptions to lists learn what changed."""

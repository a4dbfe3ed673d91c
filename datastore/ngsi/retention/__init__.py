"""Retention: what the sink removes when it is old, and which samples expire."""
